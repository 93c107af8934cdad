/** A stretch of a source: `length` bytes from `offset`. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** Stretches nearer to each other than this are read as one: bytes thrown away cost less than a request. */
const GAP_BYTES = 64 << 10;
/** No batch is larger, except where one stretch is: a broken connection then costs little. */
export const BATCH_BYTES = 16 << 20;

/** Stretches that are read together. */
export interface RangeBatch {
  readonly extent: ByteRange;
  /** Indices of the stretches within. */
  readonly members: readonly number[];
}

/** Groups those of `ranges` that `indices` name: ones that lie near each other come into one batch. */
export function batchRanges(ranges: readonly ByteRange[], indices: readonly number[]): RangeBatch[] {
  const sorted = indices.toSorted((a, b) => ranges[a].offset - ranges[b].offset);
  const batches: { start: number; end: number; members: number[] }[] = [];
  for (const index of sorted) {
    const { offset, length } = ranges[index];
    const last = batches.at(-1);
    const end = offset + length;
    if (last && offset - last.end <= GAP_BYTES && Math.max(end, last.end) - last.start <= BATCH_BYTES) {
      last.end = Math.max(last.end, end);
      last.members.push(index);
    } else {
      batches.push({ start: offset, end, members: [index] });
    }
  }
  return batches.map(({ start, end, members }) => ({ extent: { offset: start, length: end - start }, members }));
}
