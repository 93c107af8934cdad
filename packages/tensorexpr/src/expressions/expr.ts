import type { OpenNumber, SymKind, SymNode } from '@cresset/tensor';
import type { Operand } from './operand.ts';

/**
 * The scalar language: what one element of a result is, as an expression over loop axes, run-time numbers and elements of
 * operands. From one such expression come the host kernel, the WGSL and every fused form.
 *
 * An expression is a DAG: a node that is used twice is computed once. Nodes are plain data and never changed.
 */
export type Expr =
  | ConstExpr
  | ParamExpr
  | AxisExpr
  | LoadExpr
  | UnaryExpr
  | BinaryExpr
  | SelectExpr
  | CastExpr
  | ReduceExpr
  | AccumulatorExpr;

/**
 * What a value is while it is computed: `float` is float32 on a GPU and double on the host (rounded at the store), `i32`
 * and `i64` wrap as PyTorch's integers do, narrower integers compute as `i32` and wrap at the store. Index arithmetic is
 * `i32`.
 */
export type ExprType = 'float' | 'i32' | 'i64' | 'bool';

/** A number that is part of the kernel: another value is another kernel. */
export interface ConstExpr {
  readonly kind: 'const';
  readonly type: ExprType;
  readonly value: number | bigint | boolean;
}

/**
 * A number known only when the kernel is launched: a size, a stride, a scalar argument. It travels in a uniform and never
 * makes another kernel. One ParamExpr object is one uniform slot, wherever it is used.
 */
export interface ParamExpr {
  readonly kind: 'param';
  readonly type: ExprType;
  readonly value: number | bigint | boolean;
  /** A number of a recording that may be another one in each replay, unless somebody asks for its `value`. */
  readonly open?: OpenNumber;
  /** What it is, of sizes that may be other numbers in each replay: `value` is that of now. */
  readonly sym?: SymNode<SymKind>;
}

/** A loop variable, `i32`, from 0 up to its extent. Axes are compared by identity. */
export interface AxisExpr {
  readonly kind: 'axis';
  readonly type: 'i32';
  readonly name: string;
  readonly extent: Expr;
}

/** An element of an operand, by its offset in elements from the start of the storage. */
export interface LoadExpr {
  readonly kind: 'load';
  readonly type: ExprType;
  readonly operand: Operand;
  readonly offset: Expr;
}

export const unaryFunctions = [
  'neg', 'abs', 'sign', 'not', 'exp', 'exp2', 'expm1', 'log', 'log2', 'log10', 'log1p', 'sqrt', 'rsqrt',
  'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh',
  'erf', 'erfc', 'erfinv', 'lgamma', 'digamma', 'floor', 'ceil', 'round', 'trunc', 'isnan', 'isinf', 'isfinite', 'signbit',
  'single', 'half', 'bfloat',
] as const; // prettier-ignore
export type UnaryFunction = (typeof unaryFunctions)[number];

/** Functions of one value. `not` is logical on bool and bitwise on integers; `round` goes to even; is… give bool; `single`,
 * `half` and `bfloat` round to the nearest number of that type. */
export interface UnaryExpr {
  readonly kind: 'unary';
  readonly type: ExprType;
  readonly fn: UnaryFunction;
  readonly x: Expr;
}

export const binaryFunctions = [
  'add', 'sub', 'mul', 'div', 'truncdiv', 'floordiv', 'fmod', 'remainder', 'pow', 'atan2', 'hypot', 'copysign', 'nextafter',
  'max', 'min', 'fmax', 'fmin', 'eq', 'ne', 'lt', 'le', 'gt', 'ge', 'and', 'or', 'xor', 'shl', 'shr', 'philox',
] as const; // prettier-ignore
export type BinaryFunction = (typeof binaryFunctions)[number];

/**
 * Functions of two values of the same type. `div` is true division (float only); `truncdiv` and `floordiv` round towards
 * zero and down; `fmod` has the sign of the dividend and `remainder` that of the divisor; `max` and `min` give NaN where
 * either is NaN, `fmax` and `fmin` the other one; comparisons give bool; `and`, `or`, `xor` are logical on bool. `philox`
 * (i64 only) gives the 64 random bits that have number `y` in the stream of key `x`.
 */
export interface BinaryExpr {
  readonly kind: 'binary';
  readonly type: ExprType;
  readonly fn: BinaryFunction;
  readonly x: Expr;
  readonly y: Expr;
}

/** `condition ? x : y`. The side that is not chosen may load out of bounds: its value is thrown away. */
export interface SelectExpr {
  readonly kind: 'select';
  readonly type: ExprType;
  readonly condition: Expr;
  readonly x: Expr;
  readonly y: Expr;
}

/** Conversion by value: to bool is `!= 0`, float to integer truncates. */
export interface CastExpr {
  readonly kind: 'cast';
  readonly type: ExprType;
  readonly x: Expr;
}

/** `argmax` and `argmin` give the position in the (flattened, C order) reduced axes of the first winner, as `i64`; a NaN wins. */
export type ReduceFunction = 'sum' | 'prod' | 'max' | 'min' | 'any' | 'all' | 'argmax' | 'argmin';

/** `body` combined over all values of `axes`; over nothing it is the function's neutral element. */
export interface ReduceExpr {
  readonly kind: 'reduce';
  readonly type: ExprType;
  readonly fn: ReduceFunction;
  readonly axes: readonly AxisExpr[];
  readonly body: Expr;
}

/** In a Contraction's store: the finished sum of products. */
export interface AccumulatorExpr {
  readonly kind: 'accumulator';
  readonly type: 'float';
}
