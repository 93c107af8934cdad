import { CressetError } from '@cresset/ir';
import type { WireError } from './wire/protocol.ts';

/**
 * An error in a running program, on the side that called it: PyTorch's message below the Python call stack, in the author's own
 * files where the archive tells them.
 */
export class ScriptFailure extends CressetError {
  /** The message alone, without the call stack. */
  readonly reason: string;
  /** The Python class that a `raise` named (`builtins.ValueError`), else `RuntimeError`. */
  readonly pythonClassName: string;
  /** Whether the program raised it itself, with `raise` or `assert`. */
  readonly isRaised: boolean;

  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof CressetError && 'pythonClassName' in value;
  }

  constructor(code: string, message: string, script: NonNullable<WireError['script']>) {
    super(code, message);
    this.name = 'TorchScriptError';
    this.reason = script.reason;
    this.pythonClassName = script.pythonClassName;
    this.isRaised = script.isRaised;
  }
}

/** The error again, with the stack of the side where it was thrown below that of the caller. */
export function fromWireError({ code, name, message, stack, script }: WireError): CressetError {
  const error = script ? new ScriptFailure(code, message, script) : new CressetError(code, message);
  error.name = name;
  if (stack && error.stack) error.stack += `\n  in the worker:\n${callsIn(stack, message)}`;
  return error;
}

/** The lines of a stack without the message, which some engines put above them. */
function callsIn(stack: string, message: string): string {
  const at = stack.indexOf(message);
  return (at < 0 ? stack : stack.slice(at + message.length)).replace(/^\n+/, '');
}
