import {
  symAdd,
  symBelow,
  symFloorDiv,
  symLe,
  symLt,
  symMul,
  symSub,
  symText,
  type SymInt,
  type Tensor,
} from '@cresset/tensor';
import { binary, param } from '../expressions/builders.ts';
import type { Expr } from '../expressions/expr.ts';
import { symIndexValue } from '../expressions/index-value.ts';
import { lastOf, linearExpr, LinearForms } from '../expressions/linear-form.ts';
import type { Operand } from '../expressions/operand.ts';
import type { Kernel } from '../kernels/kernel.ts';
import { relocate } from './elsewhere.ts';

/** Rows of `row` elements that lie one behind the other, and where they lie instead: `pitch` elements apart in the storage of a tensor. */
export interface RowsApart {
  readonly row: SymInt;
  readonly pitch: SymInt;
  readonly home: Tensor;
}

/** Thrown inside where it is not plain which row an element is in. */
class Unplain extends Error {}

/**
 * A kernel that finds the rows of some storages where they lie apart. Null where it is not plain which row each element is in.
 *
 * Which part of an index says the row is told by its coefficients: multiples of the rows' length, of which every other part together stays below.
 */
export function partRows(kernel: Kernel, rowsOf: (operand: Operand) => RowsApart | null): Kernel | null {
  const forms = new LinearForms();
  try {
    return relocate(kernel, (operand, offset) => {
      const rows = rowsOf(operand);
      if (!rows) return null;
      if (operand.tensor.openOffset) throw new Unplain();
      return { operand: { ...operand, tensor: rows.home }, offset: offsetApart(offset, rows, forms) };
    });
  } catch (error) {
    if (error instanceof Unplain) return null;
    throw error;
  }
}

/** How many times one size goes into another, where that is plain; null where it is not. */
export function exactQuotient(size: SymInt, by: SymInt): SymInt | null {
  const quotient = symFloorDiv(size, by);
  return quotient !== 0 && symText(symMul(quotient, by)) === symText(size) ? quotient : null;
}

/** An index where rows lie apart. Throws where what does not count rows may be as much as a row is long. */
function offsetApart(offset: Expr, { row, pitch }: RowsApart, forms: LinearForms): Expr {
  const { base, terms, rest } = forms.of(offset);
  if (!symLe(0, base)) throw new Unplain();
  let last = base;
  const apart = (coefficient: SymInt, reach: () => SymInt | null): SymInt => {
    const rows = exactQuotient(coefficient, row);
    if (rows !== null) return symMul(rows, pitch);
    const greatest = symLe(0, coefficient) ? reach() : null;
    if (greatest === null) throw new Unplain();
    last = symAdd(last, symMul(coefficient, greatest));
    return coefficient;
  };
  /** What is not linear in axes, such as the quotient of one. */
  const restApart = (expr: Expr): Expr => {
    if (expr.kind === 'binary' && expr.fn === 'add') return binary('add', restApart(expr.x), restApart(expr.y));
    const [coefficient, factor] = factorsOf(expr);
    const moved = apart(coefficient, () => greatestOf(factor));
    return moved === coefficient ? expr : binary('mul', factor, param('i32', moved));
  };
  const moved = {
    base,
    terms: new Map([...terms].map(([axis, coefficient]) => [axis, apart(coefficient, () => lastOf(axis))])),
    rest: rest && restApart(rest),
  };
  if (!symBelow(last, row)) throw new Unplain();
  return linearExpr(moved, [...terms.keys()]);
}

/** A product as a number and what it is multiplied with. */
function factorsOf(expr: Expr): [SymInt, Expr] {
  if (expr.kind !== 'binary' || expr.fn !== 'mul') return [1, expr];
  const [x, y] = [symIndexValue(expr.x), symIndexValue(expr.y)];
  if (y !== null) return [y, expr.x];
  return x !== null ? [x, expr.y] : [1, expr];
}

/** A number that an index is never above, where it is never below 0; null where that is not plain. */
function greatestOf(expr: Expr): SymInt | null {
  if (expr.kind === 'axis') return lastOf(expr);
  if (expr.kind !== 'binary') return null;
  const { fn, x, y } = expr;
  const by = symIndexValue(y);
  const greatest = greatestOf(x);
  if (greatest === null) return null;
  if (by !== null && symLt(0, by)) {
    if (fn === 'fmod' || fn === 'remainder') return symSub(by, 1);
    if (fn === 'truncdiv' || fn === 'floordiv') return symFloorDiv(greatest, by);
    if (fn === 'mul') return symMul(greatest, by);
  }
  const other = fn === 'add' ? (by ?? greatestOf(y)) : null;
  return other !== null && symLe(0, other) ? symAdd(greatest, other) : null;
}
