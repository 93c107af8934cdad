import { IntType, type Node } from '@cresset/ir';
import { boxingOf, OperatorError } from '@cresset/operators';
import { notImplementedMessage } from '@cresset/operators/parts/derivatives';
import { List, Tensor, type IValue } from '@cresset/tensor';
import type { OperatorBinding } from '../../interpreter/code/operator-binding.ts';
import { CopySlices } from '../nodes/copy-slices.ts';

import { recordedOperatorOf, type RecordedOperator } from './recorded-operator.ts';
import { FormulaNode, type InputEdges } from '../nodes/formula-node.ts';
import { resultNames } from '../nodes/formula-names.ts';
import { AccumulateGrad, metaOf, NotImplementedNode, type GradNode } from '../nodes/grad-node.ts';
import {
  countWith,
  emptyHistory,
  historyOf,
  isDifferentiable,
  isStaleView,
  knownHistoryOf,
  requiresGrad,
  rootOf,
  setHistory,
  versionOf,
  type Edge,
  type ViewOrigin,
} from './tensor-history.ts';

/** Where the gradient of a tensor goes: to what made it, or to a leaf's sum; null where it requires none. */
export function gradientEdge(tensor: Tensor): Edge | null {
  const history = historyOf(tensor);
  const { view } = history;
  if (view && isStaleView(tensor) && requiresGrad(rootOf(tensor))) {
    // Somebody wrote to what it is a view of: it is a view of what that has become.
    checkView(view, 'its base or another view of its base has been');
    const operator = recordedOperatorOf(view.binding.row!);
    const node = nodeFor(operator, view.args, view.results);
    saveArguments(node, operator, view.args);
    saveResults(node, operator, view.results);
    history.edge = { node, output: view.result };
    history.version = versionOf(tensor);
    tensor.requiresGrad = true;
  }
  if (history.edge) return history.edge;
  if (!tensor.requiresGrad) return null;
  return { node: (history.accumulator ??= new AccumulateGrad(tensor)), output: 0 };
}

/** Tensors of a value: itself, or those of a list. */
export function tensorsOf(value: IValue | undefined): readonly (Tensor | null)[] {
  if (value instanceof Tensor) return [value];
  if (!(value instanceof List)) return [];
  return value.items.every((item) => item === null || item instanceof Tensor) ? (value.items as Tensor[]) : [];
}

/** The results of a call one by one: those of a list are results of their own. */
export function outputsOf(results: readonly IValue[]): readonly (IValue | null)[] {
  return results.length === 1 && results[0] instanceof List ? results[0].items : results;
}

/** The step backwards of a call; nothing is kept of the call yet. */
export function nodeFor(operator: RecordedOperator, args: readonly IValue[], results: readonly IValue[]): GradNode {
  const { derivative, name, signature } = operator;
  const edges: (Edge | null)[] = [];
  const inputs = new Map<string, InputEdges>();
  const wanted = derivative ? new Set(derivative.formulas.flatMap((formula) => formula.inputs)) : null;
  signature.args.forEach(({ name: input }, at) => {
    if (wanted && !wanted.has(input)) return;
    const tensors = tensorsOf(args[at]);
    inputs.set(input, { begin: edges.length, count: tensors.length, isList: args[at] instanceof List });
    for (const tensor of tensors) edges.push(tensor && gradientEdge(tensor));
  });
  const outputs = outputsOf(results).map((result) => (result instanceof Tensor ? metaOf(result) : null));
  return derivative
    ? new FormulaNode(name, edges, outputs, derivative, inputs)
    : new NotImplementedNode(name, edges, outputs, messageFor(operator));
}

function messageFor({ source }: RecordedOperator): string {
  const { name, overload } = boxingOf(source).signature;
  return notImplementedMessage(name, overload);
}

/** Keeps what the derivatives need of a call's arguments. */
export function saveArguments(node: GradNode, { signature }: RecordedOperator, args: readonly IValue[]): void {
  if (!(node instanceof FormulaNode)) return;
  signature.args.forEach(({ name, type }, at) => {
    const value = args[at] ?? null;
    node.save(name, type.replace('?', '').endsWith('[]') && typeof value === 'bigint' ? listOfOne(value) : value);
  });
}

/** As {@link saveArguments}, of its results. */
export function saveResults(node: GradNode, { signature }: RecordedOperator, results: readonly IValue[]): void {
  if (!(node instanceof FormulaNode)) return;
  resultNames(signature.returns).forEach((name, at) => node.save(name, results[at] ?? null, { node, output: at }));
}

const listOfOne = (value: bigint): List => new List(IntType.get(), [value]);

/** Notes which results are views, and of what. Gives those that are new tensors. */
export function noteViews(
  operator: RecordedOperator,
  call: { readonly binding: OperatorBinding; readonly args: readonly IValue[]; readonly node: Node },
  results: readonly IValue[],
  wasMadeWithoutGrad: boolean,
): void {
  const { viewOf } = operator;
  if (viewOf === -1) return;
  const parent = call.args[viewOf];
  if (!(parent instanceof Tensor)) return;
  const outputs = outputsOf(results);
  outputs.forEach((view, result) => {
    if (!(view instanceof Tensor) || view === parent || view.storage !== parent.storage || knownHistoryOf(view)) return;
    countWith(view, parent);
    const isOneOfMany = operator.viewsTogether;
    const origin: ViewOrigin = { ...call, parent, parentAt: viewOf, result, results, isOneOfMany, wasMadeWithoutGrad };
    setHistory(view, { ...emptyHistory(origin), version: versionOf(view) });
  });
}

/** Makes the results of a call known to come of a step backwards. */
export function setResults(node: GradNode, args: readonly IValue[], results: readonly IValue[]): void {
  const given = new Set(args.flatMap((value) => tensorsOf(value)));
  outputsOf(results).forEach((result, output) => {
    if (!(result instanceof Tensor) || given.has(result)) return;
    result.requiresGrad = isDifferentiable(result) && node.differentiates(output);
    if (!result.requiresGrad) return;
    const history = historyOf(result);
    history.edge = { node, output };
    history.version = versionOf(result);
  });
}

/** Has a tensor that was written to come of what wrote it; where it is a view, so does what it is a view of. */
export function rebaseHistory(tensor: Tensor, node: GradNode, output: number, selfAt: number): void {
  const history = historyOf(tensor);
  tensor.requiresGrad = true;
  if (!history.view) {
    history.edge = { node, output };
    history.accumulator = null;
    return;
  }
  const views: ViewOrigin[] = [];
  let root = tensor;
  for (let view = history.view as ViewOrigin | null; view; view = knownHistoryOf(root)?.view ?? null) {
    views.unshift(view);
    root = view.parent;
  }
  const copied = new CopySlices(root, gradientEdge(root), views, node, selfAt);
  const rootHistory = historyOf(root);
  rootHistory.edge = { node: copied, output: 0 };
  rootHistory.accumulator = null;
  root.requiresGrad = true;
}

/** Throws PyTorch's error where a tensor that takes part in gradients may not be written to (check_inplace). */
export function checkInPlace(tensor: Tensor): void {
  const { view, edge } = historyOf(tensor);
  if (!view) {
    if (!requiresGrad(tensor) || edge !== null) return;
    throw new OperatorError('a leaf Variable that requires grad is being used in an in-place operation.');
  }
  checkView(view, 'is being');
  const root = rootOf(tensor);
  if (requiresGrad(root) && historyOf(root).edge === null) {
    throw new OperatorError('a view of a leaf Variable that requires grad is being used in an in-place operation.');
  }
}

/** Throws PyTorch's error where it is not known what a view becomes when something is written to it (handle_view_on_rebase). */
function checkView(view: ViewOrigin, modified: string): void {
  if (view.isOneOfMany) {
    const name = recordedOperatorOf(view.binding.row!).name.replace(/Backward0?(?=\d*$)/, '');
    throw new OperatorError(
      `Output ${view.result} of ${name} is a view and ${modified} modified inplace. This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace the inplace operation by an out-of-place one.`,
    );
  }
  if (view.wasMadeWithoutGrad) {
    throw new OperatorError(
      `A view was created in no_grad mode and ${modified} modified inplace with grad mode enabled. Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked).`,
    );
  }
}
