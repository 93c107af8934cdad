import type { Storage, Tensor } from '@cresset/tensor';
import { axis, binary, constant, param, reduce, select, type AxisExpr, type Expr } from '@cresset/tensorexpr';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import type { LaunchNote } from '../recording/recording-notes.ts';
import { fuseLaunches, type RecordedMemory } from './fused-launches.ts';
import {
  elementOf,
  labelsOf,
  made,
  memoryOf,
  nestOf,
  note,
  recorderOf,
  run,
  storedBy,
  type Contents,
} from './launches-fixture.ts';

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

/** Whether launches leave the same in tensors, but for those that nobody reads. */
function expectSame(
  fused: readonly LaunchNote[],
  launches: readonly LaunchNote[],
  tensors: readonly Tensor[],
  ignored: readonly Tensor[],
): void {
  expect(outcome(fused, tensors, ignored)).toEqual(outcome(launches, tensors, ignored));
}

/** What tensors hold after launches, but for those that nobody reads; their points in one order and in the other. */
function outcome(
  notes: readonly LaunchNote[],
  tensors: readonly Tensor[],
  ignored: readonly Tensor[] = [],
): number[][] {
  const ways = [(points: number) => [...Array(points).keys()], (points: number) => [...Array(points).keys()].reverse()];
  const [first, second] = ways.map((orderOf) => {
    const contents: Contents = new Map(
      tensors.map(({ storage, numel }, at) => [
        storage,
        Array.from({ length: numel }, (_, place) => ((3 * at + 5 * place) % 7) - 3),
      ]),
    );
    run(notes, contents, orderOf);
    return tensors.filter((tensor) => !ignored.includes(tensor)).map(({ storage }) => contents.get(storage)!);
  });
  expect(second).toEqual(first);
  return first;
}

/** A launch of a random program: numbers choose the tensors. */
const anyLaunch = fc.record({
  kind: fc.constantFrom(
    ...(['fill', 'copy', 'add', 'in place', 'masked', 'two', 'mean', 'backwards', 'guarded', 'part'] as const),
  ),
  a: fc.nat(5),
  b: fc.nat(5),
  to: fc.nat(5),
  other: fc.nat(5),
});

type AnyLaunch = typeof anyLaunch extends fc.Arbitrary<infer Launch> ? Launch : never;

/** Null for one that would read other elements of what it stores to, which no operator launches. */
function launchOf({ kind, a, b, to, other }: AnyLaunch, tensors: readonly Tensor[]): LaunchNote | null {
  const [from, second, out, beside] = [a, b, to, other].map((at) => tensors[at]);
  const element = (of: Tensor, axes: readonly Expr[]): Expr => elementOf(of, axes);
  switch (kind) {
    case 'fill':
      return note(nestOf('fill', [out], () => [number(a)]));
    case 'copy':
      return note(nestOf('copy', [out], (axes) => [element(from, axes)]));
    case 'add':
      return note(nestOf('add', [out], (axes) => [binary('add', element(from, axes), element(second, axes))]));
    case 'in place':
      return note(nestOf('mul_', [out], (axes) => [binary('mul', element(out, axes), element(from, axes))]));
    case 'masked':
      return note(
        nestOf('mask', [out], (axes) => [
          select(binary('gt', element(from, axes), number(0)), element(second, axes), element(out, axes)),
        ]),
      );
    case 'two':
      if (out === beside) return null;
      return note(
        nestOf('two', [out, beside], (axes) => [
          binary('sub', element(from, axes), element(second, axes)),
          binary('mul', element(from, axes), number(0.5)),
        ]),
      );
    case 'mean': {
      if (from === out) return null;
      const along = axis('r', param('i32', 4));
      const mean = binary('div', reduce('sum', [along], element(from, [along])), number(4));
      return note(nestOf('mean', [out], (axes) => [binary('sub', element(second, axes), mean)]));
    }
    case 'backwards':
      return from === out ? null : note(nestOf('flip', [out], (axes) => [elementOf(from, axes, true)]));
    case 'guarded':
      return note(
        nestOf(
          'guarded',
          [out],
          (axes) => [element(from, axes)],
          (axes) => binary('gt', element(second, axes), number(0)),
        ),
      );
    case 'part': {
      const [part, source] = [out, from].map((tensor) => tensor.asStrided([2], [1], other % 3));
      return note(nestOf('part', [part], (axes) => [from === out ? number(b) : element(source, axes)]));
    }
  }
}

describe('any launches of nests', () => {
  it('come to the same when they are fewer', () => {
    fc.assert(
      fc.property(fc.array(anyLaunch, { minLength: 2, maxLength: 9 }), fc.nat(63), (described, kept) => {
        const tensors = Array.from({ length: 6 }, () => made(4));
        const notes = described.flatMap((each) => launchOf(each, tensors) ?? []);
        // What is stored first is what was made for the recording: nothing was there before.
        const isFirstStored = ({ storage }: Tensor): boolean => {
          const user = notes.find(({ storages }) => storages.includes(storage));
          return user !== undefined && wholly(user, storage);
        };
        const temporary = tensors.filter((tensor, at) => (kept & (1 << at)) === 0 && isFirstStored(tensor));
        const fused = fuse(notes, memoryOf(temporary));
        expectSame(fused, notes, tensors, temporary);
      }),
      { numRuns: 3000 },
    );
  });
});

/** Whether a launch stores all elements of a storage, which it does not read. */
function wholly({ launch, storages }: LaunchNote, storage: Storage): boolean {
  const kernel = launch.kernel!;
  const stores = kernel.stores.filter(({ operand }) => operand.tensor.storage === storage);
  const isLoaded = new Set(storages.filter((_, binding) => !launch.bindings[binding].stored)).has(storage);
  return !isLoaded && stores.some(({ guard, operand }) => !guard && operand.tensor.numel === 4);
}
