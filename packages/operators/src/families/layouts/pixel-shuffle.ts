import {
  contiguousStrides,
  symEq,
  symFloorDiv,
  symMod,
  symMul,
  textOf,
  type SymInt,
  type Tensor,
} from '@cresset/tensor';
import { TensorView } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { copyPieces } from '../../kernels/copy.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { permuteView } from '../../kernels/views.ts';

/** Channels to positions and back (ATen/native/PixelShuffle.cpp, ChanelShuffle.cpp): one dimension split, then permuted. */

interface Shuffle {
  /** The input with dimensions split and permuted, and sizes that the result has when they are joined again. */
  readonly view: Tensor;
  readonly sizes: readonly SymInt[];
}

/** Dimension `dim` as several, the last of them the fastest. */
function splitDimension(tensor: Tensor, dim: number, sizes: readonly SymInt[]): Tensor {
  const strides: SymInt[] = [];
  let stride = tensor.symStrides[dim];
  for (const size of sizes.toReversed()) {
    strides.unshift(stride);
    stride = symMul(stride, size);
  }
  return tensor.asStrided(tensor.symSizes.toSpliced(dim, 1, ...sizes), tensor.symStrides.toSpliced(dim, 1, ...strides));
}

function shuffleRow<Args>(schema: string, shuffle: (args: Args) => Shuffle): OperatorRow {
  const label = schema.slice(0, schema.indexOf('('));
  const joined = (args: Args, out: Tensor): Tensor => {
    const { symSizes: sizes } = shuffle(args).view;
    // The result is contiguous, or a part of one that is complex: its elements in C order are those of the view.
    const step = out.symStrides.at(-1) ?? 1;
    const strides = contiguousStrides(sizes).map((stride) => symMul(stride, step));
    return out.asStrided(sizes, strides);
  };
  return kernel<Args>(schema, {
    out: !label.endsWith('native_channel_shuffle'),
    shape(args) {
      const { view, sizes } = shuffle(args);
      return { sizes, dtype: view.dtype };
    },
    host: (args, [out]) => copyPieces(joined(args, out), shuffle(args).view),
    lower(args, [out], context) {
      if (symEq(out.symNumel, 0)) return;
      const target = new TensorView(joined(args, out));
      const axes = target.axes();
      const value = new TensorView(shuffle(args).view).at(axes);
      const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value }];
      context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
    },
  });
}

function checkRank(name: string, self: Tensor): void {
  check(
    self.dim >= 3,
    () => `${name} expects input to have at least 3 dimensions, but got input with ${self.dim} dimension(s)`,
  );
}

function pixelShuffle({ self, upscale_factor: factor }: { self: Tensor; upscale_factor: number }): Shuffle {
  checkRank('pixel_shuffle', self);
  check(factor > 0, () => `pixel_shuffle expects a positive upscale_factor, but got ${factor}`);
  const dim = self.dim - 3;
  const [channels, height, width] = self.symSizes.slice(-3);
  check(
    symEq(symMod(channels, factor ** 2), 0),
    () =>
      `pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)=${textOf(channels)} is not divisible by ${factor * factor}`,
  );
  const split = splitDimension(self, dim, [symFloorDiv(channels, factor ** 2), factor, factor]);
  const batch = self.symSizes.slice(0, dim);
  // [c, r1, r2, h, w] → [c, h, r1, w, r2]
  const order = [...batch.map((_, at) => at), ...[0, 3, 1, 4, 2].map((at) => dim + at)];
  return {
    view: permuteView(split, order),
    sizes: [...batch, symFloorDiv(channels, factor ** 2), symMul(height, factor), symMul(width, factor)],
  };
}

function pixelUnshuffle({ self, downscale_factor: factor }: { self: Tensor; downscale_factor: number }): Shuffle {
  checkRank('pixel_unshuffle', self);
  check(factor > 0, () => `pixel_unshuffle expects a positive downscale_factor, but got ${factor}`);
  const dim = self.dim - 3;
  const [channels, height, width] = self.symSizes.slice(-3);
  for (const [name, size, at] of [
    ['height', height, -2],
    ['width', width, -1],
  ] as const) {
    check(
      symEq(symMod(size, factor), 0),
      () =>
        `pixel_unshuffle expects ${name} to be divisible by downscale_factor, but input.size(${at})=${textOf(size)} is not divisible by ${factor}`,
    );
  }
  // Of nothing PyTorch makes nothing of the same sizes.
  if (symEq(self.symNumel, 0)) return { view: self, sizes: self.symSizes };
  const rows = splitDimension(self, dim + 1, [symFloorDiv(height, factor), factor]);
  const split = splitDimension(rows, dim + 3, [symFloorDiv(width, factor), factor]);
  const batch = self.symSizes.slice(0, dim);
  // [c, h, r1, w, r2] → [c, r1, r2, h, w]
  const order = [...batch.map((_, at) => at), ...[0, 2, 4, 1, 3].map((at) => dim + at)];
  return {
    view: permuteView(split, order),
    sizes: [...batch, symMul(channels, factor ** 2), symFloorDiv(height, factor), symFloorDiv(width, factor)],
  };
}

function channelShuffle({ self, groups }: { self: Tensor; groups: number }): Shuffle {
  check(
    self.dim > 2,
    () => `channel_shuffle expects input with > 2 dims, but got input with sizes [${self.sizes.join(', ')}]`,
  );
  const channels = self.symSizes[1];
  check(groups > 0, () => `Number of groups to divide channels in must be positive. Value of groups:${groups}`);
  check(
    symEq(symMod(channels, groups), 0),
    () => `Number of channels must be divisible by groups. Got ${textOf(channels)} channels and ${groups} groups.`,
  );
  const split = splitDimension(self, 1, [groups, symFloorDiv(channels, groups)]);
  const order = split.symSizes.map((_, dim) => (dim === 1 ? 2 : dim === 2 ? 1 : dim));
  return { view: permuteView(split, order), sizes: self.symSizes };
}

export const pixelShuffleRows: readonly OperatorRow[] = [
  shuffleRow('aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor', pixelShuffle),
  shuffleRow('aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor', pixelUnshuffle),
  shuffleRow('aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor', channelShuffle),
  shuffleRow('aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor', channelShuffle),
];
