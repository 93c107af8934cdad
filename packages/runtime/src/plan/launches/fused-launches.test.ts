import type { Tensor } from '@cresset/tensor';
import { binary, constant, param, select, type AxisExpr, type Expr } from '@cresset/tensorexpr';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import type { LaunchNote } from '../recording/recording-notes.ts';
import { anyLaunches, expectSame } from './any-launches-fixture.ts';
import { fuseLaunches, type RecordedMemory } from './fused-launches.ts';
import { elementOf, labelsOf, made, memoryOf, nestOf, note, recorderOf, storedBy } from './launches-fixture.ts';

const number = (value: number): Expr => constant('float', value);
const asItIs = <Kernel>(kernel: Kernel): Kernel => kernel;
const fuse = (notes: readonly LaunchNote[], memory: RecordedMemory, most?: number): LaunchNote[] =>
  fuseLaunches(notes, memory, plainGpu, recorderOf(most), asItIs);

const times = (from: Tensor, to: Tensor, factor = 2): LaunchNote =>
  note(nestOf('mul', [to], (axes) => [binary('mul', elementOf(from, axes), number(factor))]));
const sum = (a: Tensor, b: Tensor, to: Tensor): LaunchNote =>
  note(nestOf('add', [to], (axes) => [binary('add', elementOf(a, axes), elementOf(b, axes))]));
const inPlace = (of: Tensor): LaunchNote => times(of, of, 3);

describe('launches become fewer', () => {
  const [x, y, a, b, c, out] = Array.from({ length: 6 }, () => made(8));

  it('where one reads what another makes for it alone', () => {
    const fused = fuse([times(x, a), sum(a, y, out)], memoryOf([a]));
    expect(labelsOf(fused)).toEqual(['mul+add']);
    expect(storedBy(fused[0])).toEqual([out.storage]);
  });

  it('where they have nothing to do with each other', () => {
    expect(fuse([times(x, a), times(y, b)], memoryOf([]))).toHaveLength(1);
    expect(fuse([times(x, a), times(y, b)], memoryOf([]), 3)).toHaveLength(2);
  });

  it('where one goes over what another makes, of which somebody has need', () => {
    const fused = fuse([times(x, a), sum(a, y, out)], memoryOf([]));
    expect(fused.map(storedBy)).toEqual([[a.storage, out.storage]]);
  });

  it('where several of those note faults', () => {
    const notes = made(8);
    const noting = (from: Tensor, to: Tensor): LaunchNote => {
      const kernel = nestOf('gather', [to, notes], (axes) => [elementOf(from, axes), number(1)]);
      const [own, fault] = kernel.stores;
      return note({ ...kernel, stores: [own, { ...fault, guard: binary('lt', kernel.axes[0], param('i32', 0)) }] });
    };
    const launches = [noting(x, a), noting(y, b), sum(a, x, c), sum(b, c, out)];
    expect(fuse(launches, memoryOf([a, b, c], [notes]))).toHaveLength(1);
    // Of anything else the last one counts.
    expect(fuse(launches, memoryOf([a, b, c])).length).toBeGreaterThan(1);
  });
});

describe('launches stay apart', () => {
  const [x, y, v, out] = Array.from({ length: 4 }, () => made(8));
  const mask = made(8);
  const chosen = (axes: readonly AxisExpr[]): Expr =>
    select(binary('gt', elementOf(mask, axes), number(0)), number(7), elementOf(v, axes));

  it('where one stores over what another makes, by a mask that this makes as well', () => {
    const making = note(
      nestOf('mul+gt', [v, mask], (axes) => {
        const value = binary('mul', elementOf(x, axes), elementOf(y, axes));
        return [value, select(binary('gt', value, number(0.3)), number(1), number(0))];
      }),
    );
    const masking = note(nestOf('index_put', [v], (axes) => [chosen(axes)]));
    const launches = [making, masking, times(v, out)];
    for (const temporary of [[mask], [mask, v], []]) {
      const fused = fuse(launches, memoryOf(temporary));
      expectSame(fused, launches, [x, y, v, mask, out], temporary);
    }
  });

  it('where what was read is changed in between, or by the reader itself', () => {
    const first = times(x, v);
    const backwards = note(nestOf('flip', [out], (axes) => [elementOf(v, axes, true)]));
    const launches = [first, inPlace(x), backwards];
    expectSame(fuse(launches, memoryOf([v])), launches, [x, v, out], [v]);
    const overRead = note(nestOf('flip', [x], (axes) => [elementOf(v, axes, true)]));
    expect(fuse([first, overRead], memoryOf([v]))).toHaveLength(2);
  });

  it('where what is left out is changed and read again', () => {
    const last = made(8);
    const both = note(
      nestOf('both', [v, out], (axes) => [binary('mul', elementOf(x, axes), number(2)), elementOf(x, axes)]),
    );
    const launches = [both, sum(v, out, y), inPlace(v), times(v, last)];
    expectSame(fuse(launches, memoryOf([v, out])), launches, [x, y, v, out, last], [v, out]);
  });

  it('where what makes a value stores over what it made it of', () => {
    // The old `v` is read backwards, after the launch that counts it up.
    const counting = note(
      nestOf('count', [mask, v], (axes) => {
        const old = elementOf(v, axes);
        return [binary('mul', old, number(2)), binary('add', old, number(1))];
      }),
    );
    const reading = note(nestOf('flip', [out], (axes) => [elementOf(mask, axes, true)]));
    expect(fuse([counting, reading], memoryOf([mask]))).toHaveLength(2);
  });
});

describe('any launches of nests', () => {
  it('come to the same when they are fewer', () => {
    fc.assert(
      fc.property(anyLaunches, ({ notes, tensors, temporary }) => {
        const fused = fuse(notes, memoryOf(temporary));
        expectSame(fused, notes, tensors, temporary);
      }),
      { numRuns: 3000 },
    );
  });
});
