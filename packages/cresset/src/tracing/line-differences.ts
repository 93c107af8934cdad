import { matchSequences, type Step } from './sequence-match.ts';

/** Lines that are this much alike, as a part of both, are shown as one line that was changed. */
const ALIKE = 0.75;

type Lines = readonly string[];

/**
 * How one text became another, line by line, as Python's `difflib.ndiff` shows it: lines of both begin with two spaces, those of the first with `-`, those
 * of the second with `+`, and below lines that were changed `?` stands before marks of what was.
 */
export function lineDifferences(before: string, after: string): string {
  const [first, second] = [before, after].map(linesOf) as [Lines, Lines];
  const shown: string[] = [];
  for (const step of matchSequences(first, second)) {
    const [a, b] = [first.slice(step.from, step.to), second.slice(step.otherFrom, step.otherTo)];
    if (step.kind === 'equal') shown.push(...marked(' ', a));
    else shown.push(...replaced(a, b));
  }
  return shown.join('');
}

/** Lines with their ends. */
const linesOf = (text: string): Lines => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

const marked = (mark: string, lines: Lines): string[] => lines.map((line) => `${mark} ${line}`);

/** Lines in the place of others: the two that are most alike are shown as one, and what is before and behind them likewise. */
function replaced(a: Lines, b: Lines): string[] {
  if (a.length === 0) return marked('+', b);
  if (b.length === 0) return marked('-', a);
  const pair = mostAlike(a, b);
  if (pair === undefined) {
    // The shorter ones first.
    return b.length < a.length ? [...marked('+', b), ...marked('-', a)] : [...marked('-', a), ...marked('+', b)];
  }
  const [i, j] = pair;
  return [
    ...replaced(a.slice(0, i), b.slice(0, j)),
    ...changed(a[i]!, b[j]!),
    ...replaced(a.slice(i + 1), b.slice(j + 1)),
  ];
}

function mostAlike(a: Lines, b: Lines): readonly [number, number] | undefined {
  let best: readonly [number, number] | undefined;
  let equal: readonly [number, number] | undefined;
  let most = ALIKE - 0.01;
  for (const [j, other] of b.entries()) {
    for (const [i, line] of a.entries()) {
      if (line === other) {
        equal ??= [i, j];
        continue;
      }
      const ratio = likeness(line, other);
      if (ratio <= most) continue;
      most = ratio;
      best = [i, j];
    }
  }
  return most < ALIKE ? equal : best;
}

const stepsOf = (line: string, other: string): readonly Step[] =>
  matchSequences([...line], [...other], (each) => each === ' ' || each === '\t');

/** What two lines have in common, as a part of both. */
function likeness(line: string, other: string): number {
  const common = stepsOf(line, other).reduce((sum, { kind, from, to }) => sum + (kind === 'equal' ? to - from : 0), 0);
  return (2 * common) / (line.length + other.length);
}

/** A line and what it became, with marks below. */
function changed(line: string, other: string): string[] {
  if (line === other) return [`  ${line}`];
  let marks = '';
  let otherMarks = '';
  for (const { kind, from, to, otherFrom, otherTo } of stepsOf(line, other)) {
    const [length, otherLength] = [to - from, otherTo - otherFrom];
    const isReplaced = kind === 'replace';
    marks += (kind === 'equal' ? ' ' : isReplaced ? '^' : '-').repeat(length);
    otherMarks += (kind === 'equal' ? ' ' : isReplaced ? '^' : '+').repeat(otherLength);
  }
  return [`- ${line}`, ...below(line, marks), `+ ${other}`, ...below(other, otherMarks)];
}

/** Marks as a line; where nothing is marked white space is the line's own. */
function below(line: string, marks: string): string[] {
  const text = [...marks]
    .map((mark, at) => (mark === ' ' && /\s/.test(line[at]!) ? line[at] : mark))
    .join('')
    .trimEnd();
  return text === '' ? [] : [`? ${text}\n`];
}
