import type { Storage, Tensor } from '@cresset/tensor';
import { axis, binary, param, reduce, TensorView, unary, type LoopNest } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { made, note, recorderOf, storedBy } from './launches-fixture.ts';
import { joinLaunches, turnsOf, type JoinLimits } from './joined-launches.ts';
import type { LaunchNote } from '../recording/recording-notes.ts';

const recorder = recorderOf();

/** `out[i, j] = exp(x[i, j]) / Σ exp(x[i, :])` */
function normalised(x: Tensor, out: Tensor): LoopNest {
  const [from, to] = [x, out].map((tensor) => new TensorView(tensor));
  const [row, column] = to.axes();
  const each = axis('r', param('i32', x.sizes[1]));
  const total = reduce('sum', [each], unary('exp', from.at([row, each])));
  const value = binary('div', unary('exp', from.at([row, column])), total);
  const stores = [{ operand: to.operand, offset: to.offsetAt([row, column]), value }];
  return { kind: 'nest', label: 'normalised', axes: [row], innerAxes: [column], stores };
}

function sum(x: Tensor, out: Tensor): LoopNest {
  const [from, to] = [x, out].map((tensor) => new TensorView(tensor));
  const [row] = to.axes();
  const each = axis('r', param('i32', x.sizes[1]));
  const stores = [
    { operand: to.operand, offset: to.offsetAt([row]), value: reduce('sum', [each], from.at([row, each])) },
  ];
  return { kind: 'nest', label: 'sum', axes: [row], innerAxes: [], stores };
}

const limits: JoinLimits = { joinedNodes: 400, mayBind: ({ size }) => size <= 8 };
const joinedLaunches = (
  notes: readonly LaunchNote[],
  homeOf: (storage: Storage) => Storage,
  of: JoinLimits,
): LaunchNote[] => turnsOf(notes, homeOf, of).flatMap((turn) => joinLaunches(turn, recorder));
/** How many things each launch stores. */
const storesOf = (notes: readonly LaunchNote[]): number[] => notes.map((each) => storedBy(each).length);
const own = (storage: Storage): Storage => storage;

test('what nothing waits for is done along with the launches of the longest chain', () => {
  const [x, a, b, c, d] = [made(4, 8), made(4, 8), made(4, 8), made(4, 8), made(4)];
  // a → b → c is the longest chain; the sum of a is free from then on.
  const notes = [normalised(x, a), normalised(a, b), normalised(b, c), sum(a, d)].map(note);
  const joined = joinedLaunches(notes, own, limits);
  expect(storesOf(joined)).toEqual([1, 2, 1]);
  expect(joined[1].storages).toEqual([a, b, d].map(({ storage }) => storage));
});

test('a launch comes after all that reads what it writes over', () => {
  const [x, a, b] = [made(4, 8), made(4, 8), made(4)];
  const notes = [normalised(x, a), sum(a, b), normalised(x, a)].map(note);
  expect(joinedLaunches(notes, own, limits)).toEqual(notes);
  // The same of memory that two storages share.
  const [c, d] = [made(4, 8), made(4, 8)];
  const shared = [sum(c, b), normalised(x, d)].map(note);
  const homeOf = (storage: Storage): Storage => (storage === d.storage ? c.storage : storage);
  expect(joinedLaunches(shared, own, limits)).toHaveLength(1);
  expect(joinedLaunches(shared, homeOf, limits)).toEqual(shared);
});

test('no more is joined than can be bound, or than one shader should have', () => {
  const sums = Array.from({ length: 8 }, () => note(sum(made(4, 8), made(4))));
  expect(storesOf(joinedLaunches(sums, own, limits))).toEqual([4, 4]);
  expect(joinedLaunches(sums, own, { ...limits, joinedNodes: 5 })).toEqual(sums);
});
