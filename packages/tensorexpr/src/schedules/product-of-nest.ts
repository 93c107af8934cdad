import { accumulator, axis, constant } from '../expressions/builders.ts';
import { FreeAxes } from '../expressions/expr-children.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { LinearForms } from '../expressions/linear-form.ts';
import { substitute } from '../expressions/substitute.ts';
import { loadsIn, reductionsIn } from '../expressions/walk.ts';
import { expressionsOf, mapStore, type LoopNest } from '../kernels/kernel.ts';
import type { NormalContraction } from '../kernels/normalise.ts';

/**
 * A nest with one sum of floats as a product of one row: a vector with a matrix, or with ones. Its columns are the axis along which most lies side by
 * side in memory. Null for any other nest.
 */
export function productOfNest(nest: LoopNest): NormalContraction | null {
  const [sum, ...others] = reductionsIn(nest.stores.flatMap(expressionsOf));
  if (!sum || others.length > 0 || nest.innerAxes.length > 0 || nest.axes.length === 0) return null;
  if (sum.fn !== 'sum' || sum.type !== 'float' || sum.body.type !== 'float') return null;
  const freeAxes = new FreeAxes();
  const ofSum = freeAxes.of(sum);
  const { body } = sum;
  const n = nest.axes.findLast((own) => isContiguous(body, own)) ?? nest.axes.findLast((own) => ofSum.has(own));
  if (!n || !ofSum.has(n)) return null;
  const isOfColumn = (expr: Expr): boolean => freeAxes.of(expr).has(n);
  const factors = body.kind === 'binary' && body.fn === 'mul' ? [body.x, body.y] : [];
  const left = factors.find((factor) => !isOfColumn(factor)) ?? constant('float', 1);
  const right = factors.find((factor) => factor !== left && isOfColumn(factor));
  const map = new Map<Expr, Expr>([[sum, accumulator]]);
  return {
    kind: 'contraction',
    label: nest.label,
    batch: nest.axes.filter((own) => own !== n),
    m: axis('m', constant('i32', 1)),
    n,
    k: sum.axes,
    left,
    right: factors.includes(left) && right ? right : body,
    stores: nest.stores.map((store) => mapStore(store, (expr) => substitute(expr, map))),
  };
}

/** Whether something that is loaded lies side by side along an axis. */
function isContiguous(body: Expr, along: AxisExpr): boolean {
  const forms = new LinearForms();
  return loadsIn([body]).some(({ offset }) => forms.of(offset).terms.get(along) === 1);
}
