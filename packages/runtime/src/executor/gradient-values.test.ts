import { applyJitOptions, parseIr, type Graph } from '@cresset/ir';
import { differentiate } from '@cresset/passes';
import { Tensor, type IValue, type Tuple } from '@cresset/tensor';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { runtimeConstants } from '../interpreter/code/constant-value.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { Execution } from '../run/execution.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import pointwise from './gradient-goldens/pointwise.json';
import structure from './gradient-goldens/structure.json';
import { ExecutorCache, GraphExecutor } from './graph-executor.ts';

beforeAll(registerAllParts);
afterEach(() => applyJitOptions({}));

const spec = { maxFusedTensors: 0, gradEnabled: false };

/** Makes a graph something that runs, by the executor that knows the operators of gradients. */
function runnable(graph: Graph): (args: readonly IValue[]) => Promise<readonly IValue[]> {
  const executors = new ExecutorCache(() => spec);
  const executor = new GraphExecutor('graph', graph, executors);
  return async (args) => {
    const { code } = executor.planFor(spec, null, args);
    const state = new InterpreterState(new Execution(new RuntimeContext()), (fn) => executors.ofFunction(fn));
    return state.run(code, args);
  };
}

const matrix = (values: readonly number[]): Tensor => Tensor.fromArray(Float64Array.from(values), [2, 3], 'float64');
const numbers = (tensor: Tensor): number[] => Array.from(tensor.contiguousArray() as Float64Array);
const weights = (tensor: Tensor, output: number): number[] =>
  Array.from({ length: tensor.numel }, (_, index) => 0.3 + ((index * 7 + output * 5) % 11) / 4);

// Between 0 and 1, where all functions are defined, and nowhere two that are equal.
const points = [
  [0.31, 0.87, 0.14, 0.62, 0.49, 0.73],
  [0.42, 0.19, 0.93, 0.57, 0.28, 0.66],
];

/** Of what is dropped at random no slope can be measured. */
const cases = [...pointwise.cases, ...structure.cases].filter(
  ({ name }) => name.endsWith('nothing known') && !name.startsWith('dropped'),
);

it.each(cases)('the gradients of $name are slopes', async ({ ir }) => {
  applyJitOptions({ executor: 'profiling' });
  const { f, df, ...gradient } = differentiate(parseIr(ir, { constants: runtimeConstants }));
  const [forward, backward] = [runnable(f), runnable(df)];
  const inputs = points.map(matrix);
  const outputs = await forward(inputs);
  const vjps = gradient.dfInputVjps.map((at) => {
    const output = outputs[at];
    if (at >= gradient.fRealOutputs || !(output instanceof Tensor)) return null;
    return Tensor.fromArray(Float64Array.from(weights(output, at)), [...output.sizes], 'float64');
  });
  const captured = [
    ...gradient.dfInputCapturedInputs.map((at) => inputs[at]),
    ...gradient.dfInputCapturedOutputs.map((at) => outputs[at]),
  ];
  const [found] = await backward([...vjps, ...captured]);

  const step = 1e-6;
  const weighed = async (moved: readonly (readonly number[])[]): Promise<number> => {
    const results = await forward(moved.map(matrix));
    return gradient.dfInputVjps.reduce((sum, at) => {
      const result = results[at];
      if (at >= gradient.fRealOutputs || !(result instanceof Tensor)) return sum;
      const own = weights(result, at);
      return numbers(result).reduce((total, value, index) => total + value * own[index], sum);
    }, 0);
  };
  for (const [place, input] of gradient.dfOutputVjps.entries()) {
    const got = (found as Tuple).items[place] as Tensor | null;
    for (let index = 0; index < 6; index++) {
      const along = (by: number): number[][] =>
        points.map((values, at) => values.map((value, i) => (at === input && i === index ? value + by : value)));
      const slope = ((await weighed(along(step))) - (await weighed(along(-step)))) / (2 * step);
      expect(got === null ? 0 : numbers(got)[index]).toBeCloseTo(slope, 4);
    }
  }
});
