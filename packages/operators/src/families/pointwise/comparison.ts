import {
  isComplex,
  isFloatingPoint,
  isIntegral,
  type Complex,
  promoteTypes,
  Tensor,
  type ScalarType,
} from '@cresset/tensor';
import { binary, cast, reduce, select, TensorView, type BinaryFunction, type Expr } from '@cresset/tensorexpr';
import { kernel, pointwise, type Forms, type PointwiseForms } from '../../table/builders.ts';
import { warnOfExpanded } from '../../kernels/dimensions.ts';
import { readScalar, scalarWriter } from '../../kernels/elements.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { copyPieces, lowerCopy } from '../../kernels/copy.ts';
import { expand } from '../../kernels/broadcast.ts';
import { metaLike } from '../creation/creation.ts';
import type {
  HostContext,
  LoweringContext,
  OperatorRow,
  PointwiseArguments,
  PointwiseRule,
  Scalar,
} from '../../table/row.ts';
import { checkOperandsFit, checkValueFits } from '../../kernels/numbers/scalar-range.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { eachOffset, finish, repeat, type Pieces } from '../../kernels/loops/pieces.ts';

/** Comparisons, logical and bitwise functions, choices and other functions of two tensors (ATen/native/BinaryOps.cpp,
 * TensorCompare.cpp). */

export const refusing =
  (kernelName: string, test: (dtype: ScalarType) => boolean) =>
  (dtype: ScalarType): void => {
    if (test(dtype)) throw notImplementedFor(kernelName, dtypeName(dtype));
  };

const isFraction = (dtype: ScalarType): boolean => isFloatingPoint(dtype) || isComplex(dtype);
export const isWhole = (dtype: ScalarType): boolean => isIntegral(dtype, true);

/** bool has no order of its own in the scalar language. */
export const comparable = (x: Expr): Expr => (x.type === 'bool' ? cast('i32', x) : x);

function comparison(name: BinaryFunction, complexBody?: (a: Complex, b: Complex) => boolean): OperatorRow[] {
  const rule: PointwiseRule = {
    dtype: 'compare',
    body: ({ self, other }) => binary(name, comparable(self), comparable(other)),
    ...(complexBody && { complex: ({ self, other }: PointwiseArguments) => complexBody(self, other) }),
  };
  return [
    pointwise(`aten::${name}.Tensor(Tensor self, Tensor other) -> Tensor`, { ...rule, out: 'Tensor_out' }),
    pointwise(`aten::${name}.Scalar(Tensor self, Scalar other) -> Tensor`, rule),
  ];
}

export const sameNumber = (a: Complex, b: Complex): boolean => a.re === b.re && a.im === b.im;

function logical(name: string, fn: BinaryFunction): OperatorRow {
  const truth = (z: Complex): boolean => z.re !== 0 || z.im !== 0;
  const combined = (a: boolean, b: boolean): boolean => (fn === 'and' ? a && b : fn === 'or' ? a || b : a !== b);
  return pointwise(`aten::${name}(Tensor self, Tensor other) -> Tensor`, {
    dtype: 'logical',
    body: ({ self, other }) => binary(fn, self, other),
    complex: ({ self, other }) => combined(truth(self), truth(other)),
  });
}

/** `bitwise_and` and its operator form `__and__`. */
function bitwise(name: string, operator: string, fn: BinaryFunction): OperatorRow[] {
  const rule: PointwiseRule = {
    dtype: 'promote',
    refuses: refusing(`${name}_cpu`, isFraction),
    body: ({ self, other }) => binary(fn, self, other),
  };
  return [
    pointwise(`aten::${name}.Tensor(Tensor self, Tensor other) -> Tensor`, { ...rule, out: 'Tensor_out' }),
    pointwise(`aten::${name}.Scalar(Tensor self, Scalar other) -> Tensor`, rule),
    pointwise(`aten::${name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor`, { ...rule, inPlace: false }),
    pointwise(`aten::${operator}.Tensor(Tensor self, Tensor other) -> Tensor`, { ...rule, out: false }),
    pointwise(`aten::${operator}.Scalar(Tensor self, Scalar other) -> Tensor`, { ...rule, out: false }),
  ];
}

function shift(name: string, operator: string, fn: BinaryFunction): OperatorRow[] {
  const rule: PointwiseRule = {
    dtype: 'promote',
    refuses: refusing(operator === '__lshift__' ? 'lshift_cpu' : 'rshift_cpu', (dtype) => !isIntegral(dtype, false)),
    body: ({ self, other }) => binary(fn, self, other),
  };
  return [
    pointwise(`aten::${name}.Tensor(Tensor self, Tensor other) -> Tensor`, { ...rule, out: 'Tensor_out' }),
    pointwise(`aten::${name}.Tensor_Scalar(Tensor self, Scalar other) -> Tensor`, rule),
    pointwise(`aten::${name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor`, { ...rule, inPlace: false }),
    pointwise(`aten::${operator}.Tensor(Tensor self, Tensor other) -> Tensor`, { ...rule, out: 'Tensor_out' }),
    pointwise(`aten::${operator}.Scalar(Tensor self, Scalar other) -> Tensor`, rule),
  ];
}

/** The larger or smaller of two; on bool that is or and and. */
const extreme = (fn: 'max' | 'min' | 'fmax' | 'fmin', x: Expr, y: Expr): Expr =>
  x.type === 'bool'
    ? binary(fn.endsWith('max') ? 'or' : 'and', x, y)
    : binary(x.type === 'float' || fn.length === 3 ? fn : (fn.slice(1) as 'max'), x, y);

export const pairRow = (name: string, rule: PointwiseRule & Forms): OperatorRow =>
  pointwise(`aten::${name}(Tensor self, Tensor other) -> Tensor`, rule);

const extremeRule = (name: string, fn: 'max' | 'min' | 'fmax' | 'fmin'): PointwiseRule & Forms => ({
  dtype: 'promote',
  refuses: (dtype) => check(!isComplex(dtype), `${name} does not support complex inputs.`),
  body: ({ self, other }) => extreme(fn, self, other),
  inPlace: false,
});

const extremeRow = (name: string, fn: 'max' | 'min' | 'fmax' | 'fmin'): OperatorRow =>
  pairRow(name, extremeRule(name, fn));

const clamping: PointwiseRule = {
  dtype: 'promote',
  refuses: (dtype, { min, max }) => {
    check(min !== null || max !== null, "torch.clamp: At least one of 'min' or 'max' must not be None");
    check(!isComplex(dtype), 'clamp is not supported for complex types');
    refusing('clamp_cpu', (computing) => computing === 'bool')(dtype);
    checkOperandsFit(dtype, { min, max }, 'min', 'max');
  },
  body: ({ self, min, max }) => {
    const raised = min ? binary('max', self, min) : self;
    return max ? binary('min', raised, max) : raised;
  },
};

const clampingOne = (fn: 'max' | 'min', bound: 'min' | 'max'): PointwiseRule => ({
  dtype: 'promote',
  body: (args) => extreme(fn, args.self, args[bound]),
});

/** With a number, which PyTorch's kernels of minima and maxima are not asked for. */
const clampingByNumber = (fn: 'max' | 'min', bound: 'min' | 'max'): PointwiseRule => ({
  ...clampingOne(fn, bound),
  refuses: (dtype, args) => {
    check(!isComplex(dtype), 'clamp is not supported for complex types');
    checkOperandsFit(dtype, args, bound);
  },
});

const choice: PointwiseRule & Forms = {
  dtype: 'promote',
  apart: ['condition'],
  refuses: (dtype, args) => {
    const { condition } = args;
    check(
      condition.dtype === 'bool' || condition.dtype === 'uint8',
      `where expected condition to be a boolean tensor, but got a tensor with dtype ${dtypeName(condition.dtype)}`,
    );
    checkOperandsFit(dtype, args, 'self', 'other');
  },
  body: ({ condition, self, other }) => select(cast('bool', condition), self, other),
  complex: ({ condition, self, other }) => (condition ? self : other),
  inPlace: false,
  out: false,
};

function checkMask(_: ScalarType, { self, mask, value }: PointwiseArguments): void {
  check(mask.dtype === 'bool', `masked_fill_ only supports boolean masks, but got mask with dtype ${mask.dtype}`);
  if (value instanceof Tensor) {
    check(
      value.dim === 0,
      `masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ${value.dim} dimension(s).`,
    );
  }
  checkFill(_, { self, value });
}

/** What a fused body computes is not known. */
function checkFill(_: ScalarType, { self, value }: PointwiseArguments): void {
  checkValueFits(value, self.dtype);
}

const maskedFilling: PointwiseForms = {
  mayShare: () => ({ value: 'anything' }),
  onExpanded: fillMasked,
  dtype: 'same-as-first',
  apart: ['mask'],
  refuses: checkMask,
  body: ({ self, mask, value }) => select(mask, value, self),
  complex: ({ self, mask, value }) => (mask ? value : self),
};

interface MaskedFill {
  readonly self: Tensor;
  readonly mask: Tensor;
  readonly value: Scalar | Tensor;
}

function* fillMasked({ self, mask, value }: MaskedFill, _: readonly Tensor[], context: HostContext): Pieces {
  warnOfExpanded('masked_fill_', 'tensor[mask] = scalar', context);
  const { sizes, strides, storageOffset } = self;
  const flags = expand(mask, sizes).contiguousArray();
  const write = scalarWriter(self);
  const filling = value instanceof Tensor ? readScalar(value, value.storageOffset) : value;
  let at = 0;
  yield* eachOffset(sizes, strides, storageOffset, 8, (offset) => {
    if (flags[at++] !== 0) write(offset, filling);
  });
}

function* equalTensors({ self, other }: { self: Tensor; other: Tensor }): Pieces<boolean> {
  if (self.sizes.length !== other.sizes.length || self.sizes.some((size, dim) => size !== other.sizes[dim]))
    return false;
  const dtype = promoteTypes(self.dtype, other.dtype);
  const [a, b] = [Tensor.empty(self.sizes, dtype), Tensor.empty(self.sizes, dtype)];
  yield* copyPieces(a, self);
  yield* copyPieces(b, other);
  let isEqual = true;
  yield* repeat(a.numel, 32, (at) => (isEqual = equalScalars(readScalar(a, at), readScalar(b, at))));
  return isEqual;
}

async function deviceEqual(args: { self: Tensor; other: Tensor }, context: LoweringContext): Promise<boolean> {
  const { self, other } = args;
  const isAlike = self.dim === other.dim && self.sizes.every((size, dim) => size === other.sizes[dim]);
  if (!isAlike || self.numel === 0) return isAlike;
  if (self.dtype !== other.dtype) {
    await context.fetch(self, other);
    return finish(equalTensors(args));
  }
  const [a, b] = [self, other].map((tensor) => new TensorView(tensor));
  const axes = a.axes();
  const result = context.temporary([], 'bool');
  const target = new TensorView(result);
  const value = reduce('all', axes, binary('eq', a.at(axes), b.at(axes)));
  const stores = [{ operand: target.operand, offset: target.offsetAt([]), value }];
  context.launch({ kind: 'nest', label: 'aten::equal', axes: [], innerAxes: [], stores });
  await context.fetch(result);
  return (result.storageArray() as Uint8Array)[0] !== 0;
}

function equalScalars(a: Scalar, b: Scalar): boolean {
  return typeof a === 'object' && typeof b === 'object' ? sameNumber(a, b) : a === b;
}

export const comparisonRows: readonly OperatorRow[] = [
  ...comparison('eq', sameNumber),
  ...comparison('ne', (a, b) => !sameNumber(a, b)),
  ...comparison('lt'),
  ...comparison('le'),
  ...comparison('gt'),
  ...comparison('ge'),
  logical('logical_and', 'and'),
  logical('logical_or', 'or'),
  logical('logical_xor', 'xor'),
  ...bitwise('bitwise_and', '__and__', 'and'),
  ...bitwise('bitwise_or', '__or__', 'or'),
  ...bitwise('bitwise_xor', '__xor__', 'xor'),
  ...shift('bitwise_left_shift', '__lshift__', 'shl'),
  ...shift('bitwise_right_shift', '__rshift__', 'shr'),
  extremeRow('maximum', 'max'),
  extremeRow('minimum', 'min'),
  pointwise('aten::max.other(Tensor self, Tensor other) -> Tensor', { ...extremeRule('maximum', 'max'), out: 'out' }),
  pointwise('aten::min.other(Tensor self, Tensor other) -> Tensor', { ...extremeRule('minimum', 'min'), out: 'out' }),
  extremeRow('fmax', 'fmax'),
  extremeRow('fmin', 'fmin'),
  pointwise('aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor', clamping),
  pointwise('aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor', {
    ...clamping,
    out: 'Tensor_out',
  }),
  pointwise('aten::clamp_min(Tensor self, Scalar min) -> Tensor', clampingByNumber('max', 'min')),
  pointwise('aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor', {
    ...clampingOne('max', 'min'),
    out: 'Tensor_out',
  }),
  pointwise('aten::clamp_max(Tensor self, Scalar max) -> Tensor', clampingByNumber('min', 'max')),
  pointwise('aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor', {
    ...clampingOne('min', 'max'),
    out: 'Tensor_out',
  }),
  pointwise('aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor', { ...choice, out: 'self_out' }),
  pointwise('aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor', choice),
  pointwise('aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor', choice),
  pointwise('aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor', choice),
  pointwise('aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor', maskedFilling),
  pointwise('aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor', {
    ...maskedFilling,
    out: 'Tensor_out',
  }),
  pointwise('aten::fill.Scalar(Tensor self, Scalar value) -> Tensor', {
    dtype: 'same-as-first',
    refuses: checkFill,
    body: ({ value }) => value,
    complex: ({ value }) => value,
    out: false,
    mayMeet: () => true,
  }),
  kernel<{ self: Tensor; value: Tensor }>('aten::fill.Tensor(Tensor self, Tensor value) -> Tensor', {
    shape: ({ self, value }) => {
      check(
        value.dim === 0,
        () => `fill_ only supports 0-dimension value tensor but got tensor with ${value.dim} dimensions.`,
      );
      return metaLike(self, self.dtype, null);
    },
    // Unlike a number, a complex element is written to real ones: its real part.
    host: ({ value }, [output]) => copyPieces(output, value),
    mayShare: () => ({ value: 'anything' }),
    lower: ({ value }, [output], context) => lowerCopy(output, expand(value, output.sizes), context),
    inPlace: true,
    writesInPlace: true,
  }),
  pairRow('atan2', { dtype: 'promote-to-float', body: ({ self, other }) => binary('atan2', self, other) }),
  kernel<{ self: Tensor; other: Tensor }>('aten::equal(Tensor self, Tensor other) -> bool', {
    host: equalTensors,
    device: deviceEqual,
  }),
];
