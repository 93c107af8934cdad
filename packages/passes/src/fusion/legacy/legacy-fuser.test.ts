import { lint, parseIr, type Graph } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, test } from 'vitest';
import { fuseGraphLegacy, type LegacyFuserOptions } from './legacy-fuser.ts';

beforeAll(registerAllOperators);

function fused(text: string, options?: LegacyFuserOptions): Graph {
  const graph = parseIr(text);
  fuseGraphLegacy(graph, options);
  lint(graph);
  return graph;
}

const kinds = (graph: Graph): string[] => [...graph.nodes()].map(({ kind }) => kind);
/** The operators of a graph's groups. */
const inGroups = (graph: Graph): string[][] =>
  [...graph.allNodes()]
    .filter(({ kind }) => kind === 'prim::FusionGroup')
    .map((group) => kinds(group.g('Subgraph')).filter((kind) => kind !== 'prim::Constant'));

describe('fuseGraphLegacy', () => {
  test('takes pointwise operators and constants into one group, and gives out what else is used', () => {
    const graph = fused(`graph(%x : Tensor, %y : Tensor, %f : float):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %y, %one)
  %b : Tensor = aten::mul(%a, %f)
  %c : Tensor = aten::relu(%b)
  return (%c, %b)
`);
    expect(inGroups(graph)).toEqual([['aten::add', 'aten::mul', 'aten::relu']]);
    const group = graph.outputs[0].node;
    expect(group.inputs.map(({ debugName }) => debugName)).toEqual(['x', 'y', 'f']);
    expect(graph.outputs.map(({ offset }) => offset)).toEqual([0, 1]);
  });

  test('leaves products and numbers that are no constants outside', () => {
    const graph = fused(`graph(%x : Tensor, %n : int):
  %a : Tensor = aten::relu(%x)
  %m : Tensor = aten::mm(%a, %x)
  %b : Tensor = aten::mul(%m, %n)
  %c : Tensor = aten::neg(%b)
  return (%c)
`);
    expect(kinds(graph)).toEqual(['aten::relu', 'aten::mm', 'aten::mul', 'aten::neg']);
  });

  test('goes by the device where one is known', () => {
    const text = `graph(%x : Float(2, device=cpu)):
  %a : Float(2, device=cpu) = aten::relu(%x)
  %b : Float(2, device=cpu) = aten::neg(%a)
  return (%b)
`;
    expect(inGroups(fused(text))).toEqual([]);
    expect(inGroups(fused(text, { canFuseOn: () => true }))).toEqual([['aten::relu', 'aten::neg']]);
    const untyped = text.replaceAll('Float(2, device=cpu)', 'Tensor');
    expect(inGroups(fused(untyped))).toEqual([['aten::relu', 'aten::neg']]);
    expect(inGroups(fused(untyped, { strict: true }))).toEqual([]);
  });

  test('moves chunks before the operator they take apart', () => {
    const graph = fused(`graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %m : Tensor = aten::mm(%x, %y)
  %a : Tensor = aten::add(%m, %y, %one)
  %l : Tensor, %r : Tensor = prim::ConstantChunk[chunks=2, dim=1](%a)
  %s : Tensor = aten::sigmoid(%l)
  %o : Tensor = aten::mul(%s, %r)
  return (%o)
`);
    expect(kinds(graph)).toEqual([
      'aten::mm',
      'prim::ListConstruct',
      'aten::broadcast_tensors',
      'prim::ListUnpack',
      'prim::FusionGroup',
    ]);
    expect(inGroups(graph)).toEqual([
      ['prim::ConstantChunk', 'prim::ConstantChunk', 'aten::add', 'aten::add', 'aten::sigmoid', 'aten::mul'],
    ]);
  });

  test('ends with a concatenation, which no group reads', () => {
    const graph = fused(`graph(%x : Tensor, %y : Tensor):
  %zero : int = prim::Constant[value=0]()
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::neg(%y)
  %l : Tensor[] = prim::ListConstruct(%a, %b)
  %c : Tensor = aten::cat(%l, %zero)
  %d : Tensor = aten::exp(%c)
  return (%d)
`);
    expect(kinds(graph)).toEqual(['prim::FusionGroup', 'aten::exp']);
    expect(inGroups(graph)).toEqual([['aten::relu', 'aten::neg', 'prim::FusedConcat']]);
  });

  test('keeps inside what is only asked for its size', () => {
    const graph = fused(`graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %y, %one)
  %b : Tensor = aten::relu(%a)
  %s : int[] = aten::size(%a)
  return (%b, %s)
`);
    const [group] = [...graph.nodes()].filter(({ kind }) => kind === 'prim::FusionGroup');
    expect(group.outputs.length).toBe(1);
    expect(graph.outputs[1].node.kind).toBe('prim::BroadcastSizes');
    expect(graph.outputs[1].node.inputs.map(({ node }) => node.input())).toEqual(graph.inputs);
  });

  test('does not move an operator past a write to what it reads', () => {
    const graph = fused(`graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::exp(%x)
  %w : Tensor = aten::add_(%x, %y, %one)
  %b : Tensor = aten::mul(%a, %w)
  return (%b)
`);
    expect(kinds(graph).filter((kind) => kind !== 'prim::Constant')).toEqual(['aten::exp', 'aten::add_', 'aten::mul']);
  });

  test('fuses within blocks', () => {
    const graph = fused(`graph(%x : Tensor, %c : bool):
  %r : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::exp(%x)
      %b : Tensor = aten::relu(%a)
      -> (%b)
    block1():
      -> (%x)
  return (%r)
`);
    expect(inGroups(graph)).toEqual([['aten::exp', 'aten::relu']]);
  });
});
