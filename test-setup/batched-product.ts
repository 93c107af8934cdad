import { axis, type AxisExpr, type Contraction, type Expr, type TensorView } from '@cresset/tensorexpr';

/**
 * `[b, m, k] · [b, k, n]` into `[b, m, n]`, through any strides.
 *
 * @param valueOf what is stored, of the accumulator, at a point of the result
 */
export function batchedProduct(
  left: TensorView,
  right: TensorView,
  out: TensorView,
  valueOf: (point: readonly AxisExpr[]) => Expr,
): Contraction {
  const point = out.axes('bmn');
  const [b, m, n] = point;
  const k = axis('k', left.sizes[2]);
  return {
    kind: 'contraction',
    label: 'aten::bmm',
    batch: [b],
    m,
    n,
    k,
    left: left.at([b, m, k]),
    right: right.at([b, k, n]),
    stores: [{ operand: out.operand, offset: out.offsetAt(point), value: valueOf(point) }],
  };
}
