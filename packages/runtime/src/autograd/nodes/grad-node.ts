import { OperatorError } from '@cresset/operators';
import type { ScalarType, Tensor } from '@cresset/tensor';
import type { StorageLedger } from '../../memory/storage-ledger.ts';
import { hold, letGo, type HeldTensor } from '../recording/held-storages.ts';
import type { Edge } from '../recording/tensor-history.ts';
import type { TapeRun } from '../tape-run.ts';

/** A gradient, or null where there is none. */
export type Gradient = Tensor | null;

/** What a gradient for a result has to be like. */
export interface GradientMeta {
  readonly sizes: readonly number[];
  readonly dtype: ScalarType;
}

export const metaOf = ({ sizes, dtype }: Tensor): GradientMeta => ({ sizes: [...sizes], dtype });

let nodes = 0;

/** A step backwards: from gradients of what an operator gave to those of what it took (torch::autograd::Node). */
export abstract class GradNode {
  /** Nodes are gone through in the reverse of the order in which they were made. */
  readonly sequence = ++nodes;
  /** Called with the gradients it is given, before it runs; may give others. */
  readonly preHooks: ((gradients: Gradient[]) => void)[] = [];
  #held: Tensor[] = [];
  /** Non-leaf tensors that keep their gradient, by their place among its results. */
  readonly retained = new Map<number, Tensor>();

  constructor(
    readonly name: string,
    /** Where the gradients that it gives go, null for those that nobody wants. */
    readonly edges: readonly (Edge | null)[],
    readonly outputs: (GradientMeta | null)[],
  ) {}

  /** Whether a gradient of this result is made use of. */
  differentiates(_output: number): boolean {
    return true;
  }

  /**
   * One gradient an edge, null where there is none.
   *
   * @param isWanted whether anybody wants what goes along an edge
   */
  abstract apply(
    gradients: readonly Gradient[],
    isWanted: (edge: number) => boolean,
    run: TapeRun,
  ): Promise<Gradient[]>;

  /** What it keeps of the forward run. */
  savedTensors(): Iterable<Tensor> {
    return [];
  }

  /** Has what it keeps outlive the registers that hold it. Gives those of the tensors that the run made. */
  hold(ledger: StorageLedger): HeldTensor[] {
    const found: HeldTensor[] = [];
    for (const tensor of this.savedTensors()) {
      const entry = ledger.entries.get(tensor.storage);
      if (!entry) {
        // A state of an earlier run, say, which this one replaces.
        ledger.handOut(tensor.storage);
        continue;
      }
      hold(tensor, ledger);
      found.push({ tensor, entry });
    }
    this.#held = found.map(({ tensor }) => tensor);
    return found;
  }

  /** Gives up what it keeps of the forward run: memory that nobody else has is freed. */
  release(ledger: StorageLedger | null): void {
    this.forget();
    if (ledger) for (const tensor of this.#held.splice(0)) letGo(tensor, ledger);
  }

  /** Lets go of the values that it keeps. */
  protected forget(): void {}
}

/** The end of the way: a leaf's gradient is added up. */
export class AccumulateGrad extends GradNode {
  constructor(readonly variable: Tensor) {
    super('AccumulateGrad', [], [metaOf(variable)]);
  }

  async apply([gradient]: readonly Gradient[], _isWanted: unknown, run: TapeRun): Promise<Gradient[]> {
    const { variable } = this;
    if (!gradient) return [];
    if (variable.grad && !run.isRecording) run.release(await run.call('addTo', variable.grad, gradient));
    else {
      if (variable.grad) variable.grad = await run.call('add', variable.grad, gradient);
      else variable.grad = run.mayKeep(gradient, variable) ? gradient : await run.owned(gradient);
      run.handOut(variable.grad);
    }
    return [];
  }
}

/** What stands for an operator whose derivative nobody knows: an error, when it is asked for. */
export class NotImplementedNode extends GradNode {
  constructor(
    name: string,
    edges: readonly (Edge | null)[],
    outputs: (GradientMeta | null)[],
    /** PyTorch's error. */
    private readonly message: string,
  ) {
    super(name, edges, outputs);
  }

  apply(): Promise<Gradient[]> {
    throw new OperatorError(this.message);
  }
}
