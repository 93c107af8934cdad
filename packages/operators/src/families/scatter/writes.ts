import { symLt, type Tensor } from '@cresset/tensor';
import { binary, param, TensorView, type AxisExpr, type Expr } from '@cresset/tensorexpr';
import { wrapped, type GatheredWrites } from '../indexing/gathered-writes.ts';
import { wrappedPlace, type ScatteredWrites } from '../indexing/scattered-writes.ts';

/** Where elements and slices go that an index tensor places along one dimension. */

/** Writes of elements: each of `index` says where along `dim` the value at its place goes. */
export function elementPlaces(
  self: Tensor,
  dim: number,
  index: Tensor,
): Pick<ScatteredWrites, 'axes' | 'place' | 'isInside'> {
  const view = new TensorView(index);
  const axes = view.axes();
  const { at, isInside } = wrappedPlace(view.at(axes), self.symSizes[dim], false);
  return { axes, place: axes.with(dim, at as AxisExpr), isInside };
}

/** Writes of slices: each element of a vector says where along `dim` the slice of that number goes. */
export function slicePlaces(
  self: Tensor,
  dim: number,
  positions: Tensor,
  mayBeNegative = false,
): Pick<ScatteredWrites, 'axes' | 'place' | 'isInside'> {
  const vector = new TensorView(positions.dim === 0 ? positions.asStrided([1], [0]) : positions);
  const whole = self.asStrided(self.symSizes.with(dim, positions.symNumel), self.symStrides);
  const axes = new TensorView(whole).axes();
  const { at, isInside } = wrappedPlace(vector.at([axes[dim]]), self.symSizes[dim], mayBeNegative);
  return { axes, place: axes.with(dim, at as AxisExpr), isInside };
}

/** Writes of elements: number `k` along `dim` of an index goes to the position that it holds. */
export function elementWrites(
  self: Tensor,
  dim: number,
  given: Tensor,
  value: (k: Expr, axes: readonly AxisExpr[]) => Expr,
  how: GatheredWrites['how'],
  includesSelf: boolean,
): GatheredWrites {
  const indices = new TensorView(given);
  const size = param('i32', self.symSizes[dim]);
  return {
    count: given.symSizes[dim],
    isMeant: (k, axes) => {
      let isMeant = binary('eq', wrapped(indices.at(axes.map((own, at) => (at === dim ? k : own))), size), axes[dim]);
      // The index may be smaller than the tensor in the other dimensions.
      axes.forEach((own, at) => {
        if (at !== dim && symLt(given.symSizes[at], self.symSizes[at]))
          isMeant = binary('and', binary('lt', own, indices.sizes[at]), isMeant);
      });
      return isMeant;
    },
    value,
    how,
    includesSelf,
  };
}

/** Elements of a tensor, with `k` in place of one axis. */
export function elementsAlong(tensor: Tensor, dim: number): (k: Expr, axes: readonly AxisExpr[]) => Expr {
  const view = new TensorView(tensor);
  return (k, axes) => view.at(axes.map((own, at) => (at === dim ? k : own)));
}
