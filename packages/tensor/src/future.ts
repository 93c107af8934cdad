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
