import { contiguousStrides, isComplex, isFloatingPoint, Tensor, type ScalarType, scratch } from '@cresset/tensor';
import {
  binary,
  cast,
  constant,
  exprTypeOf,
  param,
  select,
  TensorView,
  type AxisExpr,
  type Expr,
} from '@cresset/tensorexpr';
import { expand } from '../../kernels/broadcast.ts';
import { kernel } from '../../table/builders.ts';
import { assertNoInternalOverlap, checkSizes } from '../../kernels/dimensions.ts';
import { numberReader } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
import { lowerGenerated, writeInPieces } from '../../kernels/fill.ts';
import { evaluationPieces, hostLoad } from '../../kernels/loops/pointwise.ts';
import { uniformAt, uniformExpr } from '../../kernels/numbers/random-stream.ts';
import { integerAt, integerExpr, normalAt, normalExpr } from './draws.ts';
import type { LoweringContext, OperatorRow, RandomGenerator, TensorMeta } from '../../table/row.ts';
import { defaultDtype, dtypeName } from '../../kernels/type-promotion.ts';
import { lowerCopy, viewAsReal, cloneInPieces } from '../../kernels/copy.ts';
import { lowerSort } from '../sorting/sort-lowering.ts';
import { metaLike } from '../creation/creation.ts';
import { type Pieces, filled, repeat } from '../../kernels/loops/pieces.ts';
import { readNumbers } from '../../kernels/numbers/numbers.ts';
import { stableOrder } from '../sorting/sort.ts';

/** Random tensors (ATen/native/Distributions.cpp, TensorFactories.cpp). Numbers come from the run's generator, so they are
 * PyTorch's in distribution, not one by one. */

export const options = 'ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None';
const likeOptions = `${options}, MemoryFormat? memory_format=None`;
export const generatorOption = 'Generator? generator=None';

/** How elements of a tensor follow from draws, one each: `leaf` is what is drawn. */
export interface Distribution<Args> {
  readonly leaf: 'uniform' | 'normal';
  /** Throws PyTorch's error for bad parameters. */
  readonly refuses?: (args: Args) => void;
  /** Tensors and numbers that the value depends on beside the draw. */
  readonly parameters?: (args: Args) => readonly (Tensor | number)[];
  /** The value of an element, `float`; the host's elements come from it too. */
  readonly body: (draw: Expr, parameters: readonly Expr[]) => Expr;
}

/** What a draw takes, in operations. */
const DRAW = 64;

const leaves = {
  uniform: { at: uniformAt, expr: uniformExpr },
  normal: { at: normalAt, expr: normalExpr },
} as const;

/** Fills a tensor on the host. */
function* drawInto<Args>(output: Tensor, how: Distribution<Args>, args: Args, generator: RandomGenerator): Pieces {
  how.refuses?.(args);
  const stream = generator.stream(output.numel);
  const { at } = leaves[how.leaf];
  const drawn = Tensor.empty(output.sizes, 'float64');
  yield* filled(drawn.storageArrayForWriting() as Float64Array, DRAW, (draw) => at(stream, draw, output.dtype));
  const draws = hostLoad(drawn);
  const loads = [draws];
  const parameters = (how.parameters?.(args) ?? []).map((each) => {
    if (!(each instanceof Tensor)) return param('float', each);
    loads.push(hostLoad(each));
    return cast('float', loads.at(-1)!);
  });
  const value = cast(exprTypeOf(output.dtype), how.body(draws, parameters));
  yield* evaluationPieces(output, value, loads, output.dtype === 'float64');
}

/** The position of an element in C order. */
function flatPosition(axes: readonly AxisExpr[], sizes: readonly number[]): Expr {
  return contiguousStrides(sizes).reduce<Expr>(
    (sum, stride, dim) => binary('add', sum, stride === 1 ? axes[dim] : binary('mul', axes[dim], param('i32', stride))),
    constant('i32', 0),
  );
}

/** Fills a tensor on a device, with the numbers that the host would give. */
function lowerDraws<Args>(
  output: Tensor,
  how: Distribution<Args>,
  args: Args,
  context: LoweringContext,
  label: string,
): void {
  how.refuses?.(args);
  const stream = context.generator.stream(output.numel);
  const given = (how.parameters?.(args) ?? []).map((each) =>
    each instanceof Tensor ? new TensorView(expand(each, output.sizes)) : param('float', each),
  );
  lowerGenerated(
    output,
    (axes) => {
      const parameters = given.map((each) => (each instanceof TensorView ? cast('float', each.at(axes)) : each));
      const draw = leaves[how.leaf].expr(stream, flatPosition(axes, output.sizes), output.dtype);
      return how.body(draw, parameters);
    },
    context,
    label,
  );
}

const labelOf = (schema: string): string => schema.slice(0, schema.search(/[.(]/));

/** Results drawn from a distribution. Complex numbers are made of two real ones. */
export function drawn<Args>(
  schema: string,
  shape: (args: Args) => TensorMeta,
  how: Distribution<Args>,
  forms: { inPlace?: string } = {},
): OperatorRow {
  return kernel<Args>(schema, {
    shape,
    host: (args, [output], { generator }) =>
      isComplex(output.dtype)
        ? drawInto(viewAsReal(output), complexParts(how), args, generator)
        : drawInto(output, how, args, generator),
    lower: (args, [output], context) => {
      if (!isComplex(output.dtype)) lowerDraws(output, how, args, context, labelOf(schema));
      else lowerDraws(viewAsReal(output), complexParts(how), args, context, labelOf(schema));
    },
    readsNoData: true,
    nondeterministic: true,
    ...forms,
  });
}

/** Parts of a normal complex number have half its variance. */
function complexParts<Args>(how: Distribution<Args>): Distribution<Args> {
  if (how.leaf !== 'normal') return how;
  const scale = constant('float', Math.SQRT1_2);
  return { ...how, body: (draw, parameters) => how.body(binary('mul', draw, scale), parameters) };
}

/** Whole numbers from `low` up to, not including, `low + range`. */
export interface Range {
  readonly low: number;
  readonly range: number;
}

export function drawnIntegers<Args>(
  schema: string,
  shape: (args: Args) => TensorMeta,
  rangeOf: (args: Args) => Range,
  forms: { inPlace?: string } = {},
): OperatorRow {
  return kernel<Args>(schema, {
    shape,
    host: (args, [output], { generator }) => drawIntegersInto(output, rangeOf(args), generator),
    lower: (args, [output], context) => {
      const { low, range } = rangeOf(args);
      const stream = context.generator.stream(output.numel);
      lowerGenerated(
        output,
        (axes) =>
          binary('add', param('i64', BigInt(low)), integerExpr(stream, flatPosition(axes, output.sizes), range)),
        context,
        labelOf(schema),
      );
    },
    readsNoData: true,
    nondeterministic: true,
    ...forms,
  });
}

function* drawIntegersInto(output: Tensor, { low, range }: Range, generator: RandomGenerator): Pieces {
  const stream = generator.stream(output.numel);
  yield* writeInPieces(
    output,
    (draw) => {
      const drawn = integerAt(stream, draw, range);
      return typeof drawn === 'bigint' ? drawn + BigInt(low) : drawn + low;
    },
    DRAW,
  );
}

interface Options {
  readonly dtype: ScalarType | null;
}

export interface Sized extends Options {
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

export const sizedMeta = ({ size, dtype }: Sized, otherwise: ScalarType = defaultDtype): TensorMeta => {
  checkSizes(size);
  return { sizes: size, dtype: dtype ?? otherwise };
};

const likeMeta = ({ self, dtype, memory_format: format }: Like): TensorMeta =>
  metaLike(self, dtype ?? self.dtype, format);

/** `rand`, `rand_like` and their forms with a generator. */
const floats = (name: string, leaf: 'uniform' | 'normal'): OperatorRow[] => {
  const how: Distribution<unknown> = { leaf, body: (draw) => draw };
  return [
    drawn<Sized>(`aten::${name}(SymInt[] size, *, ${options}) -> Tensor`, sizedMeta, how),
    drawn<Sized>(
      `aten::${name}.generator(SymInt[] size, *, Generator? generator, ${options}) -> Tensor`,
      sizedMeta,
      how,
    ),
    drawn<Like>(`aten::${name}_like(Tensor self, *, ${likeOptions}) -> Tensor`, likeMeta, how),
    drawn<Like>(
      `aten::${name}_like.generator(Tensor self, *, Generator? generator, ${likeOptions}) -> Tensor`,
      likeMeta,
      how,
    ),
  ];
};

function integerOf(high: Tensor): number {
  check(high.dim === 0, 'high must be a scalar tensor and on CPU');
  return Math.trunc(numberReader(high)(high.storageOffset));
}

function between({ low = 0, high }: Bounds): Range {
  const limit = high instanceof Tensor ? integerOf(high) : high;
  check(low < limit, `random_ expects 'from' to be less than 'to', but got from=${low} >= to=${limit}`);
  return { low, range: limit - low };
}

const integers = 'ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None';
const integerMeta = (args: Sized): TensorMeta => sizedMeta(args, 'int64');

const integerRows: readonly OperatorRow[] = [
  drawnIntegers<Sized & Bounds>(
    `aten::randint(SymInt high, SymInt[] size, *, ${integers}) -> Tensor`,
    integerMeta,
    between,
  ),
  drawnIntegers<Sized & Bounds>(
    `aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ${integers}) -> Tensor`,
    integerMeta,
    between,
  ),
  drawnIntegers<Sized & Bounds>(
    `aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ${integers}) -> Tensor`,
    integerMeta,
    between,
  ),
  drawnIntegers<Sized & Bounds>(
    `aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ${integers}) -> Tensor`,
    integerMeta,
    between,
  ),
  drawnIntegers<Like & Bounds>(
    `aten::randint_like(Tensor self, SymInt high, *, ${likeOptions}) -> Tensor`,
    likeMeta,
    between,
  ),
  drawnIntegers<Like & Bounds>(
    `aten::randint_like.generator(Tensor self, SymInt high, *, Generator? generator, ${likeOptions}) -> Tensor`,
    likeMeta,
    between,
  ),
  drawnIntegers<Like & Bounds>(
    `aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ${likeOptions}) -> Tensor`,
    likeMeta,
    between,
  ),
  drawnIntegers<Like & Bounds>(
    `aten::randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, ${likeOptions}) -> Tensor`,
    likeMeta,
    between,
  ),
  kernel<Like & { high: Tensor }>(`aten::randint_like.Tensor(Tensor self, Tensor high, *, ${likeOptions}) -> Tensor`, {
    shape: likeMeta,
    host: (args, [output], { generator }) => drawIntegersInto(output, between(args), generator),
    nondeterministic: true,
  }),
];

interface Permutation extends Options {
  readonly n: number;
}

/** The order of as many random keys: what a device that sorts gives too. */
function* shuffled(n: number, generator: RandomGenerator): Pieces<Int32Array> {
  const stream = generator.stream(n);
  const keys = yield* filled(scratch(Float64Array, n), 32, (at) => stream.low(at));
  return yield* stableOrder(n, (a, b) => keys[a] < keys[b]);
}

const permutationRow = (schema: string): OperatorRow =>
  kernel<Permutation>(schema, {
    shape: ({ n, dtype }) => {
      checkSizes([n]);
      return { sizes: [n], dtype: dtype ?? 'int64' };
    },
    *host({ n }, [output], { generator }) {
      const order = yield* shuffled(n, generator);
      yield* writeInPieces(output, (at) => order[at]);
    },
    lower: ({ n }, [output], context) => {
      if (n === 0) return;
      const keys = context.temporary([n], 'int64');
      const order = context.temporary([n], 'int64');
      const stream = context.generator.stream(n);
      lowerGenerated(keys, ([at]) => integerExpr(stream, at, 2 ** 32), context, 'aten::randperm');
      lowerSort('aten::randperm', keys, 0, false, 0, null, order, context);
      lowerCopy(output, order, context, 'aten::randperm');
    },
    readsNoData: true,
    nondeterministic: true,
  });

export interface OfSelf {
  readonly self: Tensor;
}

export const ofSelf = ({ self }: OfSelf): TensorMeta => metaLike(self, self.dtype, null);

/** A tensor of the sizes of `self`, and `self` itself, filled from a distribution. */
export const distribution = <Args extends OfSelf>(
  name: string,
  parameters: string,
  how: Distribution<Args>,
): OperatorRow =>
  drawn<Args>(`aten::${name}(Tensor self, ${parameters}*, ${generatorOption}) -> Tensor`, ofSelf, how, {
    inPlace: name.split('.')[1] ?? '',
  });

/** For distributions whose functional form has other arguments. */
const filledInPlace = <Args extends OfSelf>(schema: string, how: Distribution<Args>): OperatorRow =>
  kernel<Args>(schema, {
    *host(args, _, { generator }) {
      const { self } = args;
      assertNoInternalOverlap(self);
      if (!isComplex(self.dtype)) yield* drawInto(self, how, args, generator);
      else yield* drawInto(viewAsReal(self), complexParts(how), args, generator);
      return self;
    },
    device: (args, context) => {
      assertNoInternalOverlap(args.self);
      lowerDraws(args.self, how, args, context, labelOf(schema));
      return args.self;
    },
    nondeterministic: true,
  });

export const float = (value: number): Expr => constant('float', value);

export const uniform: Distribution<OfSelf & { from: number; to: number }> = {
  leaf: 'uniform',
  refuses: ({ from, to }) =>
    check(from <= to, `uniform_ expects to return a [from, to) range, but found from=${from} > to=${to}`),
  parameters: ({ from, to }) => [from, to - from],
  body: (draw, [from, width]) => binary('add', from, binary('mul', draw, width)),
};

export const scaledNormal = (draw: Expr, [mean, std]: readonly Expr[]): Expr =>
  binary('add', mean, binary('mul', std, draw));

export const normal: Distribution<OfSelf & { mean: number; std: number }> = {
  leaf: 'normal',
  refuses: ({ std }) => check(std >= 0, `normal expects std >= 0.0, but found std ${std}`),
  parameters: ({ mean, std }) => [mean, std],
  body: scaledNormal,
};

/** Draws that depend on elements of the arguments. */
export function drawnFrom<Args>(
  schema: string,
  shape: (args: Args) => TensorMeta,
  how: Distribution<Args>,
  forms: { inPlace?: string } = {},
): OperatorRow {
  return { ...drawn(schema, shape, how, forms), readsNoData: false };
}

/** All elements in C order. */
export function* numbersIn(tensor: Tensor): Pieces<Float64Array> {
  const whole = yield* cloneInPieces(tensor);
  return yield* filled(scratch(Float64Array, whole.numel), 4, numberReader(whole));
}

const decision = (draw: Expr, [p]: readonly Expr[]): Expr => select(binary('lt', draw, p), float(1), float(0));

function checkProbability(p: number): void {
  check(p >= 0 && p <= 1, `bernoulli_ expects p to be in [0, 1], but got p=${p}`);
}

const decisionsOf = <Args>(p: (args: Args) => Tensor | number): Distribution<Args> => ({
  leaf: 'uniform',
  refuses: (args) => {
    const given = p(args);
    if (!(given instanceof Tensor)) checkProbability(given);
    else if (given.storage.isOnHost) {
      const fits = readNumbers(given).every((p) => p >= 0 && p <= 1);
      check(
        fits,
        'Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)',
      );
    }
  },
  parameters: (args) => [p(args)],
  body: decision,
});

interface Multinomial {
  readonly self: Tensor;
  readonly num_samples: number;
  readonly replacement: boolean;
}

function multinomialMeta({ self, num_samples: samples, replacement }: Multinomial): TensorMeta {
  check(self.dim > 0 && self.dim <= 2, 'prob_dist must be 1 or 2 dim');
  check(
    isFloatingPoint(self.dtype),
    `multinomial only supports floating-point dtypes for input, got: ${dtypeName(self.dtype)}`,
  );
  check(samples > 0, 'cannot sample n_sample <= 0 samples');
  check(
    replacement || samples <= self.sizes.at(-1)!,
    'cannot sample n_sample > prob_dist.size(-1) samples without replacement',
  );
  return { sizes: [...self.sizes.slice(0, -1), samples], dtype: 'int64' };
}

/** Draws as many positions as `chosen` has room for. */
function* sampleRow(
  weights: Float64Array,
  replacement: boolean,
  generator: RandomGenerator,
  chosen: Float64Array,
): Pieces {
  const isRepeated = chosen.length > 1 && replacement;
  yield* repeat(isRepeated ? weights.length : 0, 4, (at) => {
    check(!(weights[at] < 0), 'invalid multinomial distribution (encountering probability entry < 0)');
    check(
      Number.isFinite(weights[at]),
      'invalid multinomial distribution (encountering probability entry = infinity or NaN)',
    );
  });
  yield* repeat(weights.length, 4, (at) =>
    check(
      weights[at] >= 0 && Number.isFinite(weights[at]),
      'probability tensor contains either `inf`, `nan` or element < 0',
    ),
  );
  const left = Float64Array.from(weights);
  yield* filled(chosen, 4 * weights.length, () => {
    const total = left.reduce((sum, weight) => sum + weight, 0);
    check(total > 0, 'invalid multinomial distribution (sum of probabilities <= 0)');
    let threshold = generator.nextUniform() * total;
    let place = left.findIndex((weight) => (threshold -= weight) < 0);
    if (place === -1) place = left.findLastIndex((weight) => weight > 0);
    if (!replacement) left[place] = 0;
    return place;
  });
}

export const randomRows: readonly OperatorRow[] = [
  ...floats('rand', 'uniform'),
  ...floats('randn', 'normal'),
  ...integerRows,
  permutationRow(`aten::randperm(SymInt n, *, ${integers}) -> Tensor`),
  permutationRow(`aten::randperm.generator(SymInt n, *, Generator? generator, ${integers}) -> Tensor`),
  distribution('uniform', 'float from=0., float to=1., ', uniform),
  filledInPlace(
    `aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, ${generatorOption}) -> Tensor(a!)`,
    normal,
  ),
  filledInPlace<OfSelf & { p: number }>(
    `aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, ${generatorOption}) -> Tensor(a!)`,
    decisionsOf(({ p }) => p),
  ),
  drawnFrom<OfSelf>(
    `aten::bernoulli(Tensor self, *, ${generatorOption}) -> Tensor`,
    ofSelf,
    decisionsOf(({ self }) => self),
  ),
  drawnFrom<OfSelf & { p: number }>(
    `aten::bernoulli.p(Tensor self, float p, *, ${generatorOption}) -> Tensor`,
    ofSelf,
    decisionsOf(({ p }) => p),
  ),
  drawnFrom<OfSelf & { p: Tensor }>(
    `aten::bernoulli.Tensor(Tensor self, Tensor p, *, ${generatorOption}) -> Tensor`,
    ofSelf,
    decisionsOf(({ p }) => p),
    { inPlace: 'Tensor' },
  ),
  kernel<Multinomial>(
    `aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, ${generatorOption}) -> Tensor`,
    {
      shape: multinomialMeta,
      *host({ self, num_samples: samples, replacement }, [output], { generator }) {
        const width = self.sizes.at(-1)!;
        const weights = yield* numbersIn(self);
        const chosen = scratch(Float64Array, output.numel);
        for (let row = 0; row * width < weights.length; row++) {
          const own = weights.subarray(row * width, (row + 1) * width);
          const places = chosen.subarray(row * samples, (row + 1) * samples);
          yield* sampleRow(own, replacement, generator, places);
          yield;
        }
        yield* writeInPieces(output, (at) => chosen[at]);
      },
      out: true,
      nondeterministic: true,
    },
  ),
];
