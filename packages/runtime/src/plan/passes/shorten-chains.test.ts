import type { Tensor } from '@cresset/tensor';
import { binary, constant } from '@cresset/tensorexpr';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import type { LaunchStep } from '../program/launch-program.ts';
import { anyLaunches, expectSame } from './any-launches-fixture.ts';
import { elementOf, launchesOf, made, nestOf, programOf, stepOf, readBy, recorderOf } from './launches-fixture.ts';
import { shortenChains } from './shorten-chains.ts';
import { parseProgram } from '../program/parse-program-fixture.ts';

const doubled = (from = made(8), to = made(8)): LaunchStep =>
  stepOf(nestOf('mul', [to], (axes) => [binary('mul', elementOf(from, axes), constant('float', 2))]));
const shorten = (launches: readonly LaunchStep[], scratch: readonly Tensor[]): LaunchStep[] =>
  launchesOf(shortenChains(programOf(launches, scratch), plainGpu, recorderOf()));

test('a launch of the longest chain works out what others need too', () => {
  const [x, a, b, c] = [made(8), made(8), made(8), made(8)];
  const shortened = shorten([doubled(x, a), doubled(a, b), doubled(a, c)], [a]);
  // Nobody reads the first any more.
  expect(shortened.map(readBy)).toEqual([[x.storage], [x.storage]]);
});

test('a launch that somebody off the chain needs is left to that one', () => {
  const [x, a, b, c, d] = [made(8), made(8), made(8), made(8), made(8)];
  const backwards = stepOf(nestOf('flip', [d], (axes) => [elementOf(a, axes, true)]));
  const launches = [doubled(x, a), doubled(a, b), doubled(b, c), backwards];
  const shortened = shorten(launches, [a, b]);
  expect(shortened.map(readBy)).toEqual([[x.storage], [x.storage], [a.storage]]);
});

test('a chain stays as it is where what it reads is changed in between, or outlives it', () => {
  const [x, a, b] = [made(8), made(8), made(8)];
  const changed = [doubled(x, a), doubled(made(8), x), doubled(a, b)];
  expect(shorten(changed, [a])).toEqual(changed);
  const overItself = [doubled(x, a), doubled(a, x)];
  expect(shorten(overItself, [a])).toEqual(overItself);
  const outliving = [doubled(x, a), doubled(a, b)];
  expect(shorten(outliving, [])).toEqual(outliving);
});

test('a chain stays as it is where the launch that would stay behind stores over what it read', () => {
  const [a, b, counts] = [made(8), made(8), made(8)];
  const counting = stepOf(
    nestOf('count', [a, counts], (axes) => {
      const old = elementOf(counts, axes);
      return [binary('mul', old, constant('float', 2)), binary('add', old, constant('float', 1))];
    }),
  );
  const launches = [counting, doubled(a, b)];
  expect(shorten(launches, [a])).toEqual(launches);
});

test('any launches come to the same', () => {
  fc.assert(
    fc.property(anyLaunches, ({ launches, tensors, temporary }) => {
      expectSame(shorten(launches, temporary), launches, tensors, temporary);
    }),
    { numRuns: 1000 },
  );
});

test('a program before and after', () => {
  const { program, textOf } = parseProgram(`program:
  @x: float32, 32 bytes, given
  @a: float32, 32 bytes, scratch
  @b: float32, 32 bytes, new
  @c: float32, 32 bytes, new
  launch exp(i: 8)
    @a[i] = exp(@x[i])
  launch mul(i: 8)
    @b[i] = @a[i] * 2
  launch mul(i: 8)
    @c[i] = @a[i] * 3
`);
  expect(textOf(shortenChains(program, plainGpu, recorderOf()))).toMatchInlineSnapshot(`
    "program:
      @x: float32, 32 bytes, given
      @b: float32, 32 bytes, new
      @c: float32, 32 bytes, new
      launch exp+mul(i: 8)
        @b[i] = exp(@x[i]) * 2
      launch exp+mul(i: 8)
        @c[i] = exp(@x[i]) * 3
    "
  `);
});
