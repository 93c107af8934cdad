import { parseIr, type TensorType } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, test } from 'vitest';
import { evaluate } from './evaluate-fixture.ts';
import { propagateShapes } from './propagate-shapes.ts';
import { buildShapeComputeGraph } from './shape-compute-graph.ts';

beforeAll(registerAllOperators);

/** The types of the results of a graph's operators on tensors, in order. */
function shapesIn(text: string): string[] {
  const graph = parseIr(text);
  propagateShapes(graph, evaluate);
  return [...graph.nodes()].flatMap((node) =>
    node.outputs.filter(({ type }) => type.kind === 'TensorType').map(({ type }) => `${type}`),
  );
}

describe('propagateShapes', () => {
  test('gives sizes that are known, and a name to those that are not', () => {
    expect(
      shapesIn(`graph(%x : Float(2, SS(-1)), %y : Float(1, SS(-1)), %w : Float(4, 3)):
  %one : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %sum : Tensor = aten::add(%x, %y, %one)
  %out : Tensor = aten::linear(%sum, %w, %none)
  return (%out)
`),
    ).toEqual(['Tensor(2, *)', 'Tensor(2, 4)']);
  });

  test('takes the same name for the same size', () => {
    const graph = parseIr(`graph(%x : Float(SS(-1), 3), %y : Float(SS(-1), 1)):
  %sum : Tensor = aten::mul(%x, %y)
  return (%sum)
`);
    const [batch] = (graph.inputs[0].type as TensorType).shape!;
    propagateShapes(graph, evaluate);
    expect((graph.outputs[0].type as TensorType).shape).toEqual([batch, 3]);
  });

  test('gives a tuple the types of what it is made of, whatever its own said', () => {
    const graph = parseIr(`graph(%x : Float(2), %n : int):
  %t : (Tensor) = prim::TupleConstruct(%x, %n)
  return (%t)
`);
    propagateShapes(graph, evaluate);
    expect(String(graph.outputs[0].type)).toBe('(Float(2), int)');
  });

  test('learns from what an operator insists on', () => {
    const [convolved, product] = shapesIn(`graph(%x : Tensor, %w : Float(8, 3, 3, 3), %m : Float(5, 4)):
  %none : NoneType = prim::Constant()
  %one : int = prim::Constant[value=1]()
  %ones : int[] = prim::ListConstruct(%one, %one)
  %c : Tensor = aten::conv2d(%x, %w, %none, %ones, %ones, %ones, %one)
  %p : Tensor = aten::mm(%m, %x)
  return (%c, %p)
`);
    expect([convolved, product]).toEqual(['Tensor(*, 8, *, *)', 'Tensor(5, *)']);
  });

  test('sees through sizes and lists that the graph makes', () => {
    expect(
      shapesIn(`graph(%x : Float(SS(-1), 6), %y : Float(2, 3)):
  %zero : int = prim::Constant[value=0]()
  %two : int = prim::Constant[value=2]()
  %minus : int = prim::Constant[value=-1]()
  %n : int = aten::size(%x, %zero)
  %size : int[] = prim::ListConstruct(%n, %two, %minus)
  %v : Tensor = aten::view(%x, %size)
  %list : Tensor[] = prim::ListConstruct(%y, %y)
  %c : Tensor = aten::cat(%list, %zero)
  return (%v, %c)
`),
    ).toEqual(['Tensor(*, 2, *)', 'Tensor(4, 3)']);
  });

  test('merges what the branches of an If know, and leaves loops and unknown operators alone', () => {
    expect(
      shapesIn(`graph(%x : Float(2, 3), %c : bool, %n : int):
  %true : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %chosen : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::relu(%x)
      -> (%a)
    block1():
      %b : Tensor = aten::select(%x, %one, %zero)
      %d : Tensor = aten::unsqueeze(%b, %one)
      -> (%d)
  %looped : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %y : Tensor):
      %z : Tensor = aten::relu(%y)
      -> (%true, %z)
  %sums : Tensor = aten::cumsum(%x, %zero, %none)
  return (%chosen, %looped, %sums)
`),
    ).toEqual(['Tensor(2, *)', 'Tensor', 'Tensor']);
  });
});

describe('buildShapeComputeGraph', () => {
  const text = `graph(%x : Float(SS(-1), SS(-2)), %y : Float(SS(-1), SS(-2)), %n : int):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::relu(%x)
  %l : Tensor[] = prim::ListConstruct(%a, %y)
  %c : Tensor = aten::cat(%l, %one)
  %b : Tensor = aten::mul(%c, %c)
  return (%b)
`;

  test('computes from the sizes of inputs those that only have names', () => {
    const graph = parseIr(text);
    const shapes = buildShapeComputeGraph(graph, evaluate)!;
    expect([...shapes.inputs.keys()]).toEqual([graph.inputs[0]]);
    expect(shapes.graph.outputs.map(({ node }) => node.kind)).toEqual([
      'aten::__getitem__',
      'aten::__getitem__',
      'aten::add',
    ]);
    const { shape } = graph.outputs[0].type as TensorType;
    expect(shapes.graph.outputs.map((output) => shapes.symbols.get(output))).toEqual([
      ...(graph.inputs[0].type as TensorType).shape!,
      shape![1],
    ]);
  });

  test('gives nothing where an operator has no shape function', () => {
    expect(
      buildShapeComputeGraph(
        parseIr(
          text
            .replace('aten::mul(%c, %c)', 'aten::cumsum(%c, %one, %none)')
            .replace('  %a', '  %none : NoneType = prim::Constant()\n  %a'),
        ),
        evaluate,
      ),
    ).toBeNull();
  });
});
