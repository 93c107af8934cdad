import { describe, expect, test } from 'vitest';
import {
  ClassType,
  Complex,
  constantValue,
  CressetError,
  FileCheck,
  Graph,
  parseIr,
  parseIrWithNames,
} from '../index.ts';
import { lint } from '../graph/lint.ts';

const constantText = (value: unknown): string => {
  const graph = new Graph();
  graph.insertConstant(value);
  return /value=(.*)\]\(\)/.exec(String(graph))![1];
};

describe('graphs', () => {
  test('are read and printed', () => {
    const text = `graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu),
      %n.1 : int):
  %2 : int = prim::Constant[value=1]()
  %3 : bool = aten::gt(%n.1, %2)
  %4 : Tensor, %5 : int = prim::If(%3)
    block0():
      %6 : Tensor = aten::add(%x, %x, %2)
      -> (%6, %2)
    block1():
      %7 : (Tensor, int) = prim::TupleConstruct(%x, %n.1)
      %8 : Tensor, %9 : int = prim::TupleUnpack(%7)
       = prim::Print(%9)
      -> (%8, %9)
  return (%4)
`;
    const graph = parseIr(text);
    lint(graph);
    expect(String(graph)).toBe(text);
  });

  test('keep subgraphs, also within each other', () => {
    const text = `graph(%x : Tensor):
  %1 : Tensor = prim::DifferentiableGraph_0(%x)
  %2 : Tensor = prim::FusionGroup_1[striding=2](%1)
  return (%2)
with prim::DifferentiableGraph_0 = graph(%x : Tensor):
  %1 : Tensor = prim::FusionGroup_0(%x)
  return (%1)
with prim::FusionGroup_0 = graph(%x : Tensor):
  %1 : Tensor = aten::relu(%x)
  return (%1)
with prim::FusionGroup_1 = graph(%x : Tensor):
  %1 : Tensor = aten::abs(%x)
  return (%1)
`;
    const graph = parseIr(text);
    expect(String(graph)).toBe(text);
    expect(String(graph.copy())).toBe(text);
  });

  test('tell which value had which name', () => {
    const { graph, values } = parseIrWithNames('graph(%x):\n  %y.1 : Tensor = aten::relu(%x)\n  return (%y.1)');
    expect(values.get('y.1')).toBe(graph.outputs[0]);
  });

  test.each([
    ['graph(%x : Tensor):\n  return (%q)', "Cannot find a variable with name 'q'"],
    ['graph(%x : Tensor)\n  return (%x)', "expected : but found 'indent' here"],
    ['graph(%x : Foo):\n  return (%x)', 'unknown type specifier'],
    ['graph():\n  %1 : int = prim::Constant[value=99999999999999999999]()\n  return (%1)', 'Number is too big'],
    [
      'graph():\n  %1 : int = prim::FusionGroup_0()\n  return (%1)\nwith prim::FusionGroup_0 = graph(',
      "but found 'eof' here",
    ],
    ['', "expected ident but found 'eof' here"],
  ])('that are broken are refused: %j', (text, reason) => {
    expect(() => parseIr(text)).toThrow(CressetError);
    expect(() => parseIr(text)).toThrow(reason);
  });

  test('have classes where somebody knows them', () => {
    const text = 'graph(%self : __torch__.M):\n  return (%self)\n';
    expect(String(parseIr(text, { resolveClass: (name) => new ClassType(name) }))).toBe(text);
    expect(() => parseIr(text)).toThrow('Expected classes namespace but got M');
  });

  test('show where nodes come from when asked', () => {
    const graph = parseIr('graph(%x : Tensor):\n  %1 : Tensor = aten::relu(%x) # model.py:3:8\n  return (%1)');
    expect(graph.toString({ sourceRanges: true })).toBe(String(graph));
  });
});

describe('constants', () => {
  test.each([
    [1n, '1'],
    [-0.5, '-0.5'],
    [2, '2.'],
    [-0, '-0.'],
    [1e-5, '1.0000000000000001e-05'],
    [1e10, '10000000000'],
    [1e20, '1e+20'],
    [Number.POSITIVE_INFINITY, 'inf'],
    [Number.NaN, 'nan'],
    [true, '1'],
    [new Complex(1, -2), '1.-2.j'],
    ['a"b\n\\', '"a\\"b\\n\\\\"'],
  ])('%s prints as %s', (value, text) => {
    expect(constantText(value)).toBe(text);
  });

  test.each([
    ['int[]', '[1, 2, -3]'],
    ['int[]', 'annotate(List[int], [])'],
    ['int?[]', 'annotate(List[Optional[int]], [1, None])'],
    ['str[]', '["a", "b"]'],
    ['bool[]', '[1, 0]'],
    ['(int, str, Device)', '(1, "x", torch.device("cpu"))'],
    ['(int)', '(1,)'],
    ['Dict(str, int)', '{"a": 1}'],
    ['Dict(str, int)', 'annotate(Dict[str, int],{})'],
    ['complex[]', '[0.+1.j]'],
    ['Tensor', '{3}'],
    ['Float(2, 3)', '<Tensor>'],
  ])('of type %s are read back: %s', (type, value) => {
    const text = `graph():\n  %0 : ${type} = prim::Constant[value=${value}]()\n  return (%0)\n`;
    const readable = text.replace('0.+1.j', '1.j');
    expect(String(parseIr(readable))).toBe(text);
  });

  test('bools of lists are ints to the printer, and bools to who asks', () => {
    const graph = parseIr('graph():\n  %0 : bool[] = prim::Constant[value=[True, False]]()\n  return (%0)');
    expect(String(graph)).toContain('[value=[1, 0]]');
    expect(constantValue(graph.outputs[0])).toMatchObject({ items: [true, false] });
  });

  test('floats that print without a point come back as floats', () => {
    const graph = parseIr('graph():\n  %0 : float = prim::Constant[value=10000000000]()\n  return (%0)');
    expect(graph.outputs[0].node.f('value')).toBe(1e10);
  });

  test('strings are bytes, and come back as such', () => {
    const graph = parseIr('graph():\n  %0 : str = prim::Constant[value="é\\303\\251"]()\n  return (%0)');
    expect(graph.outputs[0].node.s('value')).toBe('\u00c3\u00a9\u00c3\u00a9');
    expect(parseIr(String(graph)).outputs[0].node.s('value')).toBe('\u00c3\u00a9\u00c3\u00a9');
  });
});

describe('FileCheck', () => {
  const text = 'aten::add\naten::mul aten::mul\nreturn';

  test('finds text in order', () => {
    new FileCheck().check('add').checkNext('mul').checkSame('mul').checkNot('sub').check('return').run(text);
    new FileCheck().checkCount('aten', 3, true).run(text);
  });

  test.each([
    [new FileCheck().check('mul').check('add')],
    [new FileCheck().checkNot('mul').check('return')],
    [new FileCheck().check('return').checkNot('x').checkNext('y')],
    [new FileCheck().checkCount('aten', 2, true)],
    [new FileCheck().check('add').checkSame('mul')],
  ])('fails otherwise (%#)', (check) => {
    expect(() => check.run(text)).toThrow(CressetError);
  });
});
