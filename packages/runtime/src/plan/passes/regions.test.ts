import type { Storage, Tensor } from '@cresset/tensor';
import { binary, TensorView, type Kernel, type LoopNest } from '@cresset/tensorexpr';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import { expect, test } from 'vitest';
import { launchStep, type LaunchProgram, type LaunchStep } from '../program/launch-program.ts';
import { launchesOf, made, programOf, recorderOf, regionsOf, stepOf } from './launches-fixture.ts';
import type { RegionLimits } from './regions.ts';
import { parseProgram } from '../program/parse-program-fixture.ts';

/** Of a GPU that binds four buffers. */
const recorder = recorderOf(4);

/** Stores the sum of some tensors to others, of the same sizes. */
function sum(from: readonly Tensor[], to: readonly Tensor[]): LoopNest {
  const views = to.map((tensor) => new TensorView(tensor));
  const axes = views[0].axes();
  const value = from
    .map((tensor) => new TensorView(tensor).at(axes))
    .reduce((a, b) => ({ ...binary('add', a, b) }) as typeof a);
  const stores = views.map((view) => ({ operand: view.operand, offset: view.offsetAt(axes), value }));
  return { kind: 'nest', label: 'sum', axes, innerAxes: [], stores };
}

const limits = { capabilities: { ...plainGpu, maxStorageBuffers: 4 }, recorder };

const [x, y] = [made(100), made(100)];
/** The buffers that storages of a program share. */
const homesIn = (placed: LaunchProgram, program: LaunchProgram): Storage[] =>
  [...placed.storages.keys()].filter((storage) => !program.storages.has(storage));

const results = (): Tensor[] => [made(100), made(100), made(100)];

test('results of a launch that has more than can be bound lie in one buffer, which whoever reads them binds once', () => {
  const [a, b, c] = results();
  const out = made(100);
  const first = sum([x, y], [a, b, c]);
  const program = programOf([stepOf(first), stepOf(sum([a, b, c], [out]))], [a, b, c]);
  const regions = regionsOf(program, limits);
  const launch = regions.prepare(first)!;
  // Whoever looks at launches sees the storages.
  expect(new Set(launchStep(launch).storages)).toEqual(new Set([x, y, a, b, c].map(({ storage }) => storage)));
  const placed = regions.place(program)!;
  const [one, other] = launchesOf(placed);
  const [home] = homesIn(placed, program);
  expect(one.storages).toEqual([x.storage, y.storage, home]);
  expect(other.storages).toEqual([home, out.storage]);
  // Each begins at a multiple of 64 elements.
  expect(home.byteLength).toBe(4 * 3 * 128);
  const begins = (kernel: Kernel): unknown[] =>
    kernel.stores.map(({ offset }) => (offset.kind === 'binary' && offset.x.kind === 'param' ? offset.x.value : 0));
  expect(begins(one.launch.kernel!)).toEqual([0, 128, 256]);
});

test('what does not live at a time lies at one place of the buffer', () => {
  const [first, second, third] = [results(), results(), results()];
  const kernels = [sum([x, y], first), sum([...first, x], second), sum([...second, x], third), sum(third, [y])];
  const program = programOf(kernels.map(stepOf), [...first, ...second, ...third]);
  const regions = regionsOf(program, { ...limits, isWide: true });
  for (const kernel of kernels) expect(regions.prepare(kernel)).not.toBeNull();
  const placed = regions.place(program)!;
  const [home, ...others] = homesIn(placed, program);
  expect(others).toEqual([]);
  // Nine, of which six live at a time.
  expect(home.byteLength).toBe(4 * 6 * 128);
  expect(launchesOf(placed).map(({ storages }) => storages)).toEqual([
    [x.storage, y.storage, home],
    [home, x.storage],
    [home, x.storage],
    [home, y.storage],
  ]);
});

test('nothing shares a buffer that outlives the program, or that a launch without a kernel uses', () => {
  const [a, b, c] = results();
  const first = sum([x, y], [a, b, c]);
  const prepare = (launches: readonly LaunchStep[], scratch: readonly Tensor[], others: Partial<RegionLimits> = {}) =>
    regionsOf(programOf(launches, scratch), { ...limits, ...others }).prepare(first);
  expect(prepare([stepOf(first)], [a, b, c])).not.toBeNull();
  expect(prepare([stepOf(first)], [])).toBeNull();
  expect(prepare([stepOf(first)], [a, b, c], { isShared: false })).toBeNull();
  const opaque: LaunchStep = { ...stepOf(first), launch: { ...stepOf(first).launch, kernel: null } };
  expect(prepare([opaque], [a, b, c])).toBeNull();
  const combined = sum([x], [a]);
  const adds = { ...combined, stores: combined.stores.map((store) => ({ ...store, combine: 'sum' as const })) };
  // Two of three are too few.
  const wider = sum([x, y, made(100)], [a, b, c]);
  expect(regionsOf(programOf([stepOf(adds), stepOf(wider)], [a, b, c]), limits).prepare(wider)).toBeNull();
});

test('a program before and after', () => {
  const { program, textOf } = parseProgram(`program:
  @x: float32, 400 bytes, given
  @y: float32, 400 bytes, given
  @a: float32, 400 bytes, scratch
  @b: float32, 400 bytes, scratch
  @c: float32, 400 bytes, scratch
  @out: float32, 400 bytes, new
  launch three(i: 100)
    @a[i] = @x[i] * 2
    @b[i] = @y[i] * 2
    @c[i] = @x[i] * @y[i]
  launch sum(i: 100)
    @out[i] = @a[i] + @b[i] + @c[i]
`);
  const regions = regionsOf(program, limits);
  for (const { launch } of launchesOf(program)) expect(regions.prepare(launch.kernel!)).not.toBeNull();
  expect(textOf(regions.place(program)!)).toMatchInlineSnapshot(`
    "program:
      @x: float32, 400 bytes, given
      @y: float32, 400 bytes, given
      @out: float32, 400 bytes, new
      @0: float32, 1536 bytes, scratch
      launch three(i: 100)
        @0[i] = @x[i] * 2
        @0[128 + i] = @y[i] * 2
        @0[256 + i] = @x[i] * @y[i]
      launch sum(i: 100)
        @out[i] = (@0[i] + @0[128 + i]) + @0[256 + i]
    "
  `);
});
