import { OpenNumber, type Storage, type Tensor } from '@cresset/tensor';
import { binary, constant, type LoadExpr } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import type { LaunchProgram, LaunchStep } from '../program/launch-program.ts';
import { elementOf, launchesOf, made, nestOf, programOf, regionsOf, stepOf } from './launches-fixture.ts';
import { splitStorages } from './split-storages.ts';
import { parseProgram } from '../program/parse-program-fixture.ts';

const doubled = (from: Tensor, to: Tensor): LaunchStep =>
  stepOf(nestOf('mul', [to], (axes) => [binary('mul', elementOf(from, axes), constant('float', 2))]));

const [x, y] = [made(100), made(100)];
const flat = made(200);
const part = (first: number, count: number): Tensor => flat.asStrided([count], [1], first);
const [first, second, overlapping] = [part(0, 100), part(100, 100), part(50, 100)];

/** The storages that stand for parts of others. */
const partsIn = ({ storages }: LaunchProgram): (readonly [Storage, Tensor])[] =>
  [...storages].flatMap(([storage, { part: whole }]) => (whole ? [[storage, whole] as const] : []));
const partsOf = (launches: readonly LaunchStep[], scratch: readonly Tensor[] = []): readonly unknown[] =>
  partsIn(splitStorages(programOf(launches, scratch)));

test('tensors of one storage that have no element in common are storages by themselves', () => {
  const split = splitStorages(programOf([doubled(x, first), doubled(second, y)]));
  const [[one, whole], [other, rest]] = partsIn(split);
  expect([whole.storage, rest.storage]).toEqual([flat.storage, flat.storage]);
  expect(launchesOf(split).map(({ storages }) => storages)).toEqual([
    [x.storage, one],
    [other, y.storage],
  ]);
  // In the end it is one buffer.
  const placed = regionsOf(split).place(split)!;
  expect(partsIn(placed)).toEqual([]);
  expect(launchesOf(placed).map(({ storages }) => storages)).toEqual([
    [x.storage, flat.storage],
    [flat.storage, y.storage],
  ]);
  const params = launchesOf(placed).map(({ launch }) => launch.params.map(({ value }) => value));
  expect(params).toEqual([[100], [100, 100]]);
});

test('tensors that overlap are one', () => {
  expect(partsOf([doubled(x, first), doubled(second, y), doubled(overlapping, x)])).toEqual([]);
  expect(partsOf([doubled(x, first), doubled(overlapping, y)])).toEqual([]);
  // Two of which one lies within gaps of the other reach the same elements as far as anybody asks.
  const [even, odd] = [flat.asStrided([50], [2], 0), flat.asStrided([50], [2], 1)];
  expect(partsOf([doubled(even, made(50)), doubled(odd, made(50))])).toEqual([]);
});

test('a storage stays whole where nobody knows which elements are used, or where it is none to take apart', () => {
  const launches = [doubled(x, first), doubled(second, y)];
  const opaque = { ...launches[0], launch: { ...launches[0].launch, kernel: null } };
  expect(partsOf([...launches, opaque])).toEqual([]);
  expect(partsOf(launches, [flat])).toEqual([]);
  const moving = part(100, 100);
  moving.openOffset = new OpenNumber(100);
  const atOpenNumber = [doubled(x, first), doubled(moving, y)];
  const [store] = atOpenNumber[1].launch.kernel!.stores;
  expect(store.value.kind === 'binary' && (store.value.x as LoadExpr).operand.tensor).toBe(moving);
  expect(partsOf(atOpenNumber)).toEqual([]);
  // Also when the recording is over, for which the number is open.
  moving.openOffset.isClosed = true;
  expect(partsOf(atOpenNumber)).toEqual([]);
});

test('a program before and after', () => {
  const { program, textOf } = parseProgram(`program:
  @x: float32, 400 bytes, given
  @flat: float32, 800 bytes, given
  @p = @flat, 100 elements from 0
  @q = @flat, 100 elements from 100
  @y: float32, 400 bytes, new
  launch mul(i: 100)
    @p[i] = @x[i] * 2
  launch mul(i: 100)
    @y[i] = @q[100 + i] * 2
`);
  expect(textOf(splitStorages(program))).toMatchInlineSnapshot(`
    "program:
      @x: float32, 400 bytes, given
      @y: float32, 400 bytes, new
      @0: float32, 800 bytes, given part of @flat
      @1: float32, 800 bytes, given part of @flat
      launch mul(i: 100)
        @0[i] = @x[i] * 2
      launch mul(i: 100)
        @y[i] = @1[100 + i] * 2
    "
  `);
});
