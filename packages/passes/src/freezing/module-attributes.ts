import { ClassType, InterfaceType, MutableTypes, typeOfConstant, type Graph, type Value } from '@cresset/ir';
import { ScriptObject, type IValue } from '@cresset/tensor';
import { AliasedValues } from './aliased-values.ts';

const mutableTypes = new MutableTypes();

/** Whether a value can be written to, or holds what can. */
export function isMutableValue(value: IValue): boolean {
  const type = typeOfConstant(value);
  return type !== undefined && mutableTypes.isMutable(type);
}

/** An attribute as a graph of a module reaches it. */
export interface AttributePlace {
  readonly owner: ScriptObject;
  /** Names of the modules on the way from the graph's own to the owner. */
  readonly path: readonly string[];
  readonly value: IValue;
}

/**
 * Which attributes of a module that is being frozen stay as they are, because a method writes to them or somebody asked for them. What shares
 * memory with such an attribute stays too.
 */
export class PreservedAttributes {
  readonly #values = new AliasedValues();
  /** Numbers, flags and texts are known by their names. */
  readonly #names = new Map<ScriptObject, Set<string>>();

  add(owner: ScriptObject, name: string): void {
    const value = owner.getAttribute(name);
    if (isMutableValue(value)) {
      this.#values.add(value);
      return;
    }
    let names = this.#names.get(owner);
    if (!names) this.#names.set(owner, (names = new Set()));
    names.add(name);
  }

  /** Whether an attribute is one of them by itself. */
  has(owner: ScriptObject, name: string): boolean {
    const value = owner.getAttribute(name);
    return isMutableValue(value) ? this.#values.has(value) : this.#names.get(owner)?.has(name) === true;
  }

  /**
   * The attribute `name` of a module that `object` stands for in a graph, where both are always the same; null for one that is preserved, and
   * where it is not known which module is meant.
   *
   * @param root the module that the graph's first input is
   */
  constantAttribute(graph: Graph, root: ScriptObject, object: Value, name: string): AttributePlace | null {
    if (!isModuleType(object)) return null;
    const path = modulePath(graph, object);
    const owner = path && this.#moduleAt(root, path);
    if (!owner || this.has(owner, name)) return null;
    const value = owner.getAttribute(name);
    return this.#overlaps(value) ? null : { owner, path, value };
  }

  /** Null where a module on the way is one that stays: another may be set in its place. */
  #moduleAt(root: ScriptObject, path: readonly string[]): ScriptObject | null {
    let module = root;
    for (const name of path) {
      const next = module.getAttribute(name);
      if (!(next instanceof ScriptObject) || this.#values.has(next)) return null;
      module = next;
    }
    return module;
  }

  #overlaps(value: IValue): boolean {
    if (!isMutableValue(value) || value instanceof ScriptObject) return false;
    const within = AliasedValues.within(value);
    return [...this.#values].some(
      (each) => !(each instanceof ScriptObject) && AliasedValues.within(each).overlaps(within),
    );
  }
}

const isModuleType = ({ type }: Value): boolean =>
  type instanceof InterfaceType || (type instanceof ClassType && type.isModule());

/** The names by which a graph goes from its own module to another; null where something else than attributes leads there. */
function modulePath(graph: Graph, module: Value): string[] | null {
  const path: string[] = [];
  const [self] = graph.inputs;
  let value = module;
  while (value !== self && !value.type.equals(self.type)) {
    if (value.node.kind !== 'prim::GetAttr') return null;
    path.unshift(value.node.s('name'));
    value = value.node.input();
  }
  return path;
}
