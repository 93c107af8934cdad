import { settle, type ScalarType, type Tensor } from '@cresset/tensor';
import { axis, binary, constant, param } from './builders.ts';
import type { AxisExpr, Expr, ExprType, LoadExpr } from './expr.ts';

/** A tensor as a kernel sees it: a storage binding with a dtype. Two operands over one tensor object share a binding. */
export interface Operand {
  readonly tensor: Tensor;
  readonly dtype: ScalarType;
}

/** The type elements of this dtype have while they are computed with. */
export function exprTypeOf(dtype: ScalarType): ExprType {
  switch (dtype) {
    case 'bool':
      return 'bool';
    case 'int64':
    case 'uint32':
    case 'uint64':
      return 'i64';
    case 'uint8':
    case 'uint16':
    case 'int8':
    case 'int16':
    case 'int32':
      return 'i32';
    default:
      return 'float';
  }
}

/** Where a tensor begins in its storage. */
export function offsetExpr({ openOffset: open, symHandedOnOffset: offset }: Tensor): Expr {
  if (open) return { ...param('i32', settle(offset)), open };
  return offset === 0 ? constant('i32', 0) : param('i32', offset);
}

/**
 * A tensor with its layout as expressions. What does not change from call to call is structure (a stride of 0 or 1, an
 * offset of 0), the rest are params: kernels are shared between all shapes of the same class.
 */
export class TensorView {
  readonly operand: Operand;
  readonly sizes: readonly Expr[];
  readonly #strides: readonly Expr[];
  readonly #offset: Expr;

  constructor(readonly tensor: Tensor) {
    this.operand = { tensor, dtype: tensor.dtype };
    this.sizes = tensor.symSizes.map((size) => param('i32', size));
    this.#strides = tensor.symStrides.map((stride) =>
      stride === 0 || stride === 1 ? constant('i32', stride) : param('i32', stride),
    );
    this.#offset = offsetExpr(tensor);
  }

  /** One axis for each dimension, in order. */
  axes(names = 'ijklmnpq'): AxisExpr[] {
    return this.sizes.map((size, dim) => axis(names[dim] ?? `d${dim}`, size));
  }

  /** Where element `[...indices]` lies, in elements from the start of the storage. */
  offsetAt(indices: readonly Expr[]): Expr {
    let offset = this.#offset;
    indices.forEach((index, dim) => {
      offset = binary('add', offset, binary('mul', index, this.#strides[dim]));
    });
    return offset;
  }

  /** The element at `indices`, one index a dimension; indices are not checked. */
  at(indices: readonly Expr[]): LoadExpr {
    return { kind: 'load', type: exprTypeOf(this.tensor.dtype), operand: this.operand, offset: this.offsetAt(indices) };
  }
}
