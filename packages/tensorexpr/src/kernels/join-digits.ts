import {
  symAdd,
  symBelow,
  symFloorDiv,
  symLt,
  symMatches,
  symMin,
  symMod,
  symMul,
  symSub,
  type SymInt,
} from '@cresset/tensor';
import { binary, constant, param } from '../expressions/builders.ts';
import type { Expr } from '../expressions/expr.ts';
import { symIndexValue } from '../expressions/index-value.ts';
import { lastOf, type Range } from '../expressions/linear-form.ts';
import { mapStore, type Kernel } from './kernel.ts';
import type { NormalKernel } from './normalise.ts';
import { Rewriter } from '../expressions/substitute.ts';

interface Term {
  readonly factor: SymInt;
  readonly of: Expr;
}

/**
 * A kernel whose indices go straight along positions where these were taken apart and put together again, with the numbers of this
 * launch: `x / c · (c · s) + x % c · s` is `x · s`, and of `(x · c + y) / c` and `(x · c + y) % c` there is `x` and `y` left where `y` is
 * below `c`. So what goes by channel does not change from column to column.
 */
export function joinDigits<K extends Kernel | NormalKernel>(kernel: K): K {
  const digits = new DigitsInLoads();
  const stores = kernel.stores.map((store) => {
    const inner = mapStore(store, (expr) => digits.joined(expr));
    return { ...inner, offset: digits.joinedIndex(inner.offset) };
  });
  if (kernel.kind !== 'contraction') return { ...kernel, stores };
  return { ...kernel, left: digits.joined(kernel.left), right: digits.joined(kernel.right), stores };
}

/** As {@link joinDigits}, of expressions that have the indices of what they load in common. */
export class DigitsInLoads {
  readonly #digits = new Digits();
  readonly #rewriter: Rewriter = new Rewriter((expr) =>
    expr.kind === 'load' ? { ...expr, offset: this.joinedIndex(this.joined(expr.offset)) } : null,
  );

  joined(expr: Expr): Expr {
    return this.#rewriter.rewrite(expr);
  }

  joinedIndex(index: Expr): Expr {
    return this.#digits.joined(index);
  }
}

class Digits {
  readonly #known = new Map<Expr, Expr>();
  /** How many were found to be terms. */
  #found = 0;

  joined(index: Expr): Expr {
    let joined = this.#known.get(index);
    if (joined === undefined) {
      const before = this.#found;
      const terms = this.#termsOf(index, 1);
      joined = joinTerms(terms) || this.#found > before ? sumOf(terms) : index;
      this.#known.set(index, joined);
    }
    return joined;
  }

  /** What an index is the sum of, with numbers of this launch in front. */
  #termsOf(index: Expr, factor: SymInt): Term[] {
    if (index.kind !== 'binary') return [{ factor, of: index }];
    const { fn, x, y } = index;
    if (fn === 'add') return [...this.#termsOf(x, factor), ...this.#termsOf(y, factor)];
    if (fn === 'mul') {
      for (const [one, other] of [
        [x, y],
        [y, x],
      ]) {
        const value = symIndexValue(other);
        if (value !== null) return this.#termsOf(one, symMul(factor, value));
      }
    }
    if (fn !== 'truncdiv' && fn !== 'fmod') return [{ factor, of: index }];
    const rest = this.#withoutMultiples(fn, x, symIndexValue(y) ?? 0);
    return rest?.map((term) => ({ ...term, factor: symMul(term.factor, factor) })) ?? [{ factor, of: index }];
  }

  /** The digits of a number whose terms are either multiples of the base or smaller than it in all; null for others. */
  #withoutMultiples(fn: 'truncdiv' | 'fmod', index: Expr, base: SymInt): Term[] | null {
    if (!symBelow(0, base)) return null;
    const terms = this.#termsOf(index, 1);
    joinTerms(terms);
    const [multiples, others]: [Term[], Term[]] = [[], []];
    for (const term of terms) (symMatches(symMod(term.factor, base), 0) ? multiples : others).push(term);
    if (multiples.length === 0) return null;
    const rest = rangeOfSum(others);
    const whole = rangeOfSum(multiples);
    if (!rest || !whole || ![rest, whole].every(isPositive) || !symBelow(rest.high, base)) return null;
    this.#found++;
    return fn === 'fmod' ? others : multiples.map(({ factor, of }) => ({ factor: symFloorDiv(factor, base), of }));
  }
}

/** Joins digits among terms where both have what belongs together in front; whether there were any. */
function joinTerms(terms: Term[]): boolean {
  let isOther = false;
  for (let at = 0; at < terms.length; at++) {
    const { of, factor } = terms[at];
    if (of.kind !== 'binary' || of.fn !== 'fmod') continue;
    const base = symIndexValue(of.y);
    if (base === null) continue;
    const above = terms.findIndex(
      ({ of: other, factor: its }) =>
        other.kind === 'binary' &&
        other.fn === 'truncdiv' &&
        other.x === of.x &&
        symMatches(symIndexValue(other.y) ?? 0, base) &&
        symMatches(its, symMul(factor, base)),
    );
    if (above < 0) continue;
    terms[at] = { factor, of: of.x };
    terms.splice(above, 1);
    isOther = true;
    // What was joined may be a digit itself.
    at = -1;
  }
  return isOther;
}

function sumOf(terms: readonly Term[]): Expr {
  return terms.reduce<Expr>(
    (sum, { factor, of }) => {
      const value = symIndexValue(of);
      const term =
        factor === 1
          ? of
          : value !== null
            ? param('i32', symMul(factor, value))
            : binary('mul', of, param('i32', factor));
      return binary('add', sum, term);
    },
    constant('i32', 0),
  );
}

const isPositive = ({ low }: Range): boolean => symBelow(-1, low);

function rangeOfSum(terms: readonly Term[]): Range | null {
  let [low, high]: [SymInt, SymInt] = [0, 0];
  for (const { factor, of } of terms) {
    const range = rangeOf(of);
    if (!range) return null;
    const ends = [symMul(factor, range.low), symMul(factor, range.high)];
    if (symLt(factor, 0)) ends.reverse();
    low = symAdd(low, ends[0]);
    high = symAdd(high, ends[1]);
  }
  return { low, high };
}

/** The least and the greatest value of an index; null where that is not known. */
function rangeOf(index: Expr): Range | null {
  if (index.kind === 'axis') return { low: 0, high: lastOf(index) };
  const value = symIndexValue(index);
  if (value !== null) return { low: value, high: value };
  if (index.kind !== 'binary' || (index.fn !== 'truncdiv' && index.fn !== 'fmod')) return null;
  const base = symIndexValue(index.y);
  const range = rangeOf(index.x);
  if (base === null || !symBelow(0, base) || !range || !isPositive(range)) return null;
  if (index.fn === 'fmod') return { low: 0, high: symMin(range.high, symSub(base, 1)) };
  return { low: symFloorDiv(range.low, base), high: symFloorDiv(range.high, base) };
}
