import type { Node } from '@cresset/ir';
import { isImplemented, OperatorError } from '@cresset/operators';
import { isNotDifferentiable } from '@cresset/operators/parts/derivatives';
import { Tensor, type IValue } from '@cresset/tensor';
import { dispatch } from '../dispatch/dispatch.ts';
import type { OperatorBinding } from '../interpreter/operator-binding.ts';
import type { Execution, OperatorObserver } from '../run/execution.ts';
import { autogradOperators } from './autograd-operators.ts';
import { FormulaNode } from './formula-node.ts';
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
import { noteWrites, runComposed, runGraph, unrecorded } from './runner.ts';
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
    const isOn = execution.context.gradEnabled;
    const isNeeded =
      isOn && args.some((value) => tensorsOf(value).some((tensor) => tensor !== null && requiresGrad(tensor)));
    const composition = isNeeded && operator.derivative?.composition;
    if (composition) return runGraph(composition(), row, args, new TapeRun(execution, true));
    if (isNeeded) return this.#record(operator, { binding, args, node }, execution);
    const results = await this.#runBelow(binding, args, execution);
    noteWrites(operator, args);
    noteViews(operator, { binding, args, node }, results, !isOn);
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
  #pin(step: unknown, { ledger }: Execution): void {
    if (!ledger || !(step instanceof FormulaNode)) return;
    for (const tensor of step.savedTensors()) {
      ledger.pin(tensor);
      this.kept.push(tensor);
    }
  }

  runGroup(): never {
    throw new Error('nothing is fused in what is recorded');
  }
}

/** Results that have no derivatives require none, views of something that does among them. */
function forgetFlags(args: readonly IValue[], results: readonly IValue[]): void {
  for (const result of outputsOf(results)) {
    if (result instanceof Tensor && !args.includes(result) && !knownHistoryOf(result)) result.requiresGrad = false;
  }
}
