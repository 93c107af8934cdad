import { IntType, SourceRange, type Value } from '@cresset/ir';
import { emitExprsAssign, validateAssignTargets } from './assignment-emission.ts';
import { compileError } from '../compilation-error.ts';
import { emitToBool } from './condition-emission.ts';
import type { Emitter, LoopStatus } from './emitter.ts';
import { SimpleValue } from '../values/simple-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import { makeTuple, type Expr, type For, type While } from '../parser/tree.ts';

const INT64_MAX = 2n ** 63n - 1n;

export function emitForStatement(e: Emitter, stmt: For): void {
  emitFor(e, stmt.targets, stmt.itrs, stmt.range, () => e.emitStatements(stmt.body));
}

export function emitWhile(e: Emitter, stmt: While): void {
  const condition = (): Value => emitToBool(e, stmt.cond.range, e.emitExpr(stmt.cond));
  const tripCount = e.materializeInt(INT64_MAX, stmt.range);
  emitLoop(e, stmt.range, tripCount, condition, () => e.emitStatements(stmt.body));
}

/** Emits a loop over anything iterable: unrolled where its length is known, since its items may then be of different types. */
export function emitFor(
  e: Emitter,
  targets: readonly Expr[],
  itrs: readonly Expr[],
  range: SourceRange,
  emitBody: () => void,
): void {
  if (itrs.length !== 1) {
    throw compileError(range, 'List of iterables is not supported currently');
  }
  const iterable = e.emitSugaredExpr(itrs[0]!).iter(range, e.fn);
  const length = iterable.staticLen();
  if (length !== undefined) {
    emitUnrolledLoop(e, range, targets, iterable, length, emitBody);
    return;
  }
  const tripCount = iterable.len(range, e.fn);
  emitLoop(e, range, tripCount, undefined, (iteration) => {
    const item = iterable.getitem(range, e.fn, iteration).asValue(range, e.fn);
    validateAssignTargets(targets, range);
    const target = targets.length > 1 ? [makeTuple(range, targets)] : targets;
    emitExprsAssign(e, target, [new SimpleValue(item)], range, 1);
    emitBody();
  });
}

/**
 * Emits `prim::Loop(trip count)` with the body in its first block and the condition in its second; conversion to SSA turns it into the
 * final form.
 */
function emitLoop(
  e: Emitter,
  range: SourceRange,
  tripCount: Value,
  condition: (() => Value) | undefined,
  emitBody: (iteration: Value) => void,
): void {
  const { graph } = e;
  const node = graph.insertNode(graph.create('prim::Loop', [], 0).setSourceRange(range));
  const body = node.addBlock();
  const conditionBlock = node.addBlock();
  e.withFrame(conditionBlock, () => {
    conditionBlock.registerOutput(
      condition?.() ?? graph.withInsertPoint(node, () => graph.insertConstant(true, range)),
    );
  });
  node.addInput(tripCount);
  const iteration = body.addInput().setType(IntType.get());
  withLoopStatus(e, 'in-loop', () => {
    e.withFrame(body, () => emitBody(iteration));
  });
}

function emitUnrolledLoop(
  e: Emitter,
  range: SourceRange,
  targets: readonly Expr[],
  iterable: SugaredValue,
  length: number,
  emitBody: () => void,
): void {
  const [first] = targets;
  const place = new SourceRange(range.source, first!.range.start, targets.at(-1)!.range.end);
  withLoopStatus(e, 'in-unrolled-loop', () => {
    // No frame: a variable may be of another type after each round.
    for (let index = 0; index < length; index++) {
      const item = iterable.getitem(range, e.fn, e.materializeInt(BigInt(index), range));
      emitExprsAssign(e, targets.length > 1 ? [makeTuple(place, targets)] : targets, [item], place, 1);
      emitBody();
    }
  });
}

export function withLoopStatus(e: Emitter, status: LoopStatus, body: () => void): void {
  const previous = e.loopStatus;
  e.loopStatus = status;
  body();
  e.loopStatus = previous;
}
