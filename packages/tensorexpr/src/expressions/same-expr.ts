import { childrenOf } from './expr-children.ts';
import type { AxisExpr, Expr, ParamExpr } from './expr.ts';
import { LinearForms, type LinearForm } from './linear-form.ts';

/**
 * Whether two expressions have the same value wherever their axes have.
 *
 * @param renamed axes of the first, with those that stand for them in the second
 */
export function isSameExpr(a: Expr, b: Expr, renamed: ReadonlyMap<AxisExpr, AxisExpr> = new Map()): boolean {
  return new Comparison(new LinearForms(), renamed).areSame(a, b);
}

class Comparison {
  /** What was found to be the same: nodes that are used often are compared once. */
  readonly #same = new Map<Expr, Expr>();

  constructor(
    private readonly forms: LinearForms,
    private readonly renamed: ReadonlyMap<AxisExpr, AxisExpr>,
  ) {}

  areSame(a: Expr, b: Expr): boolean {
    if ((a === b && this.renamed.size === 0) || this.#same.get(a) === b) return true;
    if (a.type !== b.type || !(this.#areSameIndices(a, b) || this.#areSameNodes(a, b))) return false;
    this.#same.set(a, b);
    return true;
  }

  /** Indices may be summed up in another order. */
  #areSameIndices(a: Expr, b: Expr): boolean {
    if (a.type !== 'i32') return false;
    const [mine, other] = [this.forms.of(a), this.forms.of(b)];
    if (mine.rest === a || other.rest === b || !this.#areSameForms(mine, other)) return false;
    return mine.rest && other.rest ? this.#areSameNodes(mine.rest, other.rest) : mine.rest === other.rest;
  }

  #areSameForms(a: LinearForm, b: LinearForm): boolean {
    if (a.base !== b.base || a.terms.size !== b.terms.size) return false;
    return [...a.terms].every(([axis, coefficient]) => b.terms.get(this.renamed.get(axis) ?? axis) === coefficient);
  }

  #areSameNodes(a: Expr, b: Expr): boolean {
    if (a.kind !== b.kind) return false;
    switch (a.kind) {
      case 'const':
        return Object.is(a.value, (b as typeof a).value);
      case 'param':
        return areSameParams(a, b as typeof a);
      case 'axis':
        return (this.renamed.get(a) ?? a) === b;
      case 'load': {
        const { tensor, dtype } = (b as typeof a).operand;
        if (a.operand.tensor.storage !== tensor.storage || a.operand.dtype !== dtype) return false;
        break;
      }
      case 'unary':
      case 'binary':
        if (a.fn !== (b as typeof a).fn) return false;
        break;
      case 'reduce': {
        const other = b as typeof a;
        if (a.fn !== other.fn || a.axes.length !== other.axes.length) return false;
        if (!a.axes.every((axis, at) => this.areSame(axis.extent, other.axes[at].extent))) return false;
        const bound = a.axes.map((axis, at) => [axis, other.axes[at]] as const);
        return new Comparison(this.forms, new Map([...this.renamed, ...bound])).areSame(a.body, other.body);
      }
    }
    const [mine, others] = [childrenOf(a), childrenOf(b)];
    return mine.length === others.length && mine.every((child, at) => this.areSame(child, others[at]));
  }
}

/** Whether params have the same value each time. */
function areSameParams(a: ParamExpr, b: ParamExpr): boolean {
  if (a.open || b.open) return a.open === b.open;
  return a.sym || b.sym ? a.sym === b.sym : Object.is(a.value, b.value);
}
