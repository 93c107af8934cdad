import { expect, test } from 'vitest';
import { diffLines, withContext } from './line-diff.ts';

const marks = { same: ' ', removed: '-', added: '+' };
const diff = (before: string, after: string): string[] =>
  diffLines([...before].join('\n'), [...after].join('\n')).map(({ kind, text }) => marks[kind] + text);

test('lines that both have are shared, in order', () => {
  expect(diff('abcd', 'abcd')).toEqual([' a', ' b', ' c', ' d']);
  expect(diff('abcd', 'axcd')).toEqual([' a', '-b', '+x', ' c', ' d']);
  expect(diff('abc', 'bcd')).toEqual(['-a', ' b', ' c', '+d']);
  expect(diff('abcabba', 'cbabac').filter((line) => line.startsWith(' '))).toHaveLength(4);
});

test('either text can be read out of the difference', () => {
  const before = 'graph(%x):\n%1 = a(%x)\n%2 = b(%1)\n%3 = b(%1)\nreturn (%3)';
  const after = 'graph(%x):\n%1 = a(%x)\n%4 = c(%1)\n%3 = b(%4)\nreturn (%3)';
  const lines = diffLines(before, after);
  const without = (kind: string): string =>
    lines
      .filter((line) => line.kind !== kind)
      .map(({ text }) => text)
      .join('\n');
  expect(without('added')).toBe(before);
  expect(without('removed')).toBe(after);
});

test('what is far from any change is left out and counted', () => {
  const before = Array.from({ length: 20 }, (_, line) => String(line));
  const lines = withContext(diffLines(before.join('\n'), before.with(10, 'changed').join('\n')), 2);
  expect(lines.map((line) => (line.kind === 'skipped' ? `… ${line.count}` : marks[line.kind] + line.text))).toEqual([
    '… 8',
    ' 8',
    ' 9',
    '-10',
    '+changed',
    ' 11',
    ' 12',
    '… 7',
  ]);
  expect(withContext(diffLines('a\nb', 'a\nb'))).toEqual([{ kind: 'skipped', count: 2 }]);
});
