import { Tensor } from '@cresset/tensor';
import { kernel } from '../builders.ts';
import { scalarWriter } from '../elements.ts';
import { check } from '../errors.ts';
import { copyInto } from '../copy.ts';
import type { OperatorRow, Scalar } from '../row.ts';
import { narrowView, selectView, transposeView } from './views.ts';

/** Sequences of different lengths laid step after step, and back (ATen/native/PackedSequence.cpp). On the host: lengths
 * decide sizes. */

interface PackArgs {
  readonly input: Tensor;
  readonly lengths: Tensor;
  readonly batch_first: boolean;
}

function pack({ input, lengths, batch_first: batchFirst }: PackArgs): Tensor[] {
  const steps = batchFirst ? transposeView(input, 0, 1) : input;
  const counts = Array.from(lengths.contiguousArray(), Number);
  check(lengths.dtype === 'int64', "'lengths' argument should be a 1D CPU int64 tensor");
  check(steps.numel > 0, 'Cannot pack empty tensors.');
  check(
    counts.length === steps.sizes[1],
    () =>
      `Expected \`len(lengths)\` to be equal to batch_size, but got ${counts.length} (batch_size=${steps.sizes[1]})`,
  );
  counts.forEach((length, at) => {
    check(length > 0, "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0");
    check(
      at === 0 || counts[at - 1] >= length,
      '`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability.',
    );
  });
  const batchSizes = Array.from({ length: counts[0] }, (_, t) => counts.filter((length) => length > t).length);
  const total = counts.reduce((sum, length) => sum + length, 0);
  const data = Tensor.empty([total, ...steps.sizes.slice(2)], input.dtype);
  let start = 0;
  batchSizes.forEach((count, t) => {
    copyInto(narrowView(data, 0, start, count), narrowView(selectView(steps, 0, t), 0, 0, count));
    start += count;
  });
  return [data, Tensor.fromArray(BigInt64Array.from(batchSizes, BigInt), [batchSizes.length], 'int64')];
}

interface PadArgs {
  readonly data: Tensor;
  readonly batch_sizes: Tensor;
  readonly batch_first: boolean;
  readonly padding_value: Scalar;
  readonly total_length: number;
}

function pad({
  data,
  batch_sizes: sizes,
  batch_first: batchFirst,
  padding_value: padding,
  total_length: total,
}: PadArgs): Tensor[] {
  const batchSizes = Array.from(sizes.contiguousArray(), Number);
  const batch = batchSizes[0];
  const longest = batchSizes.length;
  check(
    total <= 0 || total >= longest,
    () =>
      `Expected total_length to be at least the length of the longest sequence in input, but got total_length=${total} and max sequence length being ${longest}`,
  );
  const steps = total > 0 ? total : longest;
  const padded = Tensor.empty([steps, batch, ...data.sizes.slice(1)], data.dtype);
  const write = scalarWriter(padded);
  for (let at = 0; at < padded.numel; at++) write(at, padding);
  let start = 0;
  batchSizes.forEach((count, t) => {
    copyInto(narrowView(selectView(padded, 0, t), 0, 0, count), narrowView(data, 0, start, count));
    start += count;
  });
  const lengths = Array.from({ length: batch }, (_, b) => BigInt(batchSizes.filter((count) => count > b).length));
  const result = batchFirst ? transposeView(padded, 0, 1) : padded;
  return [result, Tensor.fromArray(BigInt64Array.from(lengths), [batch], 'int64')];
}

export const packedSequenceRows: readonly OperatorRow[] = [
  kernel<PackArgs>('aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)', {
    host: pack,
  }),
  kernel<PadArgs>(
    'aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)',
    { host: pad },
  ),
];
