import {
  binary,
  childrenOf,
  constant,
  type ConstExpr,
  type Expr,
  type ParamExpr,
  type Store,
} from '@cresset/tensorexpr';
import type { LoweringContext } from '../../table/row.ts';
import { check } from '../errors.ts';

const divisions: ReadonlySet<string> = new Set(['truncdiv', 'floordiv', 'fmod', 'remainder']);

/**
 * What integers are divided by in the values of elements, but for numbers other than zero.
 * @param known what is not looked into
 */
export function divisorsIn(values: readonly Expr[], known: readonly Expr[] = []): Expr[] {
  const divisors = new Set<Expr>();
  const seen = new Set(known);
  const visit = (expr: Expr): void => {
    // Where an element lies is no number of the program.
    if (seen.has(expr) || expr.kind === 'load') return;
    seen.add(expr);
    if (
      expr.kind === 'binary' &&
      expr.type !== 'float' &&
      divisions.has(expr.fn) &&
      !(isFixed(expr.y) && Number(expr.y.value) !== 0)
    )
      divisors.add(expr.y);
    childrenOf(expr).forEach(visit);
  };
  values.forEach(visit);
  return [...divisors];
}

/** Whether it is the same number whenever the kernel runs. */
const isFixed = (expr: Expr): expr is ConstExpr | ParamExpr =>
  expr.kind === 'const' || (expr.kind === 'param' && !expr.open);

/** Notes divisions of integers by zero, which have no result: PyTorch raises for a single one in a tensor. Throws its error for the number zero. */
export const divisionFaults = (values: readonly Expr[], context: Pick<LoweringContext, 'faults'>): Store[] =>
  divisorsIn(values).flatMap((divisor) => {
    check(!isFixed(divisor), 'ZeroDivisionError');
    const isZero = binary('eq', divisor, constant(divisor.type, divisor.type === 'i64' ? 0n : 0));
    return context.faults(isZero, constant('i32', 0), 'ZeroDivisionError', 'RuntimeError');
  });
