import type { InputExpectation } from 'cresset';
import { describe, expect, it } from 'vitest';
import type { Choice } from './argument-value.ts';
import { argumentsOf, candidateChoices, withFitting } from './input-guess.ts';
import { parseParameters } from './schema.ts';

const nothing: Omit<InputExpectation, 'name'> = { dtype: null, shape: null, below: null, value: null };

function candidates(schema: string, inputs: Record<string, Partial<InputExpectation>>, sizes: readonly number[] = []) {
  const expectations = Object.entries(inputs).map(([name, told]) => ({ ...nothing, ...told, name }));
  return candidateChoices(parseParameters(schema), { inputs: expectations, sizes, isPure: true });
}

describe('candidateChoices', () => {
  it('fills what the program leaves open with common sizes, and those that it names', () => {
    const all = candidates(
      'forward(Net self, Tensor x) -> Tensor',
      { x: { dtype: 'float32', shape: [null, 3, null, null] } },
      [100, 2],
    );
    expect(all.slice(0, 3).map(([{ shape }]) => shape)).toEqual(['1, 3, 64, 64', '1, 3, 100, 100', '1, 3, 224, 224']);
  });

  it('has one candidate where all is told', () => {
    const parameters = 'forward(Net self, Tensor x, int sr, float gain=1.0) -> Tensor';
    const all = candidates(parameters, { x: { shape: [null, 512] }, sr: { value: 16000 }, gain: {} });
    expect(all).toHaveLength(1);
    expect(all[0]).toMatchObject([{ shape: '1, 512' }, { text: '16000' }, { isLeftOut: true }]);
  });

  it('keeps indices in range, and short', () => {
    const [first, second] = candidates('forward(Net self, Tensor ids, Tensor rows) -> Tensor', {
      ids: { dtype: 'int64', below: 50 },
      rows: { dtype: 'int64' },
    });
    expect(first).toMatchObject([
      { dtype: 'int64', shape: '1, 8', fill: 'random', below: 50 },
      { dtype: 'int64', shape: '2, 8', fill: 'zeros' },
    ]);
    expect(second).toMatchObject([{ shape: '1, 8' }, { shape: '1' }]);
  });

  it('tries several kinds of an input of which nothing is known', () => {
    const all = candidates('forward(Net self, Tensor x, Tensor y) -> Tensor', { x: { shape: [null, 4] }, y: {} });
    expect(new Set(all.map(([, { dtype, shape }]) => `${dtype} ${shape}`)).size).toBeGreaterThan(4);
    expect(all[0][1].shape).toBe('1, 4');
  });

  it('starts with what anybody would where nothing can be told', () => {
    expect(candidates('forward(Net self, str[] texts) -> str', { texts: {} })).toMatchObject([[{ text: '["text"]' }]]);
    expect(candidates('reset() -> None', {})).toEqual([[]]);
  });
});

describe('withFitting', () => {
  const parameters = parseParameters('forward(Net self, int n) -> int');
  const all = ['1', '2', '3'].map((text) => [
    { ...candidates('forward(Net self, int n) -> int', { n: {} })[0][0], text },
  ]);
  const { signal } = new AbortController();

  it('gives what the first that fits gives, and says which it was', async () => {
    const found = await withFitting(all, signal, async (choices) => {
      const { n } = argumentsOf(parameters, choices);
      if (n !== 2) throw new Error(`no ${String(n)}`);
      return 'two';
    });
    expect(found).toEqual({ result: 'two', choices: all[1] });
  });

  it('tells the first error where none fits, and stops when it is told to', async () => {
    const tried: unknown[] = [];
    const fail = async (choices: readonly Choice[]): Promise<never> => {
      tried.push(choices[0].text);
      throw new Error(`no ${choices[0].text}`);
    };
    await expect(withFitting(all, signal, fail)).rejects.toThrow('no 1');
    expect(tried.splice(0)).toEqual(['1', '2', '3']);
    await expect(withFitting(all, AbortSignal.abort(), fail)).rejects.toThrow('no 1');
    expect(tried).toEqual(['1']);
  });
});
