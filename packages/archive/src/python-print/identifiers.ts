/** Identifiers that printed code cannot use for values: keywords, and names with a meaning where it is read. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(
  [
    // Names that mean something in printed code. A plain `_` would be confusing.
    '_ aten attribute CONSTANTS fork getattr inf nan infj nanj ops __torch__ uninitialized unchecked_cast',
    // Python's keywords.
    'and as assert async await break class continue def del elif else except False finally for from global if import in is',
    'lambda None nonlocal not or pass raise return True try while with yield',
  ].flatMap((names) => names.split(' ')),
);

/** Whether a text can stand as a name in printed code; letters beyond ASCII cannot. */
export function isValidIdentifier(text: string): boolean {
  return /^[A-Za-z_][A-Za-z_0-9]*$/.test(text);
}

function makeValidIdentifier(text: string): string {
  const name = text.replaceAll(/[^A-Za-z_0-9]/g, '_');
  return /^(?:\d|$)/.test(name) ? `_${name}` : name;
}

/** Names of local variables, each given once a function. */
export class NameTable {
  readonly #used = new Set<string>();
  /**
   * What to try next where a name is taken. Not forgotten between functions: the numbers of `_0`, `_1`, … go on through a file.
   */
  readonly #nextNumber = new Map<string, number>();

  /** Begins another function, where all names are free again. */
  clear(): void {
    this.#used.clear();
  }

  /** A free name like `candidate` (PyTorch: genName). `candidate` need not be an identifier. */
  unique(candidate: string): string {
    const base = makeValidIdentifier(candidate);
    let name = base;
    while (this.#used.has(name) || RESERVED_NAMES.has(name)) {
      const number = this.#nextNumber.get(name) ?? 0;
      this.#nextNumber.set(name, number + 1);
      name = `${base}${number}`;
    }
    this.#used.add(name);
    return name;
  }
}
