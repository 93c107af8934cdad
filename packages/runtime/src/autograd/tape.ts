import type { RuntimeContext } from '../run/runtime-context.ts';
import { Execution } from '../run/execution.ts';
import type { CallOptions } from '../script-module.ts';
import { differentiate, type DifferentiationTask } from './differentiate.ts';
import type { Gradient } from './grad-node.ts';
import { Recorder } from './recorder.ts';
import { tapeCode } from './tape-code.ts';

export { retainGrad } from './autograd-operators.ts';
export { requiresGrad } from './tensor-history.ts';
export type { DifferentiationTask } from './differentiate.ts';

/** Makes a call of a program so that gradients of its results can be asked for. */
export async function recordedCall<T>(
  context: RuntimeContext,
  call: (options: Pick<CallOptions, 'observer' | 'codes'>) => Promise<T>,
): Promise<T> {
  const { gradEnabled } = context;
  context.gradEnabled = true;
  try {
    return await call({ observer: new Recorder(), codes: tapeCode });
  } finally {
    context.gradEnabled = gradEnabled;
  }
}

/** As `torch.autograd.grad`, or `backward` where no inputs are named, of what {@link recordedCall} gave. */
export async function gradientsOf(task: DifferentiationTask, context: RuntimeContext): Promise<readonly Gradient[]> {
  const recorder = new Recorder();
  const execution = new Execution(context, null, recorder);
  const found = await differentiate(task, execution);
  await execution.flush();
  execution.ledger?.sweep([...found, ...recorder.kept, ...(task.leaves ?? []).map(({ grad }) => grad)], []);
  return found;
}
