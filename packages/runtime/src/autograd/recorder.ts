import type { Node } from '@cresset/ir';
import { isImplemented, OperatorError } from '@cresset/operators';
import { isNotDifferentiable } from '@cresset/operators/parts/derivatives';
import { Tensor, type IValue } from '@cresset/tensor';
import { dispatch } from '../dispatch/dispatch.ts';
import type { FusionGroup } from '../dispatch/fusion-group.ts';
import type { DifferentiableGroup } from '../executor/differentiable-group.ts';
import type { OperatorBinding } from '../interpreter/operator-binding.ts';
import type { Execution, OperatorObserver } from '../run/execution.ts';
import { autogradOperators } from './autograd-operators.ts';
import { recordGroup } from './differentiable-node.ts';
import { FormulaNode } from './formula-node.ts';
import type { GradNode } from './grad-node.ts';
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
import { below, noteWrites, runComposed, runGraph, unrecorded } from './runner.ts';
import { tapeCode } from './tape-code.ts';
import { TapeRun } from './tape-run.ts';
import {
  emptyHistory,
  historyOf,
  isDifferentiable,
  knownHistoryOf,
  requiresGrad,
  setHistory,
} from './tensor-history.ts';

/** Records what it runs, for gradients to be asked of it. */
export class Recorder implements OperatorObserver {
  /** What derivatives need, which outlives the run. */
  readonly kept: Tensor[] = [];

  async run(
    binding: OperatorBinding,
    args: readonly IValue[],
    node: Node,
    execution: Execution,
  ): Promise<readonly IValue[]> {
    const { row } = binding;
    const own = autogradOperators[binding.name];
    if (own) return own(args, execution);
    if (!row) return dispatch(binding, args, execution);
    const operator = recordedOperatorOf(row);
    if (operator.isPlain) return dispatch(binding, args, execution);
    if (operator.isComposed) return runComposed(row, args, new TapeRun(execution, true));
    const isNeeded = isGradientNeeded(args, execution);
    const composition = isNeeded && operator.derivative?.composition;
    if (composition) return runGraph(composition(), row, args, new TapeRun(execution, true));
    if (isNeeded) return this.#record(operator, { binding, args, node }, execution);
    const results = await this.#runBelow(binding, args, execution);
    noteWrites(operator, args);
    noteViews(operator, { binding, args, node }, results, !execution.context.gradEnabled);
    return results;
  }

  async #record(
    operator: RecordedOperator,
    call: { readonly binding: OperatorBinding; readonly args: readonly IValue[]; readonly node: Node },
    execution: Execution,
  ): Promise<readonly IValue[]> {
    const { args, binding } = call;
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
      const results = await this.#runBelow(binding, args, execution);
      noteWrites(operator, args);
      return results;
    }
    for (const at of writes) if (args[at] instanceof Tensor) checkInPlace(args[at]);
    // What is written to can be kept only as a copy, with the history that it had.
    const before = nodeFor(operator, args, writes.length > 0 ? [args[writes[0]]] : []);
    const kept = [...args];
    for (const at of writes) {
      if (!(before instanceof FormulaNode) || !before.needs(signature.args[at].name)) continue;
      kept[at] = await this.#copyOf(args[at] as Tensor, execution);
    }
    if (writes.length === 0) {
      const results = await this.#runBelow(binding, args, execution);
      if (!outputsOf(results).some((result) => result instanceof Tensor && isDifferentiable(result))) {
        forgetFlags(args, results);
        return results;
      }
      noteWrites(operator, args);
      const step = nodeFor(operator, args, results);
      saveArguments(step, operator, args);
      saveResults(step, operator, results);
      this.#pin(step, execution);
      noteViews(operator, call, results, false);
      setResults(step, args, results);
      return results;
    }
    saveArguments(before, operator, kept);
    const results = await this.#runBelow(binding, args, execution);
    noteWrites(operator, args);
    saveResults(before, operator, results);
    this.#pin(before, execution);
    const [target] = writes;
    const selfAt = before instanceof FormulaNode ? before.firstEdgeOf(signature.args[target].name) : target;
    if (isDifferentiable(args[target] as Tensor)) rebaseHistory(args[target] as Tensor, before, 0, selfAt);
    return results;
  }

  async #runBelow(binding: OperatorBinding, args: readonly IValue[], execution: Execution): Promise<readonly IValue[]> {
    const { row } = binding;
    if (!row || isImplemented(row) || row.remote) return dispatch(binding, args, execution);
    return runComposed(row, args, unrecorded(execution));
  }

  async #copyOf(tensor: Tensor, execution: Execution): Promise<Tensor> {
    const copy = await unrecorded(execution).call('own', tensor);
    const { edge } = historyOf(tensor);
    copy.requiresGrad = tensor.requiresGrad;
    setHistory(copy, { ...emptyHistory(null), edge });
    return copy;
  }

  /** What is kept outlives the registers that hold it. */
  #pin(step: GradNode, { ledger }: Execution): void {
    if (!ledger) return;
    for (const tensor of step.savedTensors()) {
      ledger.pin(tensor);
      this.kept.push(tensor);
    }
  }

  /** A group is run as one where no gradient is wanted of it, and else by its operators. */
  async runGroup(
    group: FusionGroup,
    args: readonly IValue[],
    _node: Node,
    execution: Execution,
  ): Promise<readonly IValue[]> {
    if (!isGradientNeeded(args, execution)) return group.run(args, below(execution));
    return new TapeRun(execution, true).run(tapeCode.ofGraph(group.graph, group.label).code([]), args);
  }

  async runDifferentiable(
    group: DifferentiableGroup,
    args: readonly IValue[],
    execution: Execution,
  ): Promise<readonly IValue[]> {
    const results = await new TapeRun(below(execution), false).run(group.forwardCode(args), args);
    const own = results.map((result) => apart(result, args));
    if (isGradientNeeded(args, execution)) this.#pin(recordGroup(group, args, own), execution);
    return own.slice(0, group.resultCount);
  }
}

/** Whether what an operator makes of its arguments may be asked for gradients. */
const isGradientNeeded = (args: readonly IValue[], { context }: Execution): boolean =>
  context.gradEnabled &&
  args.some((value) => tensorsOf(value).some((tensor) => tensor !== null && requiresGrad(tensor)));

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
