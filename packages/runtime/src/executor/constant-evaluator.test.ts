import { parseIr } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { meterMemory, Tensor, type IValue } from '@cresset/tensor';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { evaluateAnyConstant, evaluateConstant } from './constant-evaluator.ts';

beforeAll(registerAllOperators);
afterEach(() => void meterMemory(null));

/** Evaluates the node `%y = …` of these constants, and tells the bytes that were asked for meanwhile. */
function evaluated(evaluate: typeof evaluateConstant, text: string, constants: readonly IValue[]) {
  const graph = parseIr(`graph(%x : Tensor):\n  %n : int = prim::Constant[value=0]()\n  ${text}\n  return (%y)\n`);
  const node = [...graph.nodes()].at(-1)!;
  let bytes = 0;
  meterMemory({
    take: (count) => (bytes += count),
    made: () => undefined,
    takeScratch: () => undefined,
    giveUpScratch: () => undefined,
  });
  const results = evaluate(node, constants);
  meterMemory(null);
  return { results, bytes };
}

const ones = (...sizes: number[]): Tensor => {
  const count = sizes.reduce((product, size) => product * size, 1);
  return Tensor.fromArray(new Float32Array(count).fill(1), sizes, 'float32');
};

describe('what is worked out ahead of a run', () => {
  it('is not computed where its size says that it would not be kept', () => {
    const product = '%y : Tensor = aten::mm(%x, %x)';
    const large = evaluated(evaluateConstant, product, [ones(129, 129), ones(129, 129)]);
    expect(large).toEqual({ results: null, bytes: 0 });
    const small = evaluated(evaluateConstant, product, [ones(128, 128), ones(128, 128)]);
    expect((small.results![0] as Tensor).sizes).toEqual([128, 128]);
    const any = evaluated(evaluateAnyConstant, product, [ones(129, 129), ones(129, 129)]);
    expect((any.results![0] as Tensor).contiguousArray()[0]).toBe(129);
  });

  it('is what is small, whatever it is made of', () => {
    const sum = evaluated(evaluateConstant, '%y : Tensor = aten::sum(%x, %n)', [ones(300, 300), null]);
    expect((sum.results![0] as Tensor).contiguousArray()[0]).toBe(90_000);
  });

  it('is no view of more elements, which would be written out where it is used', () => {
    const wide = ones(1).asStrided([200, 200], [0, 0]);
    expect(evaluated(evaluateConstant, '%y : Tensor = aten::t(%x)', [wide]).results).toBeNull();
  });
});
