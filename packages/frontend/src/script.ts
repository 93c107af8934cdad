import {
  CompilationUnit,
  ErrorReport,
  extendServices,
  Source,
  type GraphFunction,
  type NamedType,
  type SourceRange,
  type Type,
} from '@cresset/ir';
import { ExceptionValue, FunctionValue } from './values/callable-value.ts';
import { ClassDefiner } from './modules/class-definition.ts';
import { compilationCallStack } from './compilation-error.ts';
import { declareFunctions, evaluateCompiled, makeTypeParser } from './define.ts';
import { emitDictConstructor } from './emission/dict-constructor.ts';
import { BooleanDispatchValue } from './functional/boolean-dispatch.ts';
import type { LibraryCompiler, LibraryServices } from './functional/library.ts';
import { BOOLEAN_DISPATCHED, FUNCTIONAL_SOURCES, LIBRARY_ALIASES } from './functional/sources.ts';
import { parseProgram, parsePythonFile, type PythonFile } from './parser/parser.ts';
import { PythonConstants } from './python/python-constants.ts';
import { isExceptionName, resolvePythonName } from './python/python-modules.ts';
import { dottedName } from './script-type-parser.ts';
import type { Resolver } from './resolver.ts';
import type { SpecialFormServices } from './emission/special-form-emission.ts';
import type { SugaredValue } from './values/sugared-value.ts';
import type { ClassDef, Def } from './parser/tree.ts';
import { typeAsValue } from './unit-resolver.ts';
import { IgnoredFunctionValue, isIgnored } from './modules/unused-definition.ts';

export interface ScriptOptions {
  /** The unit that takes the definitions; a new one where there is none. */
  readonly unit?: CompilationUnit | undefined;
  /** How error messages call the text. */
  readonly filename?: string | undefined;
  /** Name of the Python module that the text stands for: part of the names of its classes. None is as `__main__` is. */
  readonly module?: string | undefined;
  /** Knows names that the text does not define: modules, functions and types of the caller. */
  readonly resolver?: Resolver | undefined;
}

const NAMESPACE = '__torch__';

/**
 * Compiles the functions and classes of TorchScript source as people write it (PyTorch: `torch.jit.script` on each of them, and
 * `CompilationUnit.define`). They see each other in any order. Throws an ErrorReport where anything does not compile.
 */
export function script(source: string, options: ScriptOptions = {}): CompilationUnit {
  const { unit, functions, defineClasses } = declareScript(source, options);
  defineClasses();
  functions.forEach((fn) => fn.ensureDefined());
  return unit;
}

/** What a text defines, before it is compiled. */
export interface DeclaredScript {
  readonly unit: CompilationUnit;
  readonly functions: readonly GraphFunction[];
  /** Compiles the classes that no function has needed. */
  defineClasses(): void;
}

/** As {@link script}, but compiles nothing that is not asked for: a function when its graph is, a class when something names it. */
export function declareScript(source: string, options: ScriptOptions = {}): DeclaredScript {
  provideLibrary();
  const unit = options.unit ?? new CompilationUnit();
  const program = new ScriptProgram(unit, options, parsePythonFile(new Source(source, options.filename ?? '<string>')));
  const functions = program.declare();
  return { unit, functions, defineClasses: () => program.defineClasses() };
}

/** The definitions of one text, and the names they can use. */
class ScriptProgram implements Resolver {
  readonly #unit: CompilationUnit;
  readonly #outer: Resolver | undefined;
  readonly #classes = new Map<string, ClassDef>();
  readonly #definer: ClassDefiner;
  readonly #exceptions = new Map<string, ExceptionValue>();
  readonly #module: string | undefined;
  readonly #file: PythonFile;
  readonly constants: PythonConstants;
  /** Names of types that are being looked up. */
  readonly #aliases = new Set<string>();
  /** Functions that exist in Python only. */
  readonly #ignored = new Map<string, Def>();

  constructor(unit: CompilationUnit, { resolver, module }: ScriptOptions, file: PythonFile) {
    this.#unit = unit;
    this.#outer = resolver;
    this.#module = module;
    this.#file = file;
    this.constants = new PythonConstants(file.assignments, this, evaluateCompiled);
    this.#definer = new ClassDefiner(unit, this);
  }

  declare(): readonly GraphFunction[] {
    const defs: Def[] = [];
    for (const definition of this.#file.definitions) {
      if (definition.kind === 'class') {
        this.#addClass(definition);
      } else if (isIgnored(definition)) {
        this.#ignored.set(definition.name.name, definition);
      } else {
        defs.push(definition);
      }
    }
    return declareFunctions(this.#unit, defs, { prefix: NAMESPACE, resolver: this });
  }

  /** Defines the classes that nothing has met so far. */
  defineClasses(): void {
    for (const name of this.#classes.keys()) {
      this.#typeNamed(name);
    }
  }

  #addClass(definition: ClassDef): void {
    const { name } = definition.name;
    const base = definition.superclass === undefined ? '' : (dottedName(definition.superclass) ?? '');
    if (isExceptionName(base) || this.#exceptions.has(base)) {
      // Of an exception only the name counts.
      this.#exceptions.set(name, new ExceptionValue(this.#module === undefined ? name : `${this.#module}.${name}`));
    } else {
      this.#classes.set(name, definition);
    }
  }

  /** A class is defined when its name is first met, so that classes may stand in any order. */
  #typeNamed(name: string): NamedType | undefined {
    const qualifiedName = `${NAMESPACE}.${this.#module === undefined ? '' : `${this.#module}.`}${name}`;
    const known = this.#unit.getType(qualifiedName);
    const classDef = this.#classes.get(name);
    if (known !== undefined || classDef === undefined) {
      return known;
    }
    this.#classes.delete(name);
    return compilationCallStack.within(qualifiedName, () => this.#definer.define(qualifiedName, classDef));
  }

  resolveType(name: string, range: SourceRange): Type | undefined {
    return (
      this.#typeNamed(name) ??
      this.#unit.getType(name) ??
      this.#aliasedType(name) ??
      this.#outer?.resolveType(name, range)
    );
  }

  /** `Pair = Tuple[int, int]` */
  #aliasedType(name: string): Type | undefined {
    const expr = this.constants.assignedTo(name);
    if (expr === undefined || !['var', 'select', 'subscript', 'binary'].includes(expr.kind)) return undefined;
    if (this.#aliases.has(name)) return undefined;
    this.#aliases.add(name);
    try {
      return makeTypeParser(this).parseTypeFromExpr(expr);
    } catch (error) {
      if (error instanceof ErrorReport) return undefined;
      throw error;
    } finally {
      this.#aliases.delete(name);
    }
  }

  resolveValue(name: string, fn: GraphFunction, range: SourceRange): SugaredValue | undefined {
    const type = this.#typeNamed(name);
    if (type !== undefined) {
      return typeAsValue(type);
    }
    const ignored = this.#ignored.get(name);
    if (ignored !== undefined) {
      return new IgnoredFunctionValue(makeTypeParser(this).parseSchemaFromDef(ignored, false));
    }
    const exception = this.#exceptions.get(name);
    if (exception !== undefined) {
      return exception;
    }
    const known = this.#unit.findFunction(`${NAMESPACE}.${name}`);
    return known === undefined
      ? (this.constants.resolveValue(name, fn, range) ??
          this.#outer?.resolveValue(name, fn, range) ??
          resolvePythonName(name))
      : new FunctionValue(known);
  }
}

/** Declares what a text of the library defines. */
const compileLibrary: LibraryCompiler = (unit, namespace, source) => {
  const definitions = parseProgram(source, 'library');
  const meanings = new Map<string, () => SugaredValue>();
  const resolver: Resolver = {
    resolveValue: (name) => {
      const sibling = unit.findFunction(`${namespace}.${name}`);
      return (
        meanings.get(`${namespace}.${name}`)?.() ??
        (sibling === undefined ? resolvePythonName(name) : new FunctionValue(sibling))
      );
    },
    resolveType: () => undefined,
  };
  const defs = definitions.filter((definition) => definition.kind === 'def');
  const isOverload = (def: Def): boolean => OVERLOAD.test(def.name.name);
  declareFunctions(
    unit,
    defs.filter((def) => !isOverload(def)),
    { prefix: namespace, resolver },
  );
  for (const [name, callees] of declareOverloads(unit, defs.filter(isOverload), { prefix: namespace, resolver })) {
    meanings.set(name, () => new FunctionValue(...callees));
  }
  const definer = new ClassDefiner(unit, resolver);
  for (const definition of definitions) {
    if (definition.kind === 'class') {
      const name = `${namespace}.${definition.name.name}`;
      meanings.set(name, () => typeAsValue(unit.getType(name) ?? definer.define(name, definition))!);
    }
  }
  return meanings;
};

/** What only programs in source have: the functions of torch.nn.functional, and `dict()`. */
const SOURCE_SERVICES: Partial<LibraryServices & SpecialFormServices> = {
  specialForms: { 'prim::dict': (e, apply, _callee, typeHint) => emitDictConstructor(e, apply, typeHint) },
  library: {
    texts: FUNCTIONAL_SOURCES,
    dispatched: BOOLEAN_DISPATCHED,
    booleanDispatch: (...choice) => new BooleanDispatchValue(...choice),
    aliases: LIBRARY_ALIASES,
    unprintable:
      'isIntList() INTERNAL ASSERT FAILED at ' +
      '"/__w/pytorch/pytorch/aten/src/ATen/core/ivalue_inl.h":1985, please report a bug to PyTorch. Expected IntList but got Int',
    compile: compileLibrary,
  },
};

/** Makes known to what is compiled from source what only source has. */
export const provideLibrary = (): void => extendServices(SOURCE_SERVICES);

/** Name and number of an overload in the texts of the library. */
const OVERLOAD = /^(\w+)__(\d+)$/;

/**
 * Declares `f__0`, `f__1`, … as functions that are all named `f`, the first as it stands and the others mangled, as PyTorch
 * does. Gives them by the full name of each in the text, and all of them by that of `f`.
 */
function declareOverloads(
  unit: CompilationUnit,
  defs: readonly Def[],
  { prefix, resolver }: { readonly prefix: string; readonly resolver: Resolver },
): ReadonlyMap<string, readonly GraphFunction[]> {
  const byName = new Map<string, readonly GraphFunction[]>();
  for (const def of defs) {
    const name = OVERLOAD.exec(def.name.name)![1]!;
    const plainName = `${prefix}.${name}`;
    const qualifiedName = byName.has(plainName) ? unit.mangle(plainName) : plainName;
    const declared = declareFunctions(unit, [{ ...def, name: { ...def.name, name } }], {
      prefix: qualifiedName.slice(0, -name.length - 1),
      resolver,
    });
    byName.set(`${prefix}.${def.name.name}`, declared);
    byName.set(plainName, [...(byName.get(plainName) ?? []), ...declared]);
  }
  return byName;
}
