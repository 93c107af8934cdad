import type { ShapeEnv, SizeGuards } from './shape-env.ts';

/**
 * Sizes that may be other numbers the next time, as PyTorch's SymInt (c10/core/SymInt.h): what is worked out of them while a program is recorded is kept as
 * an expression. Who goes by the number itself adds a guard: what was recorded then holds only where that comes out the same.
 */
export type SymInt = number | SymNode;

/** A float that is worked out of sizes, as PyTorch's SymFloat (c10/core/SymFloat.h). */
export type SymFloat = number | SymNode<'float'>;

/** What an expression gives. */
export type SymKind = 'int' | 'float';

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

/** An expression of symbols: a sum of products, or something that is no sum, as every float is. */
export class SymNode<Kind extends SymKind = 'int'> {
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
    readonly kind = 'int' as Kind,
  ) {
    this.terms = terms ?? new Map([[text, { coefficient: 1, factors: [this as SymNode] }]]);
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
    return settle(this as SymNode);
  }

  toString(): string {
    return this.text;
  }
}

/** The number of now, for estimates and for what is worked out again: no guard is noted. */
export const hint = (size: SymInt | SymFloat): number => (typeof size === 'number' ? size : size.value);

/** The number itself: what is recorded holds for it alone. */
export function settle(size: SymInt | SymFloat): number {
  if (typeof size === 'number') return size;
  const { value } = size;
  if (size.kind === 'int') symEq(size as SymNode, value);
  else size.env.note(size, `== ${value}`, (now) => Object.is(now, value));
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
  return env ? env.sum([termsOf(a), termsOf(b)]) : hint(a) + hint(b);
}

export const symSub = (a: SymInt, b: SymInt): SymInt =>
  typeof a === 'number' && typeof b === 'number' ? a - b : symAdd(a, symMul(b, -1));

export function symMul(a: SymInt, b: SymInt): SymInt {
  if (typeof a === 'number' && typeof b === 'number') return a * b;
  const env = envOf(a, b);
  return env ? env.product(a, b) : hint(a) * hint(b);
}

export const symProduct = (sizes: readonly SymInt[]): SymInt =>
  sizes.reduce((product, size) => symMul(product, size), 1);

/** The quotient, rounded down. */
export function symFloorDiv(a: SymInt, b: SymInt): SymInt {
  const env = envOf(a, b);
  return env ? env.quotient(a, b) : Math.floor(hint(a) / hint(b));
}

/** The quotient, rounded up; the divisor is one at least. */
export const symCeilDiv = (a: SymInt, b: SymInt): SymInt => symFloorDiv(symAdd(a, symSub(b, 1)), b);

/** What is left of a division that rounds down. */
export const symMod = (a: SymInt, b: SymInt): SymInt => symSub(a, symMul(symFloorDiv(a, b), b));

export const symMax = (a: SymInt, b: SymInt): SymInt => extremeOf('max', a, b);
export const symMin = (a: SymInt, b: SymInt): SymInt => extremeOf('min', a, b);

function extremeOf(fn: 'max' | 'min', a: SymInt, b: SymInt): SymInt {
  const env = envOf(a, b);
  return env ? env.extreme(fn, a, b) : Math[fn](hint(a), hint(b));
}

/**
 * What a function makes of sizes and of floats of such.
 *
 * @param name of the function, which stands for it: it gives the same for the same numbers
 */
export function symFunction<Kind extends SymKind>(
  kind: Kind,
  name: string,
  args: readonly (SymInt | SymFloat)[],
  of: (...args: readonly number[]) => number,
): number | SymNode<Kind> {
  const env = args.find((arg) => typeof arg !== 'number')?.env;
  return env?.isPlain === false ? env.result(kind, name, args, of) : of(...args.map(hint));
}

/** Whether two sizes are the same, for all that symbols may stand for where that is known; else a guard is noted. */
export function symEq(a: SymInt, b: SymInt): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a === b;
  const difference = symSub(a, b);
  if (typeof difference === 'number') return difference === 0;
  if (leastOf(difference) > 0 || leastOf(symMul(difference, -1)) > 0) return false;
  const isSame = difference.value === 0;
  difference.env.note(difference, isSame ? '== 0' : '!= 0', (value) => (value === 0) === isSame);
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
  difference.env.note(difference, isBelow ? '< 0' : '>= 0', (value) => value < 0 === isBelow);
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
export const symText = (size: SymInt | SymFloat): string => String(typeof size === 'number' ? size : size.text);

/** The number of now, for messages. */
export const textOf = (size: SymInt): string => String(hint(size));

export const leastOf = (size: SymInt): number => (typeof size === 'number' ? size : size.least);

export const termsOf = (size: SymInt): ReadonlyMap<string, Term> =>
  typeof size === 'number' ? new Map([['', { coefficient: size, factors: [] }]]) : size.terms;
