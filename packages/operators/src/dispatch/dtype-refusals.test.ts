import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { rareRows } from '../families/rare.ts';
import { withForms } from '../table/register.ts';
import type { DtypeLimits } from './dtype-refusals.ts';

const limited = Object.entries(rareRows).filter(([part]) =>
  existsSync(new URL(`../families/${part}/dtypes.ts`, import.meta.url)),
);

it.each(limited)('the limits of %s are those of its own operators', async (part, rows) => {
  const own = new Set(withForms(rows).map(({ schema }) => schema.slice('aten::'.length, schema.search(/[.(]/))));
  const [limits] = Object.values((await import(`../families/${part}/dtypes.ts`)) as Record<string, DtypeLimits>);
  const { refused = [], written = [] } = limits;
  const named = [...refused.flatMap(([, , operators]) => operators.split(' ')), ...written.map(([name]) => name)];
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((operator) => !own.has(operator.replace(/\..*$/, '')))).toEqual([]);
});
