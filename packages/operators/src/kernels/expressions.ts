import type { ScalarType, SymFloat, SymInt } from '@cresset/tensor';
import { binary, constant, param, select, unary, type Expr } from '@cresset/tensorexpr';

/** Short names for the expressions that lowerings are made of. */

export const add = (x: Expr, y: Expr): Expr => binary('add', x, y);
export const sub = (x: Expr, y: Expr): Expr => binary('sub', x, y);
export const mul = (x: Expr, y: Expr): Expr => binary('mul', x, y);
export const div = (x: Expr, y: Expr): Expr => binary('div', x, y);
export const and = (x: Expr, y: Expr): Expr => binary('and', x, y);

/** A float that is part of the kernel. */
export const float = (value: number): Expr => constant('float', value);
/** An index or size that is part of the kernel. */
export const index = (value: number): Expr => constant('i32', value);
/** A float that may change from launch to launch. */
export const floatParam = (value: SymInt | SymFloat): Expr => param('float', value);
/** An index or size that may change from launch to launch. */
export const indexParam = (value: SymInt): Expr => param('i32', value);

/** Rounds to the numbers of a dtype of 16 bits; a value of another dtype stays as it is. */
export function roundedTo(dtype: ScalarType | undefined, value: Expr): Expr {
  if (dtype === 'float16') return unary('half', value);
  return dtype === 'bfloat16' ? unary('bfloat', value) : value;
}

/** `0 <= at < size`. */
export function within(at: Expr, size: Expr): Expr {
  return and(binary('ge', at, index(0)), binary('lt', at, size));
}

/** `value` where all conditions hold, else `otherwise`; without conditions just `value`. */
export function where(conditions: readonly Expr[], value: Expr, otherwise: Expr): Expr {
  return conditions.length === 0 ? value : select(conditions.reduce(and), value, otherwise);
}
