import {
  BoolType,
  type Graph,
  insertGraph,
  IntType,
  ListType,
  newShapeSymbol,
  type Node,
  StringType,
  TensorType,
  type Value,
} from '@cresset/ir';
import { List } from '@cresset/tensor';
import type { ConstantEvaluator } from '../../cleanup/constant-propagation.ts';
import { buildShapeComputeGraph, type ShapeComputeGraph } from '../../shape-analysis/symbolic/shape-compute-graph.ts';
import { inputStrides, outputStrides, type StrideRule } from './stride-rules.ts';
import { insertFallback } from './type-guard.ts';

/**
 * Makes a group that was formed for certain sizes one for all: sizes become names, equal ones the same, and ones stay; the sizes of its
 * results are computed beside it and handed in. `prim::TensorExprDynamicGuard` checks dtypes, devices, the manner of strides, and that
 * sizes of one name are equal (PyTorch: GenerateGuard).
 *
 * @returns false where the sizes cannot be computed; types in the group's subgraph may have changed then.
 */
export function generateDynamicGuard(group: Node, evaluate: ConstantEvaluator): boolean {
  const subgraph = group.g('Subgraph');
  moveConstantTensorsOut(group, subgraph);
  const inputTypes = tensorTypes(subgraph.inputs);
  const outputTypes = tensorTypes(subgraph.outputs);
  if (![...inputTypes, ...outputTypes].every((type) => type.concreteSizes && type.concreteStrides)) return false;
  nameSizes(subgraph.inputs);
  const shapes = buildShapeComputeGraph(subgraph, evaluate);
  if (!shapes) return false;
  insertGuard(
    group,
    shapes,
    inputTypes.map((type) => inputStrides(type.concreteSizes!, type.concreteStrides!)),
    outputTypes.map((type) => outputStrides(type.concreteSizes!, type.concreteStrides!)),
  );
  return true;
}

function tensorTypes(values: readonly Value[]): TensorType[] {
  return values.flatMap(({ type }) => (type instanceof TensorType ? [type] : []));
}

/** A constant would be broadcast against sizes of which nothing is known. */
function moveConstantTensorsOut(group: Node, subgraph: Graph): void {
  const graph = group.owningGraph;
  for (const node of subgraph.nodes()) {
    if (node.kind !== 'prim::Constant' || !(node.output().type instanceof TensorType)) continue;
    const copy = graph.createClone(node, (value) => value).insertBefore(group);
    node.output().replaceAllUsesWith(subgraph.addInput().setType(node.output().type));
    group.addInput(copy.output());
    node.destroy();
  }
}

function nameSizes(inputs: readonly Value[]): void {
  const names = new Map<number, number>();
  const nameOf = (size: number): number => {
    if (size === 1) return size;
    let name = names.get(size);
    if (name === undefined) names.set(size, (name = newShapeSymbol()));
    return name;
  };
  for (const input of inputs) {
    const { type } = input;
    if (type instanceof TensorType) input.setType(type.withSymbolicShapes(type.shape!.map(nameOf)));
  }
}

function insertGuard(
  group: Node,
  shapes: ShapeComputeGraph,
  strides: readonly (readonly StrideRule[])[],
  resultStrides: readonly StrideRule[],
): void {
  const graph = group.owningGraph;
  const subgraph = group.g('Subgraph');
  const checked = group.inputs.filter(({ type }) => type instanceof TensorType);
  const guard = graph.create('prim::TensorExprDynamicGuard', checked).insertBefore(group);
  guard.setTys('types', tensorTypes(subgraph.inputs).map(withoutStrides));
  insertFallback(group, guard, guard.output().setType(BoolType.get()));

  const sizes = insertSizes(group, shapes).sort(([a], [b]) => a - b);
  for (const [symbol, size] of sizes) {
    group.addInput(size);
    subgraph.addInput(`SS_${-symbol}`).setType(IntType.get());
  }
  group.setIs(
    'symbolic_shape_inputs',
    sizes.map(([symbol]) => BigInt(symbol)),
  );
  const description = new List(new ListType(StringType.get()), strides.map(listOfStrings));
  group.setIval('striding_inputs_desc', description);
  guard.setIval('striding_inputs_desc', description);
  for (const value of [...subgraph.inputs, ...subgraph.outputs]) {
    if (value.type instanceof TensorType) value.setType(withoutStrides(value.type));
  }
  group.setIval('striding_outputs_desc', listOfStrings(resultStrides));
}

function listOfStrings(texts: readonly string[]): List {
  return new List(StringType.get(), [...texts]);
}

function withoutStrides(type: TensorType): TensorType {
  return type.with({ strides: undefined });
}

/** Puts the computation of sizes before a group; gives them with their names (PyTorch: InsertSymbolicShapesCompute). */
function insertSizes(group: Node, shapes: ShapeComputeGraph): [symbol: number, size: Value][] {
  const graph = group.owningGraph;
  const inputOf = new Map([...shapes.inputs].map(([value, input]) => [input, value]));
  return graph.withInsertPoint(group, () => {
    const inputs = shapes.graph.inputs.map((input) => {
      const value = inputOf.get(input)!;
      const outer = group.input(value.offset);
      return value.type instanceof TensorType ? graph.insert('aten::size', [outer]) : outer;
    });
    const sizes = insertGraph(graph, shapes.graph, inputs);
    return sizes.map((size, index) => [shapes.symbols.get(shapes.graph.outputs[index])!, size]);
  });
}
