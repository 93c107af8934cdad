import { parseIr, TensorType, type Graph } from '@cresset/ir';
import { canonicalize, namedPasses, propagateInputShapes } from '@cresset/passes';
import { evaluateConstant, passEnvironment, runtimeConstants } from '@cresset/runtime';

/** Dtype and sizes of a tensor that a graph is analysed for. */
export interface InputShape {
  readonly dtype: string;
  readonly shape: readonly number[];
}

const analyses: Readonly<Record<string, (graph: Graph) => unknown>> = {
  ...namedPasses(passEnvironment),
  complete_shape_analysis: (graph) => propagateInputShapes(graph, evaluateConstant),
};

/** The graph after a shape analysis, or null where there is none of that name. */
export function analysedGraph(name: string, ir: string, inputs: readonly (InputShape | null)[] = []): Graph | null {
  const analyse = analyses[name];
  if (!analyse) return null;
  const graph = parseIr(ir, { constants: runtimeConstants });
  inputs.forEach((input, index) => {
    if (!input) return;
    const scalarType = input.dtype as TensorType['scalarType'] & string;
    graph.inputs[index].setType(TensorType.createContiguous(scalarType, 'cpu', input.shape).withRequiresGrad(false));
  });
  analyse(graph);
  return canonicalize(graph);
}
