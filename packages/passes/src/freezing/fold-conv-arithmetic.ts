import { constantValue, logGraph, mayChange, scalarTypeCode, TensorType, type Graph, type Node } from '@cresset/ir';
import { isFloatingPoint, Tensor } from '@cresset/tensor';
import type { ConstantEvaluator } from '../cleanup/constant-propagation.ts';
import { eliminateDeadWrites } from '../cleanup/dead-code-elimination.ts';
import {
  arithmeticIn,
  hasConstantParameters,
  isFoldableConvolution,
  replaceParameter,
  tensorParameter,
} from './frozen-layers.ts';

const OVERLOADS: ReadonlySet<string> = new Set(['Tensor', 'Scalar']);

/** Puts a constant that is added to a convolution, or taken from it, into its bias (PyTorch: FoldFrozenConvAddOrSub). */
export function foldConvAddOrSub(graph: Graph, evaluate: ConstantEvaluator): boolean {
  return foldArithmetic(graph, ['aten::add', 'aten::sub'], (node, conv, weight) => {
    const before = tensorParameter(conv, 'bias') ?? Tensor.empty([weight.sizes[0]], weight.dtype);
    const bias = applied(node, before, evaluate);
    if (!bias) return false;
    replaceParameter(conv, 'bias', bias, node.kind.slice('aten::'.length));
    return true;
  });
}

/** Puts a constant factor or divisor of a convolution into its weights (PyTorch: FoldFrozenConvMulOrDiv). */
export function foldConvMulOrDiv(graph: Graph, evaluate: ConstantEvaluator): boolean {
  return foldArithmetic(graph, ['aten::mul', 'aten::div'], (node, conv, before) => {
    const biasBefore = tensorParameter(conv, 'bias');
    const weight = applied(node, before, evaluate);
    const bias = biasBefore && applied(node, biasBefore, evaluate);
    if (!weight || (biasBefore && !bias)) return false;
    const suffix = node.kind.slice('aten::'.length);
    replaceParameter(conv, 'weight', weight, suffix);
    if (bias) replaceParameter(conv, 'bias', bias, suffix);
    return true;
  });
}

/** @param fold changes the convolution's parameters, and tells whether it could */
function foldArithmetic(
  graph: Graph,
  kinds: readonly string[],
  fold: (node: Node, conv: Node, weight: Tensor) => boolean,
): boolean {
  let changed = false;
  for (const node of graph.allNodes()) {
    if (!kinds.includes(node.kind) || !OVERLOADS.has(node.maybeSchema()?.overloadName ?? '')) continue;
    const conv = node.input(0).node;
    if (!isFoldableConvolution(conv)) continue;
    const weight = foldableWeight(node, conv);
    if (!weight || !mayChange('frozen_conv_folding', node)) continue;
    if (!graph.withInsertPoint(conv, () => fold(node, conv, weight))) continue;
    node.output().replaceAllUsesWith(conv.output());
    changed = true;
  }
  eliminateDeadWrites(graph);
  logGraph('frozen_conv_folding', graph);
  return changed;
}

/** The weight of a convolution whose parameters can take up what `node` does with its result; null for others. */
function foldableWeight(node: Node, conv: Node): Tensor | null {
  if (!hasConstantParameters(conv) || !hasConstantParameters(node) || conv.output().uses.length > 1) return null;
  const weight = tensorParameter(conv, 'weight');
  // What is promoted to another dtype is another thing.
  if (!weight || !isFloatingPoint(weight.dtype)) return null;
  if (!(node.input(1).type instanceof TensorType)) return weight;
  const other = constantValue(node.input(1));
  return other instanceof Tensor && isPerChannel(other, weight) ? weight : null;
}

/** Whether a tensor has one element for all of a convolution's result, or one for each of its channels. */
function isPerChannel({ sizes }: Tensor, weight: Tensor): boolean {
  if (sizes.length > weight.sizes.length) return false;
  return sizes.every((size, dim) => size === 1 || (dim === 1 && size === weight.sizes[0]));
}

/** What a node makes of a parameter of the convolution before it, whose first dimension is that of channels. */
function applied(node: Node, parameter: Tensor, evaluate: ConstantEvaluator): Tensor | null {
  const [given, ...rest] = node.inputs.slice(1).map((input) => constantValue(input));
  const other = given instanceof Tensor ? alongChannels(given, parameter) : given;
  const result = evaluate(node, [parameter, other, ...rest])?.[0];
  if (!(result instanceof Tensor) || result.dtype === parameter.dtype) return (result as Tensor | undefined) ?? null;
  return arithmeticIn(node.owningGraph, evaluate)('aten::to', result, BigInt(scalarTypeCode(parameter.dtype)));
}

function alongChannels(other: Tensor, { sizes }: Tensor): Tensor {
  const stride = other.numel === 1 ? 0 : other.strides[1];
  return other.asStrided(
    sizes.map((size, dim) => (dim === 0 ? size : 1)),
    sizes.map((_, dim) => (dim === 0 ? stride : 1)),
  );
}
