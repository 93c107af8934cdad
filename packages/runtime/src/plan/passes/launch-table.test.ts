import { binary, constant } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { LaunchTable, lifetimesOf, usesOf } from './launch-table.ts';
import { elementOf, made, nestOf, prepared, programOf, stepOf } from './launches-fixture.ts';
import { launchStep, type LaunchStep } from '../program/launch-program.ts';

const [x, y, z] = [made(8), made(8), made(8)];
const copies = (from = x, to = y): LaunchStep => stepOf(nestOf('copy', [to], (axes) => [elementOf(from, axes)]));
const fills = (to = y): LaunchStep => stepOf(nestOf('fill', [to], () => [constant('float', 0)]));
const adds = (to = y, from = x): LaunchStep =>
  stepOf(nestOf('add', [to], (axes) => [binary('add', elementOf(to, axes), elementOf(from, axes))]));

test('a storage that a launch stores to is loaded from too where its kernel does that', () => {
  expect(usesOf(copies())).toEqual(
    new Map([
      [x.storage, { loads: true, stores: false }],
      [y.storage, { loads: false, stores: true }],
    ]),
  );
  expect(usesOf(adds()).get(y.storage)).toEqual({ loads: true, stores: true });
});

test('of a launch whose kernel nobody knows, everything that it stores to is loaded from', () => {
  const kernels = [copies(x, y), copies(x, z)].map(({ launch }) => launch.kernel!);
  const together = launchStep(prepared(kernels));
  expect(usesOf(together).get(y.storage)).toEqual({ loads: true, stores: true });
  // So it is of one whose tensors lie elsewhere by now.
  const moved = { ...copies(), storages: [z.storage, y.storage] };
  expect(usesOf(moved).get(y.storage)).toEqual({ loads: true, stores: true });
});

test('launches clash over what one of them stores to', () => {
  const table = new LaunchTable(programOf([]));
  const clash = (a: LaunchStep, b: LaunchStep): number => table.clashes(usesOf(a), usesOf(b)).length;
  expect(clash(copies(x, y), copies(x, z))).toBe(0);
  expect(clash(copies(x, y), copies(y, z))).toBe(1);
  expect(clash(copies(y, z), fills(y))).toBe(1);
  expect(clash(fills(y), fills(y))).toBe(1);
  expect(clash(adds(y, x), adds(y, z))).toBe(1);
  expect(clash(adds(y, x), adds(x, y))).toBe(2);
});

test('notes of faults are made in any order, and looked at afterwards', () => {
  const table = new LaunchTable(programOf([copies()], [], [y]));
  expect(table.clashes(usesOf(fills()), usesOf(copies()))).toEqual([]);
  expect(table.clashes(usesOf(fills()), usesOf(copies(y, z)))).toEqual([y.storage]);
});

test('a launch may go where it clashes with none in between', () => {
  const table = new LaunchTable(programOf([copies(x, y), fills(z), adds(y, z), copies(x, z)]));
  const mayMove = (from: number, to: number, along?: number[]): boolean =>
    table.mayMove(table.usesAt(from), from, to, along);
  // What it clashes with at the place itself is for others to say.
  expect([mayMove(0, 1), mayMove(0, 2), mayMove(0, 3)]).toEqual([true, true, false]);
  expect([mayMove(3, 2), mayMove(3, 1), mayMove(3, 0)]).toEqual([true, false, false]);
  expect(mayMove(0, 3, [2])).toBe(true);
});

test('launches are found by what they do to a storage, also after others have taken their place', () => {
  const table = new LaunchTable(programOf([copies(x, y), adds(y, x), copies(y, z)]));
  expect([table.loadersOf(y.storage), table.storersOf(y.storage)]).toEqual([
    [1, 2],
    [0, 1],
  ]);
  const merged = copies(x, z);
  table.replace([1, 2], 2, merged);
  expect([table.loadersOf(y.storage), table.storersOf(y.storage), table.loadersOf(x.storage)]).toEqual([
    [],
    [0],
    [0, 2],
  ]);
  expect([table.at(1), table.kernelAt(1), table.at(2)]).toEqual([null, null, merged]);
  table.remove(0);
  expect(table.launches).toEqual([merged]);
  expect(table.storersOf(y.storage)).toEqual([]);
});

test('a storage lives from the first step that uses it to the last', () => {
  const lifetimes = lifetimesOf([[x.storage], [], [y.storage, x.storage], [y.storage]]);
  expect(lifetimes.get(x.storage)).toEqual({ first: 0, last: 2 });
  expect(lifetimes.get(y.storage)).toEqual({ first: 2, last: 3 });
});
