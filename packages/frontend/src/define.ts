import {
  CompilationUnit,
  CressetError,
  ErrorReport,
  Graph,
  GraphFunction,
  InterfaceType,
  RecursiveCallError,
  Source,
  Argument,
  type Constant,
  type SourceRange,
} from '@cresset/ir';
import { builtinFunctionTable } from './builtin-function-table.ts';
import { canonicalizeModifiedLoops } from './ssa/canonicalize-modified-loops.ts';
import { FunctionValue } from './values/callable-value.ts';
import { compilationCallStack, compileError } from './compilation-error.ts';
import { evaluateConstantGraph } from './constant-evaluation.ts';
import { convertToSSA } from './ssa/convert-to-ssa.ts';
import { emitDefinition } from './emission/function-emitter.ts';
import { liftClosures } from './ssa/lift-closures.ts';
import { eraseListLiterals } from './ssa/list-literals.ts';
import { literalConstant } from './literal-constant.ts';
import { NATIVE_RESOLVER } from './native-resolver.ts';
import { replaceOldOperatorsWithUpgraders } from './upgrading/replace-old-operators.ts';
import type { Resolver, Self } from './resolver.ts';
import { ScriptTypeParser, type ConstantEvaluator, type ConstantScope } from './script-type-parser.ts';
import { Parser } from './parser/parser.ts';
import { SpecialFormValue } from './values/special-form-value.ts';
import { makeIdent, makeTuple, makeVar, type ClassDef, type Def, type Expr, type Stmt } from './parser/tree.ts';

/** A getter with its setter, where a class has one. */
export interface PropertyDef {
  readonly name: string;
  readonly getter: Def;
  readonly setter: Def | undefined;
}

/** Names of functions that are defined together, before names that the resolver knows. */
class FunctionResolver implements Resolver {
  readonly #other: Resolver;
  readonly #functions: ReadonlyMap<string, GraphFunction>;

  constructor(other: Resolver, functions: ReadonlyMap<string, GraphFunction>) {
    this.#other = other;
    this.#functions = functions;
  }

  resolveValue: Resolver['resolveValue'] = (name, fn, range) => {
    const found = this.#functions.get(name);
    return found === undefined ? this.#other.resolveValue(name, fn, range) : new FunctionValue(found);
  };

  resolveType: Resolver['resolveType'] = (name, range) => this.#other.resolveType(name, range);

  fullName(name: string): string {
    return this.#other.fullName?.(name) ?? name;
  }

  get constants(): ConstantScope | undefined {
    return this.#other.constants;
  }
}

/** Where a definition goes, and how its names are resolved. */
export interface DefineOptions {
  /** Qualified name of the namespace or class. */
  readonly prefix?: string | undefined;
  readonly resolver: Resolver;
  /** What the first parameter is, for methods, which are added to its class. */
  readonly self?: Self | undefined;
  /** Rename a function whose name is taken. */
  readonly mangle?: boolean | undefined;
  /** The version of PyTorch's operators that the text was written for; absent where it is today's. */
  readonly opVersion?: number | undefined;
}

/**
 * Adds functions to a unit, or methods to a class of it, that see each other. They are compiled when they are first needed
 * (PyTorch: CompilationUnit::define, without its last step). Throws an ErrorReport for a class among them.
 */
export function declareFunctions(
  unit: CompilationUnit,
  defs: readonly (Def | ClassDef)[],
  options: DefineOptions,
): readonly GraphFunction[] {
  useCompilerForBuiltins();
  const table = new Map<string, GraphFunction>();
  const resolver = options.self === undefined ? new FunctionResolver(options.resolver, table) : options.resolver;
  return defs.map((def) => {
    if (def.kind !== 'def') throw compileError(def.range, `expected def but found '${def.kind}' here`);
    const fn = unit.registerFunction(makeFunction(unit, def, resolver, options));
    table.set(fn.name, fn);
    options.self?.classType.addMethod(fn);
    return fn;
  });
}

/** Adds the properties of a class to it; getters and setters are methods of their own, outside of the class's list. */
export function declareProperties(
  unit: CompilationUnit,
  properties: readonly PropertyDef[],
  options: DefineOptions & { readonly self: Self },
): void {
  const declare = (def: Def): GraphFunction => {
    const fn = unit.registerFunction(makeFunction(unit, def, options.resolver, options));
    options.self.classType.addMethod(fn);
    return fn;
  };
  for (const property of properties) {
    const getter = declare(property.getter);
    const setter = property.setter === undefined ? undefined : declare(property.setter);
    options.self.classType.addProperty(property.name, getter, setter);
  }
}

/** Adds the forward hooks, or those before forward, of a module's class. */
export function declareHooks(
  unit: CompilationUnit,
  defs: readonly Def[],
  kind: 'forward' | 'pre-forward',
  options: DefineOptions & { readonly self: Self },
): void {
  const { classType } = options.self;
  for (const def of defs) {
    // A hook may be registered on a module more than once, and runs as often.
    const name = qualifiedName(options.prefix, def);
    const fn = unit.findFunction(name) ?? unit.registerFunction(makeFunction(unit, def, options.resolver, options));
    if (kind === 'forward') {
      classType.addForwardHook(fn);
    } else {
      classType.addForwardPreHook(fn);
    }
  }
}

function makeFunction(
  unit: CompilationUnit,
  def: Def,
  resolver: Resolver,
  { prefix, self, mangle, opVersion }: DefineOptions,
): GraphFunction {
  const name = qualifiedName(prefix, def);
  const unique = mangle === true && unit.findFunction(name) !== undefined ? unit.mangle(name) : name;
  const graph = new Graph();
  graph.opVersion = opVersion;
  return new GraphFunction(unique, graph, (fn) => compileFunction(unit, def, resolver, self, fn));
}

function qualifiedName(prefix: string | undefined, def: Def): string {
  return prefix === undefined || prefix === '' ? def.name.name : `${prefix}.${def.name.name}`;
}

function compileFunction(
  unit: CompilationUnit,
  def: Def,
  resolver: Resolver,
  self: Self | undefined,
  fn: GraphFunction,
): void {
  const callName = self === undefined ? fn.name : `${self.classType.name}.${fn.name}`;
  compilationCallStack.within(callName, () => {
    compilationCallStack.updatePendingRange(def.range);
    if (def.refusal !== undefined) throw compileError(def.refusal.range, def.refusal.reason);
    try {
      emitDefinition(def, fn, resolver, self, evaluateConstants);
    } catch (error) {
      throw withPlace(error);
    }
    const graph = fn.graphBeingDefined;
    replaceOldOperatorsWithUpgraders(graph);
    const { kinds } = graph;
    convertToSSA(graph);
    if (kinds.has('prim::Loop')) canonicalizeModifiedLoops(graph);
    if (kinds.has('prim::EmptyListLiteral')) eraseListLiterals(graph);
    const { cleanUp } = unit.services;
    if (kinds.has('prim::Closure') || kinds.has('prim::forkClosure')) liftClosures(graph, cleanUp);
    cleanUp(graph);
  });
}

/** What types and graphs refuse while a function is emitted is an error at the place that is being emitted. */
function withPlace(error: unknown): unknown {
  if (!(error instanceof CressetError) || error instanceof ErrorReport || error instanceof RecursiveCallError) {
    return error;
  }
  return compileError(compilationCallStack.snapshot().at(-1)?.callerRange, error.message);
}

/** An interface from its class definition: the schemas of its methods, whose bodies are empty. */
export function defineInterface(
  unit: CompilationUnit,
  qualifiedName: string,
  classDef: ClassDef,
  resolver: Resolver,
  isModule: boolean,
): void {
  const typeParser = makeTypeParser(resolver);
  const type = new InterfaceType(qualifiedName, isModule);
  for (const stmt of classDef.body) {
    if (stmt.kind === 'pass') {
      continue;
    }
    if (stmt.kind !== 'def') {
      throw compileError(stmt.range, 'interface declartions can only contain method definitions');
    }
    if (stmt.decl.returnType === undefined) {
      throw compileError(stmt.range, 'interface declarations must have a return type annotated.');
    }
    const body = stmt.statements.filter(
      (statement) => statement.kind !== 'pass' && !(statement.kind === 'expr' && statement.expr.kind === 'string'),
    );
    if (body.length > 0) {
      throw compileError(stmt.range, "interfaces declarations should only contain a single 'pass' statement.");
    }
    const schema = typeParser.parseSchemaFromDef(stmt, true);
    const self = new Argument(stmt.decl.params[0]!.ident.name, type);
    type.addMethod(schema.cloneWithArguments([self, ...schema.arguments]));
  }
  unit.registerType(type);
}

/** A parser of annotations whose names a resolver knows. */
export function makeTypeParser(resolver: Resolver | undefined): ScriptTypeParser {
  return new ScriptTypeParser(resolver, evaluateConstants);
}

/** Compiles a function that returns the expressions, and computes what it returns; of literals nothing has to be compiled. */
const evaluateConstants: ConstantEvaluator = (range, types, exprs, resolver) => {
  const literals = exprs.map((expr, index) => literalConstant(expr, types[index]));
  if (literals.every((literal) => literal !== undefined)) return literals;
  const annotated = exprs.map((expr, index) => annotate(range, types[index], expr));
  const returned: Expr = makeTuple(range, annotated);
  const graph = compileBody([{ kind: 'return', range, expr: returned }], resolverWithAnnotate(resolver));
  const [tuple] = evaluateConstantGraph(graph);
  return (tuple as unknown as { readonly items: readonly Constant[] }).items;
};

/** The graph of statements that stand by themselves. Throws an ErrorReport where they do not compile. */
export function compileBody(statements: readonly Stmt[], resolver: Resolver): Graph {
  useCompilerForBuiltins();
  const { range } = statements.at(-1)!;
  const def: Def = {
    kind: 'def',
    range,
    name: makeIdent(range, 'defaults'),
    decl: { range, params: [], returnType: undefined },
    statements,
    decorators: [],
  };
  const fn = new GraphFunction('defaults', new Graph());
  emitDefinition(def, fn, resolver, undefined, evaluateConstants);
  const graph = fn.graphBeingDefined;
  convertToSSA(graph);
  eraseListLiterals(graph);
  return graph;
}

const ANNOTATE = '$annotate';

function annotate(range: SourceRange, type: Expr | undefined, expr: Expr): Expr {
  return type === undefined || isBroadcasting(type)
    ? expr
    : { kind: 'apply', range, callee: makeVar(range, ANNOTATE), inputs: [type, expr], attributes: [] };
}

/** A single number may stand for such a list, and does so as a default value too. */
function isBroadcasting(type: Expr): boolean {
  const name = type.kind === 'subscript' && type.value.kind === 'var' ? type.value.name.name : '';
  return name.startsWith('BroadcastingList') || (type.kind === 'subscript' && type.subscripts.some(isBroadcasting));
}

function resolverWithAnnotate(resolver: Resolver | undefined): Resolver {
  const other = resolver ?? NATIVE_RESOLVER;
  return {
    resolveValue: (name, fn, range) =>
      name === ANNOTATE ? new SpecialFormValue('prim::annotate') : other.resolveValue(name, fn, range),
    resolveType: (name, range) => other.resolveType(name, range),
  };
}

function useCompilerForBuiltins(): void {
  builtinFunctionTable.useCompiler((source) => {
    const unit = new CompilationUnit();
    const defs = new Parser(new Source(source, '<builtin>'), 'serialized').parseDefinitions() as readonly Def[];
    const functions = declareFunctions(unit, defs, { resolver: NATIVE_RESOLVER });
    const types = makeTypeParser(NATIVE_RESOLVER);
    for (const [index, def] of defs.entries()) {
      if (def.decl.returnType !== undefined) functions[index]!.declareSchema(types.parseSchemaFromDef(def, false));
    }
    return functions;
  });
}
