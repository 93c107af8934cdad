import { constantValue, ListType, TensorType, type Block, type Graph, type Node } from '@cresset/ir';
import { Tensor } from '@cresset/tensor';
import type { ConstantEvaluator } from '../cleanup/constant-propagation.ts';
import { exampleNumber, exampleTensor } from './examples.ts';

/**
 * Finds the dtypes of results where ranks and dtypes of all tensors among the arguments are known (PyTorch: DtypePropagation in
 * dtype_analysis.cpp): each operator is run on small tensors of these ranks. Returns whether any type was refined.
 */
export function propagateDtypes(graph: Graph, evaluate: ConstantEvaluator): boolean {
  return new DtypePropagator(evaluate).block(graph.block);
}

/** Operators that may not take small tensors, and keep the dtype of their argument. */
const keepsDtype =
  /^aten::(adaptive_(avg|max)_pool[123]d|avg_pool[123]d|max_pool[123]d(_with_indices)?|max_unpool[23]d|conv(_transpose)?[123]d|pad|reflection_pad[123]d)$/;

/** Operators whose arguments say where in a tensor to look, of which the examples tell nothing. */
const asksForPositions: ReadonlySet<string> = new Set(['aten::select', 'aten::narrow', 'aten::diagonal']);

/** Of every dimension: enough for windows. */
const exampleSize = 8;

class DtypePropagator {
  readonly #evaluate: ConstantEvaluator;

  constructor(evaluate: ConstantEvaluator) {
    this.#evaluate = evaluate;
  }

  block(block: Block): boolean {
    let changed = false;
    for (const node of block.nodes()) changed = this.#node(node) || changed;
    return changed;
  }

  #node(node: Node): boolean {
    switch (node.kind) {
      case 'prim::If': {
        const [then, otherwise] = node.blocks;
        let changed = this.block(then);
        changed = this.block(otherwise) || changed;
        node.outputs.forEach((output, index) => {
          const [left, right] = [then.outputs[index].type, otherwise.outputs[index].type];
          if (!(left instanceof TensorType) || !(right instanceof TensorType) || left.scalarType !== right.scalarType)
            return;
          changed = refine(node, index, left.scalarType) || changed;
        });
        return changed;
      }
      case 'prim::Loop':
        return false;
      default:
        return node.kind.startsWith('aten::') && this.#operator(node);
    }
  }

  #operator(node: Node): boolean {
    if (!node.outputs.every(({ type }) => type instanceof TensorType)) return false;
    const [first] = node.inputs;
    if (keepsDtype.test(node.kind)) {
      return first.type instanceof TensorType && refine(node, 0, first.type.scalarType);
    }
    if (asksForPositions.has(node.kind)) return false;
    const inputs = node.inputs.map((value) => {
      const { type } = value;
      if (type instanceof TensorType) {
        if (type.scalarType === undefined || type.dim === undefined) return undefined;
        return exampleTensor(type.scalarType, new Array<number>(type.dim).fill(exampleSize));
      }
      // As in PyTorch, operators with lists and absent arguments are left alone.
      if (type instanceof ListType) return undefined;
      const constant = constantValue(value);
      return constant === undefined ? exampleNumber(type) : (constant ?? undefined);
    });
    if (inputs.includes(undefined) || !inputs.some((input) => input instanceof Tensor)) return false;
    const results = this.#evaluate(node, inputs);
    let changed = false;
    results?.forEach((result, index) => {
      if (result instanceof Tensor) changed = refine(node, index, result.dtype as TensorType['scalarType']) || changed;
    });
    return changed;
  }
}

function refine(node: Node, index: number, scalarType: TensorType['scalarType']): boolean {
  const output = node.outputs[index];
  if (scalarType === undefined || !(output.type instanceof TensorType) || output.type.scalarType === scalarType)
    return false;
  output.setType(output.type.withScalarType(scalarType));
  return true;
}
