import { isComplex, Tensor, type IValue, settleAll } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { outputShapes } from '../dispatch/invoke.ts';
import { lowerComplex } from '../families/complex/complex-lowering.ts';
import { fixedLowering } from '../operator-fixture.ts';
import { boxingOf } from '../table/boxing.ts';
import type { LoweringContext, OperatorRow } from '../table/row.ts';
import { evaluateKernel } from './kernel-evaluator.ts';

const lowering: LoweringContext = {
  // Lowerings ask no more of it than whether it is the host.
  device: { capabilities: {} } as ComputeDevice,
  temporary: (sizes, dtype) => Tensor.empty(settleAll(sizes), dtype),
  launch: evaluateKernel,
  ...fixedLowering,
};

/** What an operator's kernels for devices make of its arguments, element by element. */
export function runLowered(row: OperatorRow, args: readonly IValue[]): Tensor[] {
  const unboxed = boxingOf(row).unbox(args);
  const outputs = outputShapes(row, unboxed)!.map(({ sizes, dtype, strides }) => {
    const tensor = Tensor.empty(settleAll(sizes), dtype);
    return strides && tensor.numel > 0 ? tensor.asStrided(sizes, strides) : tensor;
  });
  const involved = [...Object.values(unboxed).flat(), ...outputs];
  if (involved.some((value) => value instanceof Tensor && isComplex(value.dtype))) {
    lowerComplex(row, unboxed, outputs, lowering);
  } else row.lower!(unboxed as never, outputs, lowering);
  return outputs;
}
