import { CressetError } from '@cresset/ir';
import type { TorchScriptError } from '../../interpreter/script-error.ts';
import type { WireError } from './protocol.ts';

export function toWireError(error: unknown): WireError {
  const known = error instanceof CressetError ? error : null;
  const script = known && isOfScript(known) ? pick(known) : null;
  return {
    // Anything else is a mistake in this library, and says so rather than pass for the user's.
    code: known?.code ?? 'INTERNAL',
    name: known?.name ?? 'CressetError',
    message: known ? known.message : `internal error: ${error instanceof Error ? error.message : String(error)}`,
    stack: error instanceof Error ? (error.stack ?? null) : null,
    script,
  };
}

type OfScript = Pick<TorchScriptError, 'reason' | 'pythonClassName' | 'isRaised'>;

/** By what it has, not by its class: this file is on the page too, where no program runs. */
const isOfScript = (error: CressetError): error is CressetError & OfScript => 'pythonClassName' in error;

const pick = ({ reason, pythonClassName, isRaised }: OfScript): OfScript => ({ reason, pythonClassName, isRaised });
