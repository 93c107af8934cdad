import { CressetError } from '@cresset/ir';
import type { LinearMemory } from '../linear-memory.ts';
import { help, type HelperStart, type PoolWords } from './help.ts';
import { startHelper, type Helper } from './start-helper.ts';
import { perform, TASK_FUNCTIONS, type Task, type ThreadModule } from './task.ts';

/** How many bits a task's number has in the words that also say which job it is of. */
const TASK_BITS = 15;
const JOBS = 1 << TASK_BITS;
const MOST_MODULES = 4096;
const MOST_TASKS = 256;
const CALL_WORDS = 1 << 13;
const CODE_BYTES = 3 << 20;
/** A table that is full is begun anew, but not more often than this, in milliseconds: others compile all anew that they still call. */
const LEAST_TABLE_MS = 2000;

const words: PoolWords = {
  job: 0,
  ready: 16,
  next: 32,
  count: 33,
  done: 48,
  failed: 49,
  table: 50,
  tasks: 64,
  modules: 64 + MOST_TASKS + CALL_WORDS,
};
const BLOCK_WORDS = words.modules + 2 * MOST_MODULES;

/** How often this thread looks whether the others are done before it sleeps. */
const LOOKS = 20_000;
/** A thread that finishes no task for so long, in milliseconds, has died: tasks are pieces of a few milliseconds. */
const PATIENCE_MS = 30_000;
/** What counts of the time between two looks: a machine that slept is no thread that died. */
const MOST_BETWEEN_MS = 20;

/**
 * Threads that do tasks of a job beside this one, over a memory that they share. What a job is made of lies in that memory, compiled code as the bytes of
 * its modules, so that nobody has to read messages in between. Threads that do not start are not missed: this one does all tasks that nobody else takes.
 */
export class ThreadPool {
  readonly #shared: Int32Array;
  readonly #block: number;
  readonly #code: number;
  readonly #helpers: Helper[] = [];
  #codeBytes = 0;
  #modules = 0;
  #table = 0;
  #tableBegun = -Infinity;
  /** A thread died within a task: nobody helps any more. */
  #isBroken = false;
  #job = 0;

  /**
   * @param linear a memory that is shared
   * @param size how many threads there are, this one among them
   * @param grain how much of what is usually worth a thread's waking up is: with 0 everything is shared that can be
   * @param patience how long tasks may take, in milliseconds
   */
  constructor(
    linear: LinearMemory,
    readonly size: number,
    readonly grain = 1,
    private readonly patience = PATIENCE_MS,
  ) {
    // Both lie in what the memory begins with: helpers look at it as it was when they began.
    this.#block = linear.take(4 * BLOCK_WORDS) >> 2;
    this.#code = linear.take(CODE_BYTES);
    this.#shared = linear.integers;
    this.#shared.fill(0, this.#block, this.#block + BLOCK_WORDS);
    const start: HelperStart = {
      memory: linear.memory,
      block: this.#block,
      words,
      taskBits: TASK_BITS,
      names: TASK_FUNCTIONS,
    };
    for (let helper = 1; helper < size; helper++) this.#helpers.push(startHelper(help, start));
  }

  /** Threads that have begun to help. */
  get ready(): number {
    return Atomics.load(this.#shared, this.#at(words.ready));
  }

  /** Lets threads have a module when a task calls it. */
  register(bytes: Uint8Array): ThreadModule {
    return { bytes, place: 0, table: -1 };
  }

  /**
   * Does tasks, in any order and beside each other, and returns when all are done.
   * @throws CressetError `DEVICE_ERROR` where one throws in another thread, or that ends; here what it throws
   */
  run(tasks: readonly Task[]): void {
    if (tasks.length < 2 || this.#isBroken || this.ready === 0 || !this.#write(tasks)) {
      tasks.forEach(perform);
      return;
    }
    const shared = this.#shared;
    const job = (this.#job = (this.#job + 1) % JOBS) << TASK_BITS;
    Atomics.store(shared, this.#at(words.done), 0);
    Atomics.store(shared, this.#at(words.count), job + tasks.length);
    Atomics.store(shared, this.#at(words.next), job);
    Atomics.add(shared, this.#at(words.job), 1);
    Atomics.notify(shared, this.#at(words.job));
    let failure: { readonly error: unknown } | null = null;
    for (;;) {
      const task = Atomics.add(shared, this.#at(words.next), 1) - job;
      if (task >= tasks.length) break;
      try {
        perform(tasks[task]);
      } catch (error) {
        failure ??= { error };
      }
      Atomics.add(shared, this.#at(words.done), 1);
    }
    if (!this.#wait(tasks.length)) {
      this.#isBroken = true;
      for (const helper of this.#helpers) helper.terminate();
      throw new CressetError(
        'DEVICE_ERROR',
        'a thread that helps ended within its work: from now on one thread computes',
      );
    }
    const hasFailed = Atomics.exchange(shared, this.#at(words.failed), 0) === 1;
    if (failure) throw failure.error;
    if (hasFailed) {
      throw new CressetError('DEVICE_ERROR', 'a kernel failed in a thread that helps');
    }
  }

  dispose(): void {
    Atomics.store(this.#shared, this.#at(words.job), -1);
    Atomics.notify(this.#shared, this.#at(words.job));
    for (const helper of this.#helpers) helper.terminate();
  }

  /** Writes tasks to where threads find them; false where these may not do them, or there is no room. */
  #write(tasks: readonly Task[]): boolean {
    if (tasks.length > MOST_TASKS) return false;
    const table = this.#table;
    const isWritten = this.#writeCalls(tasks);
    // Numbers of an earlier table are none any more.
    return isWritten && (table === this.#table || this.#writeCalls(tasks));
  }

  #writeCalls(tasks: readonly Task[]): boolean {
    const list = this.#at(words.tasks);
    const end = list + MOST_TASKS + CALL_WORDS;
    let at = list + MOST_TASKS;
    for (const [index, task] of tasks.entries()) {
      this.#shared[list + index] = at;
      for (const { module, name, args } of task) {
        if (module === null || at + args.length + 3 > end || !this.#place(module)) return false;
        this.#shared[at] = 8 * module.place + TASK_FUNCTIONS.indexOf(name);
        this.#shared[at + 1] = args.length;
        this.#shared.set(args, at + 2);
        at += args.length + 2;
      }
      this.#shared[at++] = -1;
    }
    return true;
  }

  /** Sees that a module is in the table; false where there is no room for its bytes. */
  #place(module: ThreadModule): boolean {
    if (module.table === this.#table) return true;
    const { byteLength } = module.bytes;
    if (this.#modules === MOST_MODULES || this.#codeBytes + byteLength > CODE_BYTES) {
      const now = performance.now();
      if (byteLength > CODE_BYTES || now - this.#tableBegun < LEAST_TABLE_MS) return false;
      this.#tableBegun = now;
      this.#codeBytes = this.#modules = 0;
      Atomics.store(this.#shared, this.#at(words.table), ++this.#table);
    }
    const address = this.#code + this.#codeBytes;
    new Uint8Array(this.#shared.buffer, address, byteLength).set(module.bytes);
    this.#shared.set([address, byteLength], this.#at(words.modules) + 2 * this.#modules);
    this.#codeBytes += byteLength;
    module.place = this.#modules++;
    module.table = this.#table;
    return true;
  }

  /** Looks, and then sleeps where that is allowed: the thread of a page may not. False where nobody finishes a task any more. */
  #wait(count: number): boolean {
    const at = this.#at(words.done);
    let [seen, waited, before] = [-1, 0, 0];
    for (let look = 0; ; look++) {
      const done = Atomics.load(this.#shared, at);
      if (done === count) return true;
      if (look < LOOKS) continue;
      if (typeof document === 'undefined') Atomics.wait(this.#shared, at, done, 10);
      else if (look % LOOKS > 0) continue;
      const now = performance.now();
      waited = done === seen ? waited + Math.min(now - before, MOST_BETWEEN_MS) : 0;
      if (waited > this.patience) return false;
      [seen, before] = [done, now];
    }
  }

  #at(word: number): number {
    return this.#block + word;
  }
}
