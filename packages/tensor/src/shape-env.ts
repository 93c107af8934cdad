import {
  asked,
  hint,
  LEAST_SYMBOL,
  leastOf,
  settle,
  symMul,
  SymNode,
  symSub,
  symText,
  termsOf,
  type SymFloat,
  type SymInt,
  type SymKind,
  type Term,
} from './sym-int.ts';

/** What has to hold of `node` for what was recorded: a difference is zero, is not, or is below zero, or not. */
interface Guard {
  readonly node: SymNode<SymKind>;
  readonly holds: (value: number) => boolean;
}

/** What sizes have to be like for what was made with them. */
export class SizeGuards {
  /** By what they say, for people to read. */
  readonly guards = new Map<string, Guard>();

  /** Whether all that was gone by comes out the same for the numbers of now. */
  holds(): boolean {
    for (const { node, holds } of this.guards.values()) if (!holds(node.value)) return false;
    return true;
  }

  /** @param condition what is said of the node: `== 0` */
  add(node: SymNode<SymKind>, condition: string, holds: (value: number) => boolean): void {
    this.guards.set(`${node.text} ${condition}`, { node, holds });
  }
}

/** The symbols of a recording, what was worked out of them, and what it goes by (PyTorch's ShapeEnv). */
export class ShapeEnv extends SizeGuards {
  readonly symbols: SymNode<SymKind>[] = [];
  readonly #nodes = new Map<string, SymNode<SymKind>>();
  readonly #values: number[] = [];
  /** What nodes are worked out of that are no sums, as far as that is told. */
  readonly operands = new Map<SymNode<SymKind>, readonly SymNode<SymKind>[]>();
  /** Counts the sets of numbers that symbols stood for. */
  generation = 0;
  isClosed = false;

  constructor() {
    super();
    asked.open++;
    asked.wereOpen = true;
  }

  /** Whether those of now are taken for sizes: the recording is over, or it is no answer that holds that is asked for. */
  get isPlain(): boolean {
    return asked.isPeeking || (this.isClosed && !asked.kept);
  }

  close(): void {
    if (!this.isClosed) asked.open--;
    this.isClosed = true;
  }

  /** Nothing is noted: what goes by numbers now is worked out as expressions beside that. */
  isPaused = false;

  /** A new symbol, with the number that it stands for now. */
  symbol<Kind extends SymKind = 'int'>(value: number, kind = 'int' as Kind): SymNode<Kind> {
    const at = this.symbols.length;
    const node = new SymNode(this, `s${at}`, null, LEAST_SYMBOL, () => this.#values[at], kind);
    this.#values.push(value);
    this.symbols.push(node);
    return node;
  }

  /** Has one symbol stand for another number. */
  set(at: number, value: number): void {
    if (Object.is(value, this.#values[at])) return;
    this.#values[at] = value;
    this.generation++;
  }

  /** Has what is recorded hold for the numbers of now alone. */
  settle(): void {
    for (const symbol of this.symbols) settle(symbol);
  }

  note(...guard: Parameters<SizeGuards['add']>): void {
    if (this.isPlain) return;
    const { kept } = asked;
    if (kept ?? !this.isPaused) (kept ?? this).add(...guard);
  }

  node<Kind extends SymKind = 'int'>(
    text: string,
    terms: ReadonlyMap<string, Term> | null,
    least: number,
    evaluate: () => number,
    kind?: Kind,
    operands?: readonly SymNode<SymKind>[],
  ): SymNode<Kind> {
    let node = this.#nodes.get(text);
    if (!node) {
      this.#nodes.set(text, (node = new SymNode(this, text, terms, least, evaluate, kind)));
      if (operands) this.operands.set(node, operands);
    }
    return node as SymNode<Kind>;
  }

  // ---- arithmetic, of which sym-int.ts has the functions

  /** A sum of sums; a number where nothing else is left, a node that is no sum where that alone is. */
  sum(sums: readonly ReadonlyMap<string, Term>[]): SymInt {
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
    return this.node(text, terms, least, () => {
      let sum = 0;
      for (const { coefficient, factors } of parts) {
        let product = coefficient;
        for (const factor of factors) product *= factor.value;
        sum += product;
      }
      return sum;
    });
  }

  product(a: SymInt, b: SymInt): SymInt {
    const products: ReadonlyMap<string, Term>[] = [];
    for (const one of termsOf(a).values()) {
      for (const other of termsOf(b).values()) {
        const factors = [...one.factors, ...other.factors].sort((x, y) => (x.text < y.text ? -1 : 1));
        products.push(termOf(one.coefficient * other.coefficient, factors));
      }
    }
    return this.sum(products);
  }

  /** Rounded down. */
  quotient(a: SymInt, b: SymInt): SymInt {
    const exact = this.#exactQuotient(a, b);
    if (exact !== null) return exact;
    const isPositive = leastOf(a) >= 0 && leastOf(b) >= 0;
    if (isPositive && leastOf(symSub(b, a)) > 0) return 0;
    return this.node(`(${symText(a)} // ${symText(b)})`, null, isPositive ? 0 : -Infinity, () =>
      Math.floor(hint(a) / hint(b)),
    );
  }

  /** A sum divided by another one, term by term, the greatest first; null where something is left whatever symbols stand for. */
  #exactQuotient(size: SymInt, by: SymInt): SymInt | null {
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
      const term = termOf(coefficient / divisor.coefficient, others);
      quotient = this.sum([termsOf(quotient), term]);
      left = symSub(left, symMul(this.sum([term]), by));
    }
    return quotient;
  }

  /** What a function of that name gives, of which `args` are not all numbers. */
  result<Kind extends SymKind>(
    kind: Kind,
    name: string,
    args: readonly (SymInt | SymFloat)[],
    of: (...args: readonly number[]) => number,
  ): SymNode<Kind> {
    const operands = args.filter((arg) => typeof arg !== 'number');
    const text = `${name}(${args.map(symText).join(', ')})`;
    return this.node(text, null, -Infinity, () => of(...args.map(hint)), kind, operands);
  }

  extreme(fn: 'max' | 'min', a: SymInt, b: SymInt): SymInt {
    const isNeverBelow = (x: SymInt, y: SymInt): boolean => leastOf(symSub(x, y)) >= 0;
    if (isNeverBelow(a, b)) return fn === 'max' ? a : b;
    if (isNeverBelow(b, a)) return fn === 'max' ? b : a;
    return this.node(`${fn}(${symText(a)}, ${symText(b)})`, null, Math[fn](leastOf(a), leastOf(b)), () =>
      Math[fn](hint(a), hint(b)),
    );
  }
}

/** Sums of more terms are divided by none. */
const MOST_STEPS = 8;

const termOf = (coefficient: number, factors: readonly SymNode[]): ReadonlyMap<string, Term> =>
  new Map([[factors.map(({ text }) => text).join('*'), { coefficient, factors }]]);

const textOfTerm = (key: string, { coefficient }: Term): string =>
  key === '' ? `${coefficient}` : coefficient === 1 ? key : `${coefficient}*${key}`;

/** The term of the highest degree, one of several by its factors. */
const leadOf = (size: SymInt): Term =>
  [...termsOf(size)].reduce((lead, each) => {
    const degrees = each[1].factors.length - lead[1].factors.length;
    return degrees > 0 || (degrees === 0 && each[0] > lead[0]) ? each : lead;
  })[1];
