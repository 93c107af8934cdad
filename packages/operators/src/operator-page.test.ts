import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { operatorPage } from './operator-page.ts';

test('docs/operators.md is what the table says: `pnpm docs:operators` writes it', () => {
  const written = readFileSync(new URL('../../../docs/operators.md', import.meta.url), 'utf8');
  expect(written).toBe(operatorPage());
});
