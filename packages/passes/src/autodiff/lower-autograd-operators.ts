import { OptionalType, TensorType, type Graph, type Node, type Value } from '@cresset/ir';

const autogradKinds: ReadonlySet<string> = new Set(
  ['Add', 'AllNonZero', 'AllZero', 'AnyNonZero', 'Zero'].map((name) => `prim::Autograd${name}`),
);

/** Puts what backward graphs do with gradients that may be zero in terms of None, which is how an undefined tensor runs. */
export function lowerAutogradOperators(graph: Graph): void {
  for (const node of Array.from(graph.allNodes())) {
    if (!autogradKinds.has(node.kind)) continue;
    const lowered = graph.withInsertPoint(node, () => lower(node));
    node.output().replaceAllUsesWith(lowered);
    node.destroy();
  }
}

function lower(node: Node): Value {
  const graph = node.owningGraph;
  const none = graph.insertConstant(null);
  const each = (kind: string): Value[] => node.inputs.map((input) => graph.insert(kind, [input, none]));
  switch (node.kind) {
    case 'prim::AutogradZero':
      return none;
    case 'prim::AutogradAdd':
      return sumOf(node, none);
    case 'prim::AutogradAnyNonZero':
      return each('aten::__isnot__').reduce((any, value) => graph.insert('aten::__or__', [any, value]));
    default: {
      const kind = node.kind === 'prim::AutogradAllZero' ? 'aten::__is__' : 'aten::__isnot__';
      return each(kind).reduce((all, value) => graph.insert('aten::__and__', [all, value]), graph.insertConstant(true));
    }
  }
}

/** Of two gradients where there are two, else the one there is. */
function sumOf(node: Node, none: Value): Value {
  const [a, b] = node.inputs;
  return chosen(
    node,
    [a, none],
    () => b,
    () =>
      chosen(
        node,
        [b, none],
        () => a,
        () => node.owningGraph.insert('aten::add', [present(a), present(b), 1n]),
      ),
  );
}

/** A gradient that is not None, whatever its type says: that of an argument which may be None may be so too. */
function present(value: Value): Value {
  if (!(value.type instanceof OptionalType)) return value;
  const graph = value.owningGraph;
  return graph
    .insertNode(graph.create('prim::unchecked_unwrap_optional', [value]))
    .output()
    .setType(TensorType.get());
}

/** An If on whether the two are the same. */
function chosen(node: Node, compared: readonly Value[], same: () => Value, other: () => Value): Value {
  const graph = node.owningGraph;
  const branch = graph.insertNode(graph.create('prim::If', [graph.insert('aten::__is__', compared)]));
  for (const value of [same, other]) {
    const block = branch.addBlock();
    graph.withInsertPoint(block, () => block.registerOutput(value()));
  }
  return branch.output().setType(TensorType.get());
}
