import { OperatorError } from '@cresset/operators';
import { isComplex, type IValue, type Tensor } from '@cresset/tensor';
import type { Execution } from '../run/execution.ts';
import { fitted, runBackward } from './engine.ts';
import { metaOf, type Gradient } from './nodes/grad-node.ts';
import { gradientEdge } from './recording/record.ts';
import { unrecorded } from './recording/runner.ts';
import { tensorTypes } from './nodes/saved-value.ts';
import { TapeRun } from './tape-run.ts';
import { requiresGrad, type Edge } from './recording/tensor-history.ts';

/** What `backward` and `grad` of torch.autograd are asked. */
export interface DifferentiationTask {
  readonly outputs: readonly Tensor[];
  /** A gradient an output; null stands for 1 where the output is one number. */
  readonly gradients: readonly Gradient[];
  /** Of what the gradients are wanted; null to add them up in `grad` of the leaves. */
  readonly inputs: readonly Tensor[] | null;
  /** Where gradients are added up: these leaves and no others. */
  readonly leaves?: readonly Tensor[];
  readonly retainGraph?: IValue | undefined;
  readonly createGraph?: IValue | undefined;
  readonly allowUnused?: IValue | undefined;
  /** Whether a program asks, and not a page: PyTorch has other errors there, and sums a gradient to the shape of its output. */
  readonly isOfProgram?: boolean;
}

/** Works gradients out (torch.autograd.backward and grad). Throws PyTorch's errors. */
export async function differentiate(task: DifferentiationTask, execution: Execution): Promise<Gradient[]> {
  const { outputs, gradients, inputs, leaves, isOfProgram = false } = task;
  const createGraph = task.createGraph === true;
  const keepGraph = typeof task.retainGraph === 'boolean' ? task.retainGraph : createGraph;
  const { context } = execution;
  const run = createGraph ? new TapeRun(execution, true) : unrecorded(execution);
  const roots: (readonly [Edge, Tensor])[] = [];
  for (const [at, output] of outputs.entries()) {
    const edge = gradientEdge(output);
    if (!edge) {
      throw new OperatorError(`element ${at} of tensors does not require grad and does not have a grad_fn`);
    }
    const given = gradients[at];
    run.retain(given);
    if (!given) roots.push([edge, await run.call('onesLike', scalar(output, isOfProgram))]);
    else if (isOfProgram)
      roots.push([edge, await fitted(given, metaOf(output), `invalid gradient at index ${at}`, run)]);
    else roots.push([edge, checkedGradient(given, output, at)]);
  }
  const targets = inputs ?? leaves;
  const wanted = targets?.map((input, at) => {
    if (!requiresGrad(input)) {
      throw new OperatorError(
        isOfProgram
          ? `element ${at} of the input tensors does not require grad`
          : 'One of the differentiated Tensors does not require grad',
      );
    }
    return gradientEdge(input)!;
  });
  const wasEnabled = context.gradEnabled;
  context.gradEnabled = createGraph;
  try {
    const found = await runBackward({ roots, wanted: wanted ?? null, keepGraph }, run);
    if (leaves) {
      for (const [at, edge] of wanted!.entries()) if (found[at]) await edge.node.apply([found[at]], () => true, run);
    }
    const unused = found.indexOf(null);
    if (inputs && task.allowUnused !== true && unused !== -1) {
      // PyTorch's words, to the letter.
      const which = isOfProgram
        ? `element ${unused}of the differentiated Tensors`
        : `The differentiated Tensor at index ${unused}`;
      throw new OperatorError(
        `${which} appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.`,
      );
    }
    return found;
  } finally {
    for (const end of run.ends.splice(0)) end();
    context.gradEnabled = wasEnabled;
  }
}

function scalar(output: Tensor, isOfProgram: boolean): Tensor {
  if (output.numel !== 1) throw new OperatorError('grad can be implicitly created only for scalar outputs');
  if (isComplex(output.dtype)) {
    throw new OperatorError(
      isOfProgram
        ? `grad can be computed only for real scalar outputs but got ${tensorTypes[output.dtype]}`
        : `grad can be implicitly created only for real scalar outputs but got torch.${output.dtype}`,
    );
  }
  return output;
}

function checkedGradient(gradient: Tensor, output: Tensor, at: number): Tensor {
  const same = gradient.dim === output.dim && gradient.sizes.every((size, dim) => size === output.sizes[dim]);
  if (same) return gradient;
  const text = ({ sizes }: Tensor): string => `torch.Size([${sizes.join(', ')}])`;
  throw new OperatorError(
    `Mismatch in shape: grad_output[${at}] has a shape of ${text(gradient)} and output[${at}] has a shape of ${text(output)}.`,
  );
}
