import { parseSchema } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import { expect, it } from 'vitest';
import { bindArguments } from './argument-binding.ts';

const schema = parseSchema('f(int a, int b=2, *, int c) -> int');
const bind = (args: readonly IValue[], kwargs: Record<string, IValue> = {}): IValue[] =>
  bindArguments({ schema }, undefined, args, Object.entries(kwargs), (value) => value);

it('takes positions, then keywords, then defaults', () => {
  expect(bind([1n], { c: 3n })).toEqual([1n, 2n, 3n]);
  expect(bind([], { c: 3n, b: 5n, a: 4n })).toEqual([4n, 5n, 3n]);
});

it.each([
  [[1n, 2n, 3n], {}, 'f() takes 2 positional argument(s) but 3 was/were given.  Declaration: f('],
  [[1n, 2n, 3n, 4n], {}, 'f() expected at most 3 argument(s) but received 4 argument(s). Declaration: f('],
  [[1n], {}, "f() is missing value for argument 'c'. Declaration: f("],
  [[1n], { a: 2n, c: 3n }, "Argument 'a' specified both as positional and keyword argument. Schema: f("],
  [[1n], { c: 3n, z: 4n }, "Unknown keyword argument 'z' for operator 'f'. Schema: f("],
] as const)('refuses case %#', (args, kwargs, message) => {
  expect(() => bind(args, kwargs)).toThrow(message);
});
