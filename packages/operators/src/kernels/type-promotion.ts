import { Complex, scalarTypeIrName } from '@cresset/ir';
import {
  complexType,
  isComplex,
  isFloatingPoint,
  isIntegral,
  promoteTypes,
  realType,
  Tensor,
  type ScalarType,
} from '@cresset/tensor';
import { OperatorError } from './errors.ts';
import type { Scalar } from '../table/row.ts';

/** The dtype new floating-point tensors have. A program cannot change it. */
export const defaultDtype: ScalarType = 'float32';

/** The dtype of what a device keeps between its kernels of floats of a dtype. */
export const computedFloat = (dtype: ScalarType): 'float32' | 'float64' =>
  realType(dtype) === 'float64' ? 'float64' : 'float32';

/** The dtype a number has as an operand: `3` is int64, `0.5` the default dtype. */
export function scalarDtype(value: Scalar): ScalarType {
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'boolean') return 'bool';
  return value instanceof Complex ? complexType(defaultDtype) : defaultDtype;
}

/** What promotion looks at: a dtype, and whether it comes from a tensor with dimensions, one without, or a number. */
export interface PromotionOperand {
  readonly dtype: ScalarType;
  readonly category: 'dimensioned' | 'zero-dim' | 'number';
}

export function promotionOperand(value: Tensor | Scalar): PromotionOperand {
  if (!(value instanceof Tensor)) return { dtype: scalarDtype(value), category: 'number' };
  return { dtype: value.dtype, category: value.dim === 0 ? 'zero-dim' : 'dimensioned' };
}

/**
 * The dtype in which operands of several dtypes are computed (c10's ResultTypeState): tensors with dimensions decide;
 * 0-dim tensors, and after them numbers, only where they are of a higher category (bool, integer, floating, complex).
 */
export function resultTypeOf(operands: readonly PromotionOperand[]): ScalarType {
  const among = (category: PromotionOperand['category']): ScalarType | null =>
    operands
      .filter((operand) => operand.category === category)
      .reduce<ScalarType | null>(
        (dtype, operand) => (dtype ? promoteTypes(dtype, operand.dtype) : operand.dtype),
        null,
      );
  const result = combineCategories(among('dimensioned'), combineCategories(among('zero-dim'), among('number')));
  if (result === null) throw new TypeError('type promotion of no operands');
  return result;
}

export function resultType(values: readonly (Tensor | Scalar)[]): ScalarType {
  return resultTypeOf(values.map(promotionOperand));
}

function combineCategories(higher: ScalarType | null, lower: ScalarType | null): ScalarType | null {
  if (higher === null || lower === null) return higher ?? lower;
  if (isComplex(higher)) return higher;
  if (isFloatingPoint(higher)) return isComplex(lower) ? complexType(higher) : higher;
  if (higher === 'bool' || isFloatingPoint(lower) || isComplex(lower)) return promoteTypes(higher, lower);
  return higher;
}

/** An integral or bool dtype becomes the default floating one. */
export function toFloating(dtype: ScalarType): ScalarType {
  return isIntegral(dtype, true) ? defaultDtype : dtype;
}

/** Whether a result of one dtype may be written to a tensor of another (c10::canCast). */
export function canCast(from: ScalarType, to: ScalarType): boolean {
  if (isComplex(from) && !isComplex(to)) return false;
  if (isFloatingPoint(from) && isIntegral(to, false)) return false;
  return from === 'bool' || to !== 'bool';
}

/** Refuses to write `from` to a tensor of dtype `to`, in PyTorch's words. */
export function assertCanCast(from: ScalarType, to: ScalarType): void {
  if (canCast(from, to)) return;
  throw new OperatorError(
    `result type ${scalarTypeIrName(from)} can't be cast to the desired output type ${scalarTypeIrName(to)}`,
  );
}

/** The name PyTorch's messages give a dtype: `Float`, `Long`, `Bool`. */
export const dtypeName: (dtype: ScalarType) => string = scalarTypeIrName;
