import {
  CompilationUnit,
  extendServices,
  findCustomClass,
  operatorsFor,
  Source,
  type GraphFunction,
  type Node,
} from '@cresset/ir';
import { FunctionValue } from './values/callable-value.ts';
import { ClassDefiner } from './modules/class-definition.ts';
import { declareFunctions } from './define.ts';
import { emitDictConstructor } from './emission/dict-constructor.ts';
import { inListedOrder } from './emission/overload-listing.ts';
import { BooleanDispatchValue } from './functional/boolean-dispatch.ts';
import type { LibraryCompiler, LibraryServices } from './functional/library.ts';
import { BOOLEAN_DISPATCHED, FUNCTIONAL_SOURCES, LIBRARY_ALIASES } from './functional/sources.ts';
import { ScriptProgram, type ProgramSettings } from './modules/script-program.ts';
import { parseProgram } from './parser/parser.ts';
import { parsePythonFile } from './parser/python-parser.ts';
import { resolvePythonName } from './python/python-modules.ts';
import type { Resolver } from './resolver.ts';
import type { SpecialFormServices } from './emission/special-form-emission.ts';
import type { SugaredValue } from './values/sugared-value.ts';
import type { Def } from './parser/tree.ts';
import { typeAsValue } from './unit-resolver.ts';

export interface ScriptOptions extends ProgramSettings {
  /** The unit that takes the definitions; a new one where there is none. */
  readonly unit?: CompilationUnit | undefined;
  /** How error messages call the text. */
  readonly filename?: string | undefined;
}

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
  /** What makes its modules. */
  readonly program: ScriptProgram;
  /** Compiles the classes that no function has needed. */
  defineClasses(): void;
}

/** As {@link script}, but compiles nothing that is not asked for: a function when its graph is, a class when something names it. */
export function declareScript(source: string, options: ScriptOptions = {}): DeclaredScript {
  provideLibrary();
  const unit = options.unit ?? new CompilationUnit();
  const program = new ScriptProgram(unit, options, parsePythonFile(new Source(source, options.filename ?? '<string>')));
  return { unit, functions: program.declare(), program, defineClasses: () => program.defineClasses() };
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
    resolveType: (name) => findCustomClass(`__torch__.${name}`),
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

/** What PyTorch says where it finds that nothing deletes an item of a container, as of a tuple. */
function undeletable(node: Node): string | undefined {
  if (node.maybeOperator() !== undefined) return undefined;
  const candidates = operatorsFor('aten::Delete').map(({ schema }) => `\n\t${schema}`);
  const types = node.inputs.map(({ type }) => type.str());
  return (
    '0 INTERNAL ASSERT FAILED at "/__w/pytorch/pytorch/torch/csrc/jit/ir/alias_analysis.cpp":623, please report a bug to PyTorch. ' +
    `We don't have an op for aten::Delete but it isn't a special case.  Argument types: ${types.join(', ')}, \n\n` +
    `Candidates:${candidates.join('')}`
  );
}

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
    undeletable,
    inListedOrder,
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
