import { Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import type { ProgramCase } from '../cases/case.ts';
import { checkGradients } from './gradient-check.ts';
import type { Program } from '../cases/program.ts';

const bytes = (values: readonly number[]): string => Buffer.from(Float32Array.from(values).buffer).toString('base64');

const one = (...values: number[]): ProgramCase => ({
  id: 'x',
  suite: 'op/x',
  calls: [{ inputs: [{ tensor: { dtype: 'float32', shape: [values.length], data: bytes(values) } }], output: null }],
});

const elements = (tensor: unknown): Float64Array => (tensor as Tensor).contiguousArray() as Float64Array;

/** A function of elements, and what is said to be its slope. */
function program(value: (x: number) => number, slope: ((x: number) => number) | null): Program {
  const made = (array: Float64Array): Tensor => Tensor.fromArray(array, [array.length], 'float64');
  const fake: Pick<Program, 'call' | 'weightedGradients'> = {
    call: (_entry, [x]) => Promise.resolve(made(elements(x).map(value))),
    weightedGradients: (_entry, _inputs, _kwargs, [x], weightsOf) => {
      const weights = weightsOf(0, x) as Float64Array;
      const gradient = slope && made(elements(x).map((each, at) => slope(each) * weights[at]));
      return Promise.resolve({ output: x, required: [slope !== null], gradients: [gradient] });
    },
  };
  return fake as Program;
}

const check = (given: Program, ...values: number[]): ReturnType<typeof checkGradients> =>
  checkGradients(given, one(...values), () => Promise.reject(new Error('no files')));

describe('a gradient check', () => {
  it('passes the slope and nothing else', async () => {
    const square = (x: number): number => x * x;
    expect(
      await check(
        program(square, (x) => 2 * x),
        1,
        -2,
        0.5,
      ),
    ).toEqual({ difference: null });
    expect(
      await check(
        program(square, (x) => x),
        1,
        -2,
        0.5,
      ),
    ).toEqual({
      difference: 'gradient 0: wrong along a direction',
    });
  });

  it('says nothing of a bend, of what has no derivative and of what is random', async () => {
    expect(await check(program(Math.abs, Math.sign), 0, 1)).toEqual({ unchecked: 'no slope there' });
    expect(await check(program(Math.floor, null), 0.5, 1.5)).toEqual({ unchecked: 'no result has a derivative' });
    let calls = 0;
    expect(
      await check(
        program(
          (x) => x + ++calls,
          () => 1,
        ),
        1,
        2,
      ),
    ).toEqual({ unchecked: 'random' });
  });
});
