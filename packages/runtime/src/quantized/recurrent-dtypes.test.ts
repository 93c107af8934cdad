import { script } from '@cresset/frontend';
import type { Tensor } from '@cresset/tensor';
import { expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { ExecutorCache } from '../executor/graph-executor.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { Execution } from '../run/execution.ts';
import { RuntimeContext } from '../run/runtime-context.ts';

function gru(input: string, state: string): Tensor {
  const fn = script(`
def main():
    weight = torch.quantize_per_tensor(torch.ones([6, 2]), 0.1, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(weight, None)
    bias = torch.zeros([6])
    params = torch.ops.quantized.make_quantized_cell_params_dynamic(packed, packed, bias, bias, False)
    x = torch.ones([1, 1, 2], dtype=${input})
    h = torch.zeros([1, 1, 2], dtype=${state})
    return torch.quantized_gru(x, h, [params], True, 1, 0.0, False, False, False)[0]
`).getFunction('__torch__.main');
  const executors = new ExecutorCache(() => ({ maxFusedTensors: 0, gradEnabled: false }));
  const interpreter = new InterpreterState(new Execution(new RuntimeContext()), (callee) =>
    executors.ofFunction(callee),
  );
  const [result] = interpreter.run(executors.ofFunction(fn).code(), []) as readonly Tensor[];
  return result;
}

it('quantised recurrent layers take inputs and states of float32', () => {
  registerAllParts();
  expect(gru('torch.float32', 'torch.float32').sizes).toEqual([1, 1, 2]);
  expect(() => gru('torch.float16', 'torch.float32')).toThrow('expected scalar type Float but found Half');
  expect(() => gru('torch.float32', 'torch.float64')).toThrow('expected scalar type Float but found Double');
});
