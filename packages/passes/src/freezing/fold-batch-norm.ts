import { constantValue, logGraph, mayChange, scalarTypeCode, type Graph, type Node } from '@cresset/ir';
import type { Tensor } from '@cresset/tensor';
import type { ConstantEvaluator } from '../cleanup/constant-propagation.ts';
import { eliminateDeadWrites } from '../cleanup/dead-code-elimination.ts';
import {
  arithmeticIn,
  type ConstantArithmetic,
  hasConstantParameters,
  isFoldableConvolution,
  replaceParameter,
  tensorParameter,
} from './frozen-layers.ts';

/** Puts batch norm with constant statistics into the weights of the convolution before it (PyTorch: FoldFrozenConvBatchnorm). */
export function foldConvBatchNorm(graph: Graph, evaluate: ConstantEvaluator): boolean {
  return foldBatchNorm(graph, evaluate, 'frozen_conv_folding', (layer) => {
    return isFoldableConvolution(layer) && layer.output().uses.length === 1;
  });
}

/** Puts batch norm with constant statistics into the weights of the linear layer before it (PyTorch: FoldFrozenLinearBatchnorm). */
export function foldLinearBatchNorm(graph: Graph, evaluate: ConstantEvaluator): boolean {
  return foldBatchNorm(graph, evaluate, 'frozen_linear_folding', (layer, norm) => {
    if (layer.kind !== 'aten::linear' || !isReadBy(norm, layer)) return false;
    // It norms the second dimension and the layer makes the last: that the two are one, their sizes have to tell.
    const features = tensorParameter(norm, 'running_mean')?.sizes[0];
    return features === 1 || features === tensorParameter(layer, 'weight')?.sizes[0];
  });
}

/** Whether nobody else looks at elements of a layer's result. (PyTorch does not ask, and gives others wrong numbers.) */
const isReadBy = (norm: Node, layer: Node): boolean =>
  layer.output().uses.every(({ user }) => user === norm || user.kind === 'aten::dim' || user.kind === 'aten::size');

function foldBatchNorm(
  graph: Graph,
  evaluate: ConstantEvaluator,
  log: string,
  isLayer: (layer: Node, norm: Node) => boolean,
): boolean {
  let changed = false;
  for (const norm of graph.allNodes()) {
    if (norm.kind !== 'aten::batch_norm') continue;
    const layer = norm.input(0).node;
    if (layer.kind === 'prim::Param' || !hasConstantParameters(norm) || !hasConstantParameters(layer)) continue;
    if (!isLayer(layer, norm) || !mayChange(log, norm)) continue;
    const folded = graph.withInsertPoint(layer, () => foldedParameters(layer, norm, arithmeticIn(graph, evaluate)));
    if (!folded) continue;
    replaceParameter(layer, 'weight', folded.weight, 'bn');
    replaceParameter(layer, 'bias', folded.bias, 'bn');
    norm.output().replaceAllUsesWith(layer.output());
    changed = true;
  }
  eliminateDeadWrites(graph);
  logGraph(log, graph);
  return changed;
}

/** Weight and bias of a layer that also norms what it makes (torch.nn.utils.fusion). */
function foldedParameters(
  layer: Node,
  norm: Node,
  compute: ConstantArithmetic,
): { readonly weight: Tensor; readonly bias: Tensor } | null {
  const parameter = (name: string): Tensor | null => tensorParameter(norm, name);
  const mean = parameter('running_mean');
  const weight = tensorParameter(layer, 'weight');
  if (!mean || !weight) return null;
  const bias = tensorParameter(layer, 'bias') ?? compute('aten::zeros_like', mean);
  const deviation = compute('aten::rsqrt', compute('aten::add', parameter('running_var'), epsilonOf(norm)));
  const scale = parameter('weight') ? compute('aten::mul', parameter('weight'), deviation) : deviation;
  if (!bias || !scale) return null;
  const perRow = scale.asStrided(
    [...scale.sizes, ...weight.sizes.slice(1).map(() => 1)],
    [...scale.strides, ...weight.sizes.slice(1).map(() => 1)],
  );
  const centred = compute('aten::mul', compute('aten::sub', bias, mean), scale);
  const shifted = parameter('bias') ? compute('aten::add', centred, parameter('bias')) : centred;
  const foldedWeight = asDtypeOf(weight, compute('aten::mul', weight, perRow), compute);
  const foldedBias = asDtypeOf(bias, shifted, compute);
  return foldedWeight && foldedBias && { weight: foldedWeight, bias: foldedBias };
}

const epsilonOf = (norm: Node): number => constantValue(norm.namedInput('eps')) as number;

function asDtypeOf({ dtype }: Tensor, tensor: Tensor | null, compute: ConstantArithmetic): Tensor | null {
  return tensor && tensor.dtype !== dtype ? compute('aten::to', tensor, BigInt(scalarTypeCode(dtype))) : tensor;
}
