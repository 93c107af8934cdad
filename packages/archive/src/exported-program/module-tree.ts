import {
  BoolType,
  ClassType,
  type ClassAttributeKind,
  type CompilationUnit,
  CressetError,
  TensorType,
  type Type,
} from '@cresset/ir';
import { ScriptObject, type IValue, type Tensor } from '@cresset/tensor';

/** The modules of a program, as far as their parameters, buffers and constants tell that they are there. */
export class ModuleTree {
  readonly root: ScriptObject;
  readonly #unit: CompilationUnit;
  readonly #classNames: ReadonlyMap<string, string>;
  readonly #modules = new Map<string, ScriptObject>();

  /** @param classNames the Python classes of modules, by their paths */
  constructor(unit: CompilationUnit, classNames: ReadonlyMap<string, string>) {
    this.#unit = unit;
    this.#classNames = classNames;
    this.root = this.#newModule('');
  }

  /** Registers a tensor under a name with dots, with the modules above it. Throws `EXPORT_MALFORMED` where the name is taken. */
  register(name: string, tensor: Tensor, kind: ClassAttributeKind): void {
    const { owner, attribute } = split(name);
    attach(this.#moduleAt(owner), attribute, TensorType.get(), tensor, kind);
  }

  #moduleAt(path: string): ScriptObject {
    const known = this.#modules.get(path);
    if (known) return known;
    const { owner, attribute } = split(path);
    const above = this.#moduleAt(owner);
    const module = this.#newModule(path);
    attach(above, attribute, module.type, module);
    return module;
  }

  #newModule(path: string): ScriptObject {
    const python = this.#classNames.get(path) ?? 'torch.nn.modules.module.Module';
    const name = `__torch__.${python
      .split('.')
      .map((word) => word.replaceAll(/\W/g, '_').replace(/^(?=\d|$)/, '_'))
      .join('.')}`;
    const type = new ClassType(this.#unit.getType(name) ? this.#unit.mangle(name) : name, {
      isModule: true,
      compilationUnit: this.#unit,
    });
    this.#unit.registerType(type);
    const module = new ScriptObject(type);
    attach(module, 'training', BoolType.get(), false);
    this.#modules.set(path, module);
    return module;
  }
}

/** The module that a name with dots belongs to, and what it is called there. */
function split(name: string): { readonly owner: string; readonly attribute: string } {
  const at = name.lastIndexOf('.');
  return { owner: name.slice(0, Math.max(at, 0)), attribute: name.slice(at + 1) };
}

function attach(
  { type, slots }: ScriptObject,
  name: string,
  attributeType: Type,
  value: IValue,
  kind?: ClassAttributeKind,
): void {
  if (name === '' || type.hasAttribute(name))
    throw new CressetError('EXPORT_MALFORMED', `the program is damaged: two things in it are called '${name}'`);
  type.addAttribute(name, attributeType, kind);
  slots.push(value);
}
