import { nextTurn, onNextTurn } from '@cresset/ir';

/** Work that stops every few milliseconds. */
export type Work = Generator<void, void, void>;

/** Memory that work reads or writes. */
export interface UsedMemory {
  /** Whether nobody is going to look at it any more. */
  readonly isReleased: boolean;
}

/** What waiting work reads, and what it writes. */
export interface Uses {
  readonly reads: readonly UsedMemory[];
  readonly stores: readonly UsedMemory[];
}

interface WaitingWork {
  readonly work: Work;
  /** Null for what is done in any case. */
  readonly uses: Uses | null;
}

/** How long work keeps the event loop waiting, in milliseconds. */
const BUSY_MS = 40;

/**
 * Does work in the order in which it comes: at once as long as the event loop has had its turn lately, and later, a few milliseconds at a
 * time, where it has not. Work that came later waits for it. What waits is given up when nobody is left who could see what it writes: a run that
 * is ended gives its memory back.
 */
export class Turns {
  #waiting: WaitingWork[] = [];
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

  /**
   * Throws what the work throws, where it is done at once.
   *
   * @param usesOf tells, where it is not, what it reads and writes
   */
  take(work: Work, usesOf: () => Uses): void {
    if (this.#idle === null && this.#finish(work)) return;
    this.#waiting.push({ work, uses: usesOf() });
    this.#idle ??= this.#drain();
  }

  /** Calls `task` when all work that came before is done. */
  after(task: () => void): void {
    if (this.#idle === null) task();
    else this.#waiting.push({ work: single(task), uses: null });
  }

  /** Forgets what waits and stores in one of these, begun or not. */
  takeBack(memories: ReadonlySet<UsedMemory>): void {
    this.#waiting = this.#waiting.filter(({ work, uses }) => {
      const isTaken = uses !== null && uses.stores.some((memory) => memories.has(memory));
      if (isTaken) work.return();
      return !isTaken;
    });
  }

  /** Forgets what waits. */
  clear(): void {
    this.#waiting = [];
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
      onNextTurn(() => (this.#begun = null));
    }
    return this.#begun;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn();
      this.#begun = null;
      this.#giveUp();
      try {
        while (this.#waiting.length > 0 && this.#finish(this.#waiting[0].work)) this.#waiting.shift();
      } catch (error) {
        this.#waiting.shift();
        this.#failed(error);
      }
    }
    this.#idle = null;
  }

  /** Ends work that writes nothing anybody wants, or that wanted work behind it reads. */
  #giveUp(): void {
    const needed = new Set<UsedMemory>();
    const kept = this.#waiting.toReversed().filter(({ work, uses }) => {
      if (uses === null) return true;
      const { reads, stores } = uses;
      const isNeeded = stores.some((memory) => !memory.isReleased || needed.has(memory));
      if (isNeeded) for (const memory of [...reads, ...stores]) needed.add(memory);
      else work.return();
      return isNeeded;
    });
    if (kept.length < this.#waiting.length) this.#waiting = kept.reverse();
  }
}

// eslint-disable-next-line require-yield
function* single(task: () => void): Work {
  task();
}
