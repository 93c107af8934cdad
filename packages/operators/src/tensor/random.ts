import { isFloatingPoint, Tensor, type ScalarType } from '@cresset/tensor';
import { broadcastSizes, broadcastStrides } from '../broadcast.ts';
import { kernel } from '../builders.ts';
import { assertNoInternalOverlap, checkSizes } from '../dimensions.ts';
import { numberReader } from '../elements.ts';
import { check } from '../errors.ts';
import { writeEach } from '../fill.ts';
import type { OperatorRow, RandomGenerator, TensorMeta } from '../row.ts';
import { defaultDtype } from '../type-promotion.ts';
import { cloneOf } from '../copy.ts';
import { metaLike } from './creation.ts';

/** Random tensors (ATen/native/Distributions.cpp, TensorFactories.cpp). Numbers come from the run's generator, so they are
 * PyTorch's in distribution, not one by one. */

const options = 'ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None';
const likeOptions = `${options}, MemoryFormat? memory_format=None`;
const generatorOption = 'Generator? generator=None';

type Draw<Args> = (generator: RandomGenerator, args: Args, position: number) => number | bigint;

interface Options {
  readonly dtype: ScalarType | null;
}

interface Sized extends Options {
  readonly size: readonly number[];
}

interface Like extends Options {
  readonly self: Tensor;
  readonly memory_format?: number | null;
}

interface Bounds {
  readonly low?: number;
  readonly high: number | Tensor;
}

/** One draw an element. */
function drawn<Args>(
  schema: string,
  shape: (args: Args) => TensorMeta,
  draw: Draw<Args>,
  forms: { inPlace?: string } = {},
): OperatorRow {
  return kernel<Args>(schema, {
    shape,
    host: (args, [output], { generator }) => writeEach(output, (position) => draw(generator, args, position)),
    readsNoData: true,
    nondeterministic: true,
    ...forms,
  });
}

const sizedMeta = ({ size, dtype }: Sized, otherwise: ScalarType = defaultDtype): TensorMeta => {
  checkSizes(size);
  return { sizes: size, dtype: dtype ?? otherwise };
};

const likeMeta = ({ self, dtype, memory_format: format }: Like): TensorMeta =>
  metaLike(self, dtype ?? self.dtype, format);

/** `rand`, `rand_like` and their forms with a generator. */
const floats = (name: string, draw: Draw<unknown>): OperatorRow[] => [
  drawn<Sized>(`aten::${name}(SymInt[] size, *, ${options}) -> Tensor`, sizedMeta, draw),
  drawn<Sized>(
    `aten::${name}.generator(SymInt[] size, *, Generator? generator, ${options}) -> Tensor`,
    sizedMeta,
    draw,
  ),
  drawn<Like>(`aten::${name}_like(Tensor self, *, ${likeOptions}) -> Tensor`, likeMeta, draw),
  drawn<Like>(
    `aten::${name}_like.generator(Tensor self, *, Generator? generator, ${likeOptions}) -> Tensor`,
    likeMeta,
    draw,
  ),
];

const between: Draw<Bounds> = (generator, { low = 0, high }) => {
  const limit = high instanceof Tensor ? numberReader(high)(high.storageOffset) : high;
  check(low < limit, `random_ expects 'from' to be less than 'to', but got from=${low} >= to=${limit}`);
  return low + Math.floor(generator.nextUniform() * (limit - low));
};

const integers = 'ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None';
const integerMeta = (args: Sized): TensorMeta => sizedMeta(args, 'int64');

const integerRows: readonly OperatorRow[] = [
  drawn<Sized & Bounds>(`aten::randint(SymInt high, SymInt[] size, *, ${integers}) -> Tensor`, integerMeta, between),
  drawn<Sized & Bounds>(
    `aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ${integers}) -> Tensor`,
    integerMeta,
    between,
  ),
  drawn<Sized & Bounds>(
    `aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ${integers}) -> Tensor`,
    integerMeta,
    between,
  ),
  drawn<Sized & Bounds>(
    `aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ${integers}) -> Tensor`,
    integerMeta,
    between,
  ),
  drawn<Like & Bounds>(`aten::randint_like(Tensor self, SymInt high, *, ${likeOptions}) -> Tensor`, likeMeta, between),
  drawn<Like & Bounds>(
    `aten::randint_like.generator(Tensor self, SymInt high, *, Generator? generator, ${likeOptions}) -> Tensor`,
    likeMeta,
    between,
  ),
  drawn<Like & Bounds>(
    `aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ${likeOptions}) -> Tensor`,
    likeMeta,
    between,
  ),
  drawn<Like & Bounds>(
    `aten::randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, ${likeOptions}) -> Tensor`,
    likeMeta,
    between,
  ),
  kernel<Like & { high: Tensor }>(`aten::randint_like.Tensor(Tensor self, Tensor high, *, ${likeOptions}) -> Tensor`, {
    shape: likeMeta,
    host: (args, [output], { generator }) => writeEach(output, (position) => between(generator, args, position)),
    nondeterministic: true,
  }),
];

interface Permutation extends Options {
  readonly n: number;
}

/** Fisher and Yates's shuffle. */
function shuffled(n: number, generator: RandomGenerator): number[] {
  const order = Array.from({ length: n }, (_, at) => at);
  for (let at = n - 1; at > 0; at--) {
    const other = Math.floor(generator.nextUniform() * (at + 1));
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
}

const permutationRow = (schema: string): OperatorRow =>
  kernel<Permutation>(schema, {
    shape: ({ n, dtype }) => {
      check(n >= 0, `n must be non-negative, got${n}`);
      return { sizes: [n], dtype: dtype ?? 'int64' };
    },
    host: ({ n }, [output], { generator }) => {
      const order = shuffled(n, generator);
      writeEach(output, (at) => order[at]);
    },
    readsNoData: true,
    nondeterministic: true,
  });

interface Distribution {
  readonly self: Tensor;
}

const ofSelf = ({ self }: Distribution): TensorMeta => metaLike(self, self.dtype, null);

/** A tensor of the sizes of `self`, and `self` itself, filled from a distribution. */
const distribution = <Args extends Distribution>(name: string, parameters: string, draw: Draw<Args>): OperatorRow =>
  drawn<Args>(`aten::${name}(Tensor self, ${parameters}*, ${generatorOption}) -> Tensor`, ofSelf, draw, {
    inPlace: name.split('.')[1] ?? '',
  });

/** For distributions whose functional form has other arguments. */
const filledInPlace = <Args extends Distribution>(schema: string, draw: Draw<Args>): OperatorRow =>
  kernel<Args>(schema, {
    host: (args, _, { generator }) => {
      assertNoInternalOverlap(args.self);
      writeEach(args.self, (position) => draw(generator, args, position));
      return args.self;
    },
    nondeterministic: true,
  });

const uniform: Draw<Distribution & { from: number; to: number }> = (generator, { from, to }) => {
  check(from <= to, `uniform_ expects to return a [from, to) range, but found from=${from} > to=${to}`);
  return from + generator.nextUniform() * (to - from);
};

const normal: Draw<Distribution & { mean: number; std: number }> = (generator, { mean, std }) => {
  check(std >= 0, `normal expects std >= 0.0, but found std ${std}`);
  return mean + std * generator.nextNormal();
};

/** In (0, 1]: the logarithm of 0 is no number. */
const positiveUniform = (generator: RandomGenerator): number => 1 - generator.nextUniform();

const exponential: Draw<Distribution & { lambd: number }> = (generator, { lambd }) => {
  check(lambd > 0, `exponential_ expects lambda > 0.0, but found lambda=${lambd}`);
  return -Math.log(positiveUniform(generator)) / lambd;
};

const geometric: Draw<Distribution & { p: number }> = (generator, { p }) => {
  check(p > 0 && p < 1, `geometric_ expects p to be in (0, 1), but got p=${p}`);
  return Math.max(Math.ceil(Math.log(positiveUniform(generator)) / Math.log1p(-p)), 1);
};

const cauchy: Draw<Distribution & { median: number; sigma: number }> = (generator, { median, sigma }) =>
  median + sigma * Math.tan(Math.PI * (generator.nextUniform() - 0.5));

const logNormal: Draw<Distribution & { mean: number; std: number }> = (generator, { mean, std }) => {
  check(std > 0, `log_normal_ expects std > 0.0, but found std=${std}`);
  return Math.exp(mean + std * generator.nextNormal());
};

/** How far whole numbers go that the dtype holds exactly. */
const integerLimits: Partial<Record<ScalarType, number>> = {
  bool: 2,
  uint8: 256,
  int8: 128,
  int16: 2 ** 15,
  int32: 2 ** 31,
  float16: 2049,
  bfloat16: 257,
  float32: 2 ** 24 + 1,
};

const anyInteger: Draw<Distribution & { from?: number; to?: number | null }> = (generator, { self, from = 0, to }) => {
  const limit = to ?? integerLimits[self.dtype] ?? 2 ** 53;
  check(from < limit, `random_ expects 'from' to be less than 'to', but got from=${from} >= to=${limit}`);
  return from + Math.floor(generator.nextUniform() * (limit - from));
};

function checkProbability(p: number): void {
  check(p >= 0 && p <= 1, `bernoulli_ expects p to be in [0, 1], but got p=${p}`);
}

/** Draws that depend on elements of the arguments. */
function drawnFrom<Args>(
  schema: string,
  shape: (args: Args) => TensorMeta,
  numbersOf: (args: Args, sizes: readonly number[]) => readonly (Float64Array | number)[],
  draw: (generator: RandomGenerator, numbers: readonly number[]) => number,
  forms: { inPlace?: string } = {},
): OperatorRow {
  return kernel<Args>(schema, {
    shape,
    host: (args, [output], { generator }) => {
      const numbers = numbersOf(args, output.sizes);
      writeEach(output, (at) =>
        draw(
          generator,
          numbers.map((each) => (typeof each === 'number' ? each : each[at])),
        ),
      );
    },
    nondeterministic: true,
    ...forms,
  });
}

/** All elements in C order, broadcast to `sizes`. */
function numbersIn(tensor: Tensor, sizes: readonly number[]): Float64Array {
  const whole = cloneOf(tensor.asStrided(sizes, broadcastStrides(tensor.sizes, tensor.strides, sizes)));
  const read = numberReader(whole);
  return Float64Array.from({ length: whole.numel }, (_, at) => read(at));
}

const decide = (generator: RandomGenerator, [p]: readonly number[]): number => {
  checkProbability(p);
  return generator.nextUniform() < p ? 1 : 0;
};

const drawNormal = (generator: RandomGenerator, [mean, std]: readonly number[]): number =>
  mean + std * generator.nextNormal();

interface Normal {
  readonly mean: Tensor | number;
  readonly std: Tensor | number;
}

const normalNumbers = ({ mean, std }: Normal, sizes: readonly number[]): (Float64Array | number)[] =>
  [mean, std].map((each) => (each instanceof Tensor ? numbersIn(each, sizes) : each));

const normalMeta = ({ mean, std }: Normal): TensorMeta => {
  const tensors = [mean, std].filter((each) => each instanceof Tensor);
  const sizes = tensors.length === 2 ? broadcastSizes(tensors[0].sizes, tensors[1].sizes) : tensors[0].sizes;
  return { sizes, dtype: tensors[0].dtype };
};

interface Multinomial {
  readonly self: Tensor;
  readonly num_samples: number;
  readonly replacement: boolean;
}

function multinomialMeta({ self, num_samples: samples, replacement }: Multinomial): TensorMeta {
  check(self.dim > 0 && self.dim <= 2, 'prob_dist must be 1 or 2 dim');
  check(isFloatingPoint(self.dtype), `multinomial only supports floating-point dtypes for input, got: ${self.dtype}`);
  check(samples > 0, 'cannot sample n_sample <= 0 samples');
  check(
    replacement || samples <= self.sizes.at(-1)!,
    'cannot sample n_sample > prob_dist.size(-1) samples without replacement',
  );
  return { sizes: [...self.sizes.slice(0, -1), samples], dtype: 'int64' };
}

function sampleRow(weights: Float64Array, samples: number, replacement: boolean, generator: RandomGenerator): number[] {
  check(
    weights.every((weight) => weight >= 0 && Number.isFinite(weight)),
    'probability tensor contains either `inf`, `nan` or element < 0',
  );
  const left = Float64Array.from(weights);
  return Array.from({ length: samples }, () => {
    const total = left.reduce((sum, weight) => sum + weight, 0);
    check(total > 0, 'invalid multinomial distribution (sum of probabilities <= 0)');
    let threshold = generator.nextUniform() * total;
    let chosen = left.findIndex((weight) => (threshold -= weight) < 0);
    if (chosen === -1) chosen = left.findLastIndex((weight) => weight > 0);
    if (!replacement) left[chosen] = 0;
    return chosen;
  });
}

export const randomRows: readonly OperatorRow[] = [
  ...floats('rand', (generator) => generator.nextUniform()),
  ...floats('randn', (generator) => generator.nextNormal()),
  ...integerRows,
  permutationRow(`aten::randperm(SymInt n, *, ${integers}) -> Tensor`),
  permutationRow(`aten::randperm.generator(SymInt n, *, Generator? generator, ${integers}) -> Tensor`),
  distribution('uniform', 'float from=0., float to=1., ', uniform),
  filledInPlace(
    `aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, ${generatorOption}) -> Tensor(a!)`,
    normal,
  ),
  filledInPlace<Distribution & { p: number }>(
    `aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, ${generatorOption}) -> Tensor(a!)`,
    (generator, { p }) => decide(generator, [p]),
  ),
  distribution('exponential', 'float lambd=1., ', exponential),
  distribution('geometric', 'float p, ', geometric),
  distribution('cauchy', 'float median=0., float sigma=1., ', cauchy),
  distribution('log_normal', 'float mean=1., float std=2., ', logNormal),
  distribution('random', '', anyInteger),
  distribution('random.from', 'int from, int? to, ', anyInteger),
  distribution('random.to', 'int to, ', anyInteger),
  drawnFrom<Distribution>(
    `aten::bernoulli(Tensor self, *, ${generatorOption}) -> Tensor`,
    ofSelf,
    ({ self }, sizes) => [numbersIn(self, sizes)],
    decide,
  ),
  drawnFrom<Distribution & { p: number }>(
    `aten::bernoulli.p(Tensor self, float p, *, ${generatorOption}) -> Tensor`,
    ofSelf,
    ({ p }) => [p],
    decide,
  ),
  drawnFrom<Distribution & { p: Tensor }>(
    `aten::bernoulli.Tensor(Tensor self, Tensor p, *, ${generatorOption}) -> Tensor`,
    ofSelf,
    ({ p }, sizes) => [numbersIn(p, sizes)],
    decide,
    { inPlace: 'Tensor' },
  ),
  drawnFrom<Normal>(
    `aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, ${generatorOption}) -> Tensor`,
    normalMeta,
    normalNumbers,
    drawNormal,
  ),
  drawnFrom<Normal>(
    `aten::normal.Tensor_float(Tensor mean, float std=1., *, ${generatorOption}) -> Tensor`,
    normalMeta,
    normalNumbers,
    drawNormal,
  ),
  drawnFrom<Normal>(
    `aten::normal.float_Tensor(float mean, Tensor std, *, ${generatorOption}) -> Tensor`,
    normalMeta,
    normalNumbers,
    drawNormal,
  ),
  drawn<Sized & { mean: number; std: number }>(
    `aten::normal.float_float(float mean, float std, SymInt[] size, *, ${generatorOption}, ${options}) -> Tensor`,
    sizedMeta,
    (generator, { mean, std }) => mean + std * generator.nextNormal(),
  ),
  kernel<Multinomial>(
    `aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, ${generatorOption}) -> Tensor`,
    {
      shape: multinomialMeta,
      host: ({ self, num_samples: samples, replacement }, [output], { generator }) => {
        const width = self.sizes.at(-1)!;
        const weights = numbersIn(self, self.sizes);
        const chosen: number[] = [];
        for (let start = 0; start < weights.length; start += width)
          chosen.push(...sampleRow(weights.subarray(start, start + width), samples, replacement, generator));
        writeEach(output, (at) => chosen[at]);
      },
      out: true,
      nondeterministic: true,
    },
  ),
];
