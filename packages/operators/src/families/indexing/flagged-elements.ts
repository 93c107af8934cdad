import { contiguousStrides, numelOf, Storage, Tensor, type ScalarType } from '@cresset/tensor';
import { binary, cast, constant, param, TensorView, type Expr, type Store } from '@cresset/tensorexpr';
import type { LoweringContext } from '../../table/row.ts';
import { flagCounts, lastElement } from '../reductions/scan-lowering.ts';

/** Elements that a mask picks, on a device: a scan counts their places, and only how many there are is waited for. */

/** A new tensor on the device, or of no elements. */
export function deviceTensor(sizes: readonly number[], dtype: ScalarType, { device }: LoweringContext): Tensor {
  const count = numelOf(sizes);
  if (count === 0) return Tensor.empty(sizes, dtype);
  return new Tensor(Storage.onDevice(device, dtype, count), dtype, sizes, contiguousStrides(sizes));
}

/** Where the element at `axes` goes among those that are picked, and whether it is picked. */
export function placeAt(counts: Tensor, mask: Tensor, axes: readonly Expr[]): { place: Expr; isPicked: Expr } {
  const place = binary('sub', new TensorView(counts).at(axes), constant('i32', 1));
  return { place, isPicked: cast('bool', new TensorView(mask).at(axes)) };
}

/** Positions of the elements that are not zero, as [count, rank] int64. */
export async function deviceNonzero(self: Tensor, label: string, context: LoweringContext): Promise<Tensor> {
  const counts = flagCounts(self, label, context);
  const output = deviceTensor([await lastElement(counts, label, context), self.dim], 'int64', context);
  if (output.numel === 0) return output;
  const axes = new TensorView(self).axes();
  const { place, isPicked } = placeAt(counts, self, axes);
  const target = new TensorView(output);
  const stores = axes.map((own, dim): Store => ({
    operand: target.operand,
    offset: target.offsetAt([place, param('i32', dim)]),
    value: cast('i64', own),
    guard: isPicked,
  }));
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
  return output;
}

/** The columns of `nonzero`, one a dimension; a tensor without dimensions counts as one of one element. */
export async function deviceNonzeroColumns(self: Tensor, label: string, context: LoweringContext): Promise<Tensor[]> {
  const shown = self.dim === 0 ? self.asStrided([1], [1]) : self;
  const positions = await deviceNonzero(shown, label, context);
  const count = positions.sizes[0];
  // Columns of a matrix without rows have no place of their own.
  return shown.sizes.map((_, dim) => positions.asStrided([count], [shown.dim], count === 0 ? 0 : dim));
}
