import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { hostReasons } from './host-reasons.ts';
import { hostOnlyOperators, operatorPage } from './operator-page.ts';

test('docs/operators.md is what the table says: `pnpm docs:operators` writes it', () => {
  const written = readFileSync(new URL('../../../../docs/operators.md', import.meta.url), 'utf8');
  expect(written).toBe(operatorPage());
});

test('what is left to the host has a reason, and nothing else has', () => {
  const explained = hostReasons.flatMap(([, names]) => names.split(' '));
  expect(explained.toSorted()).toEqual(hostOnlyOperators().toSorted());
});
