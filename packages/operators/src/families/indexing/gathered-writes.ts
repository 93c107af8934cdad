import { isIntegral, symEq, symGt, symMul, type SymInt, type Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  constant,
  param,
  reduce,
  select,
  TensorView,
  type AxisExpr,
  type Expr,
  type ReduceFunction,
} from '@cresset/tensorexpr';
import { lowerGenerated } from '../../kernels/fill.ts';
import type { LoweringContext } from '../../table/row.ts';
import type { Combination } from './element-moves.ts';

/**
 * Writes at places that an index names, turned round: each element of the result looks for the writes that are meant for it.
 * That is more work than writing (results × writes), but there is no order between a GPU's threads to rely on, and nothing
 * is written twice.
 */
export interface GatheredWrites {
  /** How many writes there may be for one element; they are numbered from 0. */
  readonly count: SymInt;
  /** Whether write number `k` goes to the element at `axes`. */
  isMeant(k: Expr, axes: readonly AxisExpr[]): Expr;
  /** What it writes, of any type. */
  value(k: Expr, axes: readonly AxisExpr[]): Expr;
  /** How it meets what is there; null for the last write to stay. */
  readonly how: Combination | 'mean' | null;
  /** Whether the element of `self` takes part in the combination. */
  readonly includesSelf: boolean;
}

/** Comparisons that a lowering may cost before the host is the better place. */
const mostComparisons = 2 ** 26;

/** Whether these writes are for a device to do. */
export function isGatherable(self: Tensor, count: SymInt, how: GatheredWrites['how']): boolean {
  if (symEq(count, 0) || symGt(symMul(self.symNumel, count), mostComparisons)) return false;
  if (how === null) return true;
  return self.dtype !== 'bool' && !(how === 'mean' && isIntegral(self.dtype, true));
}

const reductions: Record<Combination | 'mean', ReduceFunction> = {
  sum: 'sum',
  mean: 'sum',
  prod: 'prod',
  amax: 'max',
  amin: 'min',
};

export function lowerGatheredWrites(
  self: Tensor,
  output: Tensor,
  writes: GatheredWrites,
  context: LoweringContext,
  label: string,
): void {
  const source = new TensorView(self);
  const count = param('i32', writes.count);
  lowerGenerated(
    output,
    (axes) => {
      const own = source.at(axes);
      const k = axis('k', count);
      const isMeant = writes.isMeant(k, axes);
      return writes.how === null ? lastWrite(own, k, isMeant, writes, axes) : combined(own, k, isMeant, writes, axes);
    },
    context,
    label,
  );
}

const index = (value: number): Expr => constant('i32', value);

function lastWrite(own: Expr, k: AxisExpr, isMeant: Expr, writes: GatheredWrites, axes: readonly AxisExpr[]): Expr {
  const found = reduce('max', [k], select(isMeant, k, index(-1)));
  const isFound = binary('ge', found, index(0));
  // Where none was found some value is read all the same, and thrown away: it must be one that is there.
  const value = writes.value(binary('max', found, index(0)), axes);
  return select(isFound, cast(own.type, value), own);
}

function combined(own: Expr, k: AxisExpr, isMeant: Expr, writes: GatheredWrites, axes: readonly AxisExpr[]): Expr {
  const how = writes.how!;
  const fn = reductions[how];
  const neutral = neutralOf(fn, own);
  const met = reduce(fn, [k], select(isMeant, cast(own.type, writes.value(k, axes)), neutral));
  const hits = reduce('sum', [k], select(isMeant, index(1), index(0)));
  const isHit = binary('gt', hits, index(0));
  const start = writes.includesSelf ? own : neutral;
  const joined =
    fn === 'sum'
      ? binary('add', start, met)
      : fn === 'prod'
        ? binary('mul', start, met)
        : binary(fn as 'max', start, met);
  if (how !== 'mean') return select(isHit, joined, own);
  const terms = binary('add', cast('float', hits), constant('float', writes.includesSelf ? 1 : 0));
  return select(isHit, binary('div', joined, terms), own);
}

/** What changes nothing; for the extremes of integers, the element itself does. */
function neutralOf(fn: ReduceFunction, own: Expr): Expr {
  if (fn === 'sum' || fn === 'prod')
    return constant(own.type, own.type === 'i64' ? BigInt(fn === 'prod' ? 1 : 0) : fn === 'prod' ? 1 : 0);
  if (own.type === 'float') return constant('float', fn === 'max' ? -Infinity : Infinity);
  if (own.type === 'i64') return constant('i64', fn === 'max' ? -(2n ** 63n) : 2n ** 63n - 1n);
  return constant('i32', fn === 'max' ? -(2 ** 31) : 2 ** 31 - 1);
}

/** Writes of slices: number `k` goes to the slice that a vector of positions names. */
export function sliceWrites(
  self: Tensor,
  dim: number,
  positions: Tensor,
  value: (k: Expr, axes: readonly AxisExpr[]) => Expr,
  how: GatheredWrites['how'] = null,
  includesSelf = true,
): GatheredWrites {
  const vector = new TensorView(positions.dim === 0 ? positions.asStrided([1], [0]) : positions);
  const size = param('i32', self.symSizes[dim]);
  return {
    count: positions.symNumel,
    isMeant: (k, axes) => binary('eq', wrapped(vector.at([k]), size), axes[dim]),
    value,
    how,
    includesSelf,
  };
}

/** A position that may count from the end, as an i32. */
export function wrapped(position: Expr, size: Expr): Expr {
  const narrow = cast('i32', position);
  return select(binary('lt', narrow, index(0)), binary('add', narrow, size), narrow);
}
