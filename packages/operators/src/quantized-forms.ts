import { Tensor } from '@cresset/tensor';
import { boxingOf, tensorsOf } from './boxing.ts';
import type { OperatorRow, Results, Unboxed } from './row.ts';
import { dequantized, quantized, quantizerOf } from './tensor/quantized.ts';

/** Operators whose result has the quantiser of their argument, computed as numbers and quantised once more. */
const FORMS: ReadonlySet<string> = new Set([
  'aten::relu',
  'aten::clamp',
  'aten::hardtanh',
  'aten::max_pool1d',
  'aten::max_pool2d',
  'aten::avg_pool2d',
  'aten::avg_pool3d',
  'aten::adaptive_avg_pool2d',
  'aten::_adaptive_avg_pool2d',
  'aten::adaptive_avg_pool3d',
  'aten::_adaptive_avg_pool3d',
  'aten::mean',
  'aten::upsample_nearest2d',
  'aten::upsample_bilinear2d',
]);

/**
 * Runs an operator on quantised tensors by what it does to the numbers they stand for; null where PyTorch has no such form of it.
 *
 * @param compute runs the operator on plain tensors
 */
export function runQuantizedForm(
  row: OperatorRow,
  args: Readonly<Record<string, Unboxed>>,
  compute: (args: Record<string, Unboxed>) => Results,
): Results | null {
  if (row.derived || !FORMS.has(boxingOf(row).signature.name)) return null;
  const source = tensorsOf(args).find(({ quantizer }) => quantizer)!;
  const quantizer = quantizerOf(source);
  if (quantizer.axis !== null) return null;
  const plain = Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, value instanceof Tensor ? dequantized(value) : value]),
  );
  const result = compute(plain);
  return result instanceof Tensor ? quantized(result, quantizer, source.dtype) : null;
}
