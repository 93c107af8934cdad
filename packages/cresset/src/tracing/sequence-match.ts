/** A piece of two sequences: equal in both, or what stands in the one where the other has something else, or nothing. */
export interface Step {
  readonly kind: 'equal' | 'replace' | 'delete' | 'insert';
  readonly from: number;
  readonly to: number;
  readonly otherFrom: number;
  readonly otherTo: number;
}

interface Match {
  readonly at: number;
  readonly otherAt: number;
  readonly length: number;
}

/** From this length on, what occurs in more than a hundredth of the places begins no match. */
const LONG = 200;

/**
 * How one sequence becomes another, by the longest piece that both have, and so on before and behind it (Ratcliff and Obershelp, as Python's
 * `difflib.SequenceMatcher` has it).
 *
 * @param isJunk what begins no match, and only goes on with one
 */
export function matchSequences(
  first: readonly string[],
  second: readonly string[],
  isJunk: (each: string) => boolean = () => false,
): readonly Step[] {
  const matcher = new SequenceMatcher(first, second, isJunk);
  const steps: Step[] = [];
  let [from, otherFrom] = [0, 0];
  for (const { at, otherAt, length } of matcher.matches()) {
    const [left, otherLeft] = [at - from, otherAt - otherFrom];
    if (left > 0 || otherLeft > 0) {
      const kind = left === 0 ? 'insert' : otherLeft === 0 ? 'delete' : 'replace';
      steps.push({ kind, from, to: at, otherFrom, otherTo: otherAt });
    }
    [from, otherFrom] = [at + length, otherAt + length];
    if (length > 0) steps.push({ kind: 'equal', from: at, to: from, otherFrom: otherAt, otherTo: otherFrom });
  }
  return steps;
}

class SequenceMatcher {
  readonly #first: readonly string[];
  readonly #second: readonly string[];
  readonly #isJunk: (each: string) => boolean;
  /** Where each item of the second sequence stands that may begin a match. */
  readonly #places = new Map<string, number[]>();

  constructor(first: readonly string[], second: readonly string[], isJunk: (each: string) => boolean) {
    this.#first = first;
    this.#second = second;
    this.#isJunk = isJunk;
    for (const [at, each] of second.entries()) {
      if (isJunk(each)) continue;
      const places = this.#places.get(each);
      if (places === undefined) this.#places.set(each, [at]);
      else places.push(at);
    }
    if (second.length < LONG) return;
    const most = Math.floor(second.length / 100) + 1;
    for (const [each, places] of this.#places) if (places.length > most) this.#places.delete(each);
  }

  /** What both have, in order, adjoining matches as one; an empty one at the end. */
  matches(): readonly Match[] {
    const found: Match[] = [];
    const open: (readonly [from: number, to: number, otherFrom: number, otherTo: number])[] = [
      [0, this.#first.length, 0, this.#second.length],
    ];
    for (let range = open.pop(); range !== undefined; range = open.pop()) {
      const [from, to, otherFrom, otherTo] = range;
      const match = this.#longest(from, to, otherFrom, otherTo);
      const { at, otherAt, length } = match;
      if (length === 0) continue;
      found.push(match);
      if (from < at && otherFrom < otherAt) open.push([from, at, otherFrom, otherAt]);
      if (at + length < to && otherAt + length < otherTo) open.push([at + length, to, otherAt + length, otherTo]);
    }
    found.sort((a, b) => a.at - b.at || a.otherAt - b.otherAt);
    const joined: Match[] = [];
    for (const match of found) {
      const last = joined.at(-1);
      if (last && last.at + last.length === match.at && last.otherAt + last.length === match.otherAt) {
        joined[joined.length - 1] = { ...last, length: last.length + match.length };
      } else {
        joined.push(match);
      }
    }
    return [...joined, { at: this.#first.length, otherAt: this.#second.length, length: 0 }];
  }

  /** The longest piece of both ranges, the first one where several are. */
  #longest(from: number, to: number, otherFrom: number, otherTo: number): Match {
    let [at, otherAt, length] = [from, otherFrom, 0];
    let lengths = new Map<number, number>();
    for (let i = from; i < to; i++) {
      const next = new Map<number, number>();
      for (const j of this.#places.get(this.#first[i]!) ?? []) {
        if (j < otherFrom) continue;
        if (j >= otherTo) break;
        const here = (lengths.get(j - 1) ?? 0) + 1;
        next.set(j, here);
        if (here > length) [at, otherAt, length] = [i - here + 1, j - here + 1, here];
      }
      lengths = next;
    }
    // It grows by what began no match: first by what is no junk, and then by junk.
    for (const isJunk of [false, true]) {
      const goesOn = (i: number, j: number): boolean =>
        this.#isJunk(this.#second[j]!) === isJunk && this.#first[i] === this.#second[j];
      while (at > from && otherAt > otherFrom && goesOn(at - 1, otherAt - 1))
        [at, otherAt, length] = [at - 1, otherAt - 1, length + 1];
      while (at + length < to && otherAt + length < otherTo && goesOn(at + length, otherAt + length)) length++;
    }
    return { at, otherAt, length };
  }
}
