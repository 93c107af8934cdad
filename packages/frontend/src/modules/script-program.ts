import {
  compilerServices,
  ErrorReport,
  TensorType,
  type CompilationUnit,
  type GraphFunction,
  type NamedType,
  type NodeEvaluator,
  type SourceRange,
  type Type,
} from '@cresset/ir';
import type { ScriptObject } from '@cresset/tensor';
import { compilationCallStack } from '../compilation-error.ts';
import { declareFunctions, makeTypeParser } from '../define.ts';
import type { PythonFile } from '../parser/python-parser.ts';
import type { ClassDef, Def, Expr, Param } from '../parser/tree.ts';
import { PythonClass, PythonFunction, QualifiedName, TypeExpression } from '../python/interpreter/entities.ts';
import type { PythonHost } from '../python/interpreter/host.ts';
import { Interpreter } from '../python/interpreter/interpreter.ts';
import { Scope, Unusable } from '../python/interpreter/scope.ts';
import { PythonConstants } from '../python/python-constants.ts';
import { resolvePythonName } from '../python/python-modules.ts';
import type { PythonValue } from '../python/python-value.ts';
import type { Resolver } from '../resolver.ts';
import { dottedName } from '../script-type-parser.ts';
import { typeAsValue } from '../unit-resolver.ts';
import { FunctionValue } from '../values/callable-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import { GivenNames, scriptedTypeNamed } from '../given/given-names.ts';
import type { GivenValue, GivenValues } from '../given/given-value.ts';
import { ClassDefiner } from './class-definition.ts';
import { mergedWithBases } from './inherited-members.ts';
import { ModuleScripter } from './module-scripting.ts';
import { toSugared } from './sugared-python.ts';
import { overloadsOf } from './overloads.ts';
import { decoratorName, hasDecorator, isIgnored } from './unused-definition.ts';

const NAMESPACE = '__torch__';

export interface ProgramSettings {
  /** Knows names that the file does not define. */
  readonly resolver?: Resolver | undefined;
  /** Name of the Python module that the file stands for; none is as `__main__` is. */
  readonly module?: string | undefined;
  /** Runs operators on tensors of the host, for what Python computes with them. */
  readonly evaluate?: NodeEvaluator | undefined;
  readonly print?: ((text: string) => void) | undefined;
  /** Names that the file has before its first line. */
  readonly given?: GivenValues | undefined;
}

/** The definitions of one file, and the names they can use: Python runs the file, and what is asked for is compiled. */
export class ScriptProgram implements Resolver, PythonHost {
  readonly unit: CompilationUnit;
  readonly python: Interpreter;
  readonly globals: Scope;
  readonly constants: PythonConstants;
  readonly evaluate: NodeEvaluator;
  readonly print: (text: string) => void;
  readonly #outer: Resolver | undefined;
  readonly #module: string | undefined;
  readonly #file: PythonFile;
  readonly #given: GivenValues;
  readonly #givenNames = new GivenNames();
  readonly #classes = new Map<string, ClassDef>();
  readonly #definer: ClassDefiner;
  readonly #scripter: ModuleScripter;
  readonly #compiled = new Map<PythonFunction, readonly GraphFunction[]>();
  readonly #resolvers = new Map<Scope, Resolver>();
  readonly #within = new Map<PythonClass, NamedType>();
  /** Names of types that are being looked up. */
  readonly #aliases = new Set<string>();

  constructor(unit: CompilationUnit, settings: ProgramSettings, file: PythonFile) {
    this.unit = unit;
    this.#outer = settings.resolver;
    this.#module = settings.module;
    this.#file = file;
    this.#given = settings.given ?? new Map<string, GivenValue>();
    this.evaluate = settings.evaluate ?? compilerServices().evaluate ?? (() => null);
    this.print = settings.print ?? (() => undefined);
    this.globals = new Scope(undefined, 'module', settings.module ?? '__main__');
    this.python = new Interpreter(this);
    this.constants = new PythonConstants(this.python, this.globals);
    this.#definer = new ClassDefiner(unit, this);
    this.#scripter = new ModuleScripter(this);
  }

  /** Runs the file, and declares its functions; they are compiled when they are first needed. */
  declare(): readonly GraphFunction[] {
    const defs: Def[] = [];
    for (const definition of this.#file.definitions) {
      if (definition.kind === 'class') this.#classes.set(definition.name.name, definition);
      else if (!isIgnored(definition) && !isOverload(definition)) defs.push(definition);
    }
    this.#givenNames.define(this.#given, this.python, this.globals, this);
    for (const made of this.#givenNames.classes) this.#classes.set(made.name.name, made);
    const declared = declareFunctions(this.unit, withoutDuplicates(defs), { prefix: NAMESPACE, resolver: this });
    this.python.executeFile(this.#file.statements, this.globals);
    return declared;
  }

  /** Names of the classes of modules. */
  get moduleClasses(): readonly string[] {
    return [...this.globals.names].flatMap(([name, value]) =>
      !(value instanceof Unusable) && this.python.isModuleClass(value) && value.definition?.def.name.name === name
        ? [name]
        : [],
    );
  }

  /** Names of the other classes, those that nothing has met so far among them. */
  get typeNames(): readonly string[] {
    return this.#file.definitions.flatMap(({ kind, name: { name } }) =>
      kind === 'class' && this.#isType(name) ? [name] : [],
    );
  }

  #isType(name: string): boolean {
    const classDef = this.#classes.get(name);
    return classDef === undefined
      ? this.unit.getType(this.qualifiedName(name)) !== undefined
      : this.#isCompiled(name, classDef);
  }

  /** A class of the file, which is compiled now where it was not; undefined where there is none of that name, and for those of modules. */
  typeNamed(name: string): NamedType | undefined {
    return this.#typeNamed(name);
  }

  /** Whether it is a file of modules: it has classes of them, or functions that make such classes. */
  get isOfModules(): boolean {
    const makesClass = (definition: Def | ClassDef): boolean =>
      definition.kind === 'def' && definition.statements.some(({ kind }) => kind === 'class');
    return this.moduleClasses.length > 0 || this.#file.definitions.some(makesClass);
  }

  /** Defines the classes that nothing has met so far; those of modules are compiled for the objects that are made. */
  defineClasses(): void {
    for (const name of this.#classes.keys()) this.#typeNamed(name);
  }

  /** Whether calling what has this name may make a module: a class of modules, or a function. */
  makesModules(name: string): boolean {
    const maker = this.globals.names.get(name);
    if (maker instanceof Unusable)
      return !this.#classes.has(name) || this.unit.getType(this.qualifiedName(name)) === undefined;
    return maker instanceof PythonFunction || this.python.isModuleClass(maker ?? null);
  }

  /**
   * Makes a module as Python does, and compiles it.
   *
   * @param convert makes a given value one of Python's, as its parameter is annotated, if it is
   *
   * Throws an ErrorReport where Python would raise, or a method does not compile, and what `convert` throws.
   */
  makeModule<Given>(
    name: string,
    args: readonly Given[],
    kwargs: Iterable<readonly [string, Given]>,
    convert: (value: Given, type: Type | undefined) => PythonValue,
  ): ScriptObject {
    const maker = this.globals.names.get(name)!;
    const range = this.#file.definitions.find((each) => each.name.name === name)?.range;
    if (maker instanceof Unusable) throw this.python.reportOf(maker.reason, range);
    const init = maker instanceof PythonClass ? maker.find('__init__') : maker;
    const params = init instanceof PythonFunction ? init.params.slice(maker === init ? 0 : 1) : [];
    const typeOf = (param: Param | undefined): Type | undefined =>
      init instanceof PythonFunction && param?.variadic === '' && param.type !== undefined
        ? this.#parameterType(param.type, init.scope)
        : undefined;
    const positional = args.map((value, at) => convert(value, typeOf(params[at])));
    const named = new Map(
      [...kwargs].map(([key, value]) => [key, convert(value, typeOf(params.find(({ ident }) => ident.name === key)))]),
    );
    const module = this.python.run(range, () => this.python.call(maker, positional, named));
    if (!this.python.isModule(module)) {
      throw new ErrorReport(range, `${name} makes a ${this.python.nameOfType(module)}, which is no nn.Module`);
    }
    return this.#scripter.script(module);
  }

  /** The type that an annotation says; undefined where it is for readers only. */
  #parameterType(annotation: Expr, scope: Scope): Type | undefined {
    try {
      return makeTypeParser(this.resolverFor(scope)).parseTypeFromExpr(annotation);
    } catch (error) {
      if (error instanceof ErrorReport) return undefined;
      throw error;
    }
  }

  // ---- types

  /** A class is defined when its name is first met, so that classes may stand in any order. */
  #typeNamed(name: string): NamedType | undefined {
    const qualifiedName = this.qualifiedName(name);
    const known = this.unit.getType(qualifiedName);
    const classDef = this.#classes.get(name);
    if (known !== undefined || classDef === undefined || !this.#isCompiled(name, classDef)) return known;
    this.#classes.delete(name);
    const merged = isInterface(classDef) ? classDef : mergedWithBases(classDef, this.globals);
    return compilationCallStack.within(qualifiedName, () => this.#definer.define(qualifiedName, merged));
  }

  /** Of exceptions only the name counts, and modules are compiled one by one. */
  #isCompiled(name: string, classDef: ClassDef): boolean {
    if (isInterface(classDef)) return true;
    const value = this.globals.names.get(name);
    if (value instanceof PythonClass) return !this.isException(value) && !this.python.isModuleClass(value);
    // The file has not come so far, or it cannot be run.
    const base = classDef.superclass === undefined ? '' : (dottedName(classDef.superclass) ?? '');
    return !/(^|\.)(Module|ScriptModule)$/.test(base) || classDef.decorators.length > 0;
  }

  typeOf(type: PythonClass): NamedType | undefined {
    const { definition } = type;
    if (definition?.scope === this.globals) return this.#typeNamed(type.name);
    const { enumClass, namedTupleClass } = this.python.special;
    if (definition !== undefined && type.bases.some((base) => base === enumClass || base === namedTupleClass)) {
      return this.#typeWithin(type, definition);
    }
    return type.nativePart('typeOf')?.() as NamedType | undefined;
  }

  /** Of an enum or a named tuple that stands in a function, or in a file of PyTorch's. */
  #typeWithin(type: PythonClass, { def, scope }: NonNullable<PythonClass['definition']>): NamedType {
    let defined = this.#within.get(type);
    if (defined === undefined) {
      const isOwn = scope.globals === this.globals;
      const name = isOwn ? this.qualifiedName(type.name) : `${NAMESPACE}.${scope.module}.${type.name}`;
      const free = this.unit.getType(name) === undefined ? name : this.unit.mangle(name);
      defined = new ClassDefiner(this.unit, this.resolverFor(scope)).define(free, def);
      this.#within.set(type, defined);
    }
    return defined;
  }

  registerType(type: NamedType): void {
    this.unit.registerType(type);
  }

  qualifiedName(name: string): string {
    return `${NAMESPACE}.${this.#module === undefined ? '' : `${this.#module}.`}${name}`;
  }

  /** What Python calls a class of the file. */
  pythonName(name: string): string {
    return this.#module === undefined ? name : `${this.#module}.${name}`;
  }

  isException(type: PythonClass): boolean {
    return type.isSubclassOf(this.python.builtin('BaseException') as PythonClass);
  }

  annotationType(annotation: PythonValue | undefined): Type {
    if (annotation === undefined) return TensorType.get();
    const parser = makeTypeParser(this);
    if (annotation instanceof TypeExpression) return parser.parseTypeFromExpr(annotation.expr);
    if (annotation instanceof PythonClass) return this.typeOf(annotation) ?? parser.parseType(annotation.name);
    return parser.parseType(annotation instanceof QualifiedName ? annotation.path : 'None');
  }

  resolveType(name: string, range: SourceRange): Type | undefined {
    return (
      this.#typeNamed(name) ??
      this.unit.getType(name) ??
      this.#aliasedType(name, this.globals) ??
      scriptedTypeNamed(name, this.globals) ??
      this.#outer?.resolveType(name, range)
    );
  }

  /** `Pair = Tuple[int, int]`, or a class under another name. */
  #aliasedType(name: string, scope: Scope): Type | undefined {
    const value = this.#named(name, scope);
    if (value instanceof PythonClass) return this.typeOf(value);
    if (!(value instanceof TypeExpression) || this.#aliases.has(name)) return undefined;
    this.#aliases.add(name);
    try {
      return makeTypeParser(this.resolverFor(scope)).parseTypeFromExpr(value.expr);
    } catch (error) {
      if (error instanceof ErrorReport) return undefined;
      throw error;
    } finally {
      this.#aliases.delete(name);
    }
  }

  /** What a name means, which may have dots. */
  #named(name: string, scope: Scope): PythonValue | Unusable | undefined {
    const [root = name, ...fields] = name.split('.');
    return fields.reduce<PythonValue | Unusable | undefined>(
      (value, field) =>
        value === undefined || value instanceof Unusable
          ? undefined
          : this.python.getAttributeOrUndefined(value, field),
      scope.find(root),
    );
  }

  fullName(name: string): string {
    return fullNameIn(name, this.globals);
  }

  // ---- values

  resolveValue(name: string, fn: GraphFunction, range: SourceRange): SugaredValue | undefined {
    const type = this.#typeNamed(name);
    if (type !== undefined) return typeAsValue(type);
    const known = this.unit.findFunction(`${NAMESPACE}.${name}`);
    if (known !== undefined && !(this.globals.names.get(name) instanceof QualifiedName))
      return this.#declared(name, known);
    return (
      this.#valueIn(this.globals, name, fn, range) ??
      this.#outer?.resolveValue(name, fn, range) ??
      resolvePythonName(name)
    );
  }

  /** A function of the file: all forms of it where it has several. */
  #declared(name: string, known: NonNullable<ReturnType<CompilationUnit['findFunction']>>): SugaredValue {
    const value = this.globals.names.get(name);
    return value instanceof PythonFunction && value.def !== undefined && this.#overloads(value).length > 0
      ? new FunctionValue(...this.compiledFunctions(value))
      : new FunctionValue(known);
  }

  #valueIn(scope: Scope, name: string, fn: GraphFunction, range: SourceRange): SugaredValue | undefined {
    const value = scope.find(name);
    if (value === undefined || value instanceof Unusable) return undefined;
    return this.#givenNames.find(name, value, fn, range) ?? toSugared(this, value, fn, range);
  }

  /** What the names of a function mean that is defined in a scope. */
  resolverFor(scope: Scope): Resolver {
    if (scope === this.globals) return this;
    let resolver = this.#resolvers.get(scope);
    if (resolver === undefined) {
      resolver = this.#makeResolver(scope);
      this.#resolvers.set(scope, resolver);
    }
    return resolver;
  }

  #makeResolver(scope: Scope): Resolver {
    const isOwn = scope.globals === this.globals;
    return {
      resolveValue: (name, fn, range) => {
        const value = this.#valueIn(scope, name, fn, range);
        return value ?? (isOwn ? this.resolveValue(name, fn, range) : resolvePythonName(name));
      },
      resolveType: (name, range) =>
        this.#aliasedType(name, scope) ?? (isOwn ? this.resolveType(name, range) : undefined),
      fullName: (name) => fullNameIn(name, scope),
      constants: new PythonConstants(this.python, scope),
    };
  }

  /** A function of Python's as the compiler has it: several where it is overloaded. */
  compiledFunctions(fn: PythonFunction): readonly GraphFunction[] {
    let compiled = this.#compiled.get(fn);
    if (compiled === undefined) {
      compiled = this.#compileFunction(fn);
      this.#compiled.set(fn, compiled);
    }
    return compiled;
  }

  #compileFunction(fn: PythonFunction): readonly GraphFunction[] {
    const isTop = fn.scope === this.globals && this.globals.names.get(fn.def!.name.name) === fn;
    const overloads = this.#overloads(fn);
    const known = this.unit.findFunction(`${NAMESPACE}.${fn.name}`);
    if (isTop && overloads.length === 0 && known !== undefined) return [known as GraphFunction];
    const module = fn.scope.module === '__main__' ? '' : `.${fn.scope.module}`;
    const options = { prefix: `${NAMESPACE}${module}`, resolver: this.resolverFor(fn.scope), mangle: true };
    const defs = overloads.length === 0 ? [fn.def!] : overloads;
    return defs.flatMap((def) => declareFunctions(this.unit, [def], options));
  }

  /** `@torch.jit._overload`: the forms of a function, whose body is the last one's. */
  #overloads(fn: PythonFunction): readonly Def[] {
    return fn.scope === this.globals ? overloadsOf(this.#file.statements, fn.def!) : [];
  }
}

/** `nn.Module` where the file has `import torch.nn as nn`. */
function fullNameIn(name: string, scope: Scope): string {
  const [root = name, ...rest] = name.split('.');
  const value = scope.find(root);
  return value instanceof QualifiedName ? [value.path, ...rest].join('.') : name;
}

/** An interface of modules is a class of them to Python, and has no more methods than it names. */
function isInterface({ decorators }: ClassDef): boolean {
  return decorators.some((decorator) => /(^|\.)interface$/.test(decoratorName(decorator)));
}

function isOverload(def: Def): boolean {
  return hasDecorator(def, '_overload') || hasDecorator(def, 'overload');
}

/** The last definition of a name is the one that counts. */
function withoutDuplicates(defs: readonly Def[]): readonly Def[] {
  return [...new Map(defs.map((def) => [def.name.name, def])).values()];
}
