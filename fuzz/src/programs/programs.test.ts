import { fileURLToPath } from 'node:url';
import { initializeRuntime, registerAllParts } from '@cresset/runtime';
import type { Kernel } from '@cresset/tensorexpr';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, describe, expect, it } from 'vitest';
import { difference, distance, firstDifference } from './comparison.ts';
import { plain, run, Subject, type Outcome, type Way } from './execution.ts';
import { growProgram } from './growth.ts';
import { randomTensor } from './inputs.ts';
import type { Program } from './program.ts';
import { PyTorch } from './pytorch.ts';
import { reduce } from './reduction.ts';
import { judge } from './trial.ts';

beforeAll(() => {
  initializeRuntime();
  registerAllParts();
});

/** A device that leaves negations out. */
class ForgetfulDevice extends WasmDevice {
  override launch(kernel: Kernel): void {
    if (!kernel.label.includes('neg')) super.launch(kernel);
  }
}

const way = (device: WasmDevice): Way => ({ options: { enabled: true }, context: { device } });

const program: Program = {
  seed: 1,
  dtype: 'float32',
  stateSizes: [2000],
  isAliased: false,
  isDifferentiated: false,
  statements: [
    ['v1 = x * 2'],
    ['v1[v1 > 0.3] = 0.7'],
    ['if n > 2:', '    v1.add_(1)'],
    ['v2 = torch.relu(y)'],
    ['self.s.neg_()'],
  ],
  results: ['v1', 'v2'],
  calls: [1, 1, 2, 3, 4].map((seed) => ({ sizes: seed === 3 ? [5] : [2000], seed, n: seed })),
};

describe('random programs', () => {
  it('are the same for a seed, run as they are written, and differ from seed to seed', async () => {
    const [once, again, other] = [await growProgram(7), await growProgram(7), await growProgram(8)];
    expect(again).toEqual(once);
    expect(other).not.toEqual(once);
    const [first] = await run(once, plain);
    expect('values' in first).toBe(true);
    expect(once.statements.length).toBeGreaterThan(1);
    const { calls } = await growProgram(7, { calls: 100 });
    expect(calls.length).toBe(100);
    expect(calls.slice(0, 8)).toEqual(once.calls);
  });

  it('come to the same on a device', async () => {
    expect(await judge(program, way(new WasmDevice()))).toEqual({ kind: 'same' });
  });

  it('come to the same where they are saved and loaded first', async () => {
    expect(await judge(program, { ...way(new WasmDevice()), isSaved: true })).toEqual({ kind: 'same' });
  });

  it('show a file that says something else', async () => {
    const changed = { ...program, statements: [...program.statements, ['v2.add_(1)']] };
    const other = await Subject.load(await (await Subject.make(changed, plain)).save(), plain);
    const [wanted] = await run(program, plain);
    expect(difference(await other.call(program, program.calls[0]), wanted)).toContain('result 1: ');
  });

  it('have gradients, of what is written in place too, and state that is cut off after each call', async () => {
    const differentiated: Program = {
      ...program,
      isDifferentiated: true,
      dtype: 'float64',
      isAliased: true,
      statements: [['x.mul_(2)'], ['l[0].mul_(y)'], ['self.s = x * 1'], ['self.kept.append(self.s)']],
      results: ['x', 'self.kept[0]'],
    };
    const outcomes = await run(differentiated, plain);
    const weights = randomTensor([2000], 'float64', program.calls[0].seed * 8).contiguousArray();
    expect(outcomes.length).toBe(5);
    const [{ values }] = outcomes as { readonly values: ReadonlyMap<string, { readonly elements: Float64Array }> }[];
    expect(values.get('gradient 0')!.elements).toEqual(Float64Array.from(weights as Float64Array, (each) => each * 2));
    expect(values.get('gradient 1')).toBe('none');
    expect(await judge({ ...differentiated, dtype: 'float32' }, way(new WasmDevice()))).toEqual({ kind: 'same' });
    const subtracted = { ...differentiated, isAliased: false, statements: [], results: ['x - y'] };
    expect(await judge(subtracted, way(new ForgetfulDevice()))).toMatchObject({
      kind: 'wrong',
      call: 0,
      what: expect.stringMatching(/^gradient 1: /),
    });
  });

  it('are grown with gradients where all of them are floats', async () => {
    const grown = await growProgram(7, { isDifferentiated: true });
    expect(grown).toMatchObject({ isDifferentiated: true, dtype: expect.stringMatching(/^float/) });
    const [first] = await run(grown, plain);
    expect('values' in first && first.values.has('gradient 0')).toBe(true);
  });

  it.skipIf(!process.env.PYTHON)(
    'come to what PyTorch says, of the file that it saves',
    async () => {
      const script = fileURLToPath(new URL('pytorch.py', import.meta.url));
      const pytorch = new PyTorch({ python: process.env.PYTHON!, script });
      try {
        const saved = { ...way(new WasmDevice()), isSaved: true, pytorch };
        expect(await judge(program, saved)).toEqual({ kind: 'same' });
        const answer = (await pytorch.take(program)) as { readonly outcomes: readonly Outcome[] };
        expect(firstDifference(await run(program, plain), answer.outcomes)).toBe(null);
        const other = await run({ ...program, statements: [...program.statements, ['y.add_(1)']] }, plain);
        expect(firstDifference(other, answer.outcomes)).toMatchObject({ call: 0, what: expect.stringMatching(/^y: /) });
        expect(await judge(program, { ...saved, ...way(new ForgetfulDevice()) })).toMatchObject({ kind: 'wrong' });
        // What the module keeps is moved as well, where it is asked whether a program hangs on rounding.
        const steep = {
          ...program,
          statements: [['y.neg_()'], ['self.s.mul_(1e9)'], ['self.s.sin_()']],
          results: ['n'],
        };
        expect(await judge(steep, { ...saved, ...way(new ForgetfulDevice()) })).toEqual({ kind: 'ill-conditioned' });
        expect(await pytorch.take({ ...program, results: ['nothing'] })).toMatchObject({
          refused: expect.stringContaining('undefined value nothing'),
        });
        // What an operator comes to that reads elsewhere in what it writes is PyTorch's to say, and it says nothing.
        const overlapping = async (statement: string): Promise<unknown> => {
          const watched = await pytorch.take({ ...program, statements: [[statement]], results: ['y'] }, 0, true);
          return watched && 'file' in watched && watched.overlaps;
        };
        expect(await overlapping('y.add_(y[..., 0:1])')).toBe(true);
        expect(await overlapping('y.add_(y[..., 0:1].clone())')).toBe(false);
        expect(await overlapping('y.mul_(y)')).toBe(false);
        // Of a program that ends PyTorch's process nothing is known there, and the next one is taken all the same.
        const fatal = { ...program, statements: [['v1 = x', 'v2 = y', 'v1[0] = n % (n - n)']] };
        expect(await pytorch.take(fatal)).toBe(null);
        expect(await judge(fatal, saved)).toEqual({ kind: 'same' });
        expect(await judge(program, saved)).toEqual({ kind: 'same' });
      } finally {
        pytorch.close();
      }
    },
    120_000,
  );

  it('show a device that is wrong, down to the statement and the call', async () => {
    const forgetful = way(new ForgetfulDevice());
    const isWrong = async (each: Program): Promise<boolean> => (await judge(each, forgetful)).kind === 'wrong';
    expect(await isWrong(program)).toBe(true);
    expect(await isWrong({ ...program, dtype: 'float64' })).toBe(true);
    const smallest = await reduce(program, isWrong);
    expect(smallest.statements).toEqual([['self.s.neg_()']]);
    expect(smallest.calls.length).toBe(1);
    expect(smallest.results.length).toBe(1);
    // Up to a thousand elements that lie on the host, the host does it.
    expect(smallest.stateSizes).toEqual([1001]);
  });
});

describe('what is compared', () => {
  const of = (elements: number[], dtype: 'float32' | 'int32' = 'float32'): Outcome => ({
    values: new Map([
      [
        'x',
        {
          dtype,
          sizes: [elements.length],
          elements: dtype === 'float32' ? Float32Array.from(elements) : Int32Array.from(elements),
        },
      ],
    ]),
  });

  it('is dtypes, sizes and elements, floats by the largest of their tensor', () => {
    expect(difference(of([1, 1e3]), of([1.05, 1e3]))).toBe(null);
    expect(difference(of([1, 2]), of([1.05, 2]))).toContain('1 of 2 elements, element 0 is 1 for 1.0');
    expect(difference(of([1, NaN]), of([1, NaN]))).toBe(null);
    expect(difference(of([1, NaN]), of([1, 2]))).toContain('element 1 is NaN for 2');
    expect(difference(of([1], 'int32'), of([1]))).toBe('x: int32[1] for float32[1]');
    expect(difference(of([1, 2]), of([1]))).toBe('x: float32[2] for float32[1]');
  });

  it('has a distance, as a part of the largest element', () => {
    expect(distance(of([1, 2]), of([1, 2]))).toBe(0);
    expect(distance(of([1, 10]), of([3, 10]))).toBe(0.2);
    expect(distance(of([NaN, 2]), of([1, 2]))).toBe(Infinity);
    expect(distance(of([1, 2]), of([1]))).toBe(Infinity);
    expect(distance({ error: 'RuntimeError: sizes', isInternal: false }, of([1]))).toBe(Infinity);
  });

  it('is no error of what nobody needs, but any that no program should see', () => {
    const error = { error: 'RuntimeError: sizes', isInternal: false };
    expect(difference(of([1]), error)).toBe(null);
    expect(difference(error, error)).toBe(null);
    expect(difference(error, of([1]))).toBe('raised RuntimeError: sizes');
    expect(difference({ error: 'TypeError', isInternal: true }, error)).toBe('an internal error: TypeError');
  });
});
