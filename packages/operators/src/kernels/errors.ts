import { CressetError } from '@cresset/ir';

/** What PyTorch raises for bad arguments, by the Python exception it becomes. */
export type ErrorKind = 'RuntimeError' | 'IndexError' | 'TypeError' | 'ValueError' | 'NotImplementedError';

const codes: Record<ErrorKind, string> = {
  RuntimeError: 'OPERATOR_ARGUMENT',
  IndexError: 'OPERATOR_INDEX',
  TypeError: 'OPERATOR_TYPE',
  ValueError: 'OPERATOR_VALUE',
  NotImplementedError: 'OPERATOR_NOT_IMPLEMENTED',
};

/** An operator was called with arguments it does not take; `message` is PyTorch's. */
export class OperatorError extends CressetError {
  constructor(
    message: string,
    readonly kind: ErrorKind = 'RuntimeError',
  ) {
    super(codes[kind], message);
    this.name = 'OperatorError';
  }
}

/** Throws an OperatorError unless `condition` holds (TORCH_CHECK). A function as message is only called on failure. */
export function check(condition: boolean, message: string | (() => string), kind?: ErrorKind): asserts condition {
  if (!condition) throw new OperatorError(typeof message === 'string' ? message : message(), kind);
}

/** Whether there is no kernel for a dtype, which PyTorch says once all else is known to be right. */
export function isKernelRefusal(error: unknown): boolean {
  return error instanceof OperatorError && error.kind === 'NotImplementedError';
}

/** `"name" not implemented for 'Half'`, as AT_DISPATCH says it. */
export function notImplementedFor(kernel: string, dtypeName: string): OperatorError {
  return new OperatorError(`"${kernel}" not implemented for '${dtypeName}'`, 'NotImplementedError');
}
