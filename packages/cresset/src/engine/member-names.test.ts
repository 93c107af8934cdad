import { expect, test } from 'vitest';
import { memberNames } from '../../../../scripts/build/member-names.mjs';

const renamed = (scripts: readonly string[], known: readonly string[] = []): readonly string[] => [
  ...memberNames(scripts, known).keys(),
];

test('a name that is a member of a class and nothing else is given another, the same in all scripts', () => {
  const names = memberNames(
    ['class A { storage = 1; findMethod() {} }', 'export const f = (a) => a.findMethod();'],
    [],
  );
  expect([...names.keys()].sort()).toEqual(['findMethod', 'storage']);
  expect(new Set(names.values()).size).toBe(2);
  // The one that is said more often comes first.
  expect(names.get('findMethod')).toBe('aa');
});

test('what is taken apart keeps its member: a pattern names it as an access does', () => {
  expect(renamed(['class A { storage = 1; }', 'export const f = ({ storage }) => storage;'])).toEqual(['storage']);
});

test('a name that may be asked for in another way stays', () => {
  const member = 'class A { storage = 1; }';
  expect(renamed([member, 'export const message = { storage: 2 };'])).toEqual([]);
  expect(renamed([member, "export const key = 'storage';"])).toEqual([]);
  expect(renamed([member, 'export const schema = `f(Tensor storage)`;'])).toEqual([]);
  expect(renamed([member], ['interface Seen { readonly storage: number }'])).toEqual([]);
  expect(renamed(['export const f = (a) => a.storage;'])).toEqual([]);
});

test('a new name is none that is there already', () => {
  const names = memberNames(['class A { storage = 1; }', 'export const f = (a) => a.aa + a.ab;'], ['ac']);
  expect(names.get('storage')).toBe('ad');
});
