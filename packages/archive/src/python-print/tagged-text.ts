import type { Node, SourceRange } from '@cresset/ir';
import { toByteString } from '@cresset/tensor';

/** From byte `offset` of a printed text on, up to the next record, what is printed came from `range` (PyTorch: TaggedRange). */
export interface SourceRangeRecord {
  readonly offset: number;
  /** Undefined for text that comes from no source, as `class Net(Module):`. */
  readonly range: SourceRange | undefined;
}

/** The source of what is being printed: that of the innermost node (PyTorch: SourceRangeStack). */
export class RangeStack {
  readonly #ranges: (SourceRange | undefined)[] = [];

  get current(): SourceRange | undefined {
    return this.#ranges.at(-1);
  }

  /** Runs `print`, which prints `node`. The author's Python counts, where that is known, and not a file's code. */
  within(node: Node, print: () => void): void {
    const range = node.sourceRange;
    this.#ranges.push(range?.original() ?? range);
    print();
    this.#ranges.pop();
  }
}

/** A text that remembers where its parts came from (PyTorch: TaggedStringStream). */
export class TaggedText {
  readonly ranges: SourceRangeRecord[] = [];
  readonly #stack: RangeStack;
  #text = '';
  #byteLength = 0;

  constructor(stack: RangeStack) {
    this.#stack = stack;
  }

  /** Appends strings, as coming from where printing now stands, and texts with their own origins. */
  write(...pieces: readonly (string | TaggedText)[]): this {
    for (const piece of pieces) {
      if (typeof piece === 'string') this.#writeString(piece);
      else this.#writeText(piece);
    }
    return this;
  }

  #writeString(piece: string): void {
    if (piece === '') return;
    this.#record(this.#byteLength, this.#stack.current);
    this.#text += piece;
    this.#byteLength += toByteString(piece).length;
  }

  #writeText(piece: TaggedText): void {
    for (const { offset, range } of piece.ranges) this.#record(this.#byteLength + offset, range);
    this.#text += piece.#text;
    this.#byteLength += piece.#byteLength;
  }

  #record(offset: number, range: SourceRange | undefined): void {
    const last = this.ranges.at(-1);
    if (!last || !isSameRange(last.range, range)) this.ranges.push({ offset, range });
  }

  /** Length in bytes of UTF-8. */
  get byteLength(): number {
    return this.#byteLength;
  }

  toString(): string {
    return this.#text;
  }
}

function isSameRange(left: SourceRange | undefined, right: SourceRange | undefined): boolean {
  if (left === right) return true;
  return left?.source === right?.source && left?.start === right?.start && left?.end === right?.end;
}
