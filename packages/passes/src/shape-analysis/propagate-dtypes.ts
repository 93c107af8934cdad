import { TensorType, type Block, type Graph, type Node } from '@cresset/ir';
import { Tensor } from '@cresset/tensor';
import type { ConstantEvaluator } from '../cleanup/constant-propagation.ts';
import { exampleNumber, exampleTensor } from './examples.ts';

/**
 * Finds the dtypes of results where ranks and dtypes of all tensors among the arguments are known (PyTorch: DtypePropagation in
 * dtype_analysis.cpp): each operator is run on tensors of these ranks with one element, and on numbers that are 1, whatever is known of them.
 * Operators with other arguments (lists, truth values, texts, None) are left alone, as are those that refuse such tensors. Returns whether any
 * type was refined.
 */
export function propagateDtypes(graph: Graph, evaluate: ConstantEvaluator): boolean {
  return new DtypePropagator(evaluate).block(graph.block);
}

/** Operators that may not take small tensors, and keep the dtype of their argument. */
const keepsDtype =
  /^aten::(adaptive_(avg|max)_pool[123]d|avg_pool[123]d|max_pool[123]d(_with_indices)?|max_unpool[23]d|conv(_transpose)?[123]d|pad|reflection_pad[123]d)$/;

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
    // Zeros are positions in anything; whole numbers are not divided by them.
    const results = this.#run(node, 0) ?? this.#run(node, 1);
    let changed = false;
    results?.forEach((result, index) => {
      if (result instanceof Tensor) changed = refine(node, index, result.dtype as TensorType['scalarType']) || changed;
    });
    return changed;
  }

  #run(node: Node, byte: number): readonly unknown[] | null {
    const inputs = node.inputs.map(({ type }) => {
      if (!(type instanceof TensorType)) return exampleNumber(type);
      if (type.scalarType === undefined || type.dim === undefined) return undefined;
      const sizes = new Array<number>(type.dim).fill(1);
      return exampleTensor(type.scalarType, sizes, sizes, byte);
    });
    if (inputs.includes(undefined) || !inputs.some((input) => input instanceof Tensor)) return null;
    return this.#evaluate(node, inputs);
  }
}

function refine(node: Node, index: number, scalarType: TensorType['scalarType']): boolean {
  const output = node.outputs[index];
  if (scalarType === undefined || !(output.type instanceof TensorType) || output.type.scalarType === scalarType)
    return false;
  output.setType(output.type.withScalarType(scalarType));
  return true;
}
