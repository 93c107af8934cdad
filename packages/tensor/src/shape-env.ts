import { asked, LEAST_SYMBOL, settle, SymNode, type Term } from './sym-int.ts';

/** What has to hold of `node`, a difference, for what was recorded: it is zero, is not, or is below zero, or not. */
interface Guard {
  readonly node: SymNode;
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

  add(node: SymNode, sign: '==' | '!=' | '<' | '>=', holds: (value: number) => boolean): void {
    this.guards.set(`${node.text} ${sign} 0`, { node, holds });
  }
}

/** The symbols of a recording, what was worked out of them, and what it goes by (PyTorch's ShapeEnv). */
export class ShapeEnv extends SizeGuards {
  readonly symbols: SymNode[] = [];
  readonly #nodes = new Map<string, SymNode>();
  readonly #values: number[] = [];
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
  symbol(value: number): SymNode {
    const at = this.symbols.length;
    const node = new SymNode(this, `s${at}`, null, LEAST_SYMBOL, () => this.#values[at]);
    this.#values.push(value);
    this.symbols.push(node);
    return node;
  }

  /** Has one symbol stand for another number. */
  set(at: number, value: number): void {
    if (value === this.#values[at]) return;
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

  node(text: string, terms: ReadonlyMap<string, Term> | null, least: number, evaluate: () => number): SymNode {
    let node = this.#nodes.get(text);
    if (!node) this.#nodes.set(text, (node = new SymNode(this, text, terms, least, evaluate)));
    return node;
  }
}
