import { jitOptions } from '@cresset/ir';
import type { IValue, Tensor } from '@cresset/tensor';
import type { RuntimeContext } from '../run/runtime-context.ts';
import { Execution } from '../run/execution.ts';
import type { CallOptions } from '../script-module.ts';
import { differentiate, type DifferentiationTask } from './differentiate.ts';
import type { Gradient } from './nodes/grad-node.ts';
import { Recorder } from './recording/recorder.ts';
import { TapeRun } from './tape-run.ts';
import { tapeCode } from './tape-code.ts';

export { retainGrad } from './recording/autograd-operators.ts';
export { requiresGrad } from './recording/tensor-history.ts';
export type { DifferentiationTask } from './differentiate.ts';

/**
 * Makes a call of a program so that gradients of its results can be asked for. Where an executor is chosen that looks at arguments its plans
 * run, which have derivatives of whole groups; else every operator is called as it was written.
 */
export async function recordedCall<T extends IValue>(
  context: RuntimeContext,
  call: (options: Pick<CallOptions, 'observer' | 'codes'>) => Promise<T>,
): Promise<T> {
  const { gradEnabled } = context;
  const { enabled, executor } = jitOptions();
  context.gradEnabled = true;
  try {
    const observer = new Recorder();
    const result = await call({ observer, ...(enabled === false || !executor ? { codes: tapeCode } : {}) });
    observer.end([result]);
    return result;
  } finally {
    context.gradEnabled = gradEnabled;
  }
}

/** Copies of leaves that a program may write to, whose gradients are those of the leaves. */
export async function recordedCopies(
  leaves: readonly Tensor[],
  context: RuntimeContext,
): Promise<ReadonlyMap<Tensor, Tensor>> {
  const copies = new Map<Tensor, Tensor>();
  for (const leaf of leaves) {
    const copy = await recordedCall(context, ({ observer }) =>
      new TapeRun(new Execution(context, null, observer), true).owned(leaf),
    );
    copies.set(leaf, copy);
  }
  return copies;
}

/** As `torch.autograd.grad`, or `backward` where no inputs are named, of what {@link recordedCall} gave. */
export async function gradientsOf(task: DifferentiationTask, context: RuntimeContext): Promise<readonly Gradient[]> {
  const recorder = new Recorder();
  const execution = new Execution(context, null, recorder);
  const found = await differentiate(task, execution);
  await execution.flush();
  execution.ledger?.sweep([...found, ...recorder.kept], []);
  recorder.end(found);
  return found;
}
