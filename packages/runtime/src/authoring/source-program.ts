import {
  declareScript,
  defineMethods,
  makeTypeParser,
  newModuleClass,
  parsePythonFile,
  type GivenValues,
  type InterpretedValue,
  type ScriptProgram,
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
  type ScriptFunction,
  type Type,
} from '@cresset/ir';
import { Dict, List, ScriptObject, Tuple, type IValue, type Storage } from '@cresset/tensor';
import { hostEvaluator } from './host-evaluator.ts';
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
import type { ConstructRequest, DeviceReport, ModelSummary, WireValue } from '../worker/wire/protocol.ts';

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
  /** Modules of other programs that are part of this one's: they stay when it goes. */
  readonly shared: ScriptObject[] = [];

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

  /** Compiles source, with names that it is given, into the program. Throws an ErrorReport; then the program is as it was. */
  abstract define(source: string, filename: string | null, given: GivenValues): void;

  override dispose(): void {
    super.dispose();
    this.disposeOf([...this.modules.values()], this.shared);
  }

  /** Frees what objects hold and `others` do not. */
  protected disposeOf(objects: readonly ScriptObject[], others: readonly ScriptObject[]): void {
    const held = new Set<Storage>();
    forEachStorage(others, (storage) => held.add(storage));
    forEachStorage(objects, (storage) => {
      if (!held.has(storage) && !this.isOfPage(storage)) storage.dispose();
    });
  }
}

/** Functions and classes (torch.jit.CompilationUnit), and the objects of those classes that were made. */
export class FunctionProgram extends SourceProgram {
  readonly #functions = new Map<string, GraphFunction>();
  /** The texts that were compiled, which make modules. */
  readonly #programs: ScriptProgram[] = [];
  #objects = 0;

  constructor(place: ModelPlace, output: ModelOutput, uses: CompilationUnit | null, parts: ProgramParts) {
    super(new ScriptObject(new ClassType('CompilationUnit')), new CompilationUnit(), place, output, uses, parts);
  }

  override define(source: string, filename: string | null, given: GivenValues): void {
    const { unit } = this;
    this.#refuseKnownNames(source, filename ?? '<string>');
    const functionsBefore = new Set(unit.functions);
    const typesBefore = new Set(unit.types);
    try {
      const { functions, program } = declareScript(source, {
        unit,
        filename: filename ?? '<string>',
        resolver: new UnitResolver(this.uses ? [this.uses] : [], NAMESPACE),
        evaluate: hostEvaluator(this.runner.context),
        print: (text) => this.runner.context.print(text),
        given,
      });
      // A file of modules is Python: of its functions and other classes those are compiled that a module uses, or somebody calls.
      if (!program.isOfModules) {
        program.defineClasses();
        functions.forEach((fn) => fn.ensureDefined());
      }
      this.#programs.push(program);
      for (const type of unit.types) if (!typesBefore.has(type)) defineMethodsOf(type);
      for (const fn of functions) this.#functions.set(fn.name, fn);
    } catch (error) {
      for (const fn of unit.functions) if (!functionsBefore.has(fn)) unit.removeFunction(fn.qualifiedName);
      for (const type of unit.types) if (!typesBefore.has(type)) unit.removeType(type);
      throw error;
    }
  }

  #refuseKnownNames(source: string, filename: string): void {
    for (const { kind, name, range } of parsePythonFile(new Source(source, filename)).definitions) {
      if (kind === 'class' && this.unit.getType(`${NAMESPACE}.${name.name}`)) {
        throw new ErrorReport(range, `class '${NAMESPACE}.${name.name}' already defined.`);
      }
      if (kind === 'def' && this.#functions.has(name.name)) {
        throw new CressetError('IR_INVARIANT', `method '${name.name}' already defined.`);
      }
    }
  }

  /** A function or class by its name; undefined where there is none. */
  member(name: string): ScriptFunction | NamedType | undefined {
    const compiled = this.#functions.get(name) ?? this.unit.getType(`${NAMESPACE}.${name}`);
    for (const program of compiled ? [] : this.#programs) {
      const type = program.typeNamed(name);
      if (type) return type;
    }
    return compiled;
  }

  override callee(module: string, method: string): Callee {
    if (module !== '') return super.callee(module, method);
    const fn = this.#functions.get(method);
    if (!fn) throw new CressetError('METHOD_NOT_FOUND', `'CompilationUnit' has no attribute '${method}'`);
    return { fn, receiver: null };
  }

  /** Makes an object of a class, or what a function of Python's makes, and gives the path by which it is called from now on. */
  async construct(request: ConstructRequest, signal: AbortSignal): Promise<string> {
    const object = this.#makeModule(request) ?? (await this.#makeObject(request, signal));
    const path = `#${++this.#objects}`;
    for (const [below, module] of collectModules(object)) this.modules.set(below ? `${path}.${below}` : path, module);
    return path;
  }

  /** Runs `__init__` of a class of modules as Python does; null where the name is none of that kind. */
  #makeModule({ className, args, kwargs }: ConstructRequest): ScriptObject | null {
    const program = this.#programs.find((each) => each.makesModules(className));
    if (program === undefined) return null;
    const reader = this.reader();
    const convert = (value: WireValue, type: Type | undefined): InterpretedValue =>
      type === undefined ? wholeNumbers(reader.inferred(value)) : reader.value(value, type, '__init__', className);
    const { unit } = this;
    const functionsBefore = new Set(unit.functions);
    const typesBefore = new Set(unit.types);
    try {
      return program.makeModule(className, args, kwargs, convert);
    } catch (error) {
      for (const fn of unit.functions) if (!functionsBefore.has(fn)) unit.removeFunction(fn.qualifiedName);
      for (const type of unit.types) if (!typesBefore.has(type)) unit.removeType(type);
      throw error;
    }
  }

  async #makeObject({ className, args, kwargs }: ConstructRequest, signal: AbortSignal): Promise<ScriptObject> {
    const type = this.unit.getType(`${NAMESPACE}.${className}`);
    if (!(type instanceof ClassType)) {
      throw new CressetError('NO_CLASS', `'CompilationUnit' has no class '${className}'`);
    }
    const object = new ScriptObject(type);
    const init = type.findMethod('__init__');
    if (!init) throw new CressetError('NO_CLASS', `Class ${className} does not have an __init__ function defined`);
    const reader = this.reader();
    const bound = bindArguments(init, object, args, kwargs, (value, argument) =>
      reader.argument(value, argument, init.schema.name),
    );
    await this.runner.callFunction(init, bound, { signal });
    return object;
  }

  /** Gives up an object with what no other holds. */
  release(path: string): void {
    const released: ScriptObject[] = [];
    for (const [name, object] of this.modules) {
      if (name !== path && !name.startsWith(`${path}.`)) continue;
      released.push(object);
      this.modules.delete(name);
    }
    this.disposeOf(released, [...this.modules.values(), ...this.shared]);
  }

  override summary(): Omit<ModelSummary, 'timings'> {
    const classes = [
      ...this.#programs.flatMap((program) => program.typeNames),
      ...this.#programs.flatMap((program) => program.moduleClasses),
    ];
    return { ...super.summary(), functions: [...this.#functions.keys()], classes };
  }
}

/** Numbers that a page gives without a type are ints where they are whole, as Python would have them written. */
export function wholeNumbers(value: IValue): IValue {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (value instanceof List) return new List(value.elementType, value.items.map(wholeNumbers));
  if (value instanceof Tuple) return new Tuple(value.items.map(wholeNumbers), value.type);
  if (value instanceof Dict) {
    const entries = [...value.entries].map(([key, item]) => [key, wholeNumbers(item)] as const);
    return new Dict(value.keyType, value.valueType, new Map(entries));
  }
  return value;
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

  override define(source: string, filename: string | null, given: GivenValues): void {
    const resolver = this.#resolver();
    const names = given.size === 0 ? resolver : declareScript('', { unit: this.unit, resolver, given }).program;
    defineMethods(this.unit, this.module.type, new Source(source, filename ?? '<string>'), names);
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
