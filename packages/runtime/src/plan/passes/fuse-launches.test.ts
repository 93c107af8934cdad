import type { Tensor } from '@cresset/tensor';
import { binary, constant, param, select, type AxisExpr, type Expr } from '@cresset/tensorexpr';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import type { LaunchStep } from '../program/launch-program.ts';
import { anyLaunches, expectSame } from './any-launches-fixture.ts';
import { fuseLaunches } from './fuse-launches.ts';
import {
  elementOf,
  labelsOf,
  launchesOf,
  made,
  nestOf,
  programOf,
  recorderOf,
  stepOf,
  storedBy,
} from './launches-fixture.ts';
import { parseProgram } from '../program/parse-program-fixture.ts';

const number = (value: number): Expr => constant('float', value);
const fuse = (
  launches: readonly LaunchStep[],
  scratch: readonly Tensor[],
  most?: number,
  faults?: Tensor[],
): LaunchStep[] => launchesOf(fuseLaunches(programOf(launches, scratch, faults), plainGpu, recorderOf(most)));

const times = (from: Tensor, to: Tensor, factor = 2): LaunchStep =>
  stepOf(nestOf('mul', [to], (axes) => [binary('mul', elementOf(from, axes), number(factor))]));
const sum = (a: Tensor, b: Tensor, to: Tensor): LaunchStep =>
  stepOf(nestOf('add', [to], (axes) => [binary('add', elementOf(a, axes), elementOf(b, axes))]));
const inPlace = (of: Tensor): LaunchStep => times(of, of, 3);

describe('launches become fewer', () => {
  const [x, y, a, b, c, out] = Array.from({ length: 6 }, () => made(8));

  it('where one reads what another makes for it alone', () => {
    const fused = fuse([times(x, a), sum(a, y, out)], [a]);
    expect(labelsOf(fused)).toEqual(['mul+add']);
    expect(storedBy(fused[0])).toEqual([out.storage]);
  });

  it('where they have nothing to do with each other', () => {
    expect(fuse([times(x, a), times(y, b)], [])).toHaveLength(1);
    expect(fuse([times(x, a), times(y, b)], [], 3)).toHaveLength(2);
  });

  it('where one goes over what another makes, of which somebody has need', () => {
    const fused = fuse([times(x, a), sum(a, y, out)], []);
    expect(fused.map(storedBy)).toEqual([[a.storage, out.storage]]);
  });

  it('where several of those note faults', () => {
    const notes = made(8);
    const noting = (from: Tensor, to: Tensor): LaunchStep => {
      const kernel = nestOf('gather', [to, notes], (axes) => [elementOf(from, axes), number(1)]);
      const [own, fault] = kernel.stores;
      return stepOf({ ...kernel, stores: [own, { ...fault, guard: binary('lt', kernel.axes[0], param('i32', 0)) }] });
    };
    const launches = [noting(x, a), noting(y, b), sum(a, x, c), sum(b, c, out)];
    expect(fuse(launches, [a, b, c], Infinity, [notes])).toHaveLength(1);
    // Of anything else the last one counts.
    expect(fuse(launches, [a, b, c]).length).toBeGreaterThan(1);
  });
});

describe('launches stay apart', () => {
  const [x, y, v, out] = Array.from({ length: 4 }, () => made(8));
  const mask = made(8);
  const chosen = (axes: readonly AxisExpr[]): Expr =>
    select(binary('gt', elementOf(mask, axes), number(0)), number(7), elementOf(v, axes));

  it('where one stores over what another makes, by a mask that this makes as well', () => {
    const making = stepOf(
      nestOf('mul+gt', [v, mask], (axes) => {
        const value = binary('mul', elementOf(x, axes), elementOf(y, axes));
        return [value, select(binary('gt', value, number(0.3)), number(1), number(0))];
      }),
    );
    const masking = stepOf(nestOf('index_put', [v], (axes) => [chosen(axes)]));
    const launches = [making, masking, times(v, out)];
    for (const temporary of [[mask], [mask, v], []]) {
      const fused = fuse(launches, temporary);
      expectSame(fused, launches, [x, y, v, mask, out], temporary);
    }
  });

  it('where what was read is changed in between, or by the reader itself', () => {
    const first = times(x, v);
    const backwards = stepOf(nestOf('flip', [out], (axes) => [elementOf(v, axes, true)]));
    const launches = [first, inPlace(x), backwards];
    expectSame(fuse(launches, [v]), launches, [x, v, out], [v]);
    const overRead = stepOf(nestOf('flip', [x], (axes) => [elementOf(v, axes, true)]));
    expect(fuse([first, overRead], [v])).toHaveLength(2);
  });

  it('where what is left out is changed and read again', () => {
    const last = made(8);
    const both = stepOf(
      nestOf('both', [v, out], (axes) => [binary('mul', elementOf(x, axes), number(2)), elementOf(x, axes)]),
    );
    const launches = [both, sum(v, out, y), inPlace(v), times(v, last)];
    expectSame(fuse(launches, [v, out]), launches, [x, y, v, out, last], [v, out]);
  });

  it('where what makes a value stores over what it made it of', () => {
    // The old `v` is read backwards, after the launch that counts it up.
    const counting = stepOf(
      nestOf('count', [mask, v], (axes) => {
        const old = elementOf(v, axes);
        return [binary('mul', old, number(2)), binary('add', old, number(1))];
      }),
    );
    const reading = stepOf(nestOf('flip', [out], (axes) => [elementOf(mask, axes, true)]));
    expect(fuse([counting, reading], [mask])).toHaveLength(2);
  });
});

describe('any launches of nests', () => {
  it('come to the same when they are fewer', () => {
    fc.assert(
      fc.property(anyLaunches, ({ launches, tensors, temporary }) => {
        const fused = fuse(launches, temporary);
        expectSame(fused, launches, tensors, temporary);
      }),
      { numRuns: 3000 },
    );
  });
});

it('goes by what pays at sizes that are much larger too, where they may be', () => {
  const launchesAt = (n: string, sizes: readonly number[]): number => {
    const { program } = parseProgram(
      `program:
  @x: float32, 40000 bytes, given
  @m: float32, 400 bytes, scratch
  @out: float32, 40000 bytes, new
  launch sum(i: ${n})
    @m[i] = sum[k: ${n}](@x[i * ${n} + k])
  launch sub(i: ${n}, j: ${n})
    @out[i * ${n} + j] = @x[i * ${n} + j] - @m[i]
`,
      sizes,
    );
    return launchesOf(fuseLaunches(program, plainGpu, recorderOf())).length;
  };
  expect([launchesAt('100', []), launchesAt('s0', [100]), launchesAt('s0', [4])]).toEqual([1, 2, 1]);
});

it('makes of a program another one', () => {
  const { program, textOf } = parseProgram(`program:
  @x: float32, 512 bytes, given
  @w: float32, 256 bytes, given
  @m: float32, 64 bytes, scratch
  @a: float32, 512 bytes, scratch
  @b: float32, 512 bytes, scratch
  @out: float32, 512 bytes, new
  launch mean(i: 16)
    @m[i] = sum[k: 8](@x[i * 8 + k]) / 8
  launch sub(i: 16; j: 8)
    @a[i * 8 + j] = @x[i * 8 + j] - @m[i]
  launch linear(m: 16, n: 8; k: 8)
    sum += @a[m * 8 + k] * @w[n * 8 + k]
    @b[m * 8 + n] = sum
  launch relu(i: 16, j: 8)
    @out[i * 8 + j] = max(@b[i * 8 + j], 0)
`);
  expect(textOf(fuseLaunches(program, plainGpu, recorderOf()))).toMatchInlineSnapshot(`
    "program:
      @x: float32, 512 bytes, given
      @w: float32, 256 bytes, given
      @out: float32, 512 bytes, new
      launch mean+sub+linear+relu(i: 16, j: 8; k: 8)
        sum += (@x[i * 8 + k] - (sum[l: 8](@x[i * 8 + l]) / 8)) * @w[j * 8 + k]
        @out[i * 8 + j] = max(sum, 0)
    "
  `);
});
