/** A value that lies in memory from one step of a plan to another, both included. */
export interface Lifetime {
  readonly byteLength: number;
  readonly first: number;
  readonly last: number;
}

/** Buffers for values, none of which shares one with another at a time. */
export interface MemoryPlan {
  /** Bytes of each buffer. */
  readonly buffers: readonly number[];
  /** The buffer of each value. */
  readonly bufferOf: readonly number[];
}

/**
 * Gives values buffers by their lifetimes, the largest first, each the first buffer that is free for as long: a buffer is as large as
 * the first value in it, and close to no more buffers are made than values live at one time (Pisarchyk and Lee, "Efficient memory
 * management for deep neural net inference").
 */
export function planMemory(values: readonly Lifetime[]): MemoryPlan {
  const order = values.map((_, index) => index).sort((a, b) => values[b].byteLength - values[a].byteLength || a - b);
  const buffers: { readonly byteLength: number; readonly held: Lifetime[] }[] = [];
  const bufferOf = new Array<number>(values.length);
  for (const index of order) {
    const value = values[index];
    const isFree = (held: readonly Lifetime[]): boolean =>
      held.every(({ first, last }) => last < value.first || value.last < first);
    let at = buffers.findIndex(({ held }) => isFree(held));
    if (at < 0) at = buffers.push({ byteLength: value.byteLength, held: [] }) - 1;
    buffers[at].held.push(value);
    bufferOf[index] = at;
  }
  return { buffers: buffers.map(({ byteLength }) => byteLength), bufferOf };
}
