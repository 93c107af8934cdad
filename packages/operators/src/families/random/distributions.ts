import { isFloatingPoint, Tensor, type ScalarType } from '@cresset/tensor';
import { binary, unary, type Expr } from '@cresset/tensorexpr';
import { broadcastSizes, expand } from '../../kernels/broadcast.ts';
import { kernel } from '../../table/builders.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { writeInPieces } from '../../kernels/fill.ts';
import { readNumbers } from '../../kernels/numbers/numbers.ts';
import type { OperatorRow, RandomGenerator, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import {
  options,
  generatorOption,
  type Distribution,
  drawn,
  type Range,
  drawnIntegers,
  type Sized,
  sizedMeta,
  type OfSelf,
  ofSelf,
  distribution,
  float,
  scaledNormal,
  drawnFrom,
  numbersIn,
} from './random.ts';

/** Random numbers of distributions that models rarely draw from (ATen/native/Distributions.cpp). */

/** The logarithm of a number in (0, 1]: that of 0 is no number. */
const logarithm = (draw: Expr): Expr => unary('log', binary('sub', float(1), draw));

const exponential: Distribution<OfSelf & { lambd: number }> = {
  leaf: 'uniform',
  refuses: ({ lambd }) => check(lambd > 0, `exponential_ expects lambda > 0.0, but found lambda=${lambd}`),
  parameters: ({ lambd }) => [-lambd],
  body: (draw, [rate]) => binary('div', logarithm(draw), rate),
};

const geometric: Distribution<OfSelf & { p: number }> = {
  leaf: 'uniform',
  refuses: ({ p }) => check(p > 0 && p < 1, `geometric_ expects p to be in (0, 1), but got p=${p}`),
  parameters: ({ p }) => [Math.log1p(-p)],
  body: (draw, [rate]) => binary('max', unary('ceil', binary('div', logarithm(draw), rate)), float(1)),
};

const cauchy: Distribution<OfSelf & { median: number; sigma: number }> = {
  leaf: 'uniform',
  parameters: ({ median, sigma }) => [median, sigma],
  body: (draw, [median, sigma]) => {
    const angle = binary('mul', float(Math.PI), binary('sub', draw, float(0.5)));
    return binary('add', median, binary('mul', sigma, unary('tan', angle)));
  },
};

const logNormal: Distribution<OfSelf & { mean: number; std: number }> = {
  leaf: 'normal',
  refuses: ({ std }) => check(std > 0, `log_normal_ expects std > 0.0, but found std=${std}`),
  parameters: ({ mean, std }) => [mean, std],
  body: (draw, parameters) => unary('exp', scaledNormal(draw, parameters)),
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

function anyInteger({ self, from = 0, to }: OfSelf & { from?: number; to?: number | null }): Range {
  const limit = to ?? integerLimits[self.dtype] ?? 2 ** 53;
  check(from < limit, `random_ expects 'from' to be less than 'to', but got from=${from} >= to=${limit}`);
  return { low: from, range: limit - from };
}

const integersOfSelf = (name: string, parameters: string): OperatorRow =>
  drawnIntegers<OfSelf & { from?: number; to?: number | null }>(
    `aten::${name}(Tensor self, ${parameters}*, ${generatorOption}) -> Tensor`,
    ofSelf,
    anyInteger,
    { inPlace: name.split('.')[1] ?? '' },
  );

interface Normal {
  readonly mean: Tensor | number;
  readonly std: Tensor | number;
}

const normalOf: Distribution<Normal> = {
  leaf: 'normal',
  refuses: ({ std }) => {
    if (!(std instanceof Tensor)) check(std >= 0, `normal expects std >= 0.0, but found std ${std}`);
    else if (std.storage.isOnHost) {
      const fits = readNumbers(std).every((each) => each >= 0);
      check(fits, 'normal expects all elements of std >= 0.0');
    }
  },
  parameters: ({ mean, std }) => [mean, std],
  body: scaledNormal,
};

const normalMeta = ({ mean, std }: Normal): TensorMeta => {
  const tensors = [mean, std].filter((each) => each instanceof Tensor);
  const sizes = tensors.length === 2 ? broadcastSizes(tensors[0].sizes, tensors[1].sizes) : tensors[0].sizes;
  return { sizes, dtype: tensors[0].dtype };
};

/** Rates up to this are drawn at once: e to their negative is far from underflow. */
const largestRate = 500;

/** How many events of this rate: as many as the sum of their probabilities needs to pass one uniform number. */
function poisson(rate: number, generator: RandomGenerator): number {
  check(rate >= 0, 'invalid Poisson rate, expected rate to be non-negative');
  // The sum of two such numbers is one of the sum of their rates.
  if (rate > largestRate) return poisson(largestRate, generator) + poisson(rate - largestRate, generator);
  let left = generator.nextUniform();
  let count = 0;
  for (let probability = Math.exp(-rate); (left -= probability) >= 0 && probability > 0;) probability *= rate / ++count;
  return count;
}

/** How many of `count` trials succeed, each with probability `p`. */
function binomial(count: number, p: number, generator: RandomGenerator): number {
  if (Number.isNaN(count) || Number.isNaN(p)) return NaN;
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  if (p > 0.5) return count - binomial(count, 1 - p, generator);
  // Trials between two successes have a geometric distribution.
  const failure = Math.log1p(-p);
  let successes = -1;
  for (let trials = 0; trials <= count; successes++) {
    trials += Math.floor(Math.log(1 - generator.nextUniform()) / failure) + 1;
  }
  return successes;
}

interface BinomialArgs {
  readonly count: Tensor;
  readonly prob: Tensor;
}

const binomialRow = kernel<BinomialArgs>(`aten::binomial(Tensor count, Tensor prob, ${generatorOption}) -> Tensor`, {
  shape: ({ count, prob }) => {
    check(
      isFloatingPoint(count.dtype),
      () => `binomial only supports floating-point dtypes for count, got: ${dtypeName(count.dtype)}`,
    );
    check(
      count.dtype === prob.dtype,
      () => `Found dtype ${dtypeName(prob.dtype)} but expected ${dtypeName(count.dtype)}`,
    );
    return { sizes: broadcastSizes(count.symSizes, prob.symSizes), dtype: count.dtype };
  },
  *host({ count, prob }, [output], { generator }) {
    const counts = yield* numbersIn(expand(count, output.sizes));
    const probabilities = yield* numbersIn(expand(prob, output.sizes));
    yield* writeInPieces(output, (at) => binomial(counts[at], probabilities[at], generator), 1024);
  },
  nondeterministic: true,
  out: true,
});

export const distributionRows: readonly OperatorRow[] = [
  binomialRow,
  kernel<OfSelf>(`aten::poisson(Tensor self, ${generatorOption}) -> Tensor`, {
    shape: ({ self }) => {
      if (!isFloatingPoint(self.dtype)) throw notImplementedFor('poisson_cpu', dtypeName(self.dtype));
      return ofSelf({ self });
    },
    *host({ self }, [output], { generator }) {
      const rates = yield* numbersIn(self);
      yield* writeInPieces(output, (at) => poisson(rates[at], generator), 1024);
    },
    nondeterministic: true,
    out: true,
  }),
  distribution('exponential', 'float lambd=1., ', exponential),
  distribution('geometric', 'float p, ', geometric),
  distribution('cauchy', 'float median=0., float sigma=1., ', cauchy),
  distribution('log_normal', 'float mean=1., float std=2., ', logNormal),
  integersOfSelf('random', ''),
  integersOfSelf('random.from', 'int from, int? to, '),
  integersOfSelf('random.to', 'int to, '),
  drawnFrom<Normal>(
    `aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, ${generatorOption}) -> Tensor`,
    normalMeta,
    normalOf,
  ),
  drawnFrom<Normal>(
    `aten::normal.Tensor_float(Tensor mean, float std=1., *, ${generatorOption}) -> Tensor`,
    normalMeta,
    normalOf,
  ),
  drawnFrom<Normal>(
    `aten::normal.float_Tensor(float mean, Tensor std, *, ${generatorOption}) -> Tensor`,
    normalMeta,
    normalOf,
  ),
  drawn<Sized & { mean: number; std: number }>(
    `aten::normal.float_float(float mean, float std, SymInt[] size, *, ${generatorOption}, ${options}) -> Tensor`,
    sizedMeta,
    normalOf,
  ),
];
