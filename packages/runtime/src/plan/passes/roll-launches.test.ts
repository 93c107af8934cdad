import type { Storage, Tensor } from '@cresset/tensor';
import { expect, test } from 'vitest';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import { parseProgram } from '../program/parse-program-fixture.ts';
import { recorderOf } from './launches-fixture.ts';
import { rollLaunches } from './roll-launches.ts';

test('a program of one trip before, and of all trips after', () => {
  const { program, names, textOf } = parseProgram(`program:
  @h: float32, 32 bytes, given
  @next: float32, 32 bytes, new
  @y: float32, 32 bytes, new
  launch mul(i: 8)
    @next[i] = @h[i] * 0.5 + 1
  launch exp(i: 8)
    @y[i] = exp(@next[i])
`);
  const [h, next, y] = [...names.keys()];
  const trip = {
    carried: new Map([[h, next]]),
    ofAll: new Set([y]),
    ofLast: new Set([next]),
    strideOf: () => null,
    startOf: <Param>(param: Param): Param => param,
  };
  const { program: rolled, all, last } = rollLaunches(program, trip, 5, plainGpu, recorderOf())!;
  expect(textOf(rolled)).toMatchInlineSnapshot(`
    "program:
      @h: float32, 32 bytes, given
      @0: float32, 32 bytes, new
      @1: float32, 160 bytes, new
      launch mul+exp(i: 8; ; j: 5)
        @0[i] = select(j == 0, @h[i], @0[i]) * 0.5 + 1
        @1[i + j * 8] = exp(select(j == 0, @h[i], @0[i]) * 0.5 + 1)
    "
  `);
  const elements = (tensors: ReadonlyMap<Storage, Tensor>): number[] => [...tensors.values()].map(({ numel }) => numel);
  expect([elements(all), elements(last)]).toEqual([[40], [8]]);
});
