import type { ConstExpr, ExprType, ReduceFunction } from './expr.ts';

/** What a reduction over nothing gives; argmax and argmin keep their best value and a position beside it. */
export function neutralElement(fn: ReduceFunction, type: ExprType): ConstExpr {
  switch (fn) {
    case 'any':
      return { kind: 'const', type: 'bool', value: false };
    case 'all':
      return { kind: 'const', type: 'bool', value: true };
    case 'sum':
      return { kind: 'const', type, value: whole(type, 0) };
    case 'prod':
      return { kind: 'const', type, value: whole(type, 1) };
    case 'max':
    case 'argmax':
      return { kind: 'const', type, value: extreme(type, false) };
    case 'min':
    case 'argmin':
      return { kind: 'const', type, value: extreme(type, true) };
  }
}

function whole(type: ExprType, value: 0 | 1): number | bigint | boolean {
  if (type === 'bool') return value === 1;
  return type === 'i64' ? BigInt(value) : value;
}

function extreme(type: ExprType, largest: boolean): number | bigint | boolean {
  switch (type) {
    case 'float':
      return largest ? Infinity : -Infinity;
    case 'i32':
      return largest ? 2147483647 : -2147483648;
    case 'i64':
      return largest ? 2n ** 63n - 1n : -(2n ** 63n);
    case 'bool':
      return largest;
  }
}
