import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { extraDeclarations } from './extra-declarations.ts';
import { families } from '../families/common.ts';
import { coreNote, foreignNote } from './full-edition-names.ts';
import { fullEditionHashes, fullEditionOnly } from './full-edition-table.ts';
import { rowsOf } from './register.ts';

const nameOf = (key: string): string => key.replace(/[.(].*/s, '');
const core = new Set([...rowsOf(families), ...extraDeclarations].map(({ schema }) => nameOf(schema)));
const missing = fullEditionOnly();

describe('what the core edition says of operators', () => {
  it('comes from a file that is what the table says: `pnpm docs:operators` writes it', () => {
    const written = readFileSync(new URL('full-edition-hashes.ts', import.meta.url), 'utf8');
    expect(written).toBe(fullEditionHashes());
  });

  it('names the full edition for every operator, and every form, that only it has', () => {
    expect(missing.length).toBeGreaterThan(500);
    for (const key of missing) {
      const name = nameOf(key);
      const isKnown = core.has(name);
      expect(coreNote(name, isKnown)).toBe(
        ` The full edition has ${isKnown ? 'more forms of it' : 'it'}: import cresset/full.`,
      );
    }
  });

  it('is nothing where the full edition has no more', () => {
    const names = new Set(missing.map(nameOf));
    for (const name of core) if (!names.has(name)) expect([name, coreNote(name, true)]).toEqual([name, '']);
    expect(coreNote('aten::no_such_thing', false)).toBe('');
    expect(coreNote('quantized::no_such_thing', false)).toBe('');
  });

  it('is how to make it known for an operator of nobody', () => {
    for (const note of [coreNote, foreignNote]) {
      expect(note('my_ops::blur', false)).toBe(
        " An operator of one's own is made known by registerOperator of cresset/full.",
      );
    }
    expect(foreignNote('aten::no_such_thing')).toBe('');
  });
});
