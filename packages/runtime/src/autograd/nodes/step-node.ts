import { TensorType } from '@cresset/ir';
import { OperatorError } from '@cresset/operators';
import { List, Tensor, type IValue } from '@cresset/tensor';
import { RELEASED } from './formula-node.ts';
import { GradNode, metaOf, type Gradient } from './grad-node.ts';
import { gradientEdge } from '../recording/record.ts';
import { SavedValue } from './saved-value.ts';
import type { TapeRun } from '../tape-run.ts';
import { historyOf, isDifferentiable, versionOf } from '../recording/tensor-history.ts';

/** A step of a program that brings its own way backwards. */
export interface RecordedStep {
  readonly name: string;
  /** Tensors, or lists of tensors, that it gives the gradients of. */
  readonly inputs: readonly IValue[];
  /** Those that it takes gradients of. */
  readonly outputs: readonly IValue[];
  /** What it keeps of the forward run; that nobody wrote to it is seen to. */
  readonly saved: readonly IValue[];
  /**
   * The gradients of the inputs from those of the outputs, one value each: a tensor, or a list where that was one; None where there is no
   * gradient.
   */
  backward(gradients: readonly IValue[], saved: readonly IValue[], run: TapeRun): Promise<readonly IValue[]>;
}

/** Makes the outputs of a step known to come of it. */
export function recordStep(step: RecordedStep): GradNode {
  const node = new StepNode(step);
  let place = 0;
  for (const output of step.outputs.flatMap(oneByOne)) {
    const at = place++;
    if (!output || !isDifferentiable(output)) continue;
    output.requiresGrad = true;
    const history = historyOf(output);
    history.edge = { node, output: at };
    history.version = versionOf(output);
  }
  return node;
}

/** How many tensors a value is; null for one that is no list. */
const lengthOf = (value: IValue): number | null => (value instanceof List ? value.items.length : null);

class StepNode extends GradNode {
  readonly #backward: RecordedStep['backward'];
  readonly #inputs: readonly (number | null)[];
  readonly #outputs: readonly (number | null)[];
  /** Null once it was given up. */
  #saved: readonly SavedValue[] | null;

  constructor({ name, inputs, outputs, saved, backward }: RecordedStep) {
    super(
      name,
      inputs.flatMap((value) => oneByOne(value).map((tensor) => tensor && gradientEdge(tensor))),
      outputs.flatMap((value) => oneByOne(value).map((tensor) => tensor && metaOf(tensor))),
    );
    this.#backward = backward;
    this.#inputs = inputs.map(lengthOf);
    this.#outputs = outputs.map(lengthOf);
    this.#saved = saved.map((value) => new SavedValue(value));
  }

  async apply(gradients: readonly Gradient[], _isWanted: (edge: number) => boolean, run: TapeRun): Promise<Gradient[]> {
    if (!this.#saved) throw new OperatorError(RELEASED);
    const saved = this.#saved.map((value) => value.unpack());
    const found = await this.#backward(grouped(gradients, this.#outputs), saved, run);
    return this.#inputs.flatMap((length, at) => {
      const gradient = found[at] ?? null;
      if (length === null) return [gradient instanceof Tensor ? gradient : null];
      return Array.from({ length }, (_, item) => {
        const each = gradient instanceof List ? (gradient.items[item] as Gradient) : null;
        // A list is held, and not what lies in it.
        run.retain(each);
        return each;
      });
    });
  }

  override *savedTensors(): Iterable<Tensor> {
    for (const value of this.#saved ?? []) yield* value.tensors;
  }

  protected override forget(): void {
    this.#saved = null;
  }
}

/** Gradients one by one as one value an output: those of a list in a list. */
function grouped(gradients: readonly Gradient[], lengths: readonly (number | null)[]): IValue[] {
  let place = 0;
  return lengths.map((length) => {
    const own = gradients.slice(place, (place += length ?? 1));
    return length === null ? own[0] : new List(TensorType.get(), own);
  });
}

/** The tensors of a value, each in its place. */
function oneByOne(value: IValue): readonly (Tensor | null)[] {
  const items = value instanceof List ? value.items : [value];
  return items.map((item) => (item instanceof Tensor ? item : null));
}
