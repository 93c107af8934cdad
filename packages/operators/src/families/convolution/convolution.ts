import { isComplex, type Tensor } from '@cresset/tensor';
import { remembered } from '@cresset/tensorexpr';
import { decomposed, kernel } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { convolutionOf, expandParameter, type ConvolutionArgs } from './convolution-geometry.ts';
import { hostConvolution } from './convolution-host.ts';
import { lowerConvolution } from './convolution-lowering.ts';
import { unsqueezeView } from '../../kernels/views.ts';

/** Convolutions (ATen/native/Convolution.cpp); every form comes down to the arguments of `aten::convolution`. */

function convolutionRow<Args extends object>(
  schema: string,
  canonical: (args: Args) => ConvolutionArgs,
  batch: Batching | null = null,
): OperatorRow {
  const label = schema.slice(0, schema.search(/[.(]/));
  /** With a batch dimension, whether or not the input has one. Each call asks for its shape, and then for its kernels. */
  const resolve = remembered((args: Args) => {
    const given = canonical(args);
    const { input } = given;
    const batched = batch === null || batchify(input, batch);
    const full = batched ? given : { ...given, input: unsqueezeView(input, 0) };
    return { convolution: convolutionOf(full), batched };
  });
  const batchedOut = (out: Tensor, batched: boolean): Tensor => (batched ? out : unsqueezeView(out, 0));
  return kernel<Args>(schema, {
    shape(args) {
      const { convolution, batched } = resolve(args);
      const { input, groups, outChannels, outputSize } = convolution;
      if (input.dtype === 'bool') throw notImplementedFor('slow_conv2d_cpu', 'Bool');
      const sizes = [outChannels * groups, ...outputSize];
      return { sizes: batched ? [input.symSizes[0], ...sizes] : sizes, dtype: input.dtype };
    },
    host(args, [out]) {
      const { convolution, batched } = resolve(args);
      return hostConvolution(convolution, batchedOut(out, batched));
    },
    lower(args, [out], context) {
      const { convolution, batched } = resolve(args);
      lowerConvolution(label, convolution, batchedOut(out, batched), context);
    },
    lowerable: (args) => !isComplex(canonical(args).input.dtype),
  });
}

/** For operators that take input without a batch dimension: how many spatial dimensions there are. */
interface Batching {
  readonly name: string;
  readonly rank: number;
}

/** Whether the input has a batch dimension (batchify). */
function batchify(input: Tensor, { name, rank }: Batching): boolean {
  check(
    input.dim === rank + 1 || input.dim === rank + 2,
    () =>
      `Expected ${rank + 1}D (unbatched) or ${rank + 2}D (batched) input to ${name}, but got input of size: ${sizesText(input.sizes)}`,
  );
  return input.dim === rank + 2;
}

interface ForwardArgs {
  readonly input: Tensor;
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly stride: readonly number[];
  readonly padding: readonly number[] | string;
  readonly dilation: readonly number[];
  readonly groups: number;
}

const forward = (rank: number) => {
  const none = new Array<number>(rank).fill(0);
  return ({ padding, ...args }: ForwardArgs): ConvolutionArgs => ({
    ...args,
    padding: typeof padding === 'string' ? namedPadding(padding, args) : padding,
    transposed: false,
    output_padding: none,
    biasFirst: typeof padding !== 'string',
  });
};

/** Half of what `same` needs, which may end in .5: then there is one more behind than in front. */
function namedPadding(padding: string, { input, weight, stride, dilation }: Omit<ForwardArgs, 'padding'>): number[] {
  const rank = weight.dim - 2;
  check(
    input.dim <= weight.dim,
    () =>
      `Expected ${weight.dim}-dimensional input for ${weight.dim}-dimensional weight${sizesText(weight.sizes)}, but got ${input.dim}-dimensional input of size ${sizesText(input.sizes)} instead`,
  );
  check(padding === 'same' || padding === 'valid', () => `Invalid padding string: '${padding}'`);
  if (padding === 'valid') return new Array<number>(rank).fill(0);
  check(stride.length === rank || stride.length === 1, () => `stride cannot broadcast to ${rank} dimensions`);
  check(
    stride.every((step) => step === 1),
    "padding='same' is not supported for strided convolutions",
  );
  const steps = expandParameter(dilation, 'dilation', rank);
  return weight.sizes.slice(2).map((size, dim) => (steps[dim] * (size - 1)) / 2);
}

interface TransposedArgs extends Omit<ForwardArgs, 'padding'> {
  readonly padding: readonly number[];
  readonly output_padding: readonly number[];
}

const transposed = (args: TransposedArgs): ConvolutionArgs => ({ ...args, transposed: true });

const dims = { 1: '[1]', 2: '[1, 1]', 3: '[1, 1, 1]' };
const zeros = { 1: '[0]', 2: '[0, 0]', 3: '[0, 0, 0]' };

const forwardRows = ([1, 2, 3] as const).flatMap((rank) => {
  const list = `SymInt[${rank}]`;
  const ones = dims[rank];
  const name = `conv${rank}d`;
  const front = `Tensor input, Tensor weight, Tensor? bias=None, ${list} stride=${ones}`;
  const back = `${list} dilation=${ones}, SymInt groups=1) -> Tensor`;
  return [
    convolutionRow(`aten::${name}(${front}, ${list} padding=${zeros[rank]}, ${back}`, forward(rank), {
      name,
      rank,
    }),
    convolutionRow(`aten::${name}.padding(${front}, str padding="valid", ${back}`, forward(rank), {
      name,
      rank,
    }),
  ];
});

const transposedRows = ([1, 2, 3] as const).map((rank) => {
  const list = `SymInt[${rank}]`;
  const ones = dims[rank];
  const name = `conv_transpose${rank}d`;
  return convolutionRow(
    `aten::${name}${rank === 1 ? '' : '.input'}(Tensor input, Tensor weight, Tensor? bias=None, ${list} stride=${ones}, ` +
      `${list} padding=${zeros[rank]}, ${list} output_padding=${zeros[rank]}, SymInt groups=1, ${list} dilation=${ones}) -> Tensor`,
    transposed,
    { name, rank },
  );
});

const general =
  'Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed';

const asGiven = (args: ConvolutionArgs): ConvolutionArgs => args;

export const convolutionRows: readonly OperatorRow[] = [
  ...forwardRows,
  ...transposedRows,
  convolutionRow(`aten::convolution(${general}, SymInt[] output_padding, SymInt groups) -> Tensor`, asGiven),
  convolutionRow(
    `aten::_convolution(${general}, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor`,
    asGiven,
  ),
  convolutionRow(
    `aten::_convolution.deprecated(${general}, int[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor`,
    asGiven,
  ),
  convolutionRow(
    'aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt groups) -> Tensor',
    (args: ForwardArgs) => forward(args.weight.dim - 2)(args),
  ),
  decomposed(
    'aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor',
    `
def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Tensor:
    assert self.dim() == 3, "Input must have 3 dims: time, batch, in_channel"
    assert weight.dim() == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."
    rows = torch.conv1d(self.permute([1, 2, 0]), weight.permute([2, 1, 0]), bias, [1], [pad])
    return rows.permute([2, 0, 1])
`,
    { out: true },
  ),
];
