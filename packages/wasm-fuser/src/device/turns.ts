/** Work that stops every few milliseconds. */
export type Work = Generator<void, void, void>;

/** How long work keeps the event loop waiting, in milliseconds. */
const BUSY_MS = 40;

/**
 * Does work in the order in which it comes: at once as long as the event loop has had its turn lately, and later, a few milliseconds at a
 * time, where it has not. Work that came later waits for it.
 */
export class Turns {
  readonly #waiting: Work[] = [];
  readonly #failed: (error: unknown) => void;
  /** When the turn began that goes on; null between turns. */
  #begun: number | null = null;
  #idle: Promise<void> | null = null;

  /** @param failed is told what work throws that is done later */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** What has to be waited for until nothing waits; null where nothing does. */
  get idle(): Promise<void> | null {
    return this.#idle;
  }

  /** Throws what the work throws, where it is done at once. */
  take(work: Work): void {
    if (this.#idle === null && this.#finish(work)) return;
    this.#waiting.push(work);
    this.#idle ??= this.#drain();
  }

  /** Calls `task` when all work that came before is done. */
  after(task: () => void): void {
    if (this.#idle === null) task();
    else this.#waiting.push(single(task));
  }

  /** Forgets what waits. */
  clear(): void {
    this.#waiting.length = 0;
  }

  /** Whether work was done to its end within this turn. */
  #finish(work: Work): boolean {
    const begun = this.#beginTurn();
    while (!work.next().done) if (performance.now() - begun >= BUSY_MS) return false;
    return true;
  }

  #beginTurn(): number {
    if (this.#begun === null) {
      this.#begun = performance.now();
      setTimeout(() => (this.#begun = null), 0);
    }
    return this.#begun;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      this.#begun = null;
      try {
        while (this.#waiting.length > 0 && this.#finish(this.#waiting[0])) this.#waiting.shift();
      } catch (error) {
        this.#waiting.shift();
        this.#failed(error);
      }
    }
    this.#idle = null;
  }
}

// eslint-disable-next-line require-yield
function* single(task: () => void): Work {
  task();
}
