import type { ScalarType, Storage, Tensor } from '@cresset/tensor';
import { binary, constant } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { homeOf, type LaunchProgram, type LaunchStep } from '../program/launch-program.ts';
import { storeInPlaces } from './store-in-place.ts';
import {
  elementOf,
  launchesOf,
  made,
  nestOf,
  programOf,
  regionsOf,
  run,
  stepOf,
  type Contents,
} from './launches-fixture.ts';

/** Enough elements that another shader is worth it. */
const large = (): Tensor => made(1 << 16);

const doubled = (from: Tensor, to: Tensor): LaunchStep =>
  stepOf(nestOf('mul', [to], (axes) => [binary('mul', elementOf(from, axes), constant('float', 2))]));
const sum = (a: Tensor, b: Tensor, to: Tensor): LaunchStep =>
  stepOf(nestOf('add', [to], (axes) => [binary('add', elementOf(a, axes), elementOf(b, axes))]));
const turned = (a: Tensor, b: Tensor, to: Tensor): LaunchStep =>
  stepOf(nestOf('add', [to], (axes) => [binary('add', elementOf(a, axes, true), elementOf(b, axes, true))]));
const backwards = (from: Tensor, to: Tensor): LaunchStep =>
  stepOf(nestOf('flip', [to], (axes) => [elementOf(from, axes, true)]));

function inPlace(
  launches: readonly LaunchStep[],
  scratch: readonly Tensor[],
  dtypes = new Map<Storage, ScalarType>(),
): LaunchProgram {
  const program = programOf(launches, scratch);
  const storages = new Map(program.storages);
  for (const [storage, dtype] of dtypes) storages.set(storage, { ...storages.get(storage)!, dtype });
  const own = { ...program, storages };
  return storeInPlaces(own, regionsOf(own));
}

/** Which storages lie in which. */
const homesOf = ({ storages }: LaunchProgram): (readonly [Storage, Storage])[] =>
  [...storages].flatMap(([storage, { home }]) => (home ? [[storage, home] as const] : []));

/** What a tensor holds in the end, of others that hold numbers in their order. */
function outcome(program: LaunchProgram, all: Tensor[], of: Tensor): number[] {
  const contents: Contents = new Map();
  const ownHome = (storage: Storage): Storage => homeOf(program, storage);
  for (const { storage, numel } of all)
    if (ownHome(storage) === storage) contents.set(storage, [...Array(numel).keys()]);
  for (const { storage } of all) contents.set(storage, contents.get(ownHome(storage))!);
  run(launchesOf(program), contents, (points) => [...Array(points).keys()]);
  return Array.from(contents.get(of.storage)!);
}

test('a launch stores over an operand that nobody needs any more', () => {
  const [x, a, b, c, out] = [large(), large(), large(), large(), large()];
  const launches = [doubled(x, a), doubled(x, b), sum(a, b, c), backwards(c, out)];
  const program = inPlace(launches, [a, b, c]);
  expect(homesOf(program)).toEqual([[c.storage, a.storage]]);
  expect(launchesOf(program)[2].storages).toEqual([a.storage, b.storage]);
  const all = [x, a, b, c, out];
  expect(outcome(program, all, out)).toEqual(outcome(programOf(launches), all, out));
});

test('a chain of launches stores in one place', () => {
  const [x, y, a, b, c, d, out] = Array.from({ length: 7 }, large);
  const launches = [doubled(x, a), doubled(y, b), sum(a, b, c), sum(c, b, d), backwards(d, out)];
  const program = inPlace(launches, [a, b, c, d]);
  expect(homesOf(program)).toHaveLength(2);
  const all = [x, y, a, b, c, d, out];
  expect(outcome(program, all, out)).toEqual(outcome(programOf(launches), all, out));
});

test.each([
  [
    'is read at other places',
    ([x, a, b, c, out]: Tensor[]) => [doubled(x, a), doubled(x, b), turned(a, b, c), sum(c, b, out)],
  ],
  ['is read later', ([x, a, b, c, out]: Tensor[]) => [doubled(x, a), doubled(x, b), sum(a, x, c), sum(a, c, out)]],
])('a launch stores over no operand that %s', (_, notesOf) => {
  const tensors = Array.from({ length: 5 }, large);
  const [, a, b, c, out] = tensors;
  const launches = notesOf(tensors);
  const program = inPlace(launches, [a, b, c]);
  expect(homesOf(program).map(([, home]) => home)).not.toContain(a.storage);
  expect(outcome(program, tensors, out)).toEqual(outcome(programOf(launches), tensors, out));
});

test('a launch stores over nothing that outlives the recording, that is of another dtype, or that is small', () => {
  const [x, a, b, c] = [large(), large(), large(), large()];
  const launches = [doubled(x, a), doubled(x, b), sum(a, b, c), doubled(c, x)];
  expect(homesOf(inPlace(launches, [c]))).toEqual([]);
  expect(homesOf(inPlace(launches, [a, b, c]))).toHaveLength(1);
  const ints = new Map([a, b].map(({ storage }) => [storage, 'int32' as const]));
  expect(homesOf(inPlace(launches, [a, b, c], ints))).toEqual([]);
  const small = [made(8), made(8), made(8), made(8)];
  const few = [doubled(small[0], small[1]), doubled(small[0], small[2]), sum(small[1], small[2], small[3])];
  expect(launchesOf(inPlace(few, small))).toEqual(few);
});
