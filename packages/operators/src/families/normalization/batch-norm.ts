import { hint, settle, symEq, symGt, Tensor, textOf, type ScalarType, type SymInt } from '@cresset/tensor';
import { sizesText } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { kernel, pointwise, view } from '../../table/builders.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { checkParameterDtypes } from './parameter-dtypes.ts';
import {
  axis,
  binary,
  exprTypeOf,
  param,
  reduce,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
} from '@cresset/tensorexpr';
import { channelGroups, channelsFirst, hasChannelsLast, normalizationRow, refuseIntegers } from './normalization.ts';
import { hostNormalize, lowerNormalize, type Normalization } from './normalized-groups.ts';
import { numbersInPieces, storeInPieces } from '../../kernels/numbers/numbers.ts';
import type { Pieces } from '../../kernels/loops/pieces.ts';

/** Batch and instance norms (ATen/native/Normalization.cpp). */

export interface BatchNormArgs {
  readonly input: Tensor;
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly running_mean: Tensor | null;
  readonly running_var: Tensor | null;
  readonly training: boolean;
  readonly momentum: number;
  readonly eps: number;
}

function checkChannels(args: BatchNormArgs, channels: SymInt): void {
  for (const name of ['running_mean', 'running_var', 'weight', 'bias'] as const) {
    const tensor = args[name];
    check(
      tensor === null || symEq(tensor.symNumel, channels),
      () => `${name} should contain ${textOf(channels)} elements not ${tensor!.numel}`,
    );
    if (name === 'running_mean' || name === 'running_var') {
      check(tensor !== null || args.training, () => `${name} must be defined in evaluation mode`);
    }
  }
}

function batchNormShape(args: BatchNormArgs): TensorMeta {
  const { input } = args;
  check(
    input.dim >= 2 || symEq(input.symNumel, 0),
    'Dimension out of range (expected to be in range of [-1, 0], but got 1)',
  );
  checkChannels(args, input.symSizes[1] ?? 0);
  refuseIntegers('batch_norm', input.dtype);
  const { weight, bias, running_mean: mean, running_var: variance } = args;
  checkParameterDtypes(input, [weight, bias, mean, variance]);
  return { sizes: input.symSizes, dtype: input.dtype };
}

/** That of the first parameter there is: what mean and inverse deviation are kept in. */
const parameterDtype = ({ input, weight, bias, running_mean, running_var }: BatchNormArgs): ScalarType =>
  (weight ?? bias ?? running_mean ?? running_var ?? input).dtype;

/** Mean and inverse deviation as saved for the gradient: empty where the running ones were used. */
function statisticsShape(args: BatchNormArgs): TensorMeta {
  return { sizes: [args.training ? args.input.symSizes[1] : 0], dtype: parameterDtype(args) };
}

export function batchNormalization(args: BatchNormArgs, [out, mean, rstd]: readonly Tensor[]): Normalization {
  const { input, weight, bias, running_mean: runningMean, running_var: runningVar, training, momentum, eps } = args;
  const x = channelsFirst(input);
  const spread = (tensor: Tensor | null): Tensor | null =>
    tensor && tensor.asStrided(x.symSizes, [tensor.symStrides[0], ...x.symSizes.slice(1).map(() => 0)]);
  const common = {
    input: x,
    out: channelsFirst(out),
    weight: spread(weight),
    bias: spread(bias),
    outer: 1,
    eps,
    center: true,
  };
  if (!training) return { ...common, given: { mean: runningMean!, variance: runningVar! } };
  return {
    ...common,
    // PyTorch keeps them in tensors of the parameters' dtype, and reads them from there.
    statisticsDtype: parameterDtype(args),
    // Of a dense input in bfloat16 it adds up in tensors of that dtype as well.
    bfloatMoments: parameterDtype(args) === 'bfloat16' && (input.isContiguous() || hasChannelsLast(input)),
    saved: rstd && { mean, rstd },
    // An empty batch tells nothing of them.
    running:
      runningMean && runningVar && symGt(input.symNumel, 0)
        ? { mean: runningMean, variance: runningVar, momentum }
        : undefined,
  };
}

export const operands = 'Tensor input, Tensor? weight, Tensor? bias';
export const optionalRunning = 'Tensor? running_mean, Tensor? running_var';
export const saving = {
  out: 'out(out, save_mean, save_invstd)',
  shape: (args: BatchNormArgs): TensorMeta[] => {
    const out = batchNormShape(args);
    check(
      !args.training || symGt(args.input.symNumel, 0),
      () => `input tensor must have at least one element, but got input_sizes = ${sizesText(args.input.sizes)}`,
    );
    return [out, statisticsShape(args), statisticsShape(args)];
  },
};

interface InstanceNormArgs extends Omit<BatchNormArgs, 'training'> {
  readonly use_input_stats: boolean;
}

function instanceNormShape({ use_input_stats: training, ...args }: InstanceNormArgs): TensorMeta {
  const { input, running_mean: mean, running_var: variance } = args;
  check(
    training || (mean !== null && variance !== null),
    'Expected running_mean and running_var to be defined when use_input_stats is false',
  );
  const [batch = NaN, channels = NaN] = input.symSizes;
  for (const name of ['weight', 'bias'] as const) {
    const tensor = args[name];
    check(
      tensor === null || symEq(tensor.symNumel, channels),
      () => `${name} should contain ${hint(batch) * hint(channels)} elements not ${hint(batch) * tensor!.numel}`,
    );
  }
  checkChannels({ ...args, training }, channels);
  refuseIntegers('batch_norm', input.dtype);
  return { sizes: input.symSizes, dtype: input.dtype };
}

function instanceNormalization({ use_input_stats: training, ...args }: InstanceNormArgs, out: Tensor): Normalization {
  if (!training) return batchNormalization({ ...args, training }, [out]);
  return channelGroups({ ...args, num_groups: settle(args.input.symSizes[1]) }, out);
}

/** Each running value moves towards the mean over the batch of the instances' own. */
function* updateInstanceStatistics(args: InstanceNormArgs, mean: Float64Array, unbiased: Float64Array): Pieces {
  const { input, running_mean: runningMean, running_var: runningVar, momentum } = args;
  const [batch, channels] = input.sizes;
  function* move(running: Tensor | null, instances: Float64Array): Pieces {
    if (!running) return;
    const moved = Float64Array.from(yield* numbersInPieces(running), (value, channel) => {
      let sum = 0;
      for (let n = 0; n < batch; n++) sum += instances[n * channels + channel];
      return (1 - momentum) * value + (momentum * sum) / batch;
    });
    yield* storeInPieces(running, moved);
  }
  yield* move(runningMean, mean);
  yield* move(runningVar, unbiased);
}

/** As `updateInstanceStatistics`, on a device. */
function lowerInstanceStatistics(args: InstanceNormArgs, context: LoweringContext): void {
  const { input, running_mean: runningMean, running_var: runningVar, momentum } = args;
  if (!runningMean || !runningVar || input.numel === 0) return;
  const x = new TensorView(input);
  const [n, c, ...inner] = x.axes();
  const batch = input.sizes[0];
  const count = input.numel / (batch * input.sizes[1]);
  const over = (value: (at: readonly AxisExpr[]) => Expr): Expr => {
    const reduced = inner.map((own) => axis(`r${own.name}`, own.extent));
    const total = inner.length === 0 ? value([]) : reduce('sum', reduced, value(reduced));
    return binary('div', total, param('float', count));
  };
  const meanOf = (instance: AxisExpr): Expr => over((at) => x.at([instance, c, ...at]));
  const mean = reduce('sum', [n], meanOf(n));
  const own = axis('m', n.extent);
  const deviation = (at: readonly AxisExpr[]): Expr => binary('sub', x.at([own, c, ...at]), meanOf(own));
  const variance = reduce(
    'sum',
    [own],
    over((at) => binary('mul', deviation(at), deviation(at))),
  );
  const stores = [
    { tensor: runningMean, sum: mean, factor: 1 },
    { tensor: runningVar, sum: variance, factor: count / (count - 1) },
  ].map(({ tensor, sum, factor }) => {
    const view = new TensorView(tensor);
    const kept = binary('mul', param('float', 1 - momentum), view.at([c]));
    const value = binary('add', kept, binary('mul', param('float', (momentum * factor) / batch), sum));
    return { operand: view.operand, offset: view.offsetAt([c]), value };
  });
  context.launch({ kind: 'nest', label: 'aten::instance_norm', axes: [c], innerAxes: [], stores });
}

const instanceNorm = kernel<InstanceNormArgs>(
  `aten::instance_norm(${operands}, ${optionalRunning}, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor`,
  {
    shape: instanceNormShape,
    *host(args, [out]) {
      const { mean, unbiased } = yield* hostNormalize(instanceNormalization(args, out));
      if (args.use_input_stats) yield* updateInstanceStatistics(args, mean, unbiased);
    },
    lower: (args, [out], context) => {
      lowerNormalize('aten::instance_norm', instanceNormalization(args, out), context);
      if (args.use_input_stats) lowerInstanceStatistics(args, context);
    },
    lowerable: ({ input }) => exprTypeOf(input.dtype) === 'float',
  },
);

export const batchNormRows: readonly OperatorRow[] = [
  // One number a channel, as a view that broadcasts over a batch of `ndim` dimensions.
  view<{ self: Tensor; ndim: number }>(
    'aten::_ncf_unsqueeze(Tensor(a) self, int ndim) -> Tensor(a)',
    ({ self, ndim }) => {
      // Batch norm takes an empty batch without channels too.
      if (ndim < 2) return self.asStrided(self.sizes, self.strides);
      const [stride] = self.strides;
      const trailing = ndim - 2;
      const ones = (count: number): number[] => new Array<number>(count).fill(1);
      return self.asStrided([1, self.numel, ...ones(trailing)], [stride, stride, ...ones(trailing)]);
    },
  ),
  // With running statistics, all parameters as such views: one value of each element.
  pointwise(
    'cresset::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float eps) -> Tensor',
    {
      dtype: (_, { input }) => ({ computing: input.dtype === 'float64' ? 'float64' : 'float32', result: input.dtype }),
      refuses: (_, args) =>
        void (args.input instanceof Tensor && batchNormShape({ ...(args as BatchNormArgs), training: false })),
      // As PyTorch has it on a CPU: what is made of the parameters is a factor and a shift for each channel.
      body: ({ input, weight, bias, running_mean: mean, running_var: variance, eps }) => {
        const deviation = unary('rsqrt', binary('add', variance, param('float', eps)));
        const factor = weight ? binary('mul', deviation, weight) : deviation;
        const moved = binary('mul', mean, factor);
        const shift = bias ? binary('sub', bias, moved) : unary('neg', moved);
        return binary('add', binary('mul', input, factor), shift);
      },
      inPlace: false,
      out: false,
    },
  ),
  normalizationRow<BatchNormArgs>(
    `aten::batch_norm(${operands}, ${optionalRunning}, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor`,
    { shape: batchNormShape, normalization: batchNormalization },
  ),
  instanceNorm,
];
