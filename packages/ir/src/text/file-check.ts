import { CressetError } from '../error.ts';

type Check =
  | { readonly kind: 'check' | 'not' | 'next' | 'same'; readonly text: string }
  | { readonly kind: 'count'; readonly text: string; readonly count: number; readonly exactly: boolean };

/** A part of the text that a check has found. */
interface Found {
  readonly start: number;
  readonly end: number;
}

/**
 * Checks that pieces of text occur in order (LLVM's FileCheck, as PyTorch has it for its passes): for tests of graphs.
 *
 * ```ts
 * new FileCheck().check('aten::add').checkNot('aten::mul').checkNext('return').run(graph);
 * ```
 */
export class FileCheck {
  readonly #checks: Check[] = [];

  /** `text` occurs after what was found before. */
  check(text: string): this {
    this.#checks.push({ kind: 'check', text });
    return this;
  }

  /** `text` does not occur between what was found before and what is found next, or the end. */
  checkNot(text: string): this {
    this.#checks.push({ kind: 'not', text });
    return this;
  }

  /** `text` occurs in the line after what was found before. */
  checkNext(text: string): this {
    this.#checks.push({ kind: 'next', text });
    return this;
  }

  /** `text` occurs later in the same line as what was found before. */
  checkSame(text: string): this {
    this.#checks.push({ kind: 'same', text });
    return this;
  }

  /** `text` occurs `count` times; with `exactly`, no more often up to the end. */
  checkCount(text: string, count: number, exactly = false): this {
    this.#checks.push({ kind: 'count', text, count, exactly });
    return this;
  }

  /** Throws a CressetError with code `IR_FILE_CHECK`, saying what was not found and where, unless all checks hold. */
  run(subject: { toString(): string }): void {
    const text = subject.toString();
    let last: Found = { start: 0, end: 0 };
    let pendingNot: string[] = [];
    for (const check of this.#checks) {
      if (check.kind === 'not') {
        pendingNot.push(check.text);
        continue;
      }
      const found = findCheck(text, check, last);
      rejectBetween(text, pendingNot, last.end, found.start);
      pendingNot = [];
      last = found;
    }
    rejectBetween(text, pendingNot, last.end, text.length);
  }
}

function findCheck(text: string, check: Exclude<Check, { kind: 'not' }>, last: Found): Found {
  switch (check.kind) {
    case 'count':
      return findCount(text, check.text, check.count, check.exactly, last);
    case 'same':
      return findWithin(text, check.text, last.end, endOfLine(text, last.end), 'CHECK-SAME');
    case 'next': {
      const start = endOfLine(text, last.end) + 1;
      return findWithin(text, check.text, start, endOfLine(text, start), 'CHECK-NEXT');
    }
    default:
      return findWithin(text, check.text, last.end, text.length, 'CHECK');
  }
}

function findCount(text: string, wanted: string, count: number, exactly: boolean, last: Found): Found {
  let found = last;
  let start = last.end;
  for (let index = 0; index < count; index++) {
    found = findWithin(text, wanted, found.end, text.length, `CHECK-COUNT-${count}`);
    start = index === 0 ? found.start : start;
  }
  if (exactly && text.includes(wanted, found.end)) {
    fail(`CHECK-COUNT-EXACTLY-${count}: '${wanted}' occurs more often`, text, text.indexOf(wanted, found.end));
  }
  return { start, end: found.end };
}

function findWithin(text: string, wanted: string, start: number, end: number, what: string): Found {
  const at = text.slice(0, end).indexOf(wanted, start);
  if (at === -1) {
    fail(`${what}: expected to find '${wanted}'`, text, start);
  }
  return { start: at, end: at + wanted.length };
}

function rejectBetween(text: string, rejected: readonly string[], start: number, end: number): void {
  for (const piece of rejected) {
    const at = text.slice(0, end).indexOf(piece, start);
    if (at !== -1) {
      fail(`CHECK-NOT: expected not to find '${piece}'`, text, at);
    }
  }
}

function endOfLine(text: string, from: number): number {
  const at = text.indexOf('\n', from);
  return at === -1 ? text.length : at;
}

function fail(reason: string, text: string, at: number): never {
  const line = text.slice(0, at).split('\n').length;
  throw new CressetError('IR_FILE_CHECK', `${reason} from line ${line} of:\n${text}`);
}
