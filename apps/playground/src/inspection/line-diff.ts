/** A line of two texts: of both, only of the first, or only of the second. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** A stretch of lines that are the same and of no interest, by how many they are. */
export interface SkippedLines {
  readonly kind: 'skipped';
  readonly count: number;
}

/** Beyond so many comparisons all of the middle counts as changed: a shortest answer would take too long. */
const MOST_COMPARISONS = 16_000_000;

/** The lines of both texts in order, as many as possible of them shared. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split('\n');
  const b = after.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ kind: 'same', text }));
  return [
    ...same(a.slice(0, start)),
    ...diffMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...same(a.slice(a.length - end)),
  ];
}

function diffMiddle(a: readonly string[], b: readonly string[]): DiffLine[] {
  const lines: DiffLine[] = [];
  const removed = (text: string): unknown => lines.push({ kind: 'removed', text });
  const added = (text: string): unknown => lines.push({ kind: 'added', text });
  if (a.length * b.length > MOST_COMPARISONS) {
    a.forEach(removed);
    b.forEach(added);
    return lines;
  }
  // How many lines the rests from (i, j) on share.
  const width = b.length + 1;
  const shared = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      shared[i * width + j] =
        a[i] === b[j]
          ? shared[(i + 1) * width + j + 1] + 1
          : Math.max(shared[(i + 1) * width + j], shared[i * width + j + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i] });
      i++;
      j++;
    } else if (j === b.length || (i < a.length && shared[(i + 1) * width + j] >= shared[i * width + j + 1])) {
      removed(a[i++]);
    } else added(b[j++]);
  }
  return lines;
}

/** Leaves out lines that are the same, but for some around each change. */
export function withContext(lines: readonly DiffLine[], context = 3): (DiffLine | SkippedLines)[] {
  const isNear = new Array<boolean>(lines.length).fill(false);
  lines.forEach(({ kind }, at) => {
    if (kind !== 'same') isNear.fill(true, Math.max(0, at - context), at + context + 1);
  });
  const kept: (DiffLine | SkippedLines)[] = [];
  let count = 0;
  lines.forEach((line, at) => {
    if (isNear[at]) {
      if (count > 0) kept.push({ kind: 'skipped', count });
      count = 0;
      kept.push(line);
    } else count++;
  });
  if (count > 0) kept.push({ kind: 'skipped', count });
  return kept;
}
