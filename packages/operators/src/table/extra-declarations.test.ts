import { operatorRegistry } from '@cresset/ir';
import { expect, test } from 'vitest';
import { extraDeclarations } from './extra-declarations.ts';
import { extraFamilies } from '../families/extra.ts';
import { notImplemented } from '../dispatch/invoke.ts';
import { registerAllOperators } from '../register-all.ts';
import { registerCommonOperators } from './register.ts';

test('every declaration is the schema of a row of the full edition', () => {
  const schemas = new Set(extraFamilies.flat().map(({ schema }) => schema));
  expect(extraDeclarations.map(({ schema }) => schema).filter((schema) => !schemas.has(schema))).toEqual([]);
});

test('running one says where it is to be had', () => {
  expect(notImplemented(extraDeclarations[0]).message).toBe(
    'aten::binary_cross_entropy is in the full edition only: import cresset/full',
  );
});

test('the core edition says where operators are that it does not have', () => {
  registerCommonOperators();
  expect(operatorRegistry.noteOn('aten::special_i0e', false)).toContain('import cresset/full');
  registerAllOperators();
  expect(operatorRegistry.noteOn('aten::no_such_thing', false)).toBe('');
});
