import { type ClassType, type Graph, mayHoldNone, type Value } from '@cresset/ir';
import { ScriptObject } from '@cresset/tensor';

/** What a specialised graph takes for granted: that an attribute still has this value. */
export interface AttributeGuard {
  readonly object: ScriptObject;
  readonly slot: number;
  readonly value: unknown;
  /** Class and name of the attribute. */
  readonly attribute: string;
}

/**
 * Puts the present values of plain attributes (numbers, flags, texts, None) of a module and the modules below it in the place of
 * `prim::GetAttr`, as freezing does, but under guards: whoever runs the graph makes sure that they still hold. Attributes that the
 * graph itself sets are left, and those in `unstable`. Calls must have been inlined.
 */
export function foldModuleAttributes(
  graph: Graph,
  self: ScriptObject,
  unstable: ReadonlySet<string> = new Set(),
): AttributeGuard[] {
  const nodes = [...graph.allNodes()];
  // What is called behind an interface may set anything.
  if (nodes.some(({ kind }) => kind === 'prim::CallMethod' || kind === 'prim::CallFunction' || kind === 'prim::fork'))
    return [];
  const written = new Set(
    nodes.filter(({ kind }) => kind === 'prim::SetAttr').map((node) => nameOf(node.input(0), node.s('name'))),
  );
  const objects = new Map<Value, ScriptObject>([[graph.inputs[0], self]]);
  const guards: AttributeGuard[] = [];
  for (const node of nodes) {
    if (node.kind !== 'prim::GetAttr') continue;
    const object = objects.get(node.input());
    const attribute = nameOf(node.input(), node.s('name'));
    if (!object || written.has(attribute) || unstable.has(attribute)) continue;
    const slot = object.type.getAttributeSlot(node.s('name'));
    const value = object.slots[slot];
    if (value instanceof ScriptObject) {
      objects.set(node.output(), value);
    } else if (value === null ? mayHoldNone(object.type.getAttribute(node.s('name'))) : typeof value !== 'object') {
      guards.push({ object, slot, value, attribute });
      const constant = graph.withInsertPoint(node, () => graph.insertConstant(value, node.sourceRange));
      if (value === null) constant.setType(node.output().type);
      node.output().replaceAllUsesWith(constant);
      node.destroy();
    }
  }
  return guards;
}

function nameOf(object: Value, name: string): string {
  return `${(object.type as ClassType).qualifiedName}.${name}`;
}
