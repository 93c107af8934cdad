import {
  keepsGuards,
  symCompare,
  symEq,
  symFloorDiv,
  symGe,
  symGt,
  symLt,
  symMod,
  symMul,
  type SymInt,
} from '@cresset/tensor';
import { axis, binary, constant, param } from '../expressions/builders.ts';
import { eachChild } from '../expressions/expr-children.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { symIndexValue } from '../expressions/index-value.ts';
import { Rewriter } from '../expressions/substitute.ts';

/** Part of an axis in a mixed radix: `floor(axis / low)`, modulo `high / low` where `high` is given. */
interface Digits {
  readonly axis: AxisExpr;
  readonly low: SymInt;
  readonly high: SymInt | null;
}

/** The value of an index that is the same whatever symbols stand for, or may be gone by for one kernel alone; null of any other: what is divided by that stays divided. */
function fixedValue(expr: Expr): SymInt | null {
  const value = symIndexValue(expr);
  return typeof value === 'number' || keepsGuards() ? value : null;
}

const divides = (by: SymInt, size: SymInt): boolean => symEq(symMod(size, by), 0);

/**
 * Divisions of a loop variable by fixed numbers (`k / 9`, `k % 9 / 3`, `k % 3`: a flattened index taken apart) are
 * expensive in the innermost loop. Where the divisors form a chain, the axis becomes several, one loop in the other, and
 * the divisions go away.
 */
export class AxisSplitting {
  readonly #digits = new Map<Expr, Digits | null>();
  readonly #breaks = new Map<AxisExpr, Set<SymInt>>();
  /** The axes that take an axis's place, the outermost first. */
  readonly parts = new Map<AxisExpr, readonly AxisExpr[]>();
  readonly #steps = new Map<AxisExpr, SymInt>();
  readonly #rewriter = new Rewriter((expr) => this.#replace(expr));

  /** @param candidates the axes that may be split. */
  constructor(candidates: readonly AxisExpr[], roots: readonly Expr[]) {
    for (const candidate of candidates) this.#breaks.set(candidate, new Set());
    const seen = new Set<Expr>();
    const visit = (expr: Expr): void => {
      if (seen.has(expr)) return;
      seen.add(expr);
      // An axis by itself is no reason to split it.
      const digits = expr.kind === 'binary' ? this.#digitsOf(expr) : null;
      if (digits) {
        const breaks = this.#breaks.get(digits.axis)!;
        breaks.add(digits.low);
        if (digits.high !== null) breaks.add(digits.high);
      }
      eachChild(expr, visit);
    };
    for (const root of roots) visit(root);
    for (const [candidate, breaks] of this.#breaks) this.#split(candidate, breaks);
  }

  rewrite(expr: Expr): Expr {
    return this.parts.size === 0 ? expr : this.#rewriter.rewrite(expr);
  }

  /** A list of loops with split axes replaced by their parts. */
  loops(axes: readonly AxisExpr[]): AxisExpr[] {
    return axes.flatMap((axis) => this.parts.get(axis) ?? [axis]);
  }

  #digitsOf(expr: Expr): Digits | null {
    const known = this.#digits.get(expr);
    if (known !== undefined) return known;
    const found = this.#findDigits(expr);
    this.#digits.set(expr, found);
    return found;
  }

  #findDigits(expr: Expr): Digits | null {
    if (expr.kind === 'axis') return this.#breaks.has(expr) ? { axis: expr, low: 1, high: null } : null;
    if (expr.kind !== 'binary') return null;
    if (expr.fn === 'sub') return this.#remainderBySubtraction(expr.x, expr.y);
    const isQuotient = expr.fn === 'truncdiv' || expr.fn === 'floordiv';
    if (!isQuotient && expr.fn !== 'fmod' && expr.fn !== 'remainder') return null;
    const divisor = fixedValue(expr.y);
    const digits = divisor !== null && symGt(divisor, 0) ? this.#digitsOf(expr.x) : null;
    if (!digits || divisor === null) return null;
    const cut = symMul(digits.low, divisor);
    if (digits.high !== null && (symGt(cut, digits.high) || !divides(cut, digits.high))) return null;
    return isQuotient ? { ...digits, low: cut } : { ...digits, high: cut };
  }

  /** `x - x / c * c`. */
  #remainderBySubtraction(x: Expr, y: Expr): Digits | null {
    if (y.kind !== 'binary' || y.fn !== 'mul') return null;
    const whole = this.#digitsOf(x);
    if (!whole) return null;
    for (const [quotient, factor] of [
      [y.x, y.y],
      [y.y, y.x],
    ] as const) {
      const divisor = fixedValue(factor);
      const digits = divisor === null ? null : this.#digitsOf(quotient);
      if (!digits || digits.axis !== whole.axis || digits.high !== whole.high) continue;
      if (symEq(digits.low, symMul(whole.low, divisor!))) return { ...whole, high: digits.low };
    }
    return null;
  }

  #split(candidate: AxisExpr, breaks: Set<SymInt>): void {
    const extent = fixedValue(candidate.extent);
    if (extent === null) return;
    // Of two that are the same, one part has one step.
    const cuts = [...breaks].filter((cut) => symGt(cut, 1) && symLt(cut, extent)).sort(symCompare);
    if (cuts.length === 0) return;
    const bounds = [1, ...cuts, extent];
    if (bounds.some((bound, index) => index > 0 && !divides(bounds[index - 1], bound))) return;
    const parts: AxisExpr[] = [];
    for (let index = bounds.length - 2; index >= 0; index--) {
      const part = axis(candidate.name, param('i32', symFloorDiv(bounds[index + 1], bounds[index])));
      this.#steps.set(part, bounds[index]);
      parts.push(part);
    }
    this.parts.set(candidate, parts);
  }

  #replace(expr: Expr): Expr | null {
    const digits = this.#digitsOf(expr);
    const parts = digits && this.parts.get(digits.axis);
    if (parts) {
      let sum: Expr = constant('i32', 0);
      for (const part of parts) {
        const step = this.#steps.get(part)!;
        if (symLt(step, digits.low) || (digits.high !== null && symGe(step, digits.high))) continue;
        const weight = symFloorDiv(step, digits.low);
        sum = binary('add', sum, weight === 1 ? part : binary('mul', part, param('i32', weight)));
      }
      return sum;
    }
    if (expr.kind === 'reduce' && expr.axes.some((axis) => this.parts.has(axis))) {
      return { ...expr, axes: this.loops(expr.axes), body: this.rewrite(expr.body) };
    }
    return null;
  }
}
