import { isCustomClass, type Block, type Graph, type Value } from '@cresset/ir';
import { ScriptObject, type IValue, type Storage } from '@cresset/tensor';
import { constantValue } from '../interpreter/code/constant-value.ts';
import { forEachStorage } from './reachable-storages.ts';

/** The storages that a graph uses: each once, in the order of use. */
export interface WeightOrder {
  /** Those that every run needs. */
  readonly always: readonly Storage[];
  /** Those that only one branch of an If needs, by branch. */
  readonly branches: readonly (readonly Storage[])[];
}

/** Which attributes of `self`, and which constants, the nodes of a graph read. */
export function weightOrder(graph: Graph, self: ScriptObject | null): WeightOrder {
  const known = new Map<Value, IValue>();
  const seen = new Set<Storage>();
  const branches: Storage[][] = [];
  if (self) known.set(graph.inputs[0], self);

  const visit = (block: Block, used: Storage[]): void => {
    for (const node of block.nodes()) {
      if (node.kind === 'prim::GetAttr') {
        const object = known.get(node.input());
        const slot = object instanceof ScriptObject ? object.type.findAttributeSlot(node.s('name')) : undefined;
        if (slot !== undefined) known.set(node.output(), (object as ScriptObject).slots[slot]);
        continue;
      }
      if (node.kind === 'prim::Constant') {
        if (node.output().type.kind === 'TensorType' && node.hasAttribute('value'))
          known.set(node.output(), constantValue(node));
        continue;
      }
      for (const input of node.inputs) {
        const value = known.get(input);
        // What becomes of a module that is passed on is not known.
        if (value === undefined || value === null || typeof value !== 'object') continue;
        if (value instanceof ScriptObject && !isCustomClass(value.type.qualifiedName)) continue;
        forEachStorage([value], (storage) => {
          if (!seen.has(storage)) used.push(storage);
          seen.add(storage);
        });
      }
      for (const name of node.attributeNames) {
        const attribute = node.attribute(name);
        if (attribute.kind === 'g') visit(attribute.value.block, used);
      }
      for (const inner of node.blocks) {
        if (node.kind !== 'prim::If') {
          visit(inner, used);
          continue;
        }
        const branch: Storage[] = [];
        visit(inner, branch);
        if (branch.length > 0) branches.push(branch);
      }
    }
  };
  const always: Storage[] = [];
  visit(graph.block, always);
  return { always, branches };
}
