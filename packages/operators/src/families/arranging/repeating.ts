import { symEq, symMul, type SymInt, type Tensor } from '@cresset/tensor';
import { expand } from '../../kernels/broadcast.ts';
import { copyPieces, lowerCopy } from '../../kernels/copy.ts';
import { checkSizes } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { kernel } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** Whole tensors again and again (ATen/native/TensorShape.cpp). */

interface Self {
  readonly self: Tensor;
}

/** Sizes and strides in pairs: `output` as `[repeats, sizes]` for each dimension. */
function interleaved(output: Tensor, counts: readonly number[], sizes: readonly SymInt[]): Tensor {
  const shown: SymInt[] = [];
  const strides: SymInt[] = [];
  counts.forEach((count, dim) => {
    shown.push(count, sizes[dim]);
    strides.push(symMul(output.symStrides[dim], sizes[dim]), output.symStrides[dim]);
  });
  return output.asStrided(shown, strides);
}

interface Repeat extends Self {
  readonly repeats: readonly number[];
}

/** The whole tensor again and again along each dimension, which new ones may come before. */
function repeating<Args>(schema: string, prepare: (args: Args) => Repeat): OperatorRow {
  const parts = ({ self, repeats }: Repeat, output: Tensor): { target: Tensor; source: Tensor } => {
    const sizes = [...new Array<number>(repeats.length - self.dim).fill(1), ...self.symSizes];
    const padded = expand(self, sizes);
    const pairs = sizes.flatMap((size) => [1, size]);
    const strides = padded.symStrides.flatMap((stride) => [0, stride]);
    const target = interleaved(output, repeats, sizes);
    return { target, source: expand(self.asStrided(pairs, strides), target.symSizes) };
  };
  return kernel<Args>(schema, {
    shape: (args) => {
      const { self, repeats } = prepare(args);
      check(
        repeats.length >= self.dim,
        'Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor',
      );
      const lead = repeats.length - self.dim;
      const sizes = repeats.map((count, dim) => symMul(self.symSizes[dim - lead] ?? 1, count));
      checkSizes(sizes);
      return { sizes, dtype: self.dtype };
    },
    *host(args, [output]) {
      if (output.numel === 0) return;
      const { target, source } = parts(prepare(args), output);
      yield* copyPieces(target, source);
    },
    lower: (args, [output], context) => {
      if (symEq(output.symNumel, 0)) return;
      const { target, source } = parts(prepare(args), output);
      lowerCopy(target, source, context, 'aten::repeat');
    },
    moves: true,
    out: false,
  });
}

function tiled({ self, dims }: Self & { dims: readonly number[] }): Repeat {
  const lead = Math.max(self.dim - dims.length, 0);
  return { self, repeats: [...new Array<number>(lead).fill(1), ...dims] };
}

export const repeatingRows: readonly OperatorRow[] = [
  repeating<Repeat>('aten::repeat(Tensor self, SymInt[] repeats) -> Tensor', (args) => args),
  repeating('aten::tile(Tensor self, SymInt[] dims) -> Tensor', tiled),
];
