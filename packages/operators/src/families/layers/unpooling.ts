import { numelOf, type Tensor, scratch } from '@cresset/tensor';
import { cast, TensorView } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { lowerFill } from '../../kernels/fill.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { unflattened } from '../indexing/masked-elements.ts';
import { positionFault } from '../indexing/position-faults.ts';
import { wrappedPlace } from '../indexing/scattered-writes.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { numbersInPieces, storeInPieces, fillInPieces } from '../../kernels/numbers/numbers.ts';
import { type Pieces, repeat } from '../../kernels/loops/pieces.ts';

/** Pools undone, and pools of windows at random places (ATen/native/MaxUnpooling.cpp, FractionalMaxPool*.cpp). */

interface UnpoolArgs {
  readonly self: Tensor;
  readonly indices: Tensor;
  readonly output_size: readonly number[];
}

function unpoolShape(rank: number, { self, indices, output_size: outputs }: UnpoolArgs): TensorMeta {
  const words = rank === 2 ? ['two', '(height, width)'] : ['three', '(depth, height, width)'];
  check(
    indices.dtype === 'int64',
    () => `elements in indices should be type int64 but got: ${dtypeName(indices.dtype)}`,
  );
  check(
    outputs.length === rank,
    () =>
      `There should be exactly ${words[0]} elements ${words[1]} in output_size, but got ${outputs.length} elements.`,
  );
  check(
    self.dim === rank + 1 || self.dim === rank + 2,
    () =>
      `Input to max_unpooling${rank}d should be a ${rank + 1}d or ${rank + 2}d Tensor, but got a tensor with ${self.dim} dimensions.`,
  );
  check(
    self.dim === indices.dim && self.sizes.every((size, dim) => size === indices.sizes[dim]),
    () =>
      `Expected shape of indices to be same as that of the input tensor (${sizesText(self.sizes)}) but got indices tensor with shape: ${sizesText(indices.sizes)}`,
  );
  return { sizes: [...self.sizes.slice(0, -rank), ...outputs], dtype: self.dtype };
}

/** Every element goes to the place in its plane that its index names; the others are 0. */
function* hostUnpool(rank: number, { self, indices, output_size: outputs }: UnpoolArgs, out: Tensor): Pieces {
  const values = yield* numbersInPieces(self);
  const places = yield* numbersInPieces(indices);
  const plane = self.sizes.slice(-rank).reduce((product, size) => product * size, 1);
  const target = outputs.reduce((product, size) => product * size, 1);
  yield* fillInPieces(out, (result) => {
    result.fill(0);
    return repeat(values.length, 8, (i) => {
      check(
        places[i] >= 0 && places[i] < target,
        () =>
          `Found an invalid max index: ${indices.contiguousArray()[i]} (output volumes are of size ${outputs.join('x')})`,
      );
      result[Math.floor(i / plane) * target + places[i]] = values[i];
    });
  });
}

function lowerUnpool(
  rank: number,
  { self, indices, output_size: outputs }: UnpoolArgs,
  out: Tensor,
  context: LoweringContext,
): void {
  if (out.numel === 0) return;
  const label = `aten::max_unpool${rank}d`;
  lowerFill(out, 0n, context, label);
  if (self.numel === 0) return;
  const [source, places, target] = [self, indices, out].map((tensor) => new TensorView(tensor));
  const axes = source.axes();
  const place = cast('i32', places.at(axes));
  const count = numelOf(outputs);
  const complaint = `Found an invalid max index: % (output volumes are of size ${outputs.join('x')})`;
  const faults = positionFault(place, 0, count, complaint, context, 'RuntimeError');
  const { isInside } = wrappedPlace(place, count, false);
  const at = [...axes.slice(0, -rank), ...unflattened(place, outputs)];
  const store = { operand: target.operand, offset: target.offsetAt(at), value: source.at(axes), guard: isInside };
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores: [store, ...faults] });
}

interface FractionalArgs {
  readonly self: Tensor;
  readonly kernel_size: readonly number[];
  readonly output_size: readonly number[];
  /** One number in [0, 1) for each plane and dimension: `[N, C, rank]`. */
  readonly random_samples: Tensor;
}

function fractionalShape(
  rank: number,
  { self, kernel_size: sizes, output_size: outputs }: FractionalArgs,
): TensorMeta[] {
  const name = `fractional_max_pool${rank}d`;
  check(sizes.length === rank, () => `${name}: kernel_size must either be a single int or tuple of ${rank} ints`);
  check(outputs.length === rank, () => `${name}: output_size must either be a single int or tuple of ${rank} ints`);
  check(
    self.dim === rank + 1 || self.dim === rank + 2,
    () => `${name}(): Expected ${rank + 1}D or ${rank + 2}D tensor, but got: ${sizesText(self.sizes)}`,
  );
  const names = ['time', 'height', 'width'].slice(-rank);
  outputs.forEach((size, dim) => {
    const input = self.sizes[self.dim - rank + dim];
    check(
      size + sizes[dim] - 1 <= input,
      () => `${name}_out(): pool ${names[dim]} ${sizes[dim]} too large relative to input ${names[dim]} ${input}`,
    );
  });
  const result = [...self.sizes.slice(0, -rank), ...outputs];
  return [
    { sizes: result, dtype: self.dtype },
    { sizes: result, dtype: 'int64' },
  ];
}

/** Where windows begin along one dimension: evenly spread, shifted by the sample; the last one ends with the input. */
function intervals(sample: number, input: number, output: number, size: number): number[] {
  const step = output > 1 ? (input - size) / (output - 1) : 0;
  return Array.from({ length: output }, (_, i) =>
    i === output - 1 ? input - size : Math.trunc((i + sample) * step) - Math.trunc(sample * step),
  );
}

function* hostFractional(rank: number, args: FractionalArgs, [out, indices]: readonly Tensor[]): Pieces {
  const { self, kernel_size: sizes } = args;
  const spatial = self.sizes.slice(-rank);
  const plane = spatial.reduce((product, size) => product * size, 1);
  const values = yield* numbersInPieces(self);
  const samples = yield* numbersInPieces(args.random_samples);
  const [best, places] = [scratch(Float64Array, out.numel), scratch(Float64Array, out.numel)];
  let found = 0;
  for (let at = 0; at * plane < values.length; at++) {
    // Of images the sample for the width comes first, of volumes that for the depth.
    const starts = spatial.map((size, dim) =>
      intervals(samples[at * rank + (rank === 2 ? 1 - dim : dim)], size, args.output_size[dim], sizes[dim]),
    );
    const visit = function* (dim: number, windows: readonly number[]): Pieces {
      if (dim < rank) {
        for (const start of starts[dim]) yield* visit(dim + 1, [...windows, start]);
        yield;
        return;
      }
      let offsets = [0];
      windows.forEach((start, d) => {
        offsets = offsets.flatMap((offset) =>
          Array.from({ length: sizes[d] }, (_, k) => offset * spatial[d] + start + k),
        );
      });
      let winner = offsets[0];
      for (const offset of offsets) {
        const value = values[at * plane + offset];
        if (value > values[at * plane + winner] || Number.isNaN(value)) winner = offset;
      }
      best[found] = values[at * plane + winner];
      places[found++] = winner;
    };
    yield* visit(0, []);
  }
  yield* storeInPieces(out, best);
  yield* storeInPieces(indices, places);
}

const unpoolRow = (rank: 2 | 3, extra: string): OperatorRow =>
  kernel<UnpoolArgs>(
    `aten::max_unpool${rank}d(Tensor self, Tensor indices, SymInt[${rank}] output_size${extra}) -> Tensor`,
    {
      out: true,
      shape: (args) => unpoolShape(rank, args),
      host: (args, [out]) => hostUnpool(rank, args, out),
      lower: (args, [out], context) => lowerUnpool(rank, args, out, context),
    },
  );

const fractionalRow = (rank: 2 | 3): OperatorRow =>
  kernel<FractionalArgs>(
    `aten::fractional_max_pool${rank}d(Tensor self, int[${rank}] kernel_size, int[${rank}] output_size, Tensor random_samples) -> (Tensor, Tensor)`,
    {
      out: 'output(output, indices)',
      shape: (args) => fractionalShape(rank, args),
      host: (args, outputs) => hostFractional(rank, args, outputs),
    },
  );

export const unpoolingRows: readonly OperatorRow[] = [
  unpoolRow(2, ''),
  unpoolRow(3, ', int[3] stride, int[3] padding'),
  fractionalRow(2),
  fractionalRow(3),
];
