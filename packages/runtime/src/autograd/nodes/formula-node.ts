import { BoolType, scalarTypeCode, TensorType } from '@cresset/ir';
import { OperatorError } from '@cresset/operators';
import { List, Tensor, type IValue, type Tuple } from '@cresset/tensor';
import type { StorageLedger } from '../../memory/storage-ledger.ts';
import type { Derivative, Formula } from './derivative.ts';
import { GradNode, type Gradient, type GradientMeta } from './grad-node.ts';
import { gradientName } from './formula-names.ts';
import { offsetName, sizesName, stridesName } from './formula-text.ts';
import { SavedValue } from './saved-value.ts';
import { joinStraight, joinTogether } from './straight-node.ts';
import { sizeList, type TapeRun } from '../tape-run.ts';
import { requiresGrad, type Edge } from '../recording/tensor-history.ts';

/** An input that has gradients: how many edges are its own, and where they begin. */
export interface InputEdges {
  readonly begin: number;
  readonly count: number;
  readonly isList: boolean;
}

/** Runs what was recorded once more, for what steps did not keep of the first run. */
export interface Recomputation {
  /** The same step of the second run, which has kept it. */
  stepAgain(step: GradNode, run: TapeRun): Promise<GradNode>;
  /** A step needs it no longer. */
  release(step: GradNode, ledger: StorageLedger | null): void;
}

/** An operator whose derivatives are in the table. */
export class FormulaNode extends GradNode {
  /** Null once it was given up. */
  #saved: Map<string, SavedValue> | null = new Map();
  /** Where nothing is kept: what makes it again. */
  recomputation: Recomputation | null = null;

  constructor(
    name: string,
    edges: readonly (Edge | null)[],
    outputs: (GradientMeta | null)[],
    private readonly derivative: Derivative,
    private readonly inputs: ReadonlyMap<string, InputEdges>,
  ) {
    super(name, edges, outputs);
  }

  /** Whether the gradients that somebody may want are worked out with it. */
  needs(name: string): boolean {
    return this.derivative.formulas.some(
      (formula) =>
        formula.parameters.includes(name) && formula.inputs.some((input) => this.#isWanted(input, () => true)),
    );
  }

  override differentiates(output: number): boolean {
    const { saved } = this.derivative;
    return saved.has('grads') || saved.has(gradientName(output));
  }

  /** Keeps an argument or a result, or how it lies in memory alone, where a derivative that may be wanted is worked out with them. */
  save(name: string, value: IValue, producer: Edge | null = null): void {
    if (this.needs(name)) this.#saved!.set(name, new SavedValue(value, producer));
    if (value instanceof Tensor) {
      this.#saveLayout(sizesName(name), () => sizeList(value.sizes));
      this.#saveLayout(stridesName(name), () => sizeList(value.strides));
      this.#saveLayout(offsetName(name), () => BigInt(value.storageOffset));
    }
  }

  #saveLayout(name: string, value: () => IValue): void {
    if (this.needs(name)) this.#saved!.set(name, new SavedValue(value()));
  }

  #isWanted(input: string, isWanted: (edge: number) => boolean): boolean {
    const own = this.inputs.get(input);
    if (!own) return false;
    for (let at = own.begin; at < own.begin + own.count; at++) if (this.edges[at] && isWanted(at)) return true;
    return false;
  }

  async apply(gradients: readonly Gradient[], isWanted: (edge: number) => boolean, run: TapeRun): Promise<Gradient[]> {
    if (!this.#saved) throw new OperatorError(RELEASED);
    if (this.recomputation) {
      const again = (await this.recomputation.stepAgain(this, run)) as FormulaNode;
      return again.apply(gradients, isWanted, run);
    }
    const results: Gradient[] = this.edges.map(() => null);
    for (const formula of this.derivative.formulas) {
      const wanted = formula.inputs.map((input) => this.#isWanted(input, isWanted));
      if (!wanted.includes(true)) continue;
      const args: IValue[] = [];
      const zeros: Tensor[] = [];
      for (const name of formula.parameters) args.push(await this.#argument(name, wanted, gradients, zeros, run));
      const [value] = await run.run(formula.code, args);
      for (const each of zeros) run.release(each);
      this.#distribute(formula, value, wanted, results, run);
    }
    if (run.isRecording) {
      this.#joinStraight(results);
      this.#joinTogether(results, gradients);
    }
    return results;
  }

  async #argument(
    name: string,
    wanted: readonly boolean[],
    gradients: readonly Gradient[],
    zeros: Tensor[],
    run: TapeRun,
  ): Promise<IValue> {
    if (name === 'wanted') return new List(BoolType.get(), [...wanted]);
    if (name === 'arrived')
      return new List(
        BoolType.get(),
        this.outputs.map((_, at) => gradients[at] !== null),
      );
    if (name === 'grads') {
      const all = await Promise.all(this.outputs.map((_, at) => this.#gradient(at, gradients, zeros, run)));
      return new List(TensorType.get(), all);
    }
    const at = this.outputs.findIndex((_, result) => gradientName(result) === name);
    return at === -1 || this.#saved!.has(name)
      ? this.#saved!.get(name)!.unpack()
      : this.#gradient(at, gradients, zeros, run);
  }

  async #gradient(at: number, gradients: readonly Gradient[], zeros: Tensor[], run: TapeRun): Promise<Tensor> {
    const given = gradients[at];
    if (given) return given;
    const { sizes, dtype } = this.outputs[at]!;
    const made = await run.call('zeros', sizeList(sizes), BigInt(scalarTypeCode(dtype)));
    zeros.push(made);
    return made;
  }

  #distribute(formula: Formula, value: IValue, wanted: readonly boolean[], results: Gradient[], run: TapeRun): void {
    const values = formula.inputs.length === 1 ? [value] : (value as Tuple).items;
    formula.inputs.forEach((input, at) => {
      const own = this.inputs.get(input);
      const gradient = values[at];
      if (!wanted[at] || !own) {
        if (gradient instanceof Tensor) run.release(gradient);
        return;
      }
      const each = own.isList && gradient instanceof List ? gradient.items : [gradient];
      each.forEach((item, offset) => {
        if (!(item instanceof Tensor) || offset >= own.count) return;
        // A list is held, and not what lies in it.
        if (item !== gradient) run.retain(item);
        results[own.begin + offset] = item;
      });
    });
  }

  #joinStraight(results: readonly Gradient[]): void {
    const { straightIn } = this.derivative;
    const at = straightIn === null ? -1 : this.firstEdgeOf(straightIn);
    const edge = this.edges[at];
    const gradient = results[at];
    if (edge && gradient) joinStraight(gradient, edge);
  }

  #joinTogether(results: Gradient[], given: readonly Gradient[]): void {
    const { takenTogether } = this.derivative;
    const edges = takenTogether.map((input) => this.edges[this.firstEdgeOf(input)] ?? null);
    if (edges.every((edge) => edge === null)) return;
    results.forEach((gradient, at) => {
      if (!gradient || requiresGrad(gradient)) return;
      // What was handed in is somebody else's, and comes of nothing more.
      const own = given.includes(gradient) ? gradient.asStrided([...gradient.sizes], [...gradient.strides]) : gradient;
      joinTogether(own, edges);
      results[at] = own;
    });
  }

  /** Which edge leads to an input, the first one where it is a list; -1 where none does. */
  firstEdgeOf(input: string): number {
    return this.inputs.get(input)?.begin ?? -1;
  }

  override *savedTensors(): Iterable<Tensor> {
    for (const value of this.#saved?.values() ?? []) yield* value.tensors;
  }

  override release(ledger: StorageLedger | null): void {
    super.release(ledger);
    this.recomputation?.release(this, ledger);
  }

  protected override forget(): void {
    this.#saved = null;
  }
}

export const RELEASED =
  'Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.';
