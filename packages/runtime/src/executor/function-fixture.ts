import { script } from '@cresset/frontend';
import { registerAllOperators } from '@cresset/operators';
import type { IValue, Tensor } from '@cresset/tensor';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { Execution } from '../run/execution.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ExecutorCache, GraphExecutor } from './graph-executor.ts';

const spec = { maxFusedTensors: 0, gradEnabled: false };

/** Compiles `def f(…)` with one tensor as its result, and gives what runs it on the host. */
export function compiledFunction(source: string): (...args: IValue[]) => Tensor {
  registerAllOperators();
  const { graph } = script(source).getFunction('__torch__.f');
  const executors = new ExecutorCache(() => spec);
  const { code } = new GraphExecutor('f', graph, executors).planFor(spec, null);
  return (...args) => {
    const state = new InterpreterState(new Execution(new RuntimeContext()), (fn) => executors.ofFunction(fn));
    return (state.run(code, args) as readonly IValue[])[0] as Tensor;
  };
}
