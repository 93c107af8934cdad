import { binary, constant } from '@cresset/tensorexpr';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { turnsOf, type LaunchStep } from '../program/launch-program.ts';
import { anyLaunches, expectSame } from './any-launches-fixture.ts';
import { orderLaunches } from './join-launches.ts';
import { placesOf } from './launch-order.ts';
import { elementOf, made, nestOf, programOf, stepOf } from './launches-fixture.ts';

const doubled = (from = made(8), to = made(8)): LaunchStep =>
  stepOf(nestOf('mul', [to], (axes) => [binary('mul', elementOf(from, axes), constant('float', 2))]));

test('a launch waits for what stored what it reads, and for what uses what it stores', () => {
  const [x, a, b] = [made(8), made(8), made(8)];
  const places = placesOf([doubled(x, a), doubled(a, b), doubled(a, a), doubled(x, b)]);
  expect(places.map(({ before }) => [...before].sort())).toEqual([[], [0], [0, 1], [1]]);
  expect(places.map(({ level }) => level)).toEqual([1, 2, 3, 3]);
  expect(places.map(({ depth }) => depth)).toEqual([3, 2, 1, 1]);
});

test('storages that lie in one memory are one', () => {
  const [x, y, a, b] = [made(8), made(8), made(8), made(8)];
  const launches = [doubled(x, a), doubled(y, b)];
  expect(placesOf(launches)[1].before.size).toBe(0);
  expect([...placesOf(launches, (storage) => (storage === b.storage ? x.storage : storage))[1].before]).toEqual([0]);
});

test('any launches come to the same in any order in which none is before what it waits for', () => {
  fc.assert(
    fc.property(anyLaunches, fc.infiniteStream(fc.nat(1000)), ({ launches, tensors }, choices) => {
      const places = placesOf(launches);
      const left = new Set(places.keys());
      const order: LaunchStep[] = [];
      while (left.size > 0) {
        const ready = [...left].filter((at) => ![...places[at].before].some((other) => left.has(other)));
        const next = ready[choices.next().value! % ready.length];
        left.delete(next);
        order.push(launches[next]);
      }
      expectSame(order, launches, tensors, []);
    }),
    { numRuns: 1000 },
  );
});

test('what is done in one turn may be done in any order', () => {
  fc.assert(
    fc.property(anyLaunches, ({ launches, tensors }) => {
      const limits = { joinedNodes: 100, mayBind: () => true };
      const turns = turnsOf(orderLaunches(programOf(launches), limits));
      expect(turns.flat()).toHaveLength(launches.length);
      expectSame(
        turns.flatMap((turn) => turn.toReversed()),
        launches,
        tensors,
        [],
      );
    }),
    { numRuns: 500 },
  );
});
