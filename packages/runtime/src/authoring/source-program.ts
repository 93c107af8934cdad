import {
  declareScript,
  defineMethods,
  makeTypeParser,
  moduleInitializer,
  newModuleClass,
  parseProgram,
  UnitResolver,
} from '@cresset/frontend';
import {
  ClassType,
  CompilationUnit,
  CressetError,
  ErrorReport,
  GraphFunction,
  Source,
  type NamedType,
  type Type,
} from '@cresset/ir';
import { ScriptObject, Tensor, type Storage } from '@cresset/tensor';
import { forEachStorage } from '../memory/reachable-storages.ts';
import { bindArguments } from '../worker/argument-binding.ts';
import {
  collectModules,
  HostedModel,
  type ModelPlace,
  type Callee,
  type HostedProgram,
  type ModelOutput,
} from '../worker/hosted-model.ts';
import type { ProgramParts } from '../worker/program-parts.ts';
import type { ConstructRequest, DeviceReport, ModelSummary } from '../worker/wire/protocol.ts';

/** Where the names of people's own functions and classes begin. */
export const NAMESPACE = '__torch__';

/** Version of PyTorch's file format that programs made here are written for. */
const FORMAT_VERSION = 3;

/** What a program made here has of what a file would have. */
export function programOf(module: ScriptObject, unit: CompilationUnit): HostedProgram {
  return {
    module,
    unit,
    pendingStates: [],
    formatVersion: FORMAT_VERSION,
    code: new Map(),
    extraFiles: new Map(),
    debugTables: { load: () => Promise.resolve() },
  };
}

/** A program that is compiled from source while it is used (torch.jit.script, torch.jit.CompilationUnit, an authored module). */
export abstract class SourceProgram extends HostedModel {
  readonly unit: CompilationUnit;
  readonly device: DeviceReport;
  /** The unit whose functions and classes its source may name besides its own. */
  protected readonly uses: CompilationUnit | null;

  constructor(
    module: ScriptObject,
    unit: CompilationUnit,
    place: ModelPlace,
    output: ModelOutput,
    uses: CompilationUnit | null,
    parts: ProgramParts,
  ) {
    super(programOf(module, unit), place, output, parts);
    this.unit = unit;
    this.device = place.report;
    this.uses = uses;
  }

  /** Compiles source into the program. Throws an ErrorReport; then the program is as it was. */
  abstract define(source: string, filename: string | null): void;

  override dispose(): void {
    super.dispose();
    forEachStorage([...this.modules.values()], (storage) => storage.dispose());
  }
}

/** Functions and classes (torch.jit.CompilationUnit), and the objects of those classes that were made. */
export class FunctionProgram extends SourceProgram {
  readonly #functions = new Map<string, GraphFunction>();
  #objects = 0;

  constructor(place: ModelPlace, output: ModelOutput, uses: CompilationUnit | null, parts: ProgramParts) {
    super(new ScriptObject(new ClassType('CompilationUnit')), new CompilationUnit(), place, output, uses, parts);
  }

  override define(source: string, filename: string | null): void {
    const { unit } = this;
    this.#refuseKnownNames(source);
    const functionsBefore = new Set(unit.functions);
    const typesBefore = new Set(unit.types);
    try {
      const { functions, defineClasses } = declareScript(source, {
        unit,
        filename: filename ?? '<string>',
        resolver: new UnitResolver(this.uses ? [this.uses] : [], NAMESPACE),
      });
      defineClasses();
      functions.forEach((fn) => fn.ensureDefined());
      for (const type of unit.types) if (!typesBefore.has(type)) defineMethodsOf(type);
      for (const fn of functions) this.#functions.set(fn.name, fn);
    } catch (error) {
      for (const fn of unit.functions) if (!functionsBefore.has(fn)) unit.removeFunction(fn.qualifiedName);
      for (const type of unit.types) if (!typesBefore.has(type)) unit.removeType(type);
      throw error;
    }
  }

  #refuseKnownNames(source: string): void {
    for (const { kind, name, range } of parseProgram(new Source(source), 'python')) {
      if (kind === 'class' && this.unit.getType(`${NAMESPACE}.${name.name}`)) {
        throw new ErrorReport(range, `class '${NAMESPACE}.${name.name}' already defined.`);
      }
      if (kind === 'def' && this.#functions.has(name.name)) {
        throw new CressetError('IR_INVARIANT', `method '${name.name}' already defined.`);
      }
    }
  }

  override callee(module: string, method: string): Callee {
    if (module !== '') return super.callee(module, method);
    const fn = this.#functions.get(method);
    if (!fn) throw new CressetError('METHOD_NOT_FOUND', `'CompilationUnit' has no attribute '${method}'`);
    return { fn, receiver: null };
  }

  /** Makes an object of a class and gives the path by which it is called from now on. */
  async construct({ className, args, kwargs }: ConstructRequest, signal: AbortSignal): Promise<string> {
    const type = this.unit.getType(`${NAMESPACE}.${className}`);
    if (!(type instanceof ClassType)) {
      throw new CressetError('NO_CLASS', `'CompilationUnit' has no class '${className}'`);
    }
    const object = new ScriptObject(type);
    const init = moduleInitializer(type) ?? type.findMethod('__init__');
    if (!init) throw new CressetError('NO_CLASS', `Class ${className} does not have an __init__ function defined`);
    const reader = this.reader();
    const bound = bindArguments(init, object, args, kwargs, (value, argument) =>
      reader.argument(value, argument, init.schema.name),
    );
    await this.runner.callFunction(init, bound, { signal });
    setRequiresGrad(object);
    const path = `#${++this.#objects}`;
    for (const [below, module] of collectModules(object)) this.modules.set(below ? `${path}.${below}` : path, module);
    return path;
  }

  /** Gives up an object with what no other holds. */
  release(path: string): void {
    const released: ScriptObject[] = [];
    for (const [name, object] of this.modules) {
      if (name !== path && !name.startsWith(`${path}.`)) continue;
      released.push(object);
      this.modules.delete(name);
    }
    const held = new Set<Storage>();
    forEachStorage([...this.modules.values()], (storage) => held.add(storage));
    forEachStorage(released, (storage) => {
      if (!held.has(storage)) storage.dispose();
    });
  }

  override summary(): Omit<ModelSummary, 'timings'> {
    const classes = this.unit.classes.filter(({ qualifiedName }) => !qualifiedName.startsWith(`${NAMESPACE}.torch.`));
    return {
      ...super.summary(),
      functions: [...this.#functions.keys()],
      classes: classes.map(({ qualifiedName }) => qualifiedName.slice(NAMESPACE.length + 1)),
    };
  }
}

/** Parameters are to be trained, as `nn.Parameter` says by default; this is a mark only. */
function setRequiresGrad(root: ScriptObject): void {
  for (const { type, slots } of collectModules(root).values()) {
    type.attributes.forEach(({ kind }, slot) => {
      const value = slots[slot];
      if (kind === 'parameter' && value instanceof Tensor) value.requiresGrad = true;
    });
  }
}

/** Of modules only `forward` is compiled that nobody has asked for, as in PyTorch. */
function defineMethodsOf(type: NamedType): void {
  if (!(type instanceof ClassType) || type.isModule()) return;
  for (const method of [...type.methods, ...type.staticMethods]) {
    if (method instanceof GraphFunction) method.ensureDefined();
  }
}

/** A module that is put together from here (torch.jit.ScriptModule with its `register_` methods and `define`). */
export class AuthoredModule extends SourceProgram {
  readonly module: ScriptObject;

  constructor(
    className: string,
    place: ModelPlace,
    output: ModelOutput,
    uses: CompilationUnit | null,
    parts: ProgramParts,
  ) {
    const unit = new CompilationUnit();
    const module = newModule(unit, `${NAMESPACE}.${className}`);
    super(module, unit, place, output, uses, parts);
    this.module = module;
  }

  override define(source: string, filename: string | null): void {
    defineMethods(this.unit, this.module.type, new Source(source, filename ?? '<string>'), this.#resolver());
  }

  /** The type that a text such as `Optional[List[int]]` names. Throws an ErrorReport where it names none. */
  parseType(text: string): Type {
    return makeTypeParser(this.#resolver()).parseType(text);
  }

  #resolver(): UnitResolver {
    return new UnitResolver(this.uses ? [this.unit, this.uses] : [this.unit], NAMESPACE);
  }
}

/** An empty module of a class of its own. */
export function newModule(unit: CompilationUnit, qualifiedName: string): ScriptObject {
  return moduleOfClass(newModuleClass(unit, qualifiedName));
}

/** An object of a class of modules, with the values that every new module has. */
export function moduleOfClass(type: ClassType): ScriptObject {
  const module = new ScriptObject(type);
  module.setAttribute('training', true);
  module.setAttribute('_is_full_backward_hook', null);
  return module;
}
