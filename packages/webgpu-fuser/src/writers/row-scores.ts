import { accumulator, substitute, type AxisExpr, type Expr, type RunningSoftmax } from '@cresset/tensorexpr';

/** A score of attention at a row and a position, and the sum over depth that it is made of. */
export interface RowScore {
  readonly sum: Expr;
  readonly score: Expr;
}

export function scoreAt(kernel: RunningSoftmax, row: AxisExpr, position: AxisExpr): RowScore {
  const sum: Expr = { ...accumulator };
  const own = new Map<Expr, Expr>([
    [kernel.m, row],
    [kernel.k, position],
    [kernel.sum, sum],
  ]);
  return { sum, score: substitute(kernel.score, own) };
}

/** What counted by the greatest score so far counts by the next one. */
export const factorCode = (most: string, next: string): string =>
  `select(exp(${most} - ${next}), 1.0, ${most} == ${next})`;

/** What a position counts by the greatest score; nothing where it is not there. */
export const powerCode = (score: string, most: string): string =>
  `select(exp(${score} - ${most}), 0.0, ${score} == lowest)`;

/** A finished result of a row with that total: zero of no positions at all, and where a row that sees nothing is safe. */
export function resultCode({ isSafe }: RunningSoftmax, result: string, total: string, positions: string): string {
  return `select(${result} / ${total}, 0.0, ${isSafe ? `${total} == 0.0` : `${positions} == 0`})`;
}
