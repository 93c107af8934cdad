import {
  Complex,
  isComplex,
  isFloatingPoint,
  isIntegral,
  realType,
  symEq,
  symSame,
  type ScalarType,
  type Tensor,
} from '@cresset/tensor';
import { binary, cast, constant, select, unary, type Expr } from '@cresset/tensorexpr';
import { kernel, reduction, type Forms } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { lowerReduction, reductionPieces, reductionShape } from '../../kernels/loops/reduction.ts';
import type { OperatorRow, PointwiseArguments, ReductionElement, ReductionRule } from '../../table/row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { dtypeName, toFloating } from '../../kernels/type-promotion.ts';
import { checkNormDtypes } from '../linalg/checks.ts';
import { diagonal, unsqueeze } from '../views/view-functions.ts';

/** Elements combined over dimensions (ATen/native/ReduceOps.cpp, LinearAlgebra.cpp). */

const number = (value: number): Expr => constant('float', value);
const zero = new Complex(0, 0);
const unit = new Complex(1, 0);

/** Complex elements combined one after the other, with stops on the way. */
function* combined<Value>(
  elements: readonly Complex[],
  start: Value,
  combine: (value: Value, z: Complex) => Value,
): Pieces<Value> {
  let value = start;
  yield* repeat(elements.length, 64, (at) => void (value = combine(value, elements[at])));
  return value;
}

const total = (elements: readonly Complex[]): Pieces<Complex> => combined(elements, zero, complex.add);
const scaledBy = (z: Complex, factor: number): Complex => new Complex(z.re * factor, z.im * factor);

/** Sums of integers are int64, unless a dtype is asked for. */
const summed = (self: ScalarType, { dtype }: PointwiseArguments): ScalarType =>
  dtype ?? (isIntegral(self, true) ? 'int64' : self);

const sum: ReductionRule = {
  dtype: summed,
  body: ({ self, over }) => over('sum', self),
  complex: total,
};

const product: ReductionRule = {
  dtype: summed,
  body: ({ self, over }) => over('prod', self),
  complex: (elements) => combined(elements, unit, complex.multiply),
};

const withoutNaN = (x: Expr): Expr => (x.type === 'float' ? select(unary('isnan', x), number(0), x) : x);

/** PyTorch has no kernel for the sum of those complex numbers that are not NaN; integers, none of which is, are simply summed. */
const refuseComplexSum = (self: Tensor, _: readonly number[], { dtype }: PointwiseArguments): void => {
  if (dtype && isComplex(dtype) && !isIntegral(self.dtype, true))
    throw notImplementedFor('nansum_cpu', dtypeName(dtype));
};

const nanSum: ReductionRule = {
  ...sum,
  refuses: refuseComplexSum,
  body: ({ self, over }) => over('sum', withoutNaN(self)),
};

const averaged = (self: ScalarType, { dtype }: PointwiseArguments): ScalarType => {
  const result: ScalarType = dtype ?? self;
  check(
    !isIntegral(result, true),
    `mean(): could not infer output dtype. ${dtype ? 'Optional' : 'Input'} dtype must be either a floating point or complex dtype. Got: ${dtypeName(result)}`,
  );
  return result;
};

function* complexMean(elements: readonly Complex[]): Pieces<Complex> {
  return scaledBy(yield* total(elements), 1 / elements.length);
}

const mean: ReductionRule = {
  dtype: averaged,
  body: ({ self, count, over }) => binary('div', over('sum', self), count),
  complex: complexMean,
};

const nanMean: ReductionRule = {
  dtype: averaged,
  body: ({ self, over }) => {
    const isNumber = select(unary('isnan', self), number(0), number(1));
    return binary('div', over('sum', withoutNaN(self)), over('sum', isNumber));
  },
  refuses: refuseComplexSum,
};

/** The number that is taken off the count of elements; `unbiased` stands for 1. */
const correctionOf = ({ correction, unbiased }: PointwiseArguments): number =>
  unbiased === undefined ? (correction === null ? 1 : Number(correction)) : unbiased ? 1 : 0;

function variance({ self, count, over }: ReductionElement, args: PointwiseArguments): Expr {
  const deviation = binary('sub', self, binary('div', over('sum', self), count));
  const degrees = binary('max', number(0), binary('sub', count, number(correctionOf(args))));
  return binary('div', over('sum', binary('mul', deviation, deviation)), degrees);
}

function* complexVariance(elements: readonly Complex[], args: PointwiseArguments): Pieces<number> {
  const center = yield* complexMean(elements);
  const squares = yield* combined(
    elements,
    0,
    (sumSoFar, z) => sumSoFar + complex.magnitude(complex.subtract(z, center)) ** 2,
  );
  return squares / Math.max(0, elements.length - correctionOf(args));
}

const spread = (finish: (x: Expr) => Expr, finishNumber: (x: number) => number): ReductionRule => ({
  dtype(self) {
    check(!isIntegral(self, true), 'std and var only support floating point and complex dtypes');
    return realType(self);
  },
  computing: (self) => self,
  body: (element, args) => finish(variance(element, args)),
  *complex(elements, args) {
    return finishNumber(yield* complexVariance(elements, args));
  },
});

const variances = spread(
  (x) => x,
  (x) => x,
);
const deviations = spread((x) => unary('sqrt', x), Math.sqrt);
const plainMean: ReductionRule = { ...mean, dtype: (self) => self };

/** A mean beside a variance takes the same arguments. */
const spreadForms = ['', '.dim', '.correction'] as const;
const spreadArguments = {
  '': 'bool unbiased=True',
  '.dim': 'int[1]? dim, bool unbiased=True, bool keepdim=False',
  '.correction': 'int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False',
};
const spreadOut = { '': false, '.dim': 'out', '.correction': 'correction_out' } as const;

const spreadRows = (name: string, rule: ReductionRule): OperatorRow[] =>
  spreadForms.flatMap((form) => [
    reduction(`aten::${name}${form}(Tensor self, ${spreadArguments[form]}) -> Tensor`, {
      ...rule,
      out: spreadOut[form],
    }),
    several(`aten::${name}_mean${form}(Tensor self, ${spreadArguments[form]}) -> (Tensor, Tensor)`, [rule, plainMean]),
  ]);

/** Several reductions of one tensor, one result each. */
function several(
  schema: string,
  rules: readonly ReductionRule[],
  prepare: (args: PointwiseArguments) => PointwiseArguments = (args) => args,
  forms: Forms = {},
): OperatorRow {
  const rows = rules.map((rule): OperatorRow => ({ schema, reduction: rule }));
  return kernel<PointwiseArguments>(schema, {
    shape: (args) => rows.map((row) => reductionShape(row, prepare(args))),
    *host(args, outputs) {
      for (let at = 0; at < rows.length; at++) yield* reductionPieces(rows[at], prepare(args), outputs[at]);
    },
    lower: (args, outputs, context) =>
      rows.forEach((row, at) => lowerReduction(row, prepare(args), outputs[at], context)),
    lowerable: ({ self }) => !isComplex(self.dtype),
    ...forms,
  });
}

/** Reductions that have no value over nothing. */
const needsElements =
  (name: string) =>
  (self: Tensor, dims: readonly number[], { dim }: PointwiseArguments): void => {
    if (!symEq(self.symNumel, 0)) return;
    const isWhole = dim === undefined || dim === null || (Array.isArray(dim) && dim.length === 0);
    check(
      !isWhole,
      name === 'aminmax'
        ? 'aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.'
        : `${name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.`,
      'IndexError',
    );
    for (const each of dims)
      check(
        self.sizes[each] !== 0,
        `${name === 'aminmax' ? name : `${name}()`}: Expected reduction dim ${each} to have non-zero size.`,
        'IndexError',
      );
  };

const refuseComplex = (name: string, dtype: ScalarType): void => {
  if (isComplex(dtype)) throw notImplementedFor(name, dtypeName(dtype));
};

function extreme(name: string, fn: 'max' | 'min'): ReductionRule {
  return {
    dtype: (self) => self,
    refuses: needsElements(name),
    body: ({ self, type, over }) => (type === 'bool' ? over(fn === 'max' ? 'any' : 'all', self) : over(fn, self)),
  };
}

const position = (name: string, fn: 'argmax' | 'argmin'): ReductionRule => ({
  dtype: () => 'int64',
  computing: (self) => (self === 'bool' ? 'uint8' : self),
  refuses: (self, dims, args) => {
    needsElements(name)(self, dims, args);
    if (name.startsWith('arg')) refuseComplex(`${name}_cpu`, self.dtype);
    if (name.startsWith('arg') && self.dtype === 'bool') throw notImplementedFor(`${name}_cpu`, 'Bool');
  },
  body: ({ self, over }) => over(fn, self),
});

/** A value and where it was found, along one dimension. */
const extremeWithIndex = (name: 'max' | 'min', out: string): OperatorRow =>
  several(
    `aten::${name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)`,
    [extreme(name, name), position(name, `arg${name}`)],
    undefined,
    { out },
  );

const truth = (name: 'any' | 'all'): ReductionRule => ({
  dtype: (self) => (self === 'uint8' ? 'uint8' : 'bool'),
  computing: (self) => self,
  body: ({ self, over }) => over(name, cast('bool', self)),
  complex: (elements) => elements[name === 'any' ? 'some' : 'every']((z) => z.re !== 0 || z.im !== 0),
});

const nonzeroCount: ReductionRule = {
  dtype: () => 'int64',
  computing: (self) => self,
  body: ({ self, over }) => over('sum', cast('i64', cast('bool', self))),
  complex: (elements) => elements.filter((z) => z.re !== 0 || z.im !== 0).length,
};

/** An order of a norm as a number; 2 where none is given. */
const orderOf = ({ p, ord }: PointwiseArguments): number => Number(p ?? ord ?? 2n);

function normBody({ self, over }: ReductionElement, args: PointwiseArguments): Expr {
  const magnitude = unary('abs', self);
  const order = orderOf(args);
  switch (order) {
    case 0:
      return over('sum', cast('float', binary('ne', self, number(0))));
    case 1:
      return over('sum', magnitude);
    case 2:
      return unary('sqrt', over('sum', binary('mul', self, self)));
    case Infinity:
      return over('max', magnitude);
    case -Infinity:
      return over('min', magnitude);
    default:
      return binary('pow', over('sum', binary('pow', magnitude, number(order))), number(1 / order));
  }
}

function* complexNorm(elements: readonly Complex[], args: PointwiseArguments): Pieces<number> {
  const order = orderOf(args);
  const over = (start: number, combine: (value: number, magnitude: number) => number): Pieces<number> =>
    combined(elements, start, (value, z) => combine(value, complex.magnitude(z)));
  if (order === 0) return yield* over(0, (count, magnitude) => count + (magnitude === 0 ? 0 : 1));
  if (order === Infinity) return yield* over(-Infinity, Math.max);
  if (order === -Infinity) return yield* over(Infinity, Math.min);
  return (yield* over(0, (sumSoFar, magnitude) => sumSoFar + magnitude ** order)) ** (1 / order);
}

const norm = (refuses: (self: ScalarType, dtype: ScalarType | null) => void): ReductionRule => ({
  dtype: (self, { dtype }) => realType(dtype ?? self),
  computing: (self, { dtype }) => dtype ?? self,
  refuses: (self, dims, args) => {
    refuses(self.dtype, args.dtype ?? null);
    const order = orderOf(args);
    const isNone = (dim: number): boolean => symEq(self.symSizes[dim], 0);
    check(
      !((order < 0 || order === Infinity) && symEq(self.symNumel, 0)) || !dims.some(isNone),
      () =>
        `linalg.vector_norm cannot compute the ${order} norm on an empty tensor because the operation does not have an identity`,
    );
  },
  body: normBody,
  complex: complexNorm,
});

const refuseVectors = (self: ScalarType, dtype: ScalarType | null): void =>
  checkNormDtypes('linalg.vector_norm', self, dtype);

const vectorNorm = norm(refuseVectors);
const generalNorm = norm((self, dtype) => {
  const computing = dtype ?? self;
  check(
    isFloatingPoint(computing) || isComplex(computing),
    `norm(): input dtype should be either floating point or complex. Got ${dtypeName(computing)} instead.`,
  );
  refuseVectors(self, dtype);
});

const logSumExp: ReductionRule = {
  dtype: (self) => toFloating(self),
  body: ({ self, over }) => {
    const largest = over('max', self);
    const shift = select(unary('isinf', largest), number(0), largest);
    return binary('add', unary('log', over('sum', unary('exp', binary('sub', self, shift)))), shift);
  },
  *complex(elements) {
    const largest = yield* combined(elements, -Infinity, (most, { re }) => (Number.isNaN(re) || re > most ? re : most));
    const shift = Number.isFinite(largest) ? largest : 0;
    const shifted = (z: Complex): Complex => complex.exp(new Complex(z.re - shift, z.im));
    const { re, im } = complex.log(yield* combined(elements, zero, (sumSoFar, z) => complex.add(sumSoFar, shifted(z))));
    return new Complex(re + shift, im);
  },
};

interface ToSize {
  readonly self: Tensor;
  readonly size: readonly number[];
}

const sumRow: OperatorRow = { schema: 'aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor', reduction: sum };

/** Dimensions that broadcasting added or stretched are summed; leading ones go. */
function stretched({ self, size }: ToSize): PointwiseArguments {
  const lead = self.dim - size.length;
  check(
    lead >= 0 && size.every((each, dim) => each === self.sizes[dim + lead] || each === 1),
    () => `size {${sizesText(size)}} is not expandable to size {${sizesText(self.sizes)}}.`,
  );
  const dims = self.sizes.map((_, dim) => dim);
  const isStretched = (dim: number): boolean => dim < lead || (size[dim - lead] === 1 && self.sizes[dim] !== 1);
  const dim = dims.filter(isStretched);
  // Over no dimension at all would mean over all of them: a dimension of size 1 changes nothing.
  return { self: dim.length > 0 ? self : unsqueeze(self, 0), dim: dim.length > 0 ? dim : [0], keepdim: true };
}

const withLeadingOnes = (output: Tensor, rank: number): Tensor =>
  output.asStrided(
    [...new Array<number>(rank - output.dim).fill(1), ...output.sizes],
    [...new Array<number>(rank - output.dim).fill(0), ...output.strides],
  );

const sumToSize = kernel<ToSize>(sumRow.schema, {
  view: ({ self, size }) => (size.length > 0 && symSame(size, self.sizes) ? self : null),
  shape: (args) => {
    stretched(args);
    return { sizes: args.size, dtype: summed(args.self.dtype, { dtype: null }) };
  },
  host: (args, [output]) => {
    const prepared = stretched(args);
    return reductionPieces(sumRow, prepared, withLeadingOnes(output, prepared.self.dim));
  },
  lower: (args, [output], context) => {
    const prepared = stretched(args);
    lowerReduction(sumRow, prepared, withLeadingOnes(output, prepared.self.dim), context);
  },
});

const traceRow = several(
  'aten::trace(Tensor self) -> Tensor',
  [sum],
  ({ self }) => {
    check(self.dim === 2, `trace: expected a matrix, but got tensor with dim ${self.dim}`);
    return { self: diagonal(self, 0, 0, 1) };
  },
  { out: true },
);

const whole = (name: string, rule: ReductionRule, forms: Forms = {}, extra = ''): OperatorRow =>
  reduction(`aten::${name}(Tensor self${extra}) -> Tensor`, { ...rule, ...forms });
const typed = ', *, ScalarType? dtype=None';
const overDims = 'int[1]? dim, bool keepdim=False';

export const reductionRows: readonly OperatorRow[] = [
  whole('sum', sum, {}, typed),
  reduction(`aten::sum.dim_IntList(Tensor self, ${overDims}${typed}) -> Tensor`, { ...sum, out: 'IntList_out' }),
  reduction(`aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False${typed}) -> Tensor`, nanSum),
  whole('prod', product, {}, typed),
  reduction(`aten::prod.dim_int(Tensor self, int dim, bool keepdim=False${typed}) -> Tensor`, {
    ...product,
    out: 'int_out',
  }),
  whole('mean', mean, { out: 'dtype_out' }, typed),
  reduction(`aten::mean.dim(Tensor self, ${overDims}${typed}) -> Tensor`, { ...mean, out: 'out' }),
  reduction(`aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False${typed}) -> Tensor`, nanMean),
  ...spreadRows('var', variances),
  ...spreadRows('std', deviations),
  whole('max', extreme('max', 'max'), { out: 'unary_out' }),
  whole('min', extreme('min', 'min'), { out: 'unary_out' }),
  extremeWithIndex('max', 'dim_max(max, max_values)'),
  extremeWithIndex('min', 'dim_min(min, min_indices)'),
  reduction('aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor', extreme('amax', 'max')),
  reduction('aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor', extreme('amin', 'min')),
  several(
    'aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)',
    [extreme('aminmax', 'min'), extreme('aminmax', 'max')],
    undefined,
    { out: 'out(min, max)' },
  ),
  reduction('aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor', position('argmax', 'argmax')),
  reduction('aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor', position('argmin', 'argmin')),
  ...(['any', 'all'] as const).flatMap((name) => [
    whole(name, truth(name), { out: 'all_out' }),
    reduction(`aten::${name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor`, { ...truth(name), out: 'out' }),
    reduction(`aten::${name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor`, {
      ...truth(name),
      emptyIsNone: true,
    }),
  ]),
  whole('_is_all_true', truth('all'), { out: false }),
  reduction('aten::count_nonzero(Tensor self, int? dim=None) -> Tensor', nonzeroCount),
  reduction('aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor', nonzeroCount),
  reduction(
    `aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False${typed}) -> Tensor`,
    vectorNorm,
  ),
  reduction('aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor', generalNorm),
  reduction('aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor', generalNorm),
  reduction('aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor', {
    ...generalNorm,
    out: 'out',
  }),
  reduction(
    'aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor',
    { ...generalNorm, out: 'dtype_out' },
  ),
  reduction('aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor', {
    ...generalNorm,
    out: 'out',
  }),
  reduction('aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor', logSumExp),
  sumToSize,
  traceRow,
];
