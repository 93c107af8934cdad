import type { Constant } from '@cresset/ir';
import { Tuple, type IValue } from '@cresset/tensor';
import type { Expr } from './parser/tree.ts';

const INT64_MAX = 2n ** 63n - 1n;

/**
 * The value of a literal that is already of the type it is annotated with, as nearly all constants of printed classes are: numbers, truth
 * values, strings and tuples of them. Undefined for anything that has to be compiled to be known.
 */
export function literalConstant(expr: Expr, type: Expr | undefined): Constant | undefined {
  return literal(expr, type) as Constant | undefined;
}

function literal(expr: Expr, type: Expr | undefined): IValue | undefined {
  if (expr.kind === 'tuple') return tupleOf(expr.inputs, type);
  const value = scalar(expr);
  if (value === undefined) return undefined;
  const isOfType = type === undefined || (type.kind === 'var' && type.name.name === nameOfType(value));
  return isOfType ? value : undefined;
}

function tupleOf(exprs: readonly Expr[], type: Expr | undefined): Tuple | undefined {
  const isTuple = type?.kind === 'subscript' && type.value.kind === 'var' && type.value.name.name === 'Tuple';
  if (!isTuple || type.subscripts.length !== exprs.length) return undefined;
  const items = exprs.map((item, index) => literal(item, type.subscripts[index]));
  return items.every((item) => item !== undefined) ? new Tuple(items) : undefined;
}

function scalar(expr: Expr): bigint | number | boolean | string | undefined {
  switch (expr.kind) {
    case 'bool':
      return expr.value;
    case 'string':
      return expr.text;
    case 'const':
      return typeof expr.value === 'object' || expr.value > INT64_MAX ? undefined : expr.value;
    case 'unary': {
      const value = expr.op === '-' && expr.operand.kind === 'const' ? scalar(expr.operand) : undefined;
      return typeof value === 'bigint' || typeof value === 'number' ? -value : undefined;
    }
    default:
      return undefined;
  }
}

function nameOfType(value: bigint | number | boolean | string): string {
  switch (typeof value) {
    case 'bigint':
      return 'int';
    case 'number':
      return 'float';
    case 'boolean':
      return 'bool';
    case 'string':
      return 'str';
  }
}
