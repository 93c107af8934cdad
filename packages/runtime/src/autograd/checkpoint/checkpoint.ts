import { OperatorError } from '@cresset/operators';
import { ScriptObject, Tensor, type IValue } from '@cresset/tensor';
import type { StorageLedger } from '../../memory/storage-ledger.ts';
import { Execution } from '../../run/execution.ts';
import { Autocast, type AutocastDtype } from '../recording/autocast.ts';
import type { FormulaNode, Recomputation } from '../nodes/formula-node.ts';
import type { GradNode } from '../nodes/grad-node.ts';
import { letGo } from '../recording/held-storages.ts';
import { Recorder } from '../recording/recorder.ts';
import { TapeRun } from '../tape-run.ts';

/** Runs a part of a program within an execution; what it gives is held. */
export type PartOfProgram = (execution: Execution) => Promise<readonly IValue[]>;

/**
 * A part of a program of which nothing is kept but its arguments: it is run again when its gradients are asked for (torch.utils.checkpoint, not the reentrant
 * one). The second run draws the random numbers of the first. What it writes to buffers and attributes is taken back, so that they change once; in PyTorch
 * the statistics of a batch norm are updated twice.
 */
export class Checkpoint implements Recomputation {
  readonly #places = new Map<GradNode, number>();
  /** Tensors of modules that the first run wrote to. */
  #written: readonly Tensor[] = [];
  /** The steps of the second run, for one walk backwards. */
  #again: { readonly run: TapeRun; readonly steps: readonly GradNode[] } | null = null;
  #held: Tensor[] = [];
  readonly #goBack: (() => void) | undefined;

  private constructor(
    private readonly part: PartOfProgram,
    private readonly module: ScriptObject,
    private readonly autocast: AutocastDtype | null,
    { context }: Execution,
  ) {
    this.#goBack = context.generator.mark?.();
  }

  /** Runs `part`, a call of a module with `args`. */
  static async record(
    part: PartOfProgram,
    module: ScriptObject,
    args: readonly IValue[],
    recorder: Recorder,
    execution: Execution,
  ): Promise<readonly IValue[]> {
    const checkpoint = new Checkpoint(part, module, recorder.autocast?.dtype ?? null, execution);
    const { ledger } = execution;
    const tensors = args.filter((value) => value instanceof Tensor);
    if (ledger) for (const tensor of tensors) recorder.holdOn(tensor, ledger);
    checkpoint.#held = ledger ? tensors.filter(({ storage }) => ledger.entries.has(storage)) : [];
    const before = new Map(tensorsOf(module).map((tensor) => [tensor, tensor.storage.writes]));
    const results = await recorder.withoutKeeping(
      (step) => checkpoint.#take(step),
      () => part(execution),
    );
    checkpoint.#written = tensorsOf(module).filter((tensor) => {
      const writes = before.get(tensor);
      return writes !== undefined && writes !== tensor.storage.writes;
    });
    if (checkpoint.#places.size === 0) checkpoint.#letGo(ledger);
    return results;
  }

  #take(step: FormulaNode): void {
    this.#places.set(step, this.#places.size);
    step.recomputation = this;
  }

  async stepAgain(step: GradNode, run: TapeRun): Promise<GradNode> {
    if (this.#again?.run !== run) {
      this.#again = { run, steps: await this.#runAgain(run) };
      run.ends.push(() => this.#forget(run.execution.ledger));
    }
    return this.#again.steps[this.#places.get(step)!];
  }

  async #runAgain(run: TapeRun): Promise<readonly GradNode[]> {
    const { context, signal, ledger } = run.execution;
    const steps: GradNode[] = [];
    const recorder = new Recorder(run.execution.observer?.watcher, (step) => steps.push(step));
    recorder.autocast = this.autocast && new Autocast(this.autocast);
    const execution = new Execution(context, signal, recorder, ledger);
    // What is written back is nothing that autograd should know of.
    const plain = new TapeRun(new Execution(context, signal, null, ledger), false);
    const attributes = modulesOf(this.module).map((module) => [module, [...module.slots]] as const);
    const copies: (readonly [Tensor, Tensor])[] = [];
    for (const tensor of this.#written) copies.push([tensor, await plain.owned(tensor)]);
    const { gradEnabled } = context;
    const goOn = context.generator.mark?.();
    context.gradEnabled = true;
    this.#goBack?.();
    try {
      const results = await this.part(execution);
      recorder.autocast?.end(run);
      for (const value of results) if (value instanceof Tensor) run.release(value);
    } finally {
      goOn?.();
      context.gradEnabled = gradEnabled;
      for (const [module, slots] of attributes) slots.forEach((value, slot) => (module.slots[slot] = value));
      for (const [tensor, copy] of copies) {
        plain.release(await plain.call('copyTo', tensor, copy));
        plain.release(copy);
      }
    }
    if (steps.length !== this.#places.size) {
      throw new OperatorError(
        `torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\nNumber of tensors saved during forward: ${this.#places.size}\nNumber of tensors saved during recomputation: ${steps.length}.`,
      );
    }
    return steps;
  }

  release(step: GradNode, ledger: StorageLedger | null): void {
    const place = this.#places.get(step);
    if (place === undefined) return;
    this.#again?.steps[place].release(ledger);
    this.#places.delete(step);
    if (this.#places.size === 0) this.#letGo(ledger);
  }

  /** Gives up what the second run kept, where steps are left that may be asked again. */
  #forget(ledger: StorageLedger | null): void {
    for (const place of this.#places.values()) this.#again?.steps[place].release(ledger);
    this.#again = null;
  }

  #letGo(ledger: StorageLedger | null): void {
    if (ledger) for (const tensor of this.#held.splice(0)) letGo(tensor, ledger);
  }
}

/** A module, and those below it. */
function modulesOf(module: ScriptObject, found = new Set<ScriptObject>()): readonly ScriptObject[] {
  if (!found.has(module)) {
    found.add(module);
    for (const value of module.slots) if (value instanceof ScriptObject) modulesOf(value, found);
  }
  return [...found];
}

const tensorsOf = (module: ScriptObject): Tensor[] =>
  modulesOf(module).flatMap(({ slots }) => slots.filter((value) => value instanceof Tensor));
