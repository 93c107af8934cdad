import { type Block, constantValue, type Graph, NumberType, TensorType, type Value } from '@cresset/ir';
import { Tensor } from '@cresset/tensor';

/** Makes numbers tensors without dimensions, as exporters that know tensors only want them (PyTorch: EraseNumberTypes). */
export function eraseNumberTypes(graph: Graph): void {
  graph.inputs.forEach(asTensor);
  eraseInBlock(graph.block);
}

const conversions: ReadonlySet<string> = new Set([
  'aten::Bool',
  'aten::Float',
  'aten::Int',
  'aten::FloatImplicit',
  'aten::IntImplicit',
  'aten::ScalarImplicit',
  'prim::NumToTensor',
]);

function eraseInBlock(block: Block): void {
  for (const node of block.nodes()) {
    node.inputs.forEach(asTensor);
    node.blocks.forEach(eraseInBlock);
    if (node.kind === 'prim::Constant') replaceNumber(node.output());
    else if (conversions.has(node.kind)) {
      node.output().replaceAllUsesWith(node.input(0));
      node.destroy();
    } else node.outputs.forEach(asTensor);
  }
}

function isNumber(value: Value): boolean {
  return value.type.isSubtypeOf(NumberType.get()) || value.type.kind === 'BoolType';
}

function asTensor(value: Value): void {
  if (isNumber(value)) value.setType(TensorType.fromNumberType(value.type));
}

function replaceNumber(constant: Value): void {
  if (!isNumber(constant)) return;
  const graph = constant.owningGraph;
  const tensor = tensorOf(constantValue(constant));
  if (!tensor) return;
  const replacement = graph.withInsertPoint(constant.node, () => graph.insertConstant(tensor));
  constant.replaceAllUsesWith(replacement.copyMetadata(constant));
  constant.node.destroy();
}

function tensorOf(value: unknown): Tensor | null {
  const dtype = { bigint: 'int64', number: 'float64', boolean: 'bool' }[typeof value as string] as
    | 'int64'
    | 'float64'
    | 'bool'
    | undefined;
  if (dtype === undefined) return null;
  const tensor = Tensor.empty([], dtype);
  tensor.storageArrayForWriting()[0] = (typeof value === 'boolean' ? Number(value) : value) as never;
  return tensor;
}
