import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { version } from './version.ts';

it('is that of the package', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../cresset/package.json', import.meta.url), 'utf8')) as unknown;
  expect(manifest).toMatchObject({ version });
});
