import type { IValue, Tuple } from '@cresset/tensor';
import type { DifferentiableGroup } from '../../executor/differentiable-group.ts';
import type { GradNode } from './grad-node.ts';
import { below } from '../recording/runner.ts';
import { recordStep, type RecordedStep } from './step-node.ts';
import { TapeRun } from '../tape-run.ts';

/**
 * One step of the tape for a whole `prim::DifferentiableGraph`, whose backward graph runs by a plan as any graph does
 * (torch::jit::DifferentiableGraphBackward).
 *
 * @param results all of its forward graph, what is kept among them
 */
export function recordGroup(group: DifferentiableGroup, args: readonly IValue[], results: readonly IValue[]): GradNode {
  return recordStep({
    name: 'DifferentiableGraphBackward',
    inputs: group.outputVjps.map((at) => args[at]),
    outputs: group.inputVjps.map((at) => results[at]),
    saved: [...group.capturedInputs.map((at) => args[at]), ...group.capturedOutputs.map((at) => results[at])],
    backward: backwardOf(group),
  });
}

/** Apart from where the step is recorded: what it holds is what it keeps. */
const backwardOf =
  (group: DifferentiableGroup): RecordedStep['backward'] =>
  async (gradients, saved, run) => {
    const args = [...gradients, ...saved];
    const code = group.backwardCode(args, run.isRecording);
    // What is recorded of a gradient is recorded of the operators of its plan.
    const runner = run.isRecording ? run : new TapeRun(below(run.execution), false);
    const [found] = await runner.run(code, args);
    return (found as Tuple).items;
  };
