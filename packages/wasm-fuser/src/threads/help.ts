/** Where the words of a pool lie, as integers of 32 bits from its block on. */
export interface PoolWords {
  /** Counts jobs, and is negative when there will be no more: threads wait here. */
  readonly job: number;
  /** How many threads help. */
  readonly ready: number;
  /** The next task, and above it whose: `job << TASK_BITS`. */
  readonly next: number;
  /** How many tasks there are, and above that of which job. */
  readonly count: number;
  /** How many of them are done: who gave the job waits here. */
  readonly done: number;
  /** 1 when a task threw. */
  readonly failed: number;
  /** Counts tables of modules: those of an earlier one are none any more. */
  readonly table: number;
  /** Where each task begins; then the calls of each: module and function, the count of its arguments, these; and a negative word at the end. */
  readonly tasks: number;
  /** Address and length of each module's bytes. */
  readonly modules: number;
}

/** What a helping thread is told when it begins. */
export interface HelperStart {
  readonly memory: WebAssembly.Memory;
  /** The pool's block, in words. */
  readonly block: number;
  readonly words: PoolWords;
  readonly taskBits: number;
  /** Names of functions: three bits of a call say which, those above in which module. */
  readonly names: readonly string[];
}

/**
 * What a helping thread does until it is told to end: it waits for a job, and does tasks of it as long as there are some. A thread is started with the
 * text of this function, which therefore names nothing but what it is given.
 */
export function help({ memory, block, words, taskBits, names }: HelperStart): void {
  const shared = new Int32Array(memory.buffer);
  const at = (word: number): number => block + word;
  const mask = (1 << taskBits) - 1;
  const instances: Record<string, (...args: number[]) => void>[] = [];
  let table = 0;

  const functionsOf = (id: number): Record<string, (...args: number[]) => void> => {
    if (!instances[id]) {
      const entry = at(words.modules) + 2 * id;
      const bytes = new Uint8Array(memory.buffer, shared[entry], shared[entry + 1]).slice();
      const module = new WebAssembly.Module(bytes);
      const host: Record<string, WebAssembly.ImportValue> = { memory };
      // Modules that call what they import are not given to threads.
      for (const { name, kind } of WebAssembly.Module.imports(module)) if (kind === 'function') host[name] = () => 0;
      const { exports } = new WebAssembly.Instance(module, { host });
      instances[id] = exports as Record<string, (...args: number[]) => void>;
    }
    return instances[id];
  };

  const perform = (task: number): void => {
    // As long as a task of a job is not done, nobody changes the table.
    const current = Atomics.load(shared, at(words.table));
    if (current !== table) instances.length = 0;
    table = current;
    let word = shared[at(words.tasks) + task];
    while (shared[word] >= 0) {
      const called = shared[word];
      const first = word + 2;
      word = first + shared[word + 1];
      functionsOf(called >> 3)[names[called & 7]](...shared.subarray(first, word));
    }
  };

  Atomics.add(shared, at(words.ready), 1);
  let seen = 0;
  for (;;) {
    // Jobs of a call follow each other within some tenths of a millisecond, and to be woken takes about as long as the work that is worth sharing.
    for (let look = 0; look < 100_000 && Atomics.load(shared, at(words.job)) === seen; look++);
    Atomics.wait(shared, at(words.job), seen);
    seen = Atomics.load(shared, at(words.job));
    if (seen < 0) return;
    for (;;) {
      const task = Atomics.add(shared, at(words.next), 1);
      const count = Atomics.load(shared, at(words.count));
      // Whoever comes late may have taken a number of the job before.
      if ((task ^ count) >> taskBits !== 0 || (task & mask) >= (count & mask)) break;
      try {
        perform(task & mask);
      } catch {
        Atomics.store(shared, at(words.failed), 1);
      }
      if (Atomics.add(shared, at(words.done), 1) + 1 === (count & mask)) Atomics.notify(shared, at(words.done));
    }
  }
}
