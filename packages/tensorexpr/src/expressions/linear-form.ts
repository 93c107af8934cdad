import { symAdd, symLt, symMatches, symMax, symMul, symSub, type SymInt } from '@cresset/tensor';
import { binary, constant, param } from './builders.ts';
import type { AxisExpr, Expr } from './expr.ts';
import { symExtentOf, symIndexValue } from './index-value.ts';

/** An index as `base + Σ coefficient · axis + rest`, with the numbers of this launch, or expressions of sizes that may be others the next time. */
export interface LinearForm {
  readonly base: SymInt;
  readonly terms: ReadonlyMap<AxisExpr, SymInt>;
  /** What is not linear in the axes, such as an index that was loaded; null where everything is. */
  readonly rest: Expr | null;
}

/** The least and the greatest value of an index. */
export interface Range {
  readonly low: SymInt;
  readonly high: SymInt;
}

/** The last value of an axis, 0 where it has none. */
export const lastOf = (axis: AxisExpr): SymInt => symMax(symSub(symExtentOf(axis), 1), 0);

/** Takes `i32` expressions apart into linear forms. */
export class LinearForms {
  readonly #known = new Map<Expr, LinearForm>();

  of(expr: Expr): LinearForm {
    let form = this.#known.get(expr);
    if (!form) {
      form = this.#find(expr);
      this.#known.set(expr, form);
    }
    return form;
  }

  #find(expr: Expr): LinearForm {
    if (expr.kind === 'axis') return { base: 0, terms: new Map([[expr, 1]]), rest: null };
    const joins = expr.kind === 'binary' && (expr.fn === 'add' || expr.fn === 'sub' || expr.fn === 'mul');
    const x = joins ? this.of(expr.x) : null;
    const y = joins ? this.of(expr.y) : null;
    // To ask each sum whether it is a number would be to go through all that it is made of each time.
    const value = x && y && !(isNumber(x) && isNumber(y)) ? null : symIndexValue(expr);
    if (value !== null) return { base: value, terms: new Map(), rest: null };
    if (expr.kind === 'unary' && expr.fn === 'neg') return scale(this.of(expr.x), -1);
    if (joins && x && y) {
      if (expr.fn === 'add') return sum(x, y);
      if (expr.fn === 'sub') return sum(x, scale(y, -1));
      if (isNumber(x)) return scale(y, x.base);
      if (isNumber(y)) return scale(x, y.base);
    }
    return { base: 0, terms: new Map(), rest: expr };
  }

  /** The smallest and largest value over all points of the axes; null where the form has a rest. */
  range(form: LinearForm): Range | null {
    if (form.rest) return null;
    let low = form.base;
    let high = low;
    for (const [axis, coefficient] of form.terms) {
      const reach = symMul(coefficient, lastOf(axis));
      if (symLt(reach, 0)) low = symAdd(low, reach);
      else high = symAdd(high, reach);
    }
    return { low, high };
  }
}

function isNumber(form: LinearForm): boolean {
  return form.rest === null && form.terms.size === 0;
}

/** Whether two forms are the same number at every point; false where what is not linear in them may differ. */
export function areSameForms(a: LinearForm, b: LinearForm): boolean {
  if (a.rest || b.rest || !symMatches(a.base, b.base)) return false;
  return hasTermsOf(a, b) && hasTermsOf(b, a);
}

/** Whether a form goes along the axes of another in the same way: all but those that have one point. */
const hasTermsOf = ({ terms }: LinearForm, other: LinearForm): boolean =>
  [...other.terms].every(
    ([axis, coefficient]) => symMatches(terms.get(axis) ?? 0, coefficient) || symExtentOf(axis) === 1,
  );

export function sum(x: LinearForm, y: LinearForm): LinearForm {
  const terms = new Map(x.terms);
  for (const [axis, coefficient] of y.terms) {
    const total = symAdd(terms.get(axis) ?? 0, coefficient);
    if (total === 0) terms.delete(axis);
    else terms.set(axis, total);
  }
  const rest = x.rest && y.rest ? binary('add', x.rest, y.rest) : (x.rest ?? y.rest);
  return { base: symAdd(x.base, y.base), terms, rest };
}

export function scale(form: LinearForm, factor: SymInt): LinearForm {
  if (factor === 0) return { base: 0, terms: new Map(), rest: null };
  if (factor === 1) return form;
  const terms = new Map([...form.terms].map(([axis, coefficient]) => [axis, symMul(coefficient, factor)]));
  return { base: symMul(form.base, factor), terms, rest: form.rest && binary('mul', form.rest, param('i32', factor)) };
}

/**
 * A linear form as an expression. 0 and 1 are structure, other numbers params. What is not linear stands first and terms
 * in the order of `order`, so that what changes least is worked out outside the inner loops.
 */
export function linearExpr(form: LinearForm, order: readonly AxisExpr[]): Expr {
  const base = form.base === 0 ? constant('i32', 0) : param('i32', form.base);
  let expr: Expr = form.rest ? binary('add', base, form.rest) : base;
  for (const axis of order) {
    const coefficient = form.terms.get(axis);
    if (coefficient === undefined) continue;
    const term = coefficient === 1 ? axis : binary('mul', axis, param('i32', coefficient));
    expr = binary('add', expr, term);
  }
  return expr;
}
