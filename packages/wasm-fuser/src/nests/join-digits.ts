import { binary, constant, indexValue, mapStore, param, type Expr, type NormalContraction } from '@cresset/tensorexpr';

interface Term {
  readonly factor: number;
  readonly of: Expr;
}

/**
 * A contraction whose stores go straight along its positions where the dimensions that these were taken apart into lie one after the
 * other: `x / c · (c · s) + x % c · s` is `x · s`.
 */
export function joinDigits(kernel: NormalContraction): NormalContraction {
  return {
    ...kernel,
    stores: kernel.stores.map((store) => {
      const offset = joined(store.offset);
      return offset === store.offset ? store : mapStore(store, (expr) => (expr === store.offset ? offset : expr));
    }),
  };
}

function joined(index: Expr): Expr {
  const terms = termsOf(index, 1);
  let isOther = false;
  for (let at = 0; at < terms.length; at++) {
    const { of, factor } = terms[at];
    if (of.kind !== 'binary' || of.fn !== 'fmod') continue;
    const base = indexValue(of.y);
    const above = terms.findIndex(
      ({ of: other, factor: its }) =>
        other.kind === 'binary' &&
        other.fn === 'truncdiv' &&
        other.x === of.x &&
        indexValue(other.y) === base &&
        its === factor * base!,
    );
    if (base === null || above < 0) continue;
    terms[at] = { factor, of: of.x };
    terms.splice(above, 1);
    isOther = true;
    // What was joined may be a digit itself.
    at = -1;
  }
  if (!isOther) return index;
  return terms.reduce<Expr>(
    (sum, { factor, of }) => {
      const value = indexValue(of);
      const term =
        factor === 1 ? of : value !== null ? param('i32', factor * value) : binary('mul', of, param('i32', factor));
      return binary('add', sum, term);
    },
    constant('i32', 0),
  );
}

/** What an index is the sum of, with numbers of this launch in front. */
function termsOf(index: Expr, factor: number): Term[] {
  if (index.kind === 'binary') {
    if (index.fn === 'add') return [...termsOf(index.x, factor), ...termsOf(index.y, factor)];
    if (index.fn === 'mul') {
      for (const [x, y] of [
        [index.x, index.y],
        [index.y, index.x],
      ]) {
        const value = indexValue(y);
        if (value !== null) return termsOf(x, factor * value);
      }
    }
  }
  return [{ factor, of: index }];
}
