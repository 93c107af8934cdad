import type { Tensor } from '@cresset/tensor';
import { axis, binary, param, reduce, TensorView, unary, type LoopNest } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { launchesOf, made, programOf, recorderOf, stepOf, storedBy } from './launches-fixture.ts';
import { joinLaunches, orderLaunches, type JoinLimits } from './join-launches.ts';
import type { LaunchProgram, LaunchStep } from '../program/launch-program.ts';
import { parseProgram } from '../program/parse-program-fixture.ts';

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
const joinedLaunches = (program: LaunchProgram, of = limits): LaunchStep[] =>
  launchesOf(joinLaunches(orderLaunches(program, of), recorder));
/** How many things each launch stores. */
const storesOf = (launches: readonly LaunchStep[]): number[] => launches.map((each) => storedBy(each).length);

test('what nothing waits for is done along with the launches of the longest chain', () => {
  const [x, a, b, c, d] = [made(4, 8), made(4, 8), made(4, 8), made(4, 8), made(4)];
  // a → b → c is the longest chain; the sum of a is free from then on.
  const launches = [normalised(x, a), normalised(a, b), normalised(b, c), sum(a, d)].map(stepOf);
  const joined = joinedLaunches(programOf(launches));
  expect(storesOf(joined)).toEqual([1, 2, 1]);
  expect(joined[1].storages).toEqual([a, b, d].map(({ storage }) => storage));
});

test('a launch comes after all that reads what it writes over', () => {
  const [x, a, b] = [made(4, 8), made(4, 8), made(4)];
  const launches = [normalised(x, a), sum(a, b), normalised(x, a)].map(stepOf);
  expect(joinedLaunches(programOf(launches))).toMatchObject(launches);
  // The same of memory that two storages share.
  const [c, d] = [made(4, 8), made(4, 8)];
  const shared = [sum(c, b), normalised(x, d)].map(stepOf);
  const program = programOf(shared, [c, d]);
  const storages = new Map(program.storages);
  storages.set(d.storage, { ...storages.get(d.storage)!, home: c.storage });
  expect(joinedLaunches(program)).toHaveLength(1);
  expect(joinedLaunches({ ...program, storages })).toMatchObject(shared);
});

test('no more is joined than can be bound, or than one shader should have', () => {
  const sums = Array.from({ length: 8 }, () => stepOf(sum(made(4, 8), made(4))));
  expect(storesOf(joinedLaunches(programOf(sums)))).toEqual([4, 4]);
  expect(joinedLaunches(programOf(sums), { ...limits, joinedNodes: 5 })).toMatchObject(sums);
});

test('what takes long stays in its place and alone; what does not rides along with what does not', () => {
  const [x, a, b, c, d, e] = [made(4, 8), made(4, 8), made(4, 8), made(4, 8), made(4), made(4)];
  const launches = [sum(x, d), normalised(x, a), normalised(a, b), normalised(b, c), sum(x, e), sum(a, made(4))].map(
    stepOf,
  );
  const isHeavy = (step: LaunchStep): boolean => step === launches[1] || step === launches[3];
  const ordered = launchesOf(orderLaunches(programOf(launches), { ...limits, isHeavy }));
  expect(ordered.map(({ launch }) => launches.findIndex((each) => each.launch === launch))).toEqual([0, 4, 1, 2, 5, 3]);
  expect(ordered.map(({ turn }) => turn)).toEqual([0, 0, undefined, 2, 2, undefined]);
});

test('a program before and after', () => {
  const { program, textOf } = parseProgram(`program:
  @x: float32, 128 bytes, given
  @a: float32, 128 bytes, scratch
  @b: float32, 128 bytes, new
  @c: float32, 16 bytes, new
  launch exp(i: 4, j: 8)
    @a[i * 8 + j] = exp(@x[i * 8 + j])
  launch sum(i: 4)
    @c[i] = sum[k: 8](@a[i * 8 + k])
  launch mul(i: 4, j: 8)
    @b[i * 8 + j] = @a[i * 8 + j] * 2
`);
  const ordered = orderLaunches(program, limits);
  expect(textOf(ordered)).toMatchInlineSnapshot(`
    "program:
      @x: float32, 128 bytes, given
      @a: float32, 128 bytes, scratch
      @b: float32, 128 bytes, new
      @c: float32, 16 bytes, new
      launch exp(i: 4, j: 8)
        @a[i * 8 + j] = exp(@x[i * 8 + j])
      launch in turn 1 sum(i: 4)
        @c[i] = sum[j: 8](@a[i * 8 + j])
      launch in turn 1 mul(i: 4, j: 8)
        @b[i * 8 + j] = @a[i * 8 + j] * 2
    "
  `);
  expect(textOf(joinLaunches(ordered, recorder))).toMatchInlineSnapshot(`
    "program:
      @x: float32, 128 bytes, given
      @a: float32, 128 bytes, scratch
      @b: float32, 128 bytes, new
      @c: float32, 16 bytes, new
      launch exp(i: 4, j: 8)
        @a[i * 8 + j] = exp(@x[i * 8 + j])
      launch sum(i: 4)
        @c[i] = sum[j: 8](@a[i * 8 + j])
      and mul(i: 4, j: 8)
        @b[i * 8 + j] = @a[i * 8 + j] * 2
    "
  `);
});
