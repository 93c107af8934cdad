import {
  type Block,
  constantValue,
  deviceText,
  type Graph,
  isDeviceConstant,
  type Node,
  TensorType,
  unifyTypes,
  type Value,
} from '@cresset/ir';

/**
 * Tells on which devices tensors are, from those of the inputs (PyTorch: DeviceTypePropagation). What it answers, whether anything
 * changed, is of operators only: types of blocks do not count.
 */
export function propagateDevices(graph: Graph): boolean {
  return propagateInBlock(graph.block);
}

function propagateInBlock(block: Block): boolean {
  let changed = false;
  for (const node of block.nodes()) changed = propagate(node) || changed;
  return changed;
}

function propagate(node: Node): boolean {
  switch (node.kind) {
    case 'prim::If':
      return propagateIf(node);
    case 'prim::Loop':
      return propagateLoop(node);
    case 'prim::CallMethod':
    case 'prim::CallFunction':
      return false;
    default:
      return node.blocks.length === 0 && propagateOperator(node);
  }
}

function propagateIf(node: Node): boolean {
  const [whenTrue, whenFalse] = node.blocks;
  let changed = propagateInBlock(whenTrue);
  changed = propagateInBlock(whenFalse) || changed;
  node.outputs.forEach((output, index) => {
    const types = [whenTrue, whenFalse].map((branch) => branch.outputs[index].type);
    // Not the device alone: the whole type becomes what both have in common, a Union where that is nothing.
    const type = unifyTypes(types[0], types[1], true);
    if (type !== undefined) output.setType(type);
  });
  return changed;
}

function propagateLoop(node: Node): boolean {
  const [body] = node.blocks;
  const initial = node.inputs.slice(2);
  const carried = body.inputs.slice(1);
  const results = body.outputs.slice(1);
  carried.forEach((value, index) => value.setType(initial[index].type));
  let changed = false;
  // What a trip hands on may be less than what it got: until nothing changes.
  for (let again = true; again;) {
    again = false;
    changed = propagateInBlock(body) || changed;
    carried.forEach((value, index) => {
      const type = unifyTypes(initial[index].type, results[index].type, true);
      if (type === undefined || type.equals(value.type)) return;
      value.setType(type);
      again = true;
    });
  }
  node.outputs.forEach((output, index) => output.setType(results[index].type));
  return changed;
}

/** A tensor of an operator is where its tensor arguments are; those without dimensions on the CPU go along anywhere. Of prim's it says nothing. */
function propagateOperator(node: Node): boolean {
  if (node.kind.startsWith('prim::') || node.maybeSchema() === undefined) return false;
  const given = node.inputs.map((input) => constantValue(input)).find(isDeviceConstant);
  if (given) return setDevices(node, deviceText(given));
  const tensors = node.inputs.filter(({ type }) => type instanceof TensorType);
  const deciding = tensors.filter((value) => !isNumberOnCpu(value));
  const devices = new Set((deciding.length > 0 ? deciding : tensors).map(deviceOf));
  const device = devices.size === 1 ? [...devices][0] : undefined;
  return setDevices(node, device);
}

function setDevices(node: Node, device: string | undefined): boolean {
  let changed = false;
  for (const output of node.outputs) changed = setDevice(output, device) || changed;
  return changed;
}

function isNumberOnCpu({ type }: Value): boolean {
  return type instanceof TensorType && type.dim === 0 && type.device === 'cpu';
}

function deviceOf({ type }: Value): string | undefined {
  return type instanceof TensorType ? type.device : undefined;
}

function setDevice(value: Value, device: string | undefined): boolean {
  if (!(value.type instanceof TensorType) || value.type.device === device) return false;
  value.setType(value.type.withDevice(device));
  return true;
}
