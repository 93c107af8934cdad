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

/** A call of a function of a module. */
export interface Call {
  readonly functions: Readonly<Record<string, (...args: number[]) => void>>;
  /** The module's number in the pool; null where only this thread may call it. */
  readonly module: number | null;
  readonly name: (typeof TASK_FUNCTIONS)[number];
  readonly args: readonly number[];
}

/** Calls that are made one after the other, by one thread. */
export type Task = readonly Call[];

/** Does a task in this thread. */
export function perform(task: Task): void {
  for (const { functions, name, args } of task) functions[name](...args);
}
