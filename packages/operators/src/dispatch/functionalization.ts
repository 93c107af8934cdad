import { Tensor } from '@cresset/tensor';
import { remembered } from '@cresset/tensorexpr';
import { checkTarget, derivedShapes } from './invoke.ts';
import { computingTypes } from '../kernels/loops/pointwise.ts';
import type { OperatorRow, PointwiseArguments } from '../table/row.ts';
import { variantsOf } from '../table/variants.ts';

/**
 * The row of an in-place operator that gives its result in a tensor of its own instead of writing it to `self`: to the pointwise row it
 * is derived from it has `self`'s dtype and shape, and refuses what may not be written there.
 */
export const functionalizedRow = remembered(functionalize);

function functionalize(row: OperatorRow): OperatorRow {
  const inPlace = variantsOf(row).find(({ derived }) => derived?.form === 'in-place')!;
  const dtype = (_: unknown, args: PointwiseArguments) => {
    // Elements of a fused expression have no shape; that of their tensors was looked at before.
    if (args.self instanceof Tensor) checkTarget(args.self, derivedShapes(inPlace, args)![0], inPlace, args);
    const { computing, result } = computingTypes(row, args);
    return { computing, result: (args.self?.dtype ?? result) as typeof result };
  };
  return { ...row, pointwise: { ...row.pointwise!, dtype } };
}
