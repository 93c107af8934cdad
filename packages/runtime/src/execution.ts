import type { RuntimeContext } from './runtime-context.ts';
import { InterruptedError } from './script-error.ts';
import { StorageLedger } from './storage-ledger.ts';

/** One call of a program from outside, with all the calls and forks within it. */
export class Execution {
  /** Null on the host, whose memory the garbage collector looks after. */
  readonly ledger: StorageLedger | null;

  constructor(
    readonly context: RuntimeContext,
    readonly signal: AbortSignal | null = null,
  ) {
    this.ledger = context.device ? new StorageLedger(context.keptStorages) : null;
  }

  /** The outcome of `work`, or the error of an aborted run as soon as it is aborted. */
  untilAborted<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    if (!signal) return work;
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        try {
          this.throwIfAborted();
        } catch (error) {
          reject(error as Error);
        }
      };
      signal.addEventListener('abort', abort, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
      if (signal.aborted) abort();
    });
  }

  throwIfAborted(): void {
    if (this.signal?.aborted) {
      throw new InterruptedError('ABORTED', 'the run was aborted', { cause: this.signal.reason });
    }
  }
}
