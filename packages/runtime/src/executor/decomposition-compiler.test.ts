import { script } from '@cresset/frontend';
import type { IValue, Tensor } from '@cresset/tensor';
import { beforeAll, expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { Execution } from '../run/execution.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ExecutorCache } from './graph-executor.ts';

beforeAll(registerAllParts);

/** What an expression gives. */
function evaluate(expression: string): IValue {
  const fn = script(`def main():\n    return ${expression}\n`).getFunction('__torch__.main');
  const executors = new ExecutorCache(() => ({ maxFusedTensors: 0, gradEnabled: false }));
  const interpreter = new InterpreterState(new Execution(new RuntimeContext()), (callee) =>
    executors.ofFunction(callee),
  );
  const [result] = interpreter.run(executors.ofFunction(fn).code(), []) as readonly IValue[];
  return result;
}

const long = 'torch.zeros([0], dtype=torch.int64)';

it.each([
  ['torch.outer(torch.ones([2, 1]), torch.ones([3]))', 'outer: Expected 1-D argument self, but got 2-D'],
  ['torch.ger(torch.ones([2]), torch.ones([3, 1]))', 'outer: Expected 1-D argument vec2, but got 2-D'],
  ['torch.renorm(torch.ones([2, 2]), -1, 0, 1)', 'renorm: non-positive-norm not supported'],
  ['torch.renorm(torch.ones([2]), 1, 0, -1)', 'renorm: expected maxnorm to be >= 0 but got -1'],
  [
    `torch.outer(torch.ones([2]), torch.ones([3]), out=${long})`,
    "result type Float can't be cast to the desired output type Long",
  ],
  [
    `torch.ger(torch.ones([2]), torch.ones([3]), out=${long})`,
    "result type Float can't be cast to the desired output type Long",
  ],
  [
    `torch.addr(torch.ones([2, 3]), torch.ones([2]), torch.ones([3]), out=${long})`,
    "result type Float can't be cast to the desired output type Long",
  ],
])('%s is refused in the words of the operator alone', (expression, reason) => {
  let message = '';
  try {
    evaluate(expression);
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toContain(reason);
  expect(message).not.toContain('AssertionError');
});

it('renorm takes floats and complex numbers', () => {
  expect(() => evaluate('torch.renorm(torch.ones([2, 2], dtype=torch.int64), 1, 0, 1)')).toThrow(
    'linalg.vector_norm: Expected a floating point or complex tensor as input. Got Long',
  );
});

it('addr, ger and outer write what they compute to a tensor of a wider dtype', () => {
  const wide = 'torch.zeros([0], dtype=torch.float64)';
  const flags = 'torch.ones([2], dtype=torch.bool)';
  for (const expression of [
    `torch.outer(torch.ones([2]), torch.ones([2]), out=${wide})`,
    `torch.ger(torch.ones([2]), torch.ones([2]), out=${wide})`,
    `torch.addr(torch.zeros([2, 2]), torch.ones([2]), torch.ones([2]), out=${wide})`,
    `torch.addr(torch.zeros([2, 2], dtype=torch.bool), ${flags}, ${flags}, out=${wide})`,
  ]) {
    const result = evaluate(expression) as Tensor;
    expect([result.dtype, [...result.storageArray()]]).toEqual(['float64', [1, 1, 1, 1]]);
  }
});

it('masked_scatter compares dtypes before it looks at the mask', () => {
  const zeros = 'torch.zeros([3])';
  expect(() => evaluate(`torch.masked_scatter(${zeros}, ${zeros}, ${zeros}.double())`)).toThrow(
    'but gotFloat and Double',
  );
  expect(() => evaluate(`torch.masked_scatter(${zeros}, ${zeros}.byte(), ${zeros})`)).toThrow(
    'but got mask with dtype Byte',
  );
});

it('singular values of NaN are refused, and the matrix of a batch is named', () => {
  const what = 'The algorithm failed to converge because the input matrix contained non-finite values.';
  expect(() => evaluate('torch.linalg.svdvals(torch.full([2, 2], float("nan")))')).toThrow(`linalg.svd: ${what}`);
  expect(() => evaluate('torch.svd(torch.stack([torch.ones([2, 2]), torch.full([2, 2], float("nan"))]))')).toThrow(
    `linalg.svd: (Batch element 1): ${what}`,
  );
});

it('as_tensor converts the tensor that it is given', () => {
  const result = evaluate('torch.as_tensor(torch.ones([2]), dtype=torch.float64)') as Tensor;
  expect([result.dtype, [...result.storageArray()]]).toEqual(['float64', [1, 1]]);
});
