import type { SourceRange } from './text/source-range.ts';

/** Marks the errors of every copy of this library that a page may have. */
const BRAND = Symbol.for('cresset.error');

/**
 * Base of every error that Cresset throws on purpose.
 *
 * `code` is stable across versions and meant for programs; `message` is meant for people and follows PyTorch's wording
 * where PyTorch has one. Codes of this package:
 *
 * - `IR_INVARIANT`: a graph was used against its rules (a used value destroyed, a node of another graph, …)
 * - `IR_ATTRIBUTE`: a node has no attribute of that name or kind
 * - `IR_LINT`: a graph failed verification
 * - `IR_TYPE`: a type was built or used against its rules
 * - `IR_OPERATOR`: no such operator, or no overload fits
 * - `IR_PARSE`: text (a schema or a graph) could not be parsed
 * - `COMPILE`: source text could not be compiled (the default of {@link ErrorReport})
 */
export class CressetError extends Error {
  readonly code: string;

  /** Errors of this library are that in whichever copy of it they were made. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return this === CressetError
      ? value instanceof Error && BRAND in value
      : Function.prototype[Symbol.hasInstance].call(this, value);
  }

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CressetError';
    this.code = code;
  }

  /** @internal */
  get [BRAND](): true {
    return true;
  }
}

/** Throws a {@link CressetError} with code `IR_INVARIANT` unless `condition` holds (PyTorch: TORCH_INTERNAL_ASSERT). */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) {
    throw new CressetError('IR_INVARIANT', message);
  }
}

/** As {@link invariant}, for a condition that is asked so often that its message is to be made only where it fails. */
export function broken(message: string): never {
  throw new CressetError('IR_INVARIANT', message);
}

/** Whether an engine ran out of stack: V8 and JavaScriptCore, and SpiderMonkey, say so in these words. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof Error && /^Maximum call stack|^too much recursion/.test(error.message);
}

/** One frame of the call stack of compilation: the function being compiled and the range that made us compile it. */
export interface CompilationCall {
  readonly functionName: string;
  /** Where, inside this function, the next frame's function is called. */
  callerRange: SourceRange | undefined;
}

/**
 * The functions being compiled right now, outermost first (PyTorch: ErrorReport::CallStack).
 *
 * A compiler pushes a frame when it starts a function and pops it when it ends; every {@link ErrorReport} takes a copy.
 */
export class CompilationCallStack {
  readonly #calls: CompilationCall[] = [];

  /** Runs `body` with a frame for `functionName` on the stack; the frame goes even when `body` throws. */
  within<T>(functionName: string, body: () => T): T {
    this.#calls.push({ functionName, callerRange: undefined });
    try {
      return body();
    } finally {
      this.#calls.pop();
    }
  }

  /** Records where the innermost function is at (PyTorch: update_pending_range). */
  updatePendingRange(range: SourceRange): void {
    const top = this.#calls.at(-1);
    if (top !== undefined) {
      top.callerRange = range;
    }
  }

  snapshot(): readonly CompilationCall[] {
    return this.#calls.map((call) => ({ ...call }));
  }
}

/**
 * An error at a place in source text, printed as PyTorch's ErrorReport prints it: the message, the file and line, the
 * source lines with `~~~~ <--- HERE`, and the call stack of compilation.
 */
export class ErrorReport extends CressetError {
  readonly range: SourceRange | undefined;
  /** The message alone, without source lines and call stack. */
  readonly reason: string;
  readonly calls: readonly CompilationCall[];

  constructor(
    range: SourceRange | undefined,
    reason: string,
    options: { code?: string; calls?: readonly CompilationCall[]; cause?: unknown } = {},
  ) {
    const calls = options.calls ?? [];
    super(
      options.code ?? 'COMPILE',
      formatReport(range, reason, calls),
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = 'ErrorReport';
    this.range = range;
    this.reason = reason;
    this.calls = calls;
  }
}

function formatReport(range: SourceRange | undefined, reason: string, calls: readonly CompilationCall[]): string {
  const place = range === undefined ? '.\n' : `:\n${range.highlight()}`;
  return `\n${reason}${place}${formatCompilationCalls(calls)}`;
}

/** The call stack of compilation as PyTorch prints it after the message, innermost function first. */
export function formatCompilationCalls(calls: readonly CompilationCall[]): string {
  let text = '';
  for (let index = calls.length - 1; index > 0; index--) {
    const callee = calls[index]!;
    const caller = calls[index - 1]!;
    text += `'${callee.functionName}' is being compiled since it was called from '${caller.functionName}'\n`;
    text += caller.callerRange?.highlight() ?? '';
  }
  return text;
}
