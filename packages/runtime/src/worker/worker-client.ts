import { CressetError, jitOptions, onJitOptions, writeJitLog } from '@cresset/ir';
import { abortError, type TransferOptions } from '@cresset/archive';
import {
  transferList,
  type Answer,
  type CallResult,
  type FromHost,
  type Port,
  type Request,
  type RunOperatorNotice,
} from './wire/protocol.ts';
import { fromWireError } from './script-failure.ts';

type RequestBody = Request extends infer Each ? (Each extends Request ? Omit<Each, 'id'> : never) : never;

export interface RequestOptions extends TransferOptions {
  /** Is told what a call that fails has done until then, before it rejects. */
  readonly onFailedCall?: (result: CallResult) => void;
}

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: CressetError): void;
  readonly options: RequestOptions;
}

export interface WorkerClientOptions {
  /** What programs print. */
  readonly onPrint?: (text: string) => void;
  readonly onWarning?: (text: string) => void;
  /** The host asks for a function of a custom operator to be run. */
  readonly onRunOperator?: (notice: RunOperatorNotice, client: WorkerClient) => void;
}

/** The page's end of the protocol: sends requests, and hands each answer to who waits for it. */
export class WorkerClient {
  readonly #port: Port<FromHost, Request>;
  readonly #options: WorkerClientOptions;
  readonly #waiting = new Map<number, Waiting>();
  /** Who is told of progress, by request. A model goes on with that of its file after it was loaded. */
  readonly #listeners = new Map<number, NonNullable<TransferOptions['onProgress']>>();
  /** Ends the sending of switches. */
  readonly #unfollow: () => void;
  #nextId = 1;
  #broken: CressetError | null = null;
  /** Resolves when the requests have been sent that had to wait for something of the page; null where none has to. */
  #sending: Promise<unknown> | null = null;
  /** Whether what is sent now is what others wait behind. */
  #isTurn = false;

  constructor(port: Port<FromHost, Request>, options: WorkerClientOptions = {}) {
    this.#port = port;
    this.#options = options;
    port.receive((message) => this.#receive(message));
    this.#unfollow = onJitOptions(() => port.send({ type: 'jit-options', options: jitOptions() }, []));
  }

  /**
   * Has `ask` make a request with a part of the page, once that is there. Requests that are made meanwhile are sent behind it: they go out in the order in which they
   * were asked for.
   */
  async askWith<Part, Result>(part: Promise<Part>, ask: (part: Part) => Promise<Result>): Promise<Result> {
    const before = this.#sending;
    let end!: () => void;
    const sending = (this.#sending = new Promise<void>((resolve) => (end = resolve)));
    try {
      await before;
      const ready = await part;
      this.#isTurn = true;
      return ask(ready);
    } finally {
      this.#isTurn = false;
      if (this.#sending === sending) this.#sending = null;
      end();
    }
  }

  /** Sends a request and resolves with its answer, which has to be of `type`. Rejects with a CressetError. */
  request<Type extends Answer['type']>(
    type: Type,
    body: RequestBody,
    options: RequestOptions = {},
  ): Promise<Extract<Answer, { readonly type: Type }>> {
    const { signal, onProgress } = options;
    if (this.#broken) {
      // Of what is gone nothing is left to be freed.
      const isFreeing = body.type === 'dispose' || body.type.startsWith('release');
      if (isFreeing) return Promise.resolve({ type: 'done', id: 0 } as Extract<Answer, { readonly type: Type }>);
      return Promise.reject(this.#broken);
    }
    if (signal?.aborted) return Promise.reject(abortError(signal));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      if (onProgress) this.#listeners.set(id, onProgress);
      const abort = (): void => {
        this.#endWaiting(id);
        // The answer may take as long as the host is busy; who aborted need not wait for it.
        reject(abortError(signal!));
        this.#port.send({ type: 'abort', id }, []);
      };
      const settle = (): void => signal?.removeEventListener('abort', abort);
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiting.set(id, {
        options,
        resolve: (answer) => {
          settle();
          if (answer.type === type) resolve(answer as Extract<Answer, { readonly type: Type }>);
          else
            reject(new CressetError('PROTOCOL', `the worker answered '${answer.type}' where '${type}' was expected`));
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      this.#port.hold?.(true);
      const message = { ...body, id } as Request;
      const send = (): void => {
        // It may have been ended before its turn.
        if (!this.#waiting.has(id)) return;
        try {
          this.#port.send(message, transferList(message));
        } catch (cause) {
          this.#endWaiting(id);
          settle();
          reject(new CressetError('ARGUMENT', `an argument cannot be sent to the worker: ${String(cause)}`, { cause }));
        }
      };
      if (this.#sending && !this.#isTurn) void this.askWith(Promise.resolve(), async () => send());
      else send();
    });
  }

  /** Ends the telling of progress that went on after a `loaded`. */
  endProgress(id: number): void {
    this.#listeners.delete(id);
  }

  /** Ends everything: the other side is gone. */
  break(error: CressetError): void {
    this.#broken ??= error;
    this.#unfollow();
    this.#listeners.clear();
    for (const [id, each] of this.#waiting) {
      this.#endWaiting(id);
      each.reject(error);
    }
  }

  #endWaiting(id: number, keepsListener = false): void {
    this.#waiting.delete(id);
    if (!keepsListener) this.#listeners.delete(id);
    if (this.#waiting.size === 0) this.#port.hold?.(false);
  }

  #receive(message: FromHost): void {
    switch (message.type) {
      case 'ready':
        return;
      case 'print':
        return this.#options.onPrint?.(message.text);
      case 'log':
        return writeJitLog(message.text);
      case 'warning':
        return this.#options.onWarning?.(message.text);
      case 'run-operator':
        return this.#options.onRunOperator?.(message, this);
      case 'progress':
        return this.#listeners.get(message.id)?.(message.progress);
      default:
        return this.#answer(message);
    }
  }

  #answer(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    // An aborted request's answer comes too late for anybody.
    if (!waiting) return;
    this.#endWaiting(answer.id, answer.type === 'loaded');
    if (answer.type === 'failed') {
      if (answer.result) waiting.options.onFailedCall?.(answer.result);
      waiting.reject(fromWireError(answer.error));
    } else {
      waiting.resolve(answer);
    }
  }
}
