import type { Storage, Tensor } from '@cresset/tensor';
import { axis, binary, constant, param, reduce, select, type Expr } from '@cresset/tensorexpr';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { LaunchStep } from '../program/launch-program.ts';
import { elementOf, loadedBy, made, nestOf, stepOf, run, type Contents } from './launches-fixture.ts';

/** Launches of any nests over a few tensors, which is what no pass may change the outcome of. */

const number = (value: number): Expr => constant('float', value);

/** Whether launches leave the same in tensors, but for those that nobody reads. */
export function expectSame(
  fused: readonly LaunchStep[],
  launches: readonly LaunchStep[],
  tensors: readonly Tensor[],
  ignored: readonly Tensor[],
): void {
  expect(outcome(fused, tensors, ignored)).toEqual(outcome(launches, tensors, ignored));
}

/** What tensors hold after launches, but for those that nobody reads; their points in one order and in the other. */
export function outcome(
  launches: readonly LaunchStep[],
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
    run(launches, contents, orderOf);
    return tensors
      .filter((tensor) => !ignored.includes(tensor))
      .map(({ storage }) => Array.from(contents.get(storage)!));
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
function launchOf({ kind, a, b, to, other }: AnyLaunch, tensors: readonly Tensor[]): LaunchStep | null {
  const [from, second, out, beside] = [a, b, to, other].map((at) => tensors[at]);
  const element = (of: Tensor, axes: readonly Expr[]): Expr => elementOf(of, axes);
  switch (kind) {
    case 'fill':
      return stepOf(nestOf('fill', [out], () => [number(a)]));
    case 'copy':
      return stepOf(nestOf('copy', [out], (axes) => [element(from, axes)]));
    case 'add':
      return stepOf(nestOf('add', [out], (axes) => [binary('add', element(from, axes), element(second, axes))]));
    case 'in place':
      return stepOf(nestOf('mul_', [out], (axes) => [binary('mul', element(out, axes), element(from, axes))]));
    case 'masked':
      return stepOf(
        nestOf('mask', [out], (axes) => [
          select(binary('gt', element(from, axes), number(0)), element(second, axes), element(out, axes)),
        ]),
      );
    case 'two':
      if (out === beside) return null;
      return stepOf(
        nestOf('two', [out, beside], (axes) => [
          binary('sub', element(from, axes), element(second, axes)),
          binary('mul', element(from, axes), number(0.5)),
        ]),
      );
    case 'mean': {
      if (from === out) return null;
      const along = axis('r', param('i32', 4));
      const mean = binary('div', reduce('sum', [along], element(from, [along])), number(4));
      return stepOf(nestOf('mean', [out], (axes) => [binary('sub', element(second, axes), mean)]));
    }
    case 'backwards':
      return from === out ? null : stepOf(nestOf('flip', [out], (axes) => [elementOf(from, axes, true)]));
    case 'guarded':
      return stepOf(
        nestOf(
          'guarded',
          [out],
          (axes) => [element(from, axes)],
          (axes) => binary('gt', element(second, axes), number(0)),
        ),
      );
    case 'part': {
      const [part, source] = [out, from].map((tensor) => tensor.asStrided([2], [1], other % 3));
      return stepOf(nestOf('part', [part], (axes) => [from === out ? number(b) : element(source, axes)]));
    }
  }
}

/** Launches, the tensors that they are over, and those of these that are temporary. */
export interface AnyLaunches {
  readonly launches: readonly LaunchStep[];
  readonly tensors: readonly Tensor[];
  readonly temporary: readonly Tensor[];
}

export const anyLaunches: fc.Arbitrary<AnyLaunches> = fc
  .tuple(fc.array(anyLaunch, { minLength: 2, maxLength: 9 }), fc.nat(63))
  .map(([described, kept]) => {
    const tensors = Array.from({ length: 6 }, () => made(4));
    const launches = described.flatMap((each) => launchOf(each, tensors) ?? []);
    // What is made for a recording alone is stored before anything reads it.
    const isMadeFirst = ({ storage }: Tensor): boolean => {
      const user = launches.find(({ storages }) => storages.includes(storage));
      return user !== undefined && storesAll(user, storage);
    };
    return {
      launches,
      tensors,
      temporary: tensors.filter((each, at) => (kept & (1 << at)) === 0 && isMadeFirst(each)),
    };
  });

/** Whether a launch stores all elements of a storage, and reads none. */
function storesAll(user: LaunchStep, storage: Storage): boolean {
  const stores = user.launch.kernel!.stores.filter(({ operand }) => operand.tensor.storage === storage);
  const isWhole = stores.some(({ guard, operand }) => !guard && operand.tensor.numel === 4);
  return isWhole && !loadedBy(user.launch.kernel!).has(storage);
}
