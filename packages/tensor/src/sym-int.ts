import type { ShapeEnv, SizeGuards } from './shape-env.ts';

/**
 * Sizes that may be other numbers the next time, as PyTorch's SymInt (c10/core/SymInt.h): what is worked out of them while a program is recorded is kept as
 * an expression. Who goes by the number itself adds a guard: what was recorded then holds only where that comes out the same.
 */
export type SymInt = number | SymNode;

/** Products of nodes that cannot be taken apart, each so many times. */
export interface Term {
  readonly coefficient: number;
  readonly factors: readonly SymNode[];
}

/** A symbol stands for no number below this: sizes of 0 and 1 are programs of their own (`torch.export` specialises them too). */
export const LEAST_SYMBOL = 2;

/** Nor for one above this: kernels count with integers of 32 bits. */
export const MOST_SYMBOL = 2 ** 31 - 1;

/** How what is asked of sizes now is answered. */
export const asked = {
  /** Recordings with symbols that go on: without, no size is one. */
  open: 0,
  /** Whether there ever were some. */
  wereOpen: false,
  /** In the midst of a question that no answer holds for: the number of now is taken, and nothing is noted. */
  isPeeking: false,
  /** Guards of what is made now, apart from its recording's; null where nothing is. */
  kept: null as SizeGuards | null,
};

function asking<Result>(guards: SizeGuards | null, peeks: boolean, ask: () => Result): Result {
  const { kept, isPeeking } = asked;
  Object.assign(asked, { kept: guards, isPeeking: peeks });
  try {
    return ask();
  } finally {
    Object.assign(asked, { kept, isPeeking });
  }
}

/** Does what goes by the numbers of now, and is done again for others. */
export const peek = <Result>(ask: () => Result): Result => asking(asked.kept, true, ask);

/** Makes what is to serve for other sizes too, in a recording or when that is over long since: guards are noted among these. */
export const keepGuards = <Result>(guards: SizeGuards, make: () => Result): Result => asking(guards, false, make);

/** Whether what is asked now is for `keepGuards`. */
export const keepsGuards = (): boolean => asked.kept !== null && !asked.isPeeking;

/** Whether sizes may be expressions at all now. */
export const hasSymbols = (): boolean => asked.open > 0;

/** Whether there ever were such recordings: most programs need not be searched for symbols. */
export const hadSymbols = (): boolean => asked.wereOpen;

/** An expression of symbols: a sum of products, or something that is no sum. */
export class SymNode {
  /** The sum that it is: its terms by their factors, the number without any by ''. */
  readonly terms: ReadonlyMap<string, Term>;
  #value = NaN;
  #generation = -1;

  /**
   * @param terms null where it is no sum
   * @param least a number that it is never below
   */
  constructor(
    readonly env: ShapeEnv,
    readonly text: string,
    terms: ReadonlyMap<string, Term> | null,
    readonly least: number,
    private readonly evaluate: () => number,
  ) {
    this.terms = terms ?? new Map([[text, { coefficient: 1, factors: [this] }]]);
  }

  /** The number that it is now. */
  get value(): number {
    const { generation } = this.env;
    if (this.#generation !== generation) {
      this.#generation = generation;
      this.#value = this.evaluate();
    }
    return this.#value;
  }

  /** So that who forgets what it is gets a number, and a guard for it. */
  valueOf(): number {
    return settle(this);
  }

  toString(): string {
    return this.text;
  }
}

/** The number of now, for estimates and for what is worked out again: no guard is noted. */
export const hint = (size: SymInt): number => (typeof size === 'number' ? size : size.value);

/** The number itself: what is recorded holds for it alone. */
export function settle(size: SymInt): number {
  if (typeof size === 'number') return size;
  const { value } = size;
  symEq(size, value);
  return value;
}

export const settleAll = (sizes: readonly SymInt[]): number[] => sizes.map(settle);

export const isSymbolic = (sizes: readonly SymInt[]): boolean => sizes.some((size) => typeof size !== 'number');

/** Who is told what is gone by; null of numbers, and where the numbers of now are taken. */
function envOf(a: SymInt, b: SymInt): ShapeEnv | null {
  const env = typeof a !== 'number' ? a.env : typeof b !== 'number' ? b.env : null;
  return env?.isPlain === false ? env : null;
}

export function symAdd(a: SymInt, b: SymInt): SymInt {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  const env = envOf(a, b);
  return env ? sumOf(env, [termsOf(a), termsOf(b)]) : hint(a) + hint(b);
}

export const symSub = (a: SymInt, b: SymInt): SymInt =>
  typeof a === 'number' && typeof b === 'number' ? a - b : symAdd(a, symMul(b, -1));

export function symMul(a: SymInt, b: SymInt): SymInt {
  if (typeof a === 'number' && typeof b === 'number') return a * b;
  const env = envOf(a, b);
  if (!env) return hint(a) * hint(b);
  const products: ReadonlyMap<string, Term>[] = [];
  for (const one of termsOf(a).values()) {
    for (const other of termsOf(b).values()) {
      const factors = [...one.factors, ...other.factors].sort((x, y) => (x.text < y.text ? -1 : 1));
      const coefficient = one.coefficient * other.coefficient;
      products.push(new Map([[factors.map(({ text }) => text).join('*'), { coefficient, factors }]]));
    }
  }
  return sumOf(env, products);
}

export const symProduct = (sizes: readonly SymInt[]): SymInt =>
  sizes.reduce((product, size) => symMul(product, size), 1);

/** The quotient, rounded down. */
export function symFloorDiv(a: SymInt, b: SymInt): SymInt {
  const env = envOf(a, b);
  if (!env) return Math.floor(hint(a) / hint(b));
  const exact = quotientOf(env, a, b);
  if (exact !== null) return exact;
  const isPositive = leastOf(a) >= 0 && leastOf(b) >= 0;
  if (isPositive && leastOf(symSub(b, a)) > 0) return 0;
  return env.node(`(${symText(a)} // ${symText(b)})`, null, isPositive ? 0 : -Infinity, () =>
    Math.floor(hint(a) / hint(b)),
  );
}

/** The quotient, rounded up; the divisor is one at least. */
export const symCeilDiv = (a: SymInt, b: SymInt): SymInt => symFloorDiv(symAdd(a, symSub(b, 1)), b);

/** What is left of a division that rounds down. */
export const symMod = (a: SymInt, b: SymInt): SymInt => symSub(a, symMul(symFloorDiv(a, b), b));

export const symMax = (a: SymInt, b: SymInt): SymInt => extremeOf('max', a, b);
export const symMin = (a: SymInt, b: SymInt): SymInt => extremeOf('min', a, b);

function extremeOf(fn: 'max' | 'min', a: SymInt, b: SymInt): SymInt {
  const env = envOf(a, b);
  const ofNow = (): number => Math[fn](hint(a), hint(b));
  if (!env) return ofNow();
  const isNeverBelow = (x: SymInt, y: SymInt): boolean => leastOf(symSub(x, y)) >= 0;
  if (isNeverBelow(a, b)) return fn === 'max' ? a : b;
  if (isNeverBelow(b, a)) return fn === 'max' ? b : a;
  return env.node(`${fn}(${symText(a)}, ${symText(b)})`, null, Math[fn](leastOf(a), leastOf(b)), ofNow);
}

/** Whether two sizes are the same, for all that symbols may stand for where that is known; else a guard is noted. */
export function symEq(a: SymInt, b: SymInt): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a === b;
  const difference = symSub(a, b);
  if (typeof difference === 'number') return difference === 0;
  if (leastOf(difference) > 0 || leastOf(symMul(difference, -1)) > 0) return false;
  const isSame = difference.value === 0;
  difference.env.note(difference, isSame ? '==' : '!=', (value) => (value === 0) === isSame);
  return isSame;
}

export const symNe = (a: SymInt, b: SymInt): boolean => !symEq(a, b);

/** As `symEq`, whether one is below the other. */
export function symLt(a: SymInt, b: SymInt): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b;
  const difference = symSub(a, b);
  if (typeof difference === 'number') return difference < 0;
  if (leastOf(difference) >= 0) return false;
  if (leastOf(symMul(difference, -1)) > 0) return true;
  const isBelow = difference.value < 0;
  difference.env.note(difference, isBelow ? '<' : '>=', (value) => value < 0 === isBelow);
  return isBelow;
}

export const symLe = (a: SymInt, b: SymInt): boolean => !symLt(b, a);
export const symGt = (a: SymInt, b: SymInt): boolean => symLt(b, a);
export const symGe = (a: SymInt, b: SymInt): boolean => !symLt(a, b);

/** For sorting, the least first. */
export const symCompare = (a: SymInt, b: SymInt): number => (symLt(a, b) ? -1 : symEq(a, b) ? 0 : 1);

/** Whether sizes are the same, dimension by dimension. */
export const symSame = (a: readonly SymInt[], b: readonly SymInt[]): boolean =>
  a === b || (a.length === b.length && a.every((size, dim) => symEq(size, b[dim])));

/** Whether two sizes are the same, where more can be done with such: a guard is noted where they are, and false says nothing. */
export const symMatches = (a: SymInt, b: SymInt): boolean => hint(a) === hint(b) && symEq(a, b);

/** As `symMatches`, whether one is below the other. */
export const symBelow = (a: SymInt, b: SymInt): boolean => hint(a) < hint(b) && symLt(a, b);

/** A node, or the number that it is now where nobody is to go by anything else. */
export const symbolOf = (node: SymNode): SymInt => (node.env.isPlain ? node.value : node);

/** The expression itself, so that two that are the same can be told. */
export const symText = (size: SymInt): string => String(typeof size === 'number' ? size : size.text);

/** The number of now, for messages. */
export const textOf = (size: SymInt): string => String(hint(size));

const leastOf = (size: SymInt): number => (typeof size === 'number' ? size : size.least);

const termsOf = (size: SymInt): ReadonlyMap<string, Term> =>
  typeof size === 'number' ? new Map([['', { coefficient: size, factors: [] }]]) : size.terms;

/** A sum of sums; a number where nothing else is left, a node that is no sum where that alone is. */
function sumOf(env: ShapeEnv, sums: readonly ReadonlyMap<string, Term>[]): SymInt {
  const terms = new Map<string, Term>();
  for (const sum of sums) {
    for (const [key, { coefficient, factors }] of sum) {
      const total = coefficient + (terms.get(key)?.coefficient ?? 0);
      if (total === 0) terms.delete(key);
      else terms.set(key, { coefficient: total, factors });
    }
  }
  const keys = [...terms.keys()].sort();
  if (keys.length === 0) return 0;
  if (keys.length === 1) {
    const { coefficient, factors } = terms.get(keys[0])!;
    if (factors.length === 0) return coefficient;
    if (coefficient === 1 && factors.length === 1) return factors[0];
  }
  const text = keys.map((key) => textOfTerm(key, terms.get(key)!)).join(' + ');
  let least = 0;
  for (const { coefficient, factors } of terms.values()) {
    if (factors.length === 0) least += coefficient;
    else if (coefficient > 0 && factors.every((factor) => factor.least >= 0))
      least += coefficient * factors.reduce((product, factor) => product * factor.least, 1);
    else least = -Infinity;
  }
  const parts = [...terms.values()];
  return env.node(text, terms, least, () => {
    let sum = 0;
    for (const { coefficient, factors } of parts) {
      let product = coefficient;
      for (const factor of factors) product *= factor.value;
      sum += product;
    }
    return sum;
  });
}

const textOfTerm = (key: string, { coefficient }: Term): string =>
  key === '' ? `${coefficient}` : coefficient === 1 ? key : `${coefficient}*${key}`;

/** A sum divided by another one, term by term, the greatest first; null where something is left whatever symbols stand for. */
function quotientOf(env: ShapeEnv, size: SymInt, by: SymInt): SymInt | null {
  const divisor = leadOf(by);
  let quotient: SymInt = 0;
  let left = size;
  for (let steps = 0; left !== 0; steps++) {
    const { coefficient, factors } = leadOf(left);
    const others = [...factors];
    for (const factor of divisor.factors) {
      const at = others.indexOf(factor);
      if (at < 0) return null;
      others.splice(at, 1);
    }
    if (coefficient % divisor.coefficient !== 0 || steps === MOST_STEPS) return null;
    const key = others.map(({ text }) => text).join('*');
    const term = new Map([[key, { coefficient: coefficient / divisor.coefficient, factors: others }]]);
    quotient = sumOf(env, [termsOf(quotient), term]);
    left = symSub(left, symMul(sumOf(env, [term]), by));
  }
  return quotient;
}

/** Sums of more terms are divided by none. */
const MOST_STEPS = 8;

/** The term of the highest degree, one of several by its factors. */
const leadOf = (size: SymInt): Term =>
  [...termsOf(size)].reduce((lead, each) => {
    const degrees = each[1].factors.length - lead[1].factors.length;
    return degrees > 0 || (degrees === 0 && each[0] > lead[0]) ? each : lead;
  })[1];
