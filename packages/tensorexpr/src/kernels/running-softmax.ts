import { symGe, symLe, symMatches, symMul, type SymInt } from '@cresset/tensor';
import type { DeviceCapabilities } from '../device.ts';
import { accumulator } from '../expressions/builders.ts';
import { FreeAxes } from '../expressions/expr-children.ts';
import type { AccumulatorExpr, AxisExpr, BinaryExpr, Expr, ReduceExpr } from '../expressions/expr.ts';
import { symExtentOf } from '../expressions/index-value.ts';
import type { Contraction, Kernel } from './kernel.ts';
import { isReduced, reductionsIn } from '../expressions/walk.ts';
import { isSameExpr } from '../expressions/same-expr.ts';
import { substitute } from '../expressions/substitute.ts';

/**
 * `acc[b, m, n] = Σ_k softmax_k(score(b, m, k)) · values(b, k, n)`, then the stores, where a score is made of the sum of products
 * `Σ_depth left(b, m, depth) · right(b, k, depth)`: attention. Gone through position by position, with the greatest score so far and
 * the sum of the powers so far, it needs no scores in memory.
 */
export interface RunningSoftmax extends Omit<Contraction, 'kind'> {
  readonly kind: 'running-softmax';
  readonly depth: readonly AxisExpr[];
  /** Mentions batch, m and depth. */
  readonly left: Expr;
  /** Mentions batch, k and depth. */
  readonly right: Expr;
  /** Made of `sum`, which stands for the finished sum over depth; mentions batch, m and k. */
  readonly score: Expr;
  readonly sum: AccumulatorExpr;
  /** Mentions batch, k and n. */
  readonly values: Expr;
  /** A row all of whose scores are -inf gives zeros, not NaN. */
  readonly isSafe: boolean;
}

/** A contraction one of whose sides is the softmax of another one's results; null where it is something else. */
export function runningSoftmaxOf(kernel: Kernel): RunningSoftmax | null {
  if (kernel.kind !== 'contraction') return null;
  const { m, n, left, right } = kernel;
  return ofLeftSide(kernel) ?? ofLeftSide({ ...kernel, m: n, n: m, left: right, right: left });
}

function ofLeftSide(kernel: Contraction): RunningSoftmax | null {
  const { m, k, left: probability, right: values } = kernel;
  const softmax = softmaxOf(probability, k);
  const product = softmax && productIn(softmax.score, m, k);
  // What has to be summed up for each element is read by every row.
  if (!softmax || !product || isReduced(values)) return null;
  const { left, right } = product;
  const sum: AccumulatorExpr = { ...accumulator };
  const score = substitute(softmax.score, new Map<Expr, Expr>([[product.sum, sum]]));
  const { isSafe } = softmax;
  return { ...kernel, kind: 'running-softmax', depth: product.sum.axes, left, right, score, sum, values, isSafe };
}

/** What an expression is the softmax of along an axis. */
function softmaxOf(value: Expr, k: AxisExpr): { score: Expr; isSafe: boolean } | null {
  const guarded = value.kind === 'select' ? guardedBy(value.condition, value.x) : null;
  const quotient = guarded && value.kind === 'select' ? value.y : value;
  if (quotient.kind !== 'binary' || quotient.fn !== 'div') return null;
  const power = powerOfSoftmax(quotient.x, k);
  const sum = reductionOver('sum', quotient.y, k);
  const summed = sum && shiftedPower(sum.body);
  if (!power || !sum || !summed) return null;
  const { score, most } = power;
  const isSoftmax =
    isSameExpr(score, summed.score, new Map([[k, sum.axes[0]]])) &&
    isSameExpr(most, summed.most) &&
    (guarded === null || isSameExpr(guarded, most));
  return isSoftmax ? { score, isSafe: guarded !== null } : null;
}

/** The greatest score, where a condition is that it is -inf and what is chosen then is zero. */
function guardedBy(condition: Expr, chosen: Expr): Expr | null {
  const isConstant = (expr: Expr, value: number): boolean => expr.kind === 'const' && expr.value === value;
  if (condition.kind !== 'binary' || condition.fn !== 'eq' || !isConstant(chosen, 0)) return null;
  return isConstant(condition.y, -Infinity) ? condition.x : null;
}

/** `exp(score - most)`, where what is taken away is the greatest of the scores along an axis: the power is 1 at most, and somewhere it is. */
export function powerOfSoftmax(expr: Expr, k: AxisExpr): { score: Expr; most: ReduceExpr } | null {
  const power = shiftedPower(expr);
  const most = power && reductionOver('max', power.most, k);
  if (!most || !isSameExpr(power.score, most.body, new Map([[k, most.axes[0]]]))) return null;
  return { score: power.score, most };
}

/** `exp(score - most)`. */
function shiftedPower(expr: Expr): { score: Expr; most: Expr } | null {
  if (expr.kind !== 'unary' || expr.fn !== 'exp') return null;
  const { x } = expr;
  return x.kind === 'binary' && x.fn === 'sub' ? { score: x.x, most: x.y } : null;
}

/** A reduction over one axis that is as long as `k`. */
function reductionOver(fn: 'sum' | 'max', expr: Expr, k: AxisExpr): ReduceExpr | null {
  if (expr.kind !== 'reduce' || expr.fn !== fn || expr.type !== 'float' || expr.axes.length !== 1) return null;
  return symMatches(symExtentOf(expr.axes[0]), symExtentOf(k)) ? expr : null;
}

/** The one sum of products in a score, of a side that changes with `m` and one that changes with `k`. */
function productIn(score: Expr, m: AxisExpr, k: AxisExpr): { sum: ReduceExpr; left: Expr; right: Expr } | null {
  const freeAxes = new FreeAxes();
  const changing = reductionsIn([score]).filter((each) => freeAxes.of(each).has(k));
  const [sum] = changing;
  if (changing.length !== 1 || sum.fn !== 'sum' || sum.type !== 'float' || !isProduct(sum.body)) return null;
  const { x, y } = sum.body;
  const isLeft = (side: Expr): boolean => !freeAxes.of(side).has(k);
  const isRight = (side: Expr): boolean => !freeAxes.of(side).has(m);
  if (isLeft(x) && isRight(y)) return { sum, left: x, right: y };
  return isLeft(y) && isRight(x) ? { sum, left: y, right: x } : null;
}

const isProduct = (expr: Expr): expr is BinaryExpr => expr.kind === 'binary' && expr.fn === 'mul';

/** Values with more columns are better off with scores in memory: those in workgroup memory serve so many at a time. */
const maxColumns = 512;

/** Scores of a head from which on the host makes those of some rows at a time: fewer take as long either way, and little memory. */
const leastScores = 1 << 18;
/** Rows, columns and elements of a query that the host has products for. */
const leastOfProduct = 4;

/** How large one head of attention is. */
export interface HeadSizes {
  readonly rows: SymInt;
  readonly columns: SymInt;
  readonly positions: SymInt;
  /** Elements of a query; left out where they are not known. */
  readonly depth?: SymInt;
}

/** Whether attention pays as one kernel on a device. */
export function keepsRunningSoftmax(
  { rows, columns, positions, depth = leastOfProduct }: HeadSizes,
  { host }: DeviceCapabilities,
): boolean {
  if (!host) return symLe(columns, maxColumns);
  return (
    symGe(symMul(rows, positions), leastScores) && [rows, columns, depth].every((each) => symGe(each, leastOfProduct))
  );
}
