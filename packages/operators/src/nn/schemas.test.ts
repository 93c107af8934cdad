import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { variantsOf } from '../variants.ts';
import { nnRows } from './rows.ts';

// PyTorch's list of schemas lies beside the working tree on machines that have it.
const listing = new URL('../../../../../shared/reference/aten-schemas.txt', import.meta.url);

describe.skipIf(!existsSync(listing))('schemas of neural network operators', () => {
  const known = new Set(existsSync(listing) ? readFileSync(listing, 'utf8').split('\n') : []);
  const schemas = nnRows.flatMap((row) => [row, ...variantsOf(row)]).map((row) => row.schema);
  const ownNames = /^cresset::/;

  it('are PyTorch’s, word for word', () => {
    expect(schemas.filter((schema) => !known.has(schema) && !ownNames.test(schema))).toEqual([]);
  });

  it('are there once', () => {
    expect(schemas.filter((schema, at) => schemas.indexOf(schema) !== at)).toEqual([]);
  });
});
