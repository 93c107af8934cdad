/** Functions that tasks call; a word of theirs has three bits for the name. */
export const TASK_FUNCTIONS = [
  'run',
  'packLeft',
  'packRight',
  'image',
  'store',
  'pack',
  'multiply',
  'multiplyImage',
] as const;

/** A module that threads may have, and where they find it. */
export interface ThreadModule {
  readonly bytes: Uint8Array;
  /** Its number in their table, as long as that is the table of this number. */
  place: number;
  table: number;
}

/** A call of a function of a module. */
export interface Call {
  readonly functions: Readonly<Record<string, (...args: number[]) => void>>;
  /** Null where only this thread may call it. */
  readonly module: ThreadModule | null;
  readonly name: (typeof TASK_FUNCTIONS)[number];
  readonly args: readonly number[];
}

/** Calls that are made one after the other, by one thread. */
export type Task = readonly Call[];

/** Does a task in this thread. */
export function perform(task: Task): void {
  for (const { functions, name, args } of task) functions[name](...args);
}
