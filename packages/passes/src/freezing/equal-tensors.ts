import { AliasDb, type Graph, type Node } from '@cresset/ir';
import { Tensor } from '@cresset/tensor';

/**
 * Gives constants of equal elements one tensor, so that they count as the same (PyTorch: EqualNode, which compares elements). Those that
 * somebody writes to, and those that come out of the graph, stay two.
 */
export function uniteEqualTensors(graph: Graph): void {
  const known = new Map<string, Node[]>();
  let aliasDb: AliasDb | undefined;
  for (const node of graph.allNodes()) {
    const tensor = comparableTensor(node);
    if (!tensor) continue;
    const key = `${tensor.dtype} ${tensor.sizes.join()} ${elementsOf(tensor).slice(0, 8).join()}`;
    const alike = known.get(key) ?? [];
    const first = alike.find((each) => haveEqualElements(comparableTensor(each)!, tensor));
    if (!first) known.set(key, [...alike, node]);
    else if ((aliasDb ??= AliasDb.of(graph)).safeToChangeAliasingRelationship(node.outputs, first.outputs))
      node.setT('value', comparableTensor(first)!);
  }
}

function comparableTensor(node: Node): Tensor | null {
  if (node.kind !== 'prim::Constant' || !node.hasAttribute('value')) return null;
  const { value } = node.attribute('value');
  if (!(value instanceof Tensor) || value.quantizer) return null;
  return value.storage.isOnHost && value.isContiguous() ? value : null;
}

function haveEqualElements(left: Tensor, right: Tensor): boolean {
  const others = elementsOf(right);
  return elementsOf(left).every((element, index) => element === others[index]);
}

function elementsOf({ storage, dtype, storageOffset, numel }: Tensor): Float32Array {
  const width = dtype.startsWith('complex') ? 2 : 1;
  return storage.hostArray(dtype).subarray(storageOffset * width, (storageOffset + numel) * width) as Float32Array;
}
