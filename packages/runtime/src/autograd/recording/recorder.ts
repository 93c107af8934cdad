import type { Graph, Node } from '@cresset/ir';
import { isImplemented, OperatorError, type OperatorRow } from '@cresset/operators';
import { complexRefusal, isNotDifferentiable } from '@cresset/operators/parts/derivatives';
import { isComplex, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { dispatch, whenThere, type Invocation } from '../../dispatch/dispatch.ts';
import type { FusionGroup } from '../../dispatch/fusion-group.ts';
import type { DifferentiableGroup } from '../../executor/differentiable-group.ts';
import type { OperatorBinding } from '../../interpreter/code/operator-binding.ts';
import type { StorageLedger } from '../../memory/storage-ledger.ts';
import { Execution, type OperatorObserver } from '../../run/execution.ts';
import type { Autocast } from './autocast.ts';
import { autogradOperators } from './autograd-operators.ts';
import { recordGroup } from '../nodes/differentiable-node.ts';
import { FormulaNode } from '../nodes/formula-node.ts';
import { giveUp, hold, takeCharge, type HeldTensor } from './held-storages.ts';
import { metaOf, type GradNode } from '../nodes/grad-node.ts';
import {
  checkInPlace,
  nodeFor,
  noteViews,
  outputsOf,
  rebaseHistory,
  saveArguments,
  saveResults,
  setResults,
  tensorsOf,
} from './record.ts';
import { recordedOperatorOf, type RecordedOperator } from './recorded-operator.ts';
import type { OperatorTrace } from './operator-trace.ts';
import { below, dispatchTraced, noteWrites, runComposed, runGraph, unrecorded } from './runner.ts';
import { tapeCode } from '../tape-code.ts';
import { TapeRun } from '../tape-run.ts';
import {
  countApart,
  emptyHistory,
  historyOf,
  noteTurn,
  isDifferentiable,
  knownHistoryOf,
  requiresGrad,
  setHistory,
} from './tensor-history.ts';

interface RecordedCall {
  readonly binding: OperatorBinding;
  readonly args: readonly IValue[];
  readonly node: Node;
}

/** Records what it runs, for gradients to be asked of it. */
export class Recorder implements OperatorObserver {
  /** Is told of every operator that is called, those of derivatives among them. */
  trace: OperatorTrace | null = null;

  /** What derivatives need, which outlives the run. */
  get kept(): readonly Tensor[] {
    return this.#held.map(({ tensor }) => tensor);
  }

  #held: HeldTensor[] = [];
  /** Takes the steps of a part of the program that is run again for what they need. */
  #unkept: ((step: FormulaNode) => void) | null = null;

  /** What arguments are cast to; null where they are taken as they are. */
  autocast: Autocast | null = null;

  /**
   * @param watcher calls the operators that are called, those of derivatives among them
   * @param noteStep told of each step that keeps something
   */
  constructor(
    readonly watcher: OperatorObserver | null = null,
    private readonly noteStep: ((step: GradNode) => void) | null = null,
  ) {}

  /** Whether what is being recorded is kept nothing of. */
  get keepsNothing(): boolean {
    return this.#unkept !== null;
  }

  /** Records `work` so that nothing is kept of it: each of its steps is handed to `take`. */
  async withoutKeeping<Result>(take: (step: FormulaNode) => void, work: () => Promise<Result>): Promise<Result> {
    this.#unkept = take;
    try {
      return await work();
    } finally {
      this.#unkept = null;
    }
  }

  /** A tensor outlives the registers of the run, as what steps keep does. */
  holdOn(tensor: Tensor, ledger: StorageLedger): void {
    const entry = ledger.entries.get(tensor.storage);
    if (!entry) return ledger.handOut(tensor.storage);
    hold(tensor, ledger);
    this.#held.push({ tensor, entry });
  }

  /** The runs that were recorded are over, and gave `results`: what else derivatives need is theirs alone. */
  end(results: readonly IValue[]): void {
    takeCharge(this.#held, results);
    this.#held = [];
  }

  /** As {@link end}; nobody asks for derivatives any more. */
  giveUp(results: readonly IValue[]): void {
    giveUp(this.#held, results);
    this.#held = [];
  }

  run(binding: OperatorBinding, args: readonly IValue[], node: Node, execution: Execution): Invocation {
    const dtype = this.autocast?.dtypeFor(binding.name, args);
    return dtype
      ? this.#runCast(dtype, { binding, args, node }, execution)
      : this.runAsGiven(binding, args, node, execution);
  }

  /** Calls an operator with its arguments cast. What it comes to in other operators is not cast again. */
  async #runCast(
    dtype: ScalarType,
    { binding, args, node }: RecordedCall,
    execution: Execution,
  ): Promise<readonly IValue[]> {
    const within = new Execution(execution.context, execution.signal, new WithoutAutocast(this), execution.ledger);
    within.running = execution.running;
    const run = new TapeRun(within, true);
    const cast = await this.autocast!.castTo(dtype, args, run);
    const results = await this.runAsGiven(binding, cast.args, node, within);
    const storages = new Set(results.flatMap(tensorsOf).map((tensor) => tensor?.storage));
    for (const each of cast.made) {
      if (storages.has(each.storage)) run.handOver([each]);
      else run.release(each);
    }
    return results;
  }

  /** As {@link run}, whatever the dtypes of the arguments are. */
  runAsGiven(binding: OperatorBinding, args: readonly IValue[], node: Node, execution: Execution): Invocation {
    const { row } = binding;
    const own = autogradOperators[binding.name];
    if (own) return own(args, execution);
    if (!row) return dispatch(binding, args, execution);
    const call = { binding, args, node };
    const operator = recordedOperatorOf(row);
    const { requiresGradAt } = operator;
    if (requiresGradAt !== -1) {
      return whenThere(dispatchTraced(binding, args, node, execution), (results) => {
        (results[0] as Tensor).requiresGrad = args[requiresGradAt] === true;
        return results;
      });
    }
    if (operator.isPlain) return dispatchTraced(binding, args, node, execution);
    if (operator.isApart) {
      return whenThere(this.#runBelow(call, execution), (results) => {
        countApart(results[0] as Tensor);
        return results;
      });
    }
    const isNeeded = isGradientNeeded(args, execution);
    if (isNeeded) checkArguments(operator, args);
    if (operator.isComposed) return runComposed(row, args, new TapeRun(execution, true));
    const composition = isNeeded && operator.derivative?.composition;
    if (composition) {
      const run = new TapeRun(execution, true);
      return operator.isInPlace && row.readsNoData
        ? becomeView(composition(), row, args, run)
        : runGraph(composition(), row, args, run);
    }
    if (isNeeded) return this.#record(operator, call, execution);
    return whenThere(this.#runBelow(call, execution), (results) => {
      noteWrites(operator, args);
      noteViews(operator, call, results, !execution.context.gradEnabled);
      return results;
    });
  }

  #record(operator: RecordedOperator, call: RecordedCall, execution: Execution): Invocation {
    const { args } = call;
    const { row, derivative, isInPlace, signature } = operator;
    const writes = isInPlace ? operator.writes : [];
    if (row.derived?.form === 'out') {
      const { name } = signature;
      throw new OperatorError(
        `${name.slice(name.indexOf('::') + 2)}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.`,
      );
    }
    if (/^aten::resize(_as)?_$/.test(signature.name))
      throw new OperatorError('cannot resize variables that require grad');
    if (!derivative && isNotDifferentiable(signature.name)) {
      return whenThere(this.#runBelow(call, execution), (results) => {
        noteWrites(operator, args);
        return results;
      });
    }
    if (writes.length > 0) return this.#recordInPlace(operator, call, execution);
    return whenThere(this.#runBelow(call, execution), (results) => {
      if (!outputsOf(results).some((result) => result instanceof Tensor && isDifferentiable(result))) {
        forgetFlags(args, results);
        return results;
      }
      checkResults(operator, results);
      noteWrites(operator, args);
      const step = nodeFor(operator, args, results);
      if (this.#isKept(step)) {
        saveArguments(step, operator, args);
        saveResults(step, operator, results);
        this.#hold(step, execution);
      }
      noteViews(operator, call, results, false);
      setResults(step, args, results);
      return results;
    });
  }

  async #recordInPlace(
    operator: RecordedOperator,
    call: RecordedCall,
    execution: Execution,
  ): Promise<readonly IValue[]> {
    const { args } = call;
    const { signature, writes } = operator;
    for (const at of writes) if (args[at] instanceof Tensor) checkInPlace(args[at]);
    // What is written to can be kept only as a copy, with the history that it had.
    const before = nodeFor(operator, args, [args[writes[0]]]);
    const isKept = this.#isKept(before);
    const kept = [...args];
    for (const at of isKept ? writes : []) {
      if (!(before instanceof FormulaNode) || !before.needs(signature.args[at].name)) continue;
      kept[at] = await this.#copyOf(args[at] as Tensor, execution);
    }
    if (isKept) saveArguments(before, operator, kept);
    const results = await this.#runBelow(call, execution);
    noteWrites(operator, args);
    const [target] = writes;
    // `t_` and its kin leave other sizes behind.
    before.outputs[0] = metaOf(args[target] as Tensor);
    if (isKept) {
      saveResults(before, operator, results);
      this.#hold(before, execution);
    }
    const selfAt = before instanceof FormulaNode ? before.firstEdgeOf(signature.args[target].name) : target;
    if (isDifferentiable(args[target] as Tensor)) rebaseHistory(args[target] as Tensor, before, 0, selfAt);
    return results;
  }

  #runBelow({ binding, args, node }: RecordedCall, execution: Execution): Invocation {
    const { row } = binding;
    if (!row || isImplemented(row) || row.remote) return dispatchTraced(binding, args, node, execution);
    return runComposed(row, args, unrecorded(execution));
  }

  async #copyOf(tensor: Tensor, execution: Execution): Promise<Tensor> {
    const run = unrecorded(execution);
    const copy = await run.owned(tensor);
    run.handOver([copy]);
    const { edge } = historyOf(tensor);
    copy.requiresGrad = tensor.requiresGrad;
    setHistory(copy, { ...emptyHistory(null), edge });
    return copy;
  }

  /** Whether a step is to keep what it needs; else it is kept nothing of. */
  #isKept(step: GradNode): boolean {
    if (!this.#unkept || !(step instanceof FormulaNode)) return true;
    this.#unkept(step);
    return false;
  }

  /** What is kept outlives the registers that hold it. */
  #hold(step: GradNode, { ledger }: Execution): void {
    if (step instanceof FormulaNode) this.noteStep?.(step);
    if (ledger) this.#held.push(...step.hold(ledger));
  }

  /** A group is run as one where no gradient is wanted of it, and else by its operators. */
  async runGroup(
    group: FusionGroup,
    args: readonly IValue[],
    _node: Node,
    execution: Execution,
  ): Promise<readonly IValue[]> {
    if (!isGradientNeeded(args, execution)) return group.run(args, below(execution));
    const run = new TapeRun(execution, true);
    return run.handOver(await run.run(tapeCode.ofGraph(group.graph, group.label).code([]), args));
  }

  async runDifferentiable(
    group: DifferentiableGroup,
    args: readonly IValue[],
    execution: Execution,
  ): Promise<readonly IValue[]> {
    const { faults } = execution.context;
    // Nobody looks at what a group writes: where a kernel before it may have noted a fault, that comes up first.
    if (this.watcher && group.keepsStatistics && faults.isPending) await faults.check();
    const run = new TapeRun(below(execution), false);
    const results = await run.run(group.forwardCode(args), args);
    const own = results.map((result) => apart(result, args));
    if (isGradientNeeded(args, execution)) this.#hold(recordGroup(group, args, own), execution);
    for (const extra of own.slice(group.resultCount)) if (extra instanceof Tensor) run.release(extra);
    return run.handOver(own.slice(0, group.resultCount));
  }
}

/** Has a tensor be a view of what it was: it shares its memory, and comes of it. */
async function becomeView(
  graph: Graph,
  row: OperatorRow,
  args: readonly IValue[],
  run: TapeRun,
): Promise<readonly IValue[]> {
  const [tensor, ...others] = args as [Tensor, ...IValue[]];
  checkInPlace(tensor);
  const before = tensor.asStrided(tensor.sizes, tensor.strides);
  before.requiresGrad = tensor.requiresGrad;
  setHistory(before, historyOf(tensor));
  const [view] = (await runGraph(graph, row, [before, ...others], run)) as readonly Tensor[];
  const { sizes, strides, storageOffset, requiresGrad: isRequired } = view;
  Object.assign(tensor, { sizes, strides, storageOffset, requiresGrad: isRequired });
  setHistory(tensor, historyOf(view));
  noteTurn(tensor);
  return [tensor];
}

/** Records as another recorder does, without its autocast. */
class WithoutAutocast implements OperatorObserver {
  constructor(private readonly recorder: Recorder) {}

  get trace(): OperatorTrace | null {
    return this.recorder.trace;
  }

  get watcher(): OperatorObserver | null {
    return this.recorder.watcher;
  }

  run(binding: OperatorBinding, args: readonly IValue[], node: Node, execution: Execution): Invocation {
    return this.recorder.runAsGiven(binding, args, node, execution);
  }

  runGroup(group: FusionGroup, args: readonly IValue[], node: Node, execution: Execution): Promise<readonly IValue[]> {
    return this.recorder.runGroup(group, args, node, execution);
  }
}

/** Whether what an operator makes of its arguments may be asked for gradients. */
const isGradientNeeded = (args: readonly IValue[], { context }: Execution): boolean =>
  context.gradEnabled &&
  args.some((value) => tensorsOf(value).some((tensor) => tensor !== null && requiresGrad(tensor)));

/** Throws PyTorch's error where an argument requires a gradient that the operator's derivatives do not give (check_no_requires_grad). */
function checkArguments({ withoutSlope }: RecordedOperator, args: readonly IValue[]): void {
  for (const [at, error] of withoutSlope) {
    const value = args[at];
    if (value instanceof Tensor && requiresGrad(value)) throw new OperatorError(error);
  }
}

/** Throws PyTorch's error where there are complex results, of which the operator's derivatives know nothing. */
function checkResults({ signature }: RecordedOperator, results: readonly IValue[]): void {
  const refusal = complexRefusal(signature.name);
  if (refusal === null) return;
  if (outputsOf(results).some((result) => result instanceof Tensor && isComplex(result.dtype))) {
    throw new OperatorError(refusal);
  }
}

/** Autograd knows a result from an argument, even where the one is the other. */
function apart(result: IValue, args: readonly IValue[]): IValue {
  if (!(result instanceof Tensor)) return result;
  const own = args.includes(result) ? result.asStrided([...result.sizes], [...result.strides]) : result;
  own.requiresGrad = false;
  return own;
}

/** Results that have no derivatives require none, views of something that does among them. */
function forgetFlags(args: readonly IValue[], results: readonly IValue[]): void {
  for (const result of outputsOf(results)) {
    if (result instanceof Tensor && !args.includes(result) && !knownHistoryOf(result)) result.requiresGrad = false;
  }
}
