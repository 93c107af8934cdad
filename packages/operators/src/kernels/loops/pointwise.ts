import { Complex } from '@cresset/ir';
import {
  isComplex,
  isFoundAnew,
  isIntegral,
  numelOf,
  realType,
  Tensor,
  type ScalarType,
  symEq,
  type SymInt,
} from '@cresset/tensor';
import {
  binary,
  cast,
  constant,
  exprTypeOf,
  param,
  remembered,
  TensorView,
  type AxisExpr,
  type Expr,
  type ExprType,
  type LoadExpr,
  type ParamExpr,
} from '@cresset/tensorexpr';
import { roundedTo } from '../expressions.ts';
import { boxingOf } from '../../table/boxing.ts';
import { broadcastAll, broadcastStrides } from '../broadcast.ts';
import { strideOrder, stridesInOrder } from '../dimensions.ts';
import { divisionFaults } from './division-faults.ts';
import { ElementwiseLoop, type Layout } from './elementwise.ts';
import {
  bigintReader,
  readScalar,
  scalarToBigint,
  scalarToNumber,
  scalarToTruth,
  scalarWriter,
  toInt64,
} from '../elements.ts';
import { isKernelRefusal, notImplementedFor } from '../errors.ts';
import type {
  ComputingTypes,
  LoweringContext,
  OpenUp,
  OperatorRow,
  PointwiseArguments,
  PointwiseRule,
  Scalar,
  TensorMeta,
} from '../../table/row.ts';
import { TURN_SIZE, type Pieces } from './pieces.ts';
import { roundingTo } from '../numbers/rounding.ts';
import { coalesce, iterationSpace, StridedCursor, walkOf } from './tensor-iterator.ts';
import {
  dtypeName,
  promotionOperand,
  resultTypeOf,
  scalarDtype,
  toFloating,
  type PromotionOperand,
} from '../type-promotion.ts';

/** A tensor argument of a pointwise operator as far as its value at one place goes: how fused bodies are composed. */
export class TensorElement {
  constructor(
    readonly expr: Expr,
    readonly dtype: ScalarType,
    readonly category: PromotionOperand['category'],
  ) {}
}

type Argument = Tensor | TensorElement | Scalar | string | null | readonly unknown[];

/** The names of a pointwise row's arguments that are values: tensors and Scalars. */
const operandNames = remembered((row: OperatorRow) =>
  boxingOf(row)
    .signature.args.filter(({ type }) => /^(Tensor|Scalar)\??$/.test(type))
    .map(({ name }) => name),
);

/** The dtype a pointwise row computes in and the one of its result, for these arguments; throws where it refuses them. */
export function computingTypes(row: OperatorRow, args: Readonly<Record<string, unknown>>): ComputingTypes {
  const rule = row.pointwise!;
  const types = promotedTypes(row, args);
  rule.refuses?.(types.computing, args);
  if (isComplex(types.computing) && !rule.complex) {
    throw notImplementedFor(kernelName(row), dtypeName(types.computing));
  }
  return types;
}

/** As `computingTypes`, whatever dtypes the row's kernel takes. */
function promotedTypes(row: OperatorRow, args: Readonly<Record<string, unknown>>): ComputingTypes {
  const rule = row.pointwise!;
  const operands = operandNames(row)
    .filter((name) => !rule.apart?.includes(name))
    .map((name) => args[name] as Argument)
    .filter((value) => value !== null && value !== undefined);
  const promotion = operands.map((value) =>
    value instanceof TensorElement ? value : promotionOperand(value as Tensor | Scalar),
  );
  return typesByRule(rule, promotion, args);
}

/** The name PyTorch's kernels have in messages. */
const kernelName = (row: OperatorRow): string => `${boxingOf(row).signature.name.replace(/^aten::/, '')}_cpu`;

function typesByRule(
  rule: PointwiseRule,
  operands: readonly PromotionOperand[],
  args: PointwiseArguments,
): ComputingTypes {
  const promoted = (): ScalarType => resultTypeOf(operands);
  if (typeof rule.dtype === 'function') return rule.dtype(promoted(), args);
  switch (rule.dtype) {
    case 'promote': {
      const dtype = promoted();
      return { computing: dtype, result: dtype };
    }
    case 'promote-to-float': {
      const dtype = toFloating(promoted());
      return { computing: dtype, result: dtype };
    }
    case 'compare':
      return { computing: promoted(), result: 'bool' };
    case 'same-as-first':
      return { computing: operands[0].dtype, result: operands[0].dtype };
    case 'logical':
      return { computing: operands.some(({ dtype }) => isComplex(dtype)) ? promoted() : 'bool', result: 'bool' };
  }
}

/** Sizes, dtype and (where not in C order) strides of the result. */
export function pointwiseShape(row: OperatorRow, args: PointwiseArguments): TensorMeta {
  let types: ComputingTypes;
  try {
    types = computingTypes(row, args);
  } catch (error) {
    // Sizes that do not meet are found before a kernel is asked for.
    if (isKernelRefusal(error)) unrefusedShape(row, args);
    throw error;
  }
  const { result } = types;
  const tensors = tensorOperands(row, args);
  const sizes = broadcastAll(tensors.map((tensor) => tensor.symSizes));
  const strides = pointwiseStrides(sizes, tensors);
  return strides ? { sizes, dtype: result, strides } : { sizes, dtype: result };
}

/** Sizes and dtype of a result whatever dtypes the row's kernel takes: what PyTorch has worked out before it asks for one. */
export function unrefusedShape(row: OperatorRow, args: PointwiseArguments): TensorMeta {
  const sizes = broadcastAll(tensorOperands(row, args).map((tensor) => tensor.symSizes));
  return { sizes, dtype: promotedTypes(row, args).result };
}

function tensorOperands(row: OperatorRow, args: PointwiseArguments): Tensor[] {
  return operandNames(row)
    .map((name) => args[name])
    .filter((value) => value instanceof Tensor);
}

/** The layout a pointwise result gets from its operands; undefined for C order. */
export function pointwiseStrides(sizes: readonly SymInt[], tensors: readonly Tensor[]): SymInt[] | undefined {
  if (tensors.every((tensor) => tensor.isContiguous())) return undefined;
  const order = strideOrder(
    sizes,
    tensors.map((tensor) => broadcastStrides(tensor.symSizes, tensor.symStrides, sizes)),
  );
  return order.every((dim, at) => dim === sizes.length - 1 - at) ? undefined : stridesInOrder(sizes, order);
}

/**
 * The value of a pointwise row as an expression, converted to the result's dtype. Tensor arguments are TensorElements,
 * Scalars numbers as the program has them. What it gives composes with other rows' into one fused body.
 */
export function pointwiseExpr(
  row: OperatorRow,
  args: Readonly<Record<string, unknown>>,
  openUp?: OpenUp,
): { expr: Expr; dtype: ScalarType } {
  const rule = row.pointwise!;
  const { computing, result } = computingTypes(row, args);
  const type = exprTypeOf(computing);
  const values: PointwiseArguments = { ...args };
  for (const name of operandNames(row)) {
    const value = args[name] as Argument | undefined;
    if (value === null || value === undefined) continue;
    if (value instanceof TensorElement) {
      const isApart = rule.apart?.includes(name);
      values[name] = isApart ? value.expr : convert(value.expr, value.dtype, computing, isRounded(rule, name));
    } else {
      values[name] = numberParam(rule, name, value as Scalar, computing);
    }
  }
  openUp?.(row, args, values, computing, (name, value) => numberParam(rule, name, value, computing));
  if (!rule.body) throw new TypeError(`${row.schema} has no body`);
  const body = rule.body(values, type, computing);
  return { expr: wrapNarrow(cast(exprTypeOf(result), body), result), dtype: result };
}

/** Whether a row's value can be had as an expression for these dtypes, on a device. */
export function hasPointwiseExpr(row: OperatorRow, dtypes: readonly ScalarType[]): boolean {
  return row.pointwise?.body !== undefined && !dtypes.some(isComplex);
}

function convert(expr: Expr, from: ScalarType, to: ScalarType, rounds: boolean): Expr {
  const converted = cast(exprTypeOf(to), expr);
  if (from === to) return converted;
  return rounds && isHalf(to) ? roundedTo(to, converted) : wrapNarrow(converted, to);
}

const isHalf = (dtype: ScalarType): boolean => dtype === 'float16' || dtype === 'bfloat16';

/** Scalars that are operands like tensors, or set apart as a factor of one; others are parameters of a formula, which nobody rounds. */
const operandScalars: ReadonlySet<string> = new Set(['self', 'other', 'exponent', 'alpha']);

/** A number becomes a tensor of the dtype that is computed in, which may round it. */
function roundedOperand(name: string, value: Scalar, computing: ScalarType): Scalar {
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  return isNumber && isHalf(computing) && operandScalars.has(name) ? roundingTo(computing)(Number(value)) : value;
}

/** Whether an operand takes part as the dtype that is computed in has it. */
const isRounded = ({ exactOther, apart }: PointwiseRule, name: string): boolean =>
  (name !== 'other' || !exactOther) && (name !== 'alpha' || apart?.includes(name) === true);

/** A number of the program as an operand. */
function numberParam(rule: PointwiseRule, name: string, value: Scalar, computing: ScalarType): ParamExpr {
  const number = isRounded(rule, name) ? roundedOperand(name, value, computing) : value;
  return scalarParam(number, rule.apart?.includes(name) ? scalarDtype(number) : computing);
}

/** A Scalar as a run-time number of the dtype. */
export function scalarParam(value: Scalar, dtype: ScalarType): ParamExpr {
  const type = exprTypeOf(dtype);
  switch (type) {
    case 'float':
      return param(type, scalarToNumber(value));
    case 'bool':
      return param(type, scalarToTruth(value));
    case 'i64':
      return param(type, BigInt.asIntN(64, scalarToBigint(value)));
    case 'i32':
      return param(type, wrapInteger(scalarToBigint(value), dtype));
  }
}

/** A Scalar that is argument `at` as `scalarParam` has it, one that stays open in what is recorded for other numbers too. */
export function argumentParam(context: LoweringContext, at: number, value: Scalar, dtype: ScalarType): ParamExpr {
  const paramOf = (number: Scalar): ParamExpr => scalarParam(number, dtype);
  return context.openParam?.(at, paramOf) ?? paramOf(value);
}

function wrapInteger(value: bigint, dtype: ScalarType): number {
  if (dtype === 'uint8') return Number(BigInt.asUintN(8, value));
  return Number(BigInt.asIntN(dtype === 'int8' ? 8 : dtype === 'int16' ? 16 : 32, value));
}

/** Integers narrower than 32 bits wrap where PyTorch would store them between two operators. */
export function wrapNarrow(expr: Expr, dtype: ScalarType): Expr {
  if (expr.kind === 'load' || expr.kind === 'param') return expr;
  if (dtype === 'uint8') return binary('and', expr, constant('i32', 255));
  if (dtype !== 'int8' && dtype !== 'int16') return expr;
  const bits = constant('i32', dtype === 'int8' ? 24 : 16);
  return binary('shr', binary('shl', expr, bits), bits);
}

/** Computes a pointwise row into `output`, whose sizes are the broadcast ones, on the host. */
export function* pointwisePieces(row: OperatorRow, args: PointwiseArguments, output: Tensor): Pieces {
  const { computing } = computingTypes(row, args);
  if (output.numel === 0) return;
  const isWide =
    isComplex(computing) ||
    isComplex(output.dtype) ||
    operandNames(row).some((name) => args[name] instanceof Tensor && isComplex(args[name].dtype));
  if (row.pointwise!.number && !isWide) yield* runNumbers(row, args, output, computing);
  else if (isWide) yield* runComplex(row, args, output, computing);
  else {
    const { loop, names } = pointwiseLoop(row, args, output, computing);
    yield* loop.pieces(
      output,
      names.map((name) => args[name] as Tensor),
    );
  }
}

/** A pointwise row's loop for arguments of these layouts, and the names of those of its arguments that are tensors. */
export interface PointwiseLoop {
  readonly loop: ElementwiseLoop;
  readonly names: readonly string[];
}

/**
 * Makes the loop of a pointwise row of numbers that are not complex.
 * @param number an argument that is a number of the program, though it comes in a float64 tensor without dimensions
 */
export function pointwiseLoop(
  row: OperatorRow,
  args: PointwiseArguments,
  output: Layout,
  computing: ScalarType,
  number: string | null = null,
): PointwiseLoop {
  const names = operandNames(row).filter((name) => args[name] instanceof Tensor);
  const tensors = names.map((name) => args[name] as Tensor);
  const loads = tensors.map(hostLoad);
  const elements: PointwiseArguments = { ...args };
  names.forEach((name, at) => {
    const tensor = tensors[at];
    const { dtype, category } = name === number ? promotionOperand(0.5) : promotionOperand(tensor);
    elements[name] = new TensorElement(loads[at], dtype, category);
  });
  const value = cast(exprTypeOf(output.dtype), pointwiseExpr(row, elements).expr);
  const double = computing === 'float64' || output.dtype === 'float64';
  return { names, loop: new ElementwiseLoop(output, value, loads, tensors, double) };
}

/** An element of `tensor` wherever the host evaluator stands: it walks the tensor itself, the offset is not looked at. */
export function hostLoad(tensor: Tensor): LoadExpr {
  return {
    kind: 'load',
    type: exprTypeOf(tensor.dtype),
    operand: { tensor, dtype: tensor.dtype },
    offset: constant('i32', 0),
  };
}

/** Evaluates an expression over host loads for every element of `output`, to which the loads' tensors broadcast. */
export function* evaluationPieces(output: Tensor, expr: Expr, loads: readonly LoadExpr[], double: boolean): Pieces {
  if (output.numel === 0) return;
  const tensors = loads.map(({ operand }) => operand.tensor);
  yield* new ElementwiseLoop(output, expr, loads, tensors, double).pieces(output, tensors);
}

/** One element at a time through the row's function of numbers. */
function* runNumbers(row: OperatorRow, args: PointwiseArguments, output: Tensor, computing: ScalarType): Pieces {
  const apply = row.pointwise!.number!;
  const single = computing !== 'float64';
  const operand = isIntegral(computing, true) ? BigInt : Number;
  yield* forEachElement(row, args, output, (values) => {
    const numbers: PointwiseArguments = { ...values };
    for (const name of operandNames(row)) {
      const value = values[name] as unknown;
      if (isNumeric(value)) numbers[name] = operand(value);
    }
    const value = apply(numbers, computing);
    return single && typeof value === 'number' ? Math.fround(value) : value;
  });
}

const isNumeric = (value: unknown): value is bigint | number | boolean =>
  typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean';

/** One element at a time through the row's function of complex numbers. */
function* runComplex(row: OperatorRow, args: PointwiseArguments, output: Tensor, computing: ScalarType): Pieces {
  const rule = row.pointwise!;
  const apply = rule.complex;
  if (!apply) throw notImplementedFor(kernelName(row), 'ComplexFloat');
  const names = operandNames(row).filter((name) => !rule.apart?.includes(name));
  const asOperand = computing === 'complex64' ? singleComplex : toComplex;
  yield* forEachElement(row, args, output, (values) => {
    const numbers: PointwiseArguments = { ...values };
    for (const name of names) {
      const value = values[name] as Scalar | null | undefined;
      if (value !== null && value !== undefined) numbers[name] = asOperand(value);
    }
    return apply(numbers, computing);
  });
}

const toComplex = (value: Scalar): Complex => (value instanceof Complex ? value : new Complex(Number(value), 0));

/** What is computed in complex64 is converted to it first, numbers of the program too. */
export function singleComplex(value: Scalar): Complex {
  const { re, im } = toComplex(value);
  return new Complex(Math.fround(re), Math.fround(im));
}

function* forEachElement(
  row: OperatorRow,
  args: PointwiseArguments,
  output: Tensor,
  apply: (values: PointwiseArguments) => Scalar,
): Pieces {
  const values: PointwiseArguments = { ...args };
  const names = operandNames(row).filter((name) => args[name] instanceof Tensor);
  const tensors = names.map((name) => args[name] as Tensor);
  const space = coalesce({
    sizes: output.sizes,
    walks: [
      walkOf(output),
      ...tensors.map((tensor) => ({
        strides: broadcastStrides(tensor.sizes, tensor.strides, output.sizes),
        offset: tensor.storageOffset,
      })),
    ],
  });
  const readers = tensors.map(elementReader);
  const write = scalarWriter(output);
  const [cursor, ...inputs] = space.walks.map((walk) => new StridedCursor(space.sizes, walk));
  for (let at = numelOf(output.sizes); at > 0; at--) {
    inputs.forEach((input, which) =>
      input.advance(1, (offset) => void (values[names[which]] = readers[which](offset))),
    );
    cursor.advance(1, (offset) => write(offset, apply(values)));
    // An object for each number takes a microsecond, and a function that is an integral ten.
    if (at % (TURN_SIZE / 16) === 0) yield;
  }
}

function elementReader(tensor: Tensor): (offset: number) => Scalar {
  return tensor.dtype === 'int64' ? bigintReader(tensor) : (offset) => readScalar(tensor, offset);
}

/**
 * Whether a tensor without dimensions goes to a kernel as a number, since its element is on the host. Where what is recorded finds another one each time, kernels load
 * it, as far as every device has its dtype.
 */
export function travelsAsNumber({ dim, dtype, storage }: Tensor): boolean {
  const isDouble = realType(dtype) === 'float64';
  return dim === 0 && storage.isOnHost && (isDouble || !isFoundAnew(storage));
}

/** Describes a pointwise row as a kernel: one loop over the elements, dimensions merged where every operand allows it. */
export function lowerPointwise(
  row: OperatorRow,
  args: PointwiseArguments,
  output: Tensor,
  context: LoweringContext,
  openUp?: OpenUp,
): void {
  if (symEq(output.symNumel, 0)) return;
  const names = operandNames(row).filter((name) => args[name] instanceof Tensor);
  const tensors = names.map((name) => args[name] as Tensor);
  const { axes, views, target } = deviceViews(output, tensors);
  const elements: PointwiseArguments = { ...args };
  names.forEach((name, at) => {
    const tensor = tensors[at];
    const { category } = promotionOperand(tensor);
    const expr = travelsAsNumber(tensor)
      ? scalarParam(readScalar(tensor, tensor.storageOffset), tensor.dtype)
      : views[at].at(axes);
    elements[name] = new TensorElement(expr, tensor.dtype, category);
  });
  const { expr } = pointwiseExpr(row, elements, openUp);
  const label = boxingOf(row).signature.name;
  const faults = divisionFaults([expr], context);
  if (faults.length > 0) context.launch({ kind: 'nest', label, axes, innerAxes: [], stores: faults });
  context.launch({
    kind: 'nest',
    label,
    axes,
    innerAxes: [],
    stores: [{ operand: target.operand, offset: target.offsetAt(axes), value: cast(exprTypeOf(output.dtype), expr) }],
  });
}

/** Views of tensors, broadcast to the output's sizes, over shared axes of merged dimensions. */
export function deviceViews(
  output: Tensor,
  tensors: readonly Tensor[],
): { axes: AxisExpr[]; target: TensorView; views: TensorView[] } {
  const space = iterationSpace<SymInt>(output.symSizes, [
    { strides: output.symStrides, offset: 0 },
    ...tensors.map((tensor) => ({
      strides: broadcastStrides(tensor.symSizes, tensor.symStrides, output.symSizes),
      offset: 0,
    })),
  ]);
  const [target, ...views] = space.walks.map(
    ({ strides }, at) => new TensorView((at === 0 ? output : tensors[at - 1]).asStrided(space.sizes, strides)),
  );
  return { axes: target.axes(), target, views };
}

/** A body's constant of the type it computes in. */
export function constantOf(type: ExprType, value: number): Expr {
  if (type === 'i64') return constant(type, toInt64(value));
  return constant(type, type === 'bool' ? value !== 0 : value);
}
