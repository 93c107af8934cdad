import { CressetError, formatStackTrace, type Node, type StackEntry } from '@cresset/ir';

/** Rethrown as it is: the run ended because somebody asked for it, or would have gone on for ever. */
export class InterruptedError extends CressetError {
  declare readonly code: 'ABORTED' | 'RUN_LIMIT';

  constructor(code: 'ABORTED' | 'RUN_LIMIT', message: string, options?: { cause?: unknown }) {
    super(code, message, options);
    this.name = 'InterruptedError';
  }
}

/** What `prim::RaiseException` throws inside the interpreter, before the call stack is added (torch::jit::JITException). */
export class RaisedException extends Error {
  constructor(
    override readonly message: string,
    /** Qualified name of the Python class where the file tells it: `builtins.ValueError`. */
    readonly pythonClassName: string | null,
  ) {
    super(message);
  }
}

/** An operator within a fused group failed: the error is told at its place, not at the group's. */
export class MemberError extends Error {
  constructor(
    readonly node: Node,
    override readonly cause: unknown,
  ) {
    super('an operator of a fused group failed');
  }
}

/**
 * An error in a running program, as PyTorch prints it: the operation's message below the Python call stack, in the original
 * file where the archive has debug tables.
 */
export class TorchScriptError extends CressetError {
  /** The message alone, without the call stack. */
  readonly reason: string;
  /** The qualified name of the class that a `raise` named (`builtins.ValueError`), else `RuntimeError`. */
  readonly pythonClassName: string;
  /** Whether the program raised it itself, with `raise` or `assert`. */
  readonly isRaised: boolean;
  /** Outermost call first. */
  readonly callStack: readonly StackEntry[];

  constructor(error: unknown, entries: readonly StackEntry[]) {
    const raised = error instanceof RaisedException ? error : null;
    const reason = error instanceof Error ? error.message : String(error);
    const className = raised?.pythonClassName ?? 'RuntimeError';
    const fallbackCode = raised ? 'SCRIPT_RAISED' : 'SCRIPT_ERROR';
    super(
      error instanceof CressetError ? error.code : fallbackCode,
      `The following operation failed in the TorchScript interpreter.\n${formatStackTrace(entries)}${className}: ${reason}\n`,
      { cause: error },
    );
    this.name = 'TorchScriptError';
    this.reason = reason;
    this.pythonClassName = className;
    this.isRaised = raised !== null;
    this.callStack = entries;
  }
}
