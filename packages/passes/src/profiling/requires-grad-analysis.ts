import {
  constantValue,
  TensorType,
  type Block,
  type Graph,
  type Node,
  type ScalarTypeName,
  type Value,
} from '@cresset/ir';

const COMPARISONS: ReadonlySet<string> = new Set(['lt', 'le', 'gt', 'ge', 'eq', 'ne'].map((name) => `aten::${name}`));
const DIFFERENTIABLE: ReadonlySet<ScalarTypeName> = new Set<ScalarTypeName>([
  'float16',
  'bfloat16',
  'float32',
  'float64',
  'complex64',
  'complex128',
]);

/** Says of every tensor whose dtype is known whether it is going to require a gradient (PyTorch: PropagateRequiresGrad). */
export function propagateRequiresGrad(graph: Graph): void {
  propagateInBlock(graph.block);
}

function propagateInBlock(block: Block): void {
  for (const node of block.nodes()) {
    if (node.kind === 'prim::If') propagateInIf(node);
    else if (node.kind === 'prim::Loop') propagateInLoop(node);
    else propagateInNode(node);
  }
}

function propagateInIf(node: Node): void {
  const [whenTrue, whenFalse] = node.blocks;
  node.blocks.forEach(propagateInBlock);
  node.outputs.forEach((output, at) => {
    set(output, requiresGrad(whenTrue.outputs[at]) || requiresGrad(whenFalse.outputs[at]));
  });
}

function propagateInLoop(node: Node): void {
  const [body] = node.blocks;
  const inputs = body.inputs.slice(1);
  let known = node.inputs.slice(2).map(requiresGrad);
  for (;;) {
    inputs.forEach((input, at) => set(input, known[at]));
    propagateInBlock(body);
    const next = body.outputs.slice(1).map((output, at) => known[at] || requiresGrad(output));
    if (next.every((value, at) => value === known[at])) break;
    known = next;
  }
  node.outputs.forEach((output, at) => set(output, requiresGrad(body.outputs[at + 1])));
}

function propagateInNode(node: Node): void {
  if (COMPARISONS.has(node.kind) || node.kind === 'aten::detach') return set(node.output(), false);
  if (node.kind === 'aten::type_as') return set(node.output(), requiresGrad(node.input(0)));
  if (node.kind === 'aten::tensor' && node.hasNamedInput('requires_grad')) {
    const asked = constantValue(node.namedInput('requires_grad'));
    if (typeof asked === 'boolean') return set(node.output(), asked);
  }
  const required = node.inputs.some(requiresGrad);
  for (const output of node.outputs) {
    const { type } = output;
    if (type instanceof TensorType && type.scalarType) set(output, required && DIFFERENTIABLE.has(type.scalarType));
  }
}

const requiresGrad = (value: Value): boolean => value.type.requiresGradMaybe();

function set(value: Value, required: boolean): void {
  if (value.type instanceof TensorType) value.setType(value.type.withRequiresGrad(required));
}
