import { isComplex, isFloatingPoint, type IValue, type Tensor } from '@cresset/tensor';
import type { Node } from '@cresset/ir';
import type { GradNode } from '../nodes/grad-node.ts';
import type { OperatorBinding } from '../../interpreter/code/operator-binding.ts';

/** A place in the graph of derivatives: a gradient for result `output` of `node` (torch::autograd::Edge). */
export interface Edge {
  readonly node: GradNode;
  readonly output: number;
}

/** How a view was made, so that it can be made of another tensor of that layout, and its gradient once more. */
export interface ViewOrigin {
  readonly node: Node;
  readonly parent: Tensor;
  readonly binding: OperatorBinding;
  readonly args: readonly IValue[];
  /** Which argument the parent is, and which of the results the view. */
  readonly parentAt: number;
  readonly result: number;
  readonly results: readonly IValue[];
  /** Results that are one of several views may not be written to. */
  readonly isOneOfMany: boolean;
  readonly wasMadeWithoutGrad: boolean;
}

/** What autograd knows of a tensor (torch::autograd::AutogradMeta). */
export interface TensorHistory {
  /** What made it; null for leaves. */
  edge: Edge | null;
  /** For a leaf: the node that adds up its gradient. */
  accumulator: GradNode | null;
  readonly view: ViewOrigin | null;
  /** How often its storage had been written when `edge` was found. */
  version: number;
  retainsGrad: boolean;
}

const histories = new WeakMap<Tensor, TensorHistory>();
const versions = new WeakMap<object, number>();
/** What writes are counted with, where it is not the storage. */
const counters = new WeakMap<Tensor, object>();

export function historyOf(tensor: Tensor): TensorHistory {
  let history = histories.get(tensor);
  if (!history) histories.set(tensor, (history = emptyHistory(null)));
  return history;
}

export const knownHistoryOf = (tensor: Tensor): TensorHistory | undefined => histories.get(tensor);

export function setHistory(tensor: Tensor, history: TensorHistory): void {
  histories.set(tensor, history);
}

export function forgetHistory(tensor: Tensor): void {
  histories.delete(tensor);
}

export const emptyHistory = (view: ViewOrigin | null): TensorHistory => ({
  edge: null,
  accumulator: null,
  view,
  version: 0,
  retainsGrad: false,
});

/** How often programs wrote to the elements of a tensor, or of one that shares them (`Tensor._version`). */
export const versionOf = (tensor: Tensor): number => versions.get(counterOf(tensor)) ?? 0;

export function bumpVersion(tensor: Tensor): void {
  versions.set(counterOf(tensor), versionOf(tensor) + 1);
}

/** How often tensors became other views of their elements in place, recorded. */
const turns = new WeakMap<Tensor, number>();

export const noteTurn = (tensor: Tensor): void => void turns.set(tensor, (turns.get(tensor) ?? 0) + 1);

/** How often programs wrote to a tensor, or had it become another view. */
export const changesOf = (tensor: Tensor): number => versionOf(tensor) + (turns.get(tensor) ?? 0);

const counterOf = (tensor: Tensor): object => counters.get(tensor) ?? tensor.storage;

/** Writes by way of a tensor and its views are no writes to others that share the elements, as of what `Tensor.data` gives. */
export function countApart(tensor: Tensor): void {
  counters.set(tensor, {});
}

/** Writes to a view are counted with those to what it is a view of. */
export function countWith(view: Tensor, parent: Tensor): void {
  const counter = counters.get(parent);
  if (counter) counters.set(view, counter);
}

/** The tensor that a view was made of, whatever views lie between. */
export function rootOf(tensor: Tensor): Tensor {
  let root = tensor;
  for (let view = histories.get(root)?.view; view; view = histories.get(root)?.view) root = view.parent;
  return root;
}

/** Whether somebody wrote to what a view is a view of since its own history was found. */
export function isStaleView(tensor: Tensor): boolean {
  const history = histories.get(tensor);
  return history !== undefined && history.view !== null && history.version !== versionOf(tensor);
}

/** `Tensor.requires_grad`: a view of something that has come to require a gradient does so too. */
export function requiresGrad(tensor: Tensor): boolean {
  if (!tensor.requiresGrad && isStaleView(tensor) && historyOf(rootOf(tensor)).edge !== null) return true;
  return tensor.requiresGrad;
}

/** Whether the dtype is one of numbers that have derivatives. */
export const isDifferentiable = ({ dtype }: Tensor): boolean => isFloatingPoint(dtype) || isComplex(dtype);
