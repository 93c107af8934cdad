import type { Graph, Node } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import type { Code } from '../interpreter/code/code.ts';
import type { InterpreterState } from '../interpreter/interpreter-state.ts';
import { GraphExecutor, type RunSpec } from './graph-executor.ts';

/**
 * A `prim::DifferentiableGraph` as it is run (torch::jit::DifferentiableGraphOp): its forward graph by a plan, and its backward graph by an
 * executor of its own. Who records a run joins the two.
 */
export class DifferentiableGroup {
  /** Results of the forward graph that are the node's; those after them are kept for the backward graph. */
  readonly resultCount: number;
  /** Which of all results the backward graph takes gradients of, and of which arguments it gives them. */
  readonly inputVjps: readonly number[];
  readonly outputVjps: readonly number[];
  /** Arguments, and results, that it takes after those gradients. */
  readonly capturedInputs: readonly number[];
  readonly capturedOutputs: readonly number[];
  /** Whether it may change statistics of batches, which outlive the run. */
  readonly keepsStatistics: boolean;
  readonly #backward: GraphExecutor;

  /** @param forwardCode the code of the forward graph for its arguments */
  constructor(
    node: Node,
    { provider }: GraphExecutor,
    private readonly spec: RunSpec,
    readonly forwardCode: (args: readonly IValue[]) => Code,
  ) {
    const numbers = (name: string): number[] => node.is(name).map(Number);
    this.resultCount = Number(node.i('f_real_outputs'));
    this.inputVjps = numbers('df_input_vjps');
    this.outputVjps = numbers('df_output_vjps');
    this.capturedInputs = numbers('df_input_captured_inputs');
    this.capturedOutputs = numbers('df_input_captured_outputs');
    this.keepsStatistics = [...node.g('Subgraph').allNodes()].some(({ kind }) => kind.includes('_norm_impl'));
    this.#backward = new GraphExecutor('<backward op>', this.#backwardGraph(node), provider, true);
  }

  /** What is kept under several names is one value to it: kernels can be given so many tensors. */
  #backwardGraph(node: Node): Graph {
    const forward = node.g('Subgraph');
    const backward = node.g('ReverseSubgraph').copy();
    const captured = [
      ...this.capturedInputs.map((at) => forward.inputs[at]),
      ...this.capturedOutputs.map((at) => forward.outputs[at]),
    ];
    const inputs = backward.inputs.slice(this.inputVjps.length);
    inputs.forEach((input, at) => {
      const first = captured.indexOf(captured[at]);
      if (first < at) input.replaceAllUsesWith(inputs[first]);
    });
    return backward;
  }

  /** The code of the backward graph. @param gradEnabled whether its own results are to be differentiated */
  backwardCode(args: readonly IValue[], gradEnabled: boolean): Code {
    return this.#backward.planFor({ ...this.spec, gradEnabled }, null, args).code;
  }

  /** Calls it in a program. */
  run(args: readonly IValue[], state: InterpreterState): readonly IValue[] | Promise<readonly IValue[]> {
    const { execution } = state;
    const { observer } = execution;
    if (observer?.runDifferentiable) return observer.runDifferentiable(this, args, execution);
    const results = state.runBeside(this.forwardCode(args), args);
    const own = (all: readonly IValue[]): readonly IValue[] => all.slice(0, this.resultCount);
    return results instanceof Promise ? results.then(own) : own(results);
  }
}
