import type { Tensor } from '@cresset/tensor';
import { axis, binary, constant, param, reduce } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { stepsOf, type LaunchProgram, type LaunchStep } from '../program/launch-program.ts';
import { KeptParameters } from './keep-parameters.ts';
import { elementOf, launchesOf, loadedBy, made, nestOf, programOf, recorderOf, stepOf } from './launches-fixture.ts';
import { parseProgram } from '../program/parse-program-fixture.ts';
import { fuseLaunches } from './fuse-launches.ts';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';

const doubled = (from: Tensor, to: Tensor): LaunchStep =>
  stepOf(nestOf('mul', [to], (axes) => [binary('mul', elementOf(from, axes), constant('float', 2))]));

const [w, x, a, b, out] = Array.from({ length: 5 }, () => made(8));

/** A program in which `w` is a parameter. */
function withParameter(launches: readonly LaunchStep[], scratch: readonly Tensor[] = [a, b]): LaunchProgram {
  const program = programOf(launches, scratch);
  const storages = new Map(program.storages);
  storages.set(w.storage, { kind: 'fixed', dtype: 'float32', layout: 'float32', isParameter: true });
  return { ...program, storages };
}
const keptOf = (program: LaunchProgram, room = 1 << 20): KeptParameters =>
  new KeptParameters(program, room, recorderOf());
const left = (launches: readonly LaunchStep[], scratch?: readonly Tensor[], room?: number): LaunchStep[] =>
  launchesOf(keptOf(withParameter(launches, scratch), room).leaveOut());

test('what is made of parameters alone is left out, and what is made of that', () => {
  const launches = [doubled(w, a), doubled(a, b), doubled(x, out), doubled(b, out)];
  const kept = keptOf(withParameter(launches));
  const program = kept.leaveOut();
  expect(launchesOf(program)).toEqual(launches.slice(2));
  expect(stepsOf(kept.addTo(program), 'keep').map(({ storage }) => storage)).toEqual([a.storage, b.storage]);
});

test('only what a launch uses after all is kept', () => {
  const kept = keptOf(withParameter([doubled(w, a), doubled(x, out)]));
  const program = kept.addTo(kept.leaveOut());
  expect([stepsOf(program, 'keep'), program.storages.has(a.storage)]).toEqual([[], false]);
});

test.each([
  ['outlives the recording', [doubled(w, out)]],
  ['is made of something else too', [doubled(x, a)]],
  ['is stored to once more', [doubled(w, a), doubled(x, a)]],
  ['is made of a parameter that is stored to', [doubled(w, a), doubled(a, w)]],
  ['is made of one that is stored to before', [doubled(x, w), doubled(w, a)]],
])('a launch stays where what it makes %s', (_, launches) => {
  expect(left(launches)).toEqual(launches);
});

test('a launch stays where what it makes takes more memory than what it is made of, or than there is room for', () => {
  const spread = [stepOf(nestOf('repeat', [a], ([place]) => [elementOf(w.asStrided([4], [1]), [halved(place)])]))];
  expect(left(spread, [a])).toEqual([]);
  const wide = made(16);
  const larger = [stepOf(nestOf('repeat', [wide], ([place]) => [elementOf(w, [halved(place)])]))];
  expect(left(larger, [wide])).toEqual(larger);
  const launches = [doubled(w, a)];
  expect(left(launches, [a], 31)).toEqual(launches);
});

const halved = (place: Parameters<typeof elementOf>[1][number]) => binary('truncdiv', place, param('i32', 2));

test('a kernel is left with what it has to work out each time', () => {
  const rows = made(64, 8);
  const along = axis('r', param('i32', 8));
  const kernel = nestOf('scale', [rows], ([row, column]) => {
    const total = reduce('sum', [along], binary('mul', elementOf(w, [along]), elementOf(w, [along])));
    return [binary('mul', elementOf(rows, [row, column]), binary('div', elementOf(w, [column]), total))];
  });
  const kept = keptOf(withParameter([stepOf(kernel)]));
  expect(loadedBy(kept.lighten(kernel)).has(w.storage)).toBe(false);
  // A parameter that a launch stores to is none.
  const written = keptOf(withParameter([stepOf(kernel), doubled(x, w)]));
  expect(written.lighten(kernel)).toBe(kernel);
});

test('a program before and after', () => {
  const { program, textOf } = parseProgram(`program:
  @w: float32, 32 bytes, fixed parameter
  @v: float32, 32 bytes, given parameter
  @x: float32, 256 bytes, given
  @a: float32, 32 bytes, scratch
  @b: float32, 256 bytes, scratch
  @out: float32, 256 bytes, new
  launch exp(i: 8)
    @a[i] = exp(@w[i])
  launch mul(i: 8, j: 8)
    @b[i * 8 + j] = @x[i * 8 + j] * @a[j]
  launch div(i: 8, j: 8)
    @out[i * 8 + j] = @b[i * 8 + j] / sqrt(@v[j] + 0.5)
`);
  const kept = keptOf(program);
  const left = kept.leaveOut();
  expect(textOf(left)).toMatchInlineSnapshot(`
    "program:
      @v: float32, 32 bytes, given parameter
      @x: float32, 256 bytes, given
      @a: float32, 32 bytes, kept
      @b: float32, 256 bytes, scratch
      @out: float32, 256 bytes, new
      launch mul(i: 8, j: 8)
        @b[i * 8 + j] = @x[i * 8 + j] * @a[j]
      launch div(i: 8, j: 8)
        @out[i * 8 + j] = @b[i * 8 + j] / sqrt(@v[j] + 0.5)
    "
  `);
  const fused = fuseLaunches(left, plainGpu, recorderOf(), (kernel) => kept.lighten(kernel));
  expect(textOf(kept.addTo(fused))).toMatchInlineSnapshot(`
    "program:
      @w: float32, 32 bytes, fixed parameter
      @v: float32, 32 bytes, given parameter
      @x: float32, 256 bytes, given
      @a: float32, 32 bytes, kept
      @out: float32, 256 bytes, new
      @0: float32, 32 bytes, kept
      keep exp(i: 8)
        @a[i] = exp(@w[i])
      keep mul+div of parameters(i: 8)
        @0[i] = sqrt(@v[i] + 0.5)
      launch mul+div(i: 8, j: 8)
        @out[i * 8 + j] = (@x[i * 8 + j] * @a[j]) / @0[j]
    "
  `);
});
