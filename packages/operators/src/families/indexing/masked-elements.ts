import { contiguousStrides, type Tensor } from '@cresset/tensor';
import { binary, param, select, TensorView, type Expr } from '@cresset/tensorexpr';
import { broadcastAll, expand } from '../../kernels/broadcast.ts';
import type { LoweringContext } from '../../table/row.ts';
import { flagCounts, lastElement } from '../reductions/scan-lowering.ts';
import { deviceTensor, placeAt } from './flagged-elements.ts';

/** What a mask takes out of a tensor, or puts into one, on a device. */

/** The elements of `self` where `mask` holds, in C order. */
export async function deviceMaskedSelect(self: Tensor, mask: Tensor, context: LoweringContext): Promise<Tensor> {
  const label = 'aten::masked_select';
  const sizes = broadcastAll([self.sizes, mask.sizes]);
  const [source, chosen] = [expand(self, sizes), expand(mask, sizes)];
  const counts = flagCounts(chosen, label, context);
  const output = deviceTensor([await lastElement(counts, label, context)], self.dtype, context);
  if (output.numel === 0) return output;
  const view = new TensorView(source);
  const axes = view.axes();
  const { place, isPicked } = placeAt(counts, chosen, axes);
  const target = new TensorView(output);
  const stores = [{ operand: target.operand, offset: target.offsetAt([place]), value: view.at(axes), guard: isPicked }];
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
  return output;
}

/** `self` with the elements that a mask picks taken from `source`, one after the other. */
export function lowerMaskedScatter(
  self: Tensor,
  mask: Tensor,
  source: Tensor,
  output: Tensor,
  context: LoweringContext,
): void {
  if (output.numel === 0) return;
  const label = 'aten::masked_scatter';
  const chosen = expand(mask, output.sizes);
  const counts = flagCounts(chosen, label, context);
  const target = new TensorView(output);
  const axes = target.axes();
  const { place, isPicked } = placeAt(counts, chosen, axes);
  const own = new TensorView(expand(self, output.sizes)).at(axes);
  const isMissing = binary('and', isPicked, binary('ge', place, param('i32', source.numel)));
  const complaint = 'Number of elements of source < number of ones in mask';
  const faults = context.faults(isMissing, place, complaint, 'RuntimeError');
  const value =
    source.numel === 0 ? own : select(isPicked, new TensorView(source).at(unflattened(place, source.sizes)), own);
  const store = { operand: target.operand, offset: target.offsetAt(axes), value };
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores: [store, ...faults] });
}

/** The indices of the element at a place in C order. */
export function unflattened(place: Expr, sizes: readonly number[]): Expr[] {
  return contiguousStrides(sizes).map((stride, dim) => {
    const rest = stride === 1 ? place : binary('truncdiv', place, param('i32', stride));
    return dim === 0 ? rest : binary('fmod', rest, param('i32', sizes[dim]));
  });
}
