import type { Tensor } from '@cresset/tensor';
import { binary, cast, constant, TensorView, type Expr } from '@cresset/tensorexpr';
import { lowerGenerated } from '../../kernels/fill.ts';
import { placeIn } from '../../kernels/sorted-line.ts';
import type { LoweringContext } from '../../table/row.ts';
import { deviceTensor } from '../indexing/flagged-elements.ts';
import { lastElement, lowerScanAlong } from '../reductions/scan-lowering.ts';

/** Each slice of `self` along `dim` as often as `repeats` says (torch.repeat_interleave). */
export async function deviceRepeat(
  repeats: Tensor,
  label: string,
  context: LoweringContext,
  slices: { readonly self: Tensor; readonly dim: number } | null,
): Promise<Tensor> {
  const ends = context.temporary(repeats.sizes, 'int32');
  if (repeats.numel > 0) {
    lowerScanAlong(repeats, 0, ends, 'sum', label, context);
    const view = new TensorView(repeats);
    const [at] = view.axes();
    const given = cast('i32', view.at([at]));
    const faults = context.faults(
      binary('lt', given, constant('i32', 0)),
      given,
      'repeats can not be negative',
      'RuntimeError',
    );
    context.launch({ kind: 'nest', label, axes: [at], innerAxes: [], stores: faults });
  }
  const total = await lastElement(ends, label, context);
  const ending = new TensorView(ends);
  const sourceAt = (place: Expr): Expr => placeIn(repeats.numel, (at) => ending.at([at]), place, true);
  if (!slices) {
    const output = deviceTensor([total], repeats.dtype, context);
    lowerGenerated(output, ([at]) => sourceAt(at), context, label);
    return output;
  }
  const { self, dim } = slices;
  const output = deviceTensor(self.sizes.with(dim, total), self.dtype, context);
  const source = new TensorView(self);
  // A vector of one number repeats every slice alike, and has been expanded.
  lowerGenerated(
    output,
    (axes) => source.at(axes.with(dim, sourceAt(axes[dim]) as (typeof axes)[number])),
    context,
    label,
  );
  return output;
}
