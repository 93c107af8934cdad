import { readFileSync } from 'node:fs';
import { CressetError, type GraphFunction } from '@cresset/ir';
import fc from 'fast-check';
import { unzipSync, zipSync } from 'fflate';
import { expect, it } from 'vitest';
import { readModule } from '../module-reader.ts';

const files = unzipSync(new Uint8Array(readFileSync(new URL('../../fixtures/exported-flow.pt2', import.meta.url))));
const place = Object.keys(files).find((name) => name.endsWith('models/model.json'))!;
const json = JSON.parse(new TextDecoder().decode(files[place])) as object;

/** A copy in which one value is another. */
function withAnother(value: unknown, path: readonly number[], other: unknown): unknown {
  if (typeof value !== 'object' || value === null) return other;
  const keys = Object.keys(value);
  if (path.length === 0 || keys.length === 0) return other;
  const at = keys[path[0] % keys.length];
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;
  copy[at] = withAnother(copy[at], path.slice(1), other);
  return copy;
}

it('a description that is damaged anywhere gives a CressetError, or a program', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(40), { minLength: 1, maxLength: 9 }),
      fc.oneof(fc.jsonValue(), fc.constant('u0'), fc.constant({ as_int: 3 })),
      async (path, other) => {
        const text = JSON.stringify(withAnother(json, path, other));
        const archive = zipSync({ ...files, [place]: new TextEncoder().encode(text) }, { level: 0 });
        try {
          const { module } = await readModule(archive);
          (module.type.findMethod('forward') as GraphFunction).ensureDefined();
        } catch (error) {
          expect(error).toBeInstanceOf(CressetError);
        }
      },
    ),
    { numRuns: 300 },
  );
});
