import type { CressetError } from '@cresset/ir';

/** Failures kept by themselves; of older ones the eldest of these stands for all. */
const keptFailures = 16;

/** What went wrong on a device, in order. Failures come to light later than the work that fails, and are told by number. */
export class FailureLog {
  readonly #latest: CressetError[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(error: CressetError): void {
    this.#count++;
    this.#latest.push(error);
    if (this.#latest.length > keptFailures) this.#latest.shift();
  }

  /** The first after there were `count`; null where there was none. */
  since(count: number): CressetError | null {
    if (count >= this.#count) return null;
    return this.#latest[Math.max(0, count - (this.#count - this.#latest.length))];
  }
}
