import { CressetError } from '../error.ts';
import type { FunctionSchema } from './function-schema.ts';
import type { Node } from '../graph/node.ts';
import { sortOverloads } from './overload-order.ts';
import { parseRegisteredSchema } from './schema-parser.ts';
import { evalTypeVariables, matchTypeVariables, type TypeEnv } from '../types/type-variables.ts';
import type { Symbol } from '../graph/symbol.ts';

/**
 * What alias analysis may assume of an operator (PyTorch: AliasAnalysisKind): its schema's annotations; that its outputs
 * are fresh and nothing is written; nothing at all; or that AliasDb knows the operator by name.
 */
export type AliasAnalysisKind = 'from-schema' | 'pure-function' | 'conservative' | 'internal-special-case';

/** What an operator is registered with. */
export interface OperatorDeclaration {
  /** PyTorch's text, parsed when the schema is first asked for. */
  readonly schema: string;
  /** The schema itself, where no text can say it: `schema` is its name then. */
  readonly parsed?: FunctionSchema;
  readonly aliasAnalysis?: AliasAnalysisKind;
  /** Whether two runs with equal inputs may differ (random numbers). */
  readonly nondeterministic?: boolean;
  /** Whether its results may be, or be views of, tensors that it is given where its schema does not say so (dropout in evaluation). */
  readonly mayGiveArguments?: boolean;
  /** Whatever the registering package keeps with it; unknown here. */
  readonly row?: unknown;
}

/** Operators that come to be when their name is first asked for: a program asks for a tenth of those that there are. */
export interface OperatorSource {
  names(): Iterable<Symbol>;
  /** Those of a name, in the order in which they would be registered. */
  declarationsOf(name: Symbol): Iterable<OperatorDeclaration>;
}

/** A registered operator (PyTorch: torch::jit::Operator). */
export class Operator {
  /** `aten::add` */
  readonly name: Symbol;
  readonly overloadName: string;
  readonly aliasAnalysis: AliasAnalysisKind;
  readonly isNondeterministic: boolean;
  readonly mayGiveArguments: boolean;
  readonly row: unknown;
  readonly #schemaText: string;
  #schema: FunctionSchema | undefined;
  #isPlain: boolean | undefined;

  constructor(declaration: OperatorDeclaration) {
    const [name, overloadName] = operatorNameOf(declaration.schema);
    this.name = name;
    this.overloadName = overloadName;
    this.#schemaText = declaration.schema;
    this.#schema = declaration.parsed;
    this.aliasAnalysis = declaration.aliasAnalysis ?? 'from-schema';
    this.isNondeterministic = declaration.nondeterministic ?? false;
    this.mayGiveArguments = declaration.mayGiveArguments ?? false;
    this.row = declaration.row;
  }

  /** Throws `IR_PARSE` where the text it was registered with is malformed. */
  get schema(): FunctionSchema {
    this.#schema ??= parseRegisteredSchema(this.#schemaText);
    return this.#schema;
  }

  get schemaText(): string {
    return this.#schemaText;
  }

  /** Whether it writes to no argument and does nothing else beside making its outputs, as far as its declaration tells. */
  get isPlain(): boolean {
    return (this.#isPlain ??=
      this.aliasAnalysis === 'pure-function' ||
      (this.aliasAnalysis === 'from-schema' && !this.schema.arguments.some(({ isWrittenInto }) => isWrittenInto)));
  }
}

/** Name and overload name at the beginning of a schema's text, found without parsing it. */
function operatorNameOf(schemaText: string): readonly [name: Symbol, overloadName: string] {
  const bracket = schemaText.indexOf('(');
  const full = (bracket === -1 ? schemaText : schemaText.slice(0, bracket)).trim();
  const dot = full.indexOf('.', full.indexOf('::') + 2);
  if (full === '') {
    throw new CressetError('IR_PARSE', `a schema has no name: '${schemaText}'`);
  }
  return dot === -1 ? [full, ''] : [full.slice(0, dot), full.slice(dot + 1)];
}

/** Operators by name, overloads in the order in which calls are matched against them; see {@link sortOverloads}. */
export class OperatorRegistry {
  readonly #byName = new Map<Symbol, Operator[]>();
  readonly #sources: OperatorSource[] = [];
  /** How many of the sources were asked for a name. */
  readonly #asked = new Map<Symbol, number>();
  /** Overloads in order, made when they are first asked for: sorting needs their schemas parsed. */
  readonly #sorted = new Map<Symbol, readonly Operator[]>();
  /** Grows with each operator that comes: until then, a name without one stays without one. */
  revision = 0;
  /** Said of an operator that is not here: how it may come to be known. A sentence after a space, or nothing. */
  noteOn: (name: Symbol) => string = () => '';

  /** Adds operators; cheap, since no schema is parsed. A second one of the same name and overload replaces the first. */
  register(declarations: Iterable<OperatorDeclaration>): void {
    this.revision++;
    for (const declaration of declarations) {
      const operator = new Operator(declaration);
      this.#askSources(operator.name);
      this.#sorted.delete(operator.name);
      this.#add(operator);
    }
  }

  /** Forgets all operators of a name. */
  unregister(name: Symbol): void {
    this.revision++;
    this.#byName.delete(name);
    this.#sorted.delete(name);
  }

  /** Adds operators that are made when their names are asked for. */
  addSource(source: OperatorSource): void {
    this.revision++;
    this.#sources.push(source);
    this.#sorted.clear();
  }

  #add(operator: Operator): void {
    const overloads = this.#byName.get(operator.name);
    if (overloads === undefined) {
      this.#byName.set(operator.name, [operator]);
      return;
    }
    const known = overloads.findIndex((other) => other.overloadName === operator.overloadName);
    if (known === -1) {
      overloads.push(operator);
    } else {
      overloads[known] = operator;
    }
  }

  #askSources(name: Symbol): void {
    const asked = this.#asked.get(name) ?? 0;
    if (asked === this.#sources.length) return;
    this.#asked.set(name, this.#sources.length);
    for (const source of this.#sources.slice(asked)) {
      for (const declaration of source.declarationsOf(name)) this.#add(new Operator(declaration));
    }
  }

  operatorsFor(name: Symbol): readonly Operator[] {
    let overloads = this.#sorted.get(name);
    if (overloads === undefined) {
      this.#askSources(name);
      overloads = sortOverloads(this.#byName.get(name) ?? []);
      this.#sorted.set(name, overloads);
    }
    return overloads;
  }

  find(name: Symbol, overloadName: string): Operator | undefined {
    return this.operatorsFor(name).find((operator) => operator.overloadName === overloadName);
  }

  names(): Iterable<Symbol> {
    return new Set([...this.#sources.flatMap((source) => [...source.names()]), ...this.#byName.keys()]);
  }

  /** For tests only. */
  clear(): void {
    this.revision++;
    this.#byName.clear();
    this.#sources.length = 0;
    this.#asked.clear();
    this.#sorted.clear();
  }
}

/** The operators that graphs are matched against. */
export const operatorRegistry = new OperatorRegistry();

/** Adds operators to {@link operatorRegistry}. */
export function registerOperators(declarations: Iterable<OperatorDeclaration>): void {
  operatorRegistry.register(declarations);
}

/** Overloads of an operator, in the order in which calls are matched against them (PyTorch: getAllOperatorsFor). */
export function operatorsFor(name: Symbol): readonly Operator[] {
  return operatorRegistry.operatorsFor(name);
}

export function findOperator(name: Symbol, overloadName: string): Operator | undefined {
  return operatorRegistry.find(name, overloadName);
}

/** The first overload that fits a node. */
export function findOperatorMatching(node: Node): Operator | undefined {
  for (const operator of operatorRegistry.operatorsFor(node.kind))
    if (nodeMatchesSchema(node, operator.schema)) return operator;
  return undefined;
}

/** Whether a node's inputs have the types a schema asks for (PyTorch: Node::matches). */
export function nodeMatchesSchema(node: Node, schema: FunctionSchema): boolean {
  const formals = schema.arguments;
  const actuals = node.inputs;
  if (node.kind !== schema.name || actuals.length < formals.length) {
    return false;
  }
  if (actuals.length > formals.length && !schema.isVararg) {
    return false;
  }
  const env: TypeEnv = new Map();
  return formals.every((formal, index) => {
    const actual = actuals[index].type;
    if (matchTypeVariables(formal.type, actual, env) !== undefined) {
      return false;
    }
    // Variables may stay open, where None was matched to an Optional of one; None is a subtype of that all the same.
    return actual.isSubtypeOf(evalTypeVariables(formal.type, env) ?? formal.type);
  });
}

/** A set of schemas to test nodes against, `node.isMemberOf(set)` in PyTorch (OperatorSet). */
export class OperatorSet {
  readonly #schemas = new Map<Symbol, FunctionSchema[]>();

  constructor(schemaTexts: Iterable<string>) {
    for (const text of schemaTexts) {
      const schema = parseRegisteredSchema(text);
      const known = this.#schemas.get(schema.name);
      if (known === undefined) {
        this.#schemas.set(schema.name, [schema]);
      } else {
        known.push(schema);
      }
    }
  }

  has(node: Node): boolean {
    return this.#schemas.get(node.kind)?.some((schema) => nodeMatchesSchema(node, schema)) ?? false;
  }
}

const SIDE_EFFECT_KINDS: ReadonlySet<Symbol> = new Set([
  'prim::PythonOp',
  'prim::IgnoredPythonOp',
  'prim::Print',
  'prim::RaiseException',
  'prim::SetAttr',
  'aten::warn',
  'aten::save',
  'aten::manual_seed',
  'prim::AddStatValue',
  'prim::TimePoint',
  'prim::CallFunction',
  'prim::CallMethod',
  'prim::BailoutTemplate',
  'prim::BailOut',
  'prim::rpc_async',
  'prim::rpc_sync',
  'prim::rpc_remote',
  'aten::wait',
  'cuda::set_stream',
  'cuda::_set_device',
  'cuda::_current_device',
  'cuda::synchronize',
  'prim::Enter',
  'prim::Exit',
]);

/** Whether nodes of a kind have side effects that no schema tells of. */
export function hasSideEffectsByKind(kind: Symbol): boolean {
  return SIDE_EFFECT_KINDS.has(kind);
}
