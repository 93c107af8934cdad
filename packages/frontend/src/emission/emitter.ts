import type { Block, Graph, GraphFunction, Type, Value } from '@cresset/ir';
import type { Environment } from './environment.ts';
import type { NamedValue } from '../values/named-value.ts';
import type { RefinementSet } from './refinement.ts';
import type { ScriptTypeParser } from '../script-type-parser.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import type { Apply, Attribute, Expr, Stmt } from '../parser/tree.ts';
import type { SourceRange } from '@cresset/ir';

/** A condition: its value, what it says of variables, and whether it is known now (then only one branch is compiled). */
export interface CondValue {
  readonly value: Value;
  readonly refinements: RefinementSet;
  readonly staticIf: boolean | undefined;
}

export type LoopStatus = 'not-in-loop' | 'in-loop' | 'in-unrolled-loop';

/** What the function, or the closure within it, that is being emitted returns. */
export interface DefContext {
  declaredReturnType: Type | undefined;
  mergedReturnType: Type | undefined;
}

/**
 * What the parts of the emitter, one file a construct, ask of each other (PyTorch: to_ir). FunctionEmitter is the one that puts them
 * together.
 */
export interface Emitter {
  readonly fn: GraphFunction;
  readonly graph: Graph;
  readonly typeParser: ScriptTypeParser;
  readonly environment: Environment;
  readonly def: DefContext;
  loopStatus: LoopStatus;
  /** Blocks that are always left by a return or a raise. */
  readonly exitBlocks: Set<Block>;

  /** Runs `body` with new variables in `block`, at its end; returns the block's environment. */
  withFrame(block: Block, body: () => void): Environment;
  /** As {@link withFrame}, for a function within the function. */
  withDef(block: Block, body: () => void): void;
  createTempName(prefix: string): string;

  emitStatements(statements: readonly Stmt[]): void;
  emitExpr(expr: Expr, typeHint?: Type): Value;
  emitSugaredExpr(expr: Expr, typeHint?: Type): SugaredValue;
  emitCondExpr(expr: Expr): CondValue;
  emitArguments(exprs: readonly Expr[], unpackStarred: boolean): NamedValue[];
  emitValues(exprs: readonly Expr[], unpackStarred: boolean): Value[];
  emitKeywordArguments(attributes: readonly Attribute[]): NamedValue[];
  emitClosure(emitBody: (block: Block) => void): SugaredValue;
  emitSpecialForm(form: string, callee: SugaredValue, apply: Apply, typeHint?: Type): SugaredValue;
  insertRefinements(range: SourceRange, refinements: RefinementSet): void;
  /** An int constant at the start of the function, one for each number. */
  materializeInt(value: bigint, range: SourceRange): Value;
}
