import { TensorType, type Block, type Graph, type Node } from '@cresset/ir';
import { Tensor, type ScalarType } from '@cresset/tensor';
import { exampleNumber, exampleTensor } from './examples.ts';

/**
 * Tells the dtypes of an operator's results from the layouts of its arguments; null where it refuses them, where only elements tell, or where
 * not all results are tensors.
 */
export type DtypeInference = (node: Node, inputs: readonly unknown[]) => readonly ScalarType[] | null;

/**
 * Finds the dtypes of results where ranks and dtypes of all tensors among the arguments are known (PyTorch: DtypePropagation in
 * dtype_analysis.cpp): each operator is asked what it makes of tensors of these ranks with one element, and of numbers that are 1, whatever is
 * known of them. Operators with other arguments (lists, truth values, texts, None) are left alone, as are those that refuse such tensors, and those
 * that look into them, since PyTorch asks with tensors that have no elements, and those of several results. Returns whether any type was refined.
 */
export function propagateDtypes(graph: Graph, inferDtypes: DtypeInference): boolean {
  return new DtypePropagator(inferDtypes).block(graph.block);
}

/** Operators that may not take small tensors, and keep the dtype of their tensors where that is one (PyTorch: nn_ops_first_input_preserving). */
const keepsDtype =
  /^aten::(adaptive_avg_pool[123]d|(avg|max)_pool[123]d|max_unpool[23]d|conv(_transpose)?[123]d|_?convolution|conv_tbc|batch_norm|prelu|re(flec|plica)tion_pad[123]d|upsample_(nearest[123]d|linear1d|bilinear2d|trilinear3d))$/;

/** Clips what it gives in place, which PyTorch has no kernel for that needs no elements. */
const clips = 'aten::corrcoef';

class DtypePropagator {
  constructor(private readonly inferDtypes: DtypeInference) {}

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
    if (node.kind === clips) return false;
    if (node.outputs.length !== 1 || !(node.output().type instanceof TensorType)) return false;
    if (keepsDtype.test(node.kind) && !node.inputs.some(({ type }) => type.kind === 'StringType')) {
      const tensors = node.inputs.flatMap(({ type }) => (type instanceof TensorType ? type.scalarType : []));
      return tensors.every((dtype) => dtype === tensors[0]) && refine(node, 0, tensors[0]);
    }
    // Zeros are positions in anything; whole numbers are not divided by them.
    const results = this.#run(node, 0) ?? this.#run(node, 1);
    let changed = false;
    results?.forEach((dtype, index) => (changed = refine(node, index, dtype as TensorType['scalarType']) || changed));
    return changed;
  }

  #run(node: Node, byte: number): readonly ScalarType[] | null {
    const inputs = node.inputs.map(({ type }) => {
      if (!(type instanceof TensorType)) return exampleNumber(type);
      if (type.scalarType === undefined || type.dim === undefined) return undefined;
      const sizes = new Array<number>(type.dim).fill(1);
      return exampleTensor(type.scalarType, sizes, sizes, byte);
    });
    if (inputs.includes(undefined) || !inputs.some((input) => input instanceof Tensor)) return null;
    return this.inferDtypes(node, inputs);
  }
}

function refine(node: Node, index: number, scalarType: TensorType['scalarType']): boolean {
  const output = node.outputs[index];
  if (scalarType === undefined || !(output.type instanceof TensorType) || output.type.scalarType === scalarType)
    return false;
  output.setType(output.type.withScalarType(scalarType));
  return true;
}
