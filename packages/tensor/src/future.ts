import type { IValue } from './ivalue.ts';

/** The result of `fork`, there now or later (c10::ivalue::Future). */
export class Future {
  #state: { readonly value: IValue } | { readonly error: unknown } | null = null;
  #waiting: (() => void)[] = [];

  get isCompleted(): boolean {
    return this.#state !== null;
  }

  /** The value, once completed well. */
  get result(): IValue | undefined {
    return this.#state && 'value' in this.#state ? this.#state.value : undefined;
  }

  markCompleted(value: IValue): void {
    this.#settle({ value });
  }

  setError(error: unknown): void {
    this.#settle({ error });
  }

  /** The value, once completed; throws the error the forked call ended with. */
  value(): IValue {
    if (this.#state === null) throw new Error('the future is not completed');
    if ('error' in this.#state) throw this.#state.error;
    return this.#state.value;
  }

  /** Resolves when the future is completed, well or badly. */
  settled(): Promise<void> {
    if (this.#state !== null) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #settle(state: { readonly value: IValue } | { readonly error: unknown }): void {
    this.#state = state;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }
}

/** The result of `awaitable`, a call that is made when somebody first waits for it (c10::ivalue::Await). */
export class Await extends Future {
  #call: ((result: Await) => void) | undefined;

  /** @param call completes what it is given, at once or later */
  constructor(call?: (result: Await) => void) {
    super();
    this.#call = call;
  }

  /** Makes the call, unless it was made before. */
  begin(): void {
    const call = this.#call;
    this.#call = undefined;
    call?.(this);
  }
}
