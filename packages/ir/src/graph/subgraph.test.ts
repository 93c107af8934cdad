import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  AliasDb,
  createSingletonSubgraph,
  createSingletonSubgraphAndUpdateAliasing,
  generateNameForGraph,
  type Graph,
  insertGraph,
  mergeNodeIntoSubgraph,
  mergeNodeIntoSubgraphAndUpdateAliasing,
  type Node,
  operatorRegistry,
  parseIr,
  registerOperators,
  subgraphOf,
  unmergeSubgraph,
} from '../index.ts';
import { lint } from './lint.ts';

beforeAll(() =>
  registerOperators([
    { schema: 'aten::mul(Tensor self, Tensor other) -> Tensor' },
    { schema: 'aten::relu(Tensor self) -> Tensor' },
    { schema: 'aten::view(Tensor(a) self) -> Tensor(a)' },
    { schema: 'aten::add(Tensor self, Scalar other) -> Tensor' },
  ]),
);
afterAll(() => operatorRegistry.clear());

const TEXT = `graph(%x : Tensor,
      %y : Tensor):
  %2 : int = prim::Constant[value=1]()
  %3 : Tensor = aten::mul(%x, %y)
  %4 : Tensor = aten::add(%3, %2)
  %5 : Tensor = aten::relu(%4)
  return (%5, %4)
`;

function parsed(): { graph: Graph; mul: Node; add: Node; relu: Node } {
  const graph = parseIr(TEXT);
  const [, mul, add, relu] = graph.nodes();
  return { graph, mul, add, relu };
}

describe('merging', () => {
  test('draws makers in, keeps outputs that others use, copies constants', () => {
    const { graph, mul, add, relu } = parsed();
    const group = createSingletonSubgraph(relu, 'prim::FusionGroup');
    mergeNodeIntoSubgraph(add, group);
    mergeNodeIntoSubgraph(mul, group);
    lint(graph);
    expect(String(graph)).toBe(`graph(%x : Tensor,
      %y : Tensor):
  %2 : int = prim::Constant[value=1]()
  %6 : Tensor, %7 : Tensor = prim::FusionGroup_0(%x, %y)
  return (%6, %7)
with prim::FusionGroup_0 = graph(%x : Tensor,
      %y : Tensor):
  %7 : Tensor = aten::mul(%x, %y)
  %3 : int = prim::Constant[value=1]()
  %4 : Tensor = aten::add(%7, %3)
  %1 : Tensor = aten::relu(%4)
  return (%1, %4)
`);
    expect(generateNameForGraph(subgraphOf(group))).toBe('fused_mul_add_relu');
  });

  test('draws users in', () => {
    const { graph, mul, add } = parsed();
    const group = createSingletonSubgraph(mul, 'prim::FusionGroup');
    add.moveAfter(group);
    mergeNodeIntoSubgraph(add, group);
    lint(graph);
    expect(group.inputs.map((input) => input.debugName)).toEqual(['x', 'y']);
    expect(group.outputs.length).toBe(1);
    expect([...subgraphOf(group).nodes()].map((node) => node.kind)).toEqual([
      'aten::mul',
      'prim::Constant',
      'aten::add',
    ]);
  });

  test('of two groups gives one, and unmerging gives the nodes again', () => {
    const { graph, mul, add, relu } = parsed();
    const last = createSingletonSubgraph(relu, 'prim::FusionGroup');
    mergeNodeIntoSubgraph(add, last);
    const first = createSingletonSubgraph(mul, 'prim::FusionGroup');
    mergeNodeIntoSubgraph(first, last);
    lint(graph);
    expect([...graph.nodes()].map((node) => node.kind)).toEqual(['prim::Constant', 'prim::FusionGroup']);
    unmergeSubgraph(last);
    lint(graph);
    const kinds = [...graph.nodes()].map((node) => node.kind).filter((kind) => kind !== 'prim::Constant');
    expect(kinds).toEqual(['aten::mul', 'aten::add', 'aten::relu']);
  });

  test('takes in what blocks of a node use', () => {
    const graph = parseIr(`graph(%x : Tensor, %y : Tensor, %c : bool):
  %r : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::relu(%y)
      -> (%a)
    block1():
      -> (%x)
  return (%r)
`);
    const [branch] = graph.nodes();
    const group = createSingletonSubgraph(branch, 'prim::DifferentiableGraph');
    lint(graph);
    expect(new Set(group.inputs.map((input) => input.debugName))).toEqual(new Set(['c', 'y', 'x']));
  });

  test('keeps an AliasDb right', () => {
    const graph = parseIr(`graph(%x : Tensor):
  %v : Tensor = aten::view(%x)
  %r : Tensor = aten::relu(%v)
  return (%r, %v)
`);
    const [view, relu] = graph.nodes();
    const db = new AliasDb(graph);
    const group = createSingletonSubgraphAndUpdateAliasing(relu, 'prim::FusionGroup', db);
    mergeNodeIntoSubgraphAndUpdateAliasing(view, group, db);
    lint(graph);
    const [result, viewed] = graph.outputs;
    expect(db.mayAlias(viewed, graph.inputs[0])).toBe(true);
    expect(db.mayAlias(result, graph.inputs[0])).toBe(false);
  });
});

test('a graph is copied into another at the insert point', () => {
  const { graph } = parsed();
  const target = parseIr('graph(%a : Tensor):\n  %b : Tensor = aten::relu(%a)\n  return (%b)\n');
  const [first] = target.nodes();
  const results = target.withInsertPoint(first, () => insertGraph(target, graph, [target.inputs[0], target.inputs[0]]));
  first.replaceInput(0, results[1]);
  lint(target);
  expect([...target.nodes()].map((node) => node.kind)).toEqual([
    'prim::Constant',
    'aten::mul',
    'aten::add',
    'aten::relu',
    'aten::relu',
  ]);
});
