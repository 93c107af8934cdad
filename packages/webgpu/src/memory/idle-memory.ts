/** What nobody used for one to two of these goes back to the GPU. */
export const SPAN_MILLISECONDS = 15_000;

/** Looks from time to time what lies ready for work that does not come, as long as there is something. */
export class IdleMemory {
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** The last batch that has left, now and when it looked the last time. */
  #lastBatch = -1;
  #seenBatch = -1;

  /** @param giveBack gives back what no batch after `idleSince` uses; whether there is something left */
  constructor(private readonly giveBack: (idleSince: number) => boolean) {}

  /** Told of each batch that has left, and of the last one when something is given up. */
  used(batch: number): void {
    this.#lastBatch = batch;
    if (this.#timer === null) this.#wait();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #wait(): void {
    const timer = setTimeout(() => this.#look(), SPAN_MILLISECONDS);
    this.#timer = timer;
    // Node is not to wait for it; in a browser it is a number.
    if (typeof timer === 'object') timer.unref();
  }

  #look(): void {
    this.#timer = null;
    const isLeft = this.giveBack(this.#seenBatch);
    this.#seenBatch = this.#lastBatch;
    if (isLeft) this.#wait();
  }
}
