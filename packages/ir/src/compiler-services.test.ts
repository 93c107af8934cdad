import { expect, it } from 'vitest';
import { CompilationUnit } from './compilation-unit.ts';
import { compilerServices, extendServices, type CompilerServices } from './compiler-services.ts';

interface MoreServices extends CompilerServices {
  readonly later?: string;
}

it('what comes later is in another object: a unit keeps what it was given', () => {
  const before = compilerServices<MoreServices>();
  const early = new CompilationUnit();
  extendServices<MoreServices>({ later: 'a part' });
  expect(compilerServices<MoreServices>()).toEqual({ ...before, later: 'a part' });
  expect(early.services).toBe(before);
  expect(before.later).toBeUndefined();
  expect(new CompilationUnit().services).toBe(compilerServices());
  expect(new CompilationUnit(before).services).toBe(before);
});
