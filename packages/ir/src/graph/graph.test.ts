import { beforeEach, describe, expect, test } from 'vitest';
import {
  ClassType,
  CressetError,
  Graph,
  IntType,
  ListType,
  type Node,
  operatorRegistry,
  parseIr,
  registerOperators,
  TensorType,
  type Value,
} from '../index.ts';
import { lint } from './lint.ts';

let graph: Graph;
let x: Value;

beforeEach(() => {
  graph = new Graph();
  x = graph.addInput('x');
});

const relu = (input: Value): Node => graph.insertNode(graph.create('aten::relu', [input]));

test('a graph knows the kinds of all nodes that it ever had', () => {
  relu(x).destroy();
  expect([...graph.kinds]).toEqual(['prim::Param', 'prim::Return', 'aten::relu']);
});

test('an operator that comes later is found for a node that had none', () => {
  const node = graph.insertNode(graph.create('t::late', [x]));
  expect(node.maybeOperator()).toBeUndefined();
  registerOperators([{ schema: 't::late(Tensor self) -> Tensor' }]);
  expect(node.maybeOperator()?.name).toBe('t::late');
});

describe('names of values', () => {
  test('the newest keeps a name, the older gets a suffix', () => {
    const values = [relu(x), relu(x), relu(x)].map((node) => node.output());
    values.forEach((value) => value.setDebugName('y'));
    expect(values.map((value) => value.debugName)).toEqual(['y.1', 'y.2', 'y']);
    values[0].setDebugName('y.2');
    expect(values.map((value) => value.debugName)).toEqual(['y.2', 'y.3', 'y']);
    expect(values[0].debugNameBase).toBe('y');
  });

  test('plain numbers are the names of values without one', () => {
    const value = relu(x).output();
    expect(value.hasDebugName()).toBe(false);
    expect(value.debugName).toBe('1');
    expect(() => value.setDebugName('7')).toThrow("Invalid name: '7'");
    expect(value.setDebugName('z').setDebugName('').debugName).toBe('1');
  });
});

describe('uses', () => {
  test('follow inputs through every change', () => {
    const one = relu(x);
    const add = graph.insertNode(graph.create('aten::add', [x, one.output(), x]));
    add.insertInput(1, x);
    add.removeInput(0);
    expect(add.inputs).toEqual([x, one.output(), x]);
    add.permuteInputs([1, 0, 2]);
    expect(x.uses.filter((use) => use.user === add).map((use) => use.offset)).toEqual([1, 2]);
    graph.registerOutput(add.output());
    lint(graph);
    one.output().replaceAllUsesWith(x);
    expect(one.hasUses()).toBe(false);
    one.destroy();
    lint(graph);
    expect([...graph.nodes()]).toEqual([add]);
  });

  test('after or under a node are told from those before', () => {
    const text = `graph(%x : Tensor, %c : bool):
  %1 : Tensor = aten::relu(%x)
  %2 : Tensor = prim::If(%c)
    block0():
      %3 : Tensor = aten::abs(%x)
      %4 : Tensor = aten::neg(%x)
      -> (%4)
    block1():
      -> (%x)
  %5 : Tensor = aten::exp(%x)
  return (%5)
`;
    const parsed = parseIr(text);
    const all = [...parsed.allNodes()];
    const [, , abs, neg, exp] = all;
    expect([neg, exp].map((node) => node.isDominatedBy(abs))).toEqual([true, false]);
    const [input] = parsed.inputs;
    input.replaceAllUsesAfterNodeWith(all[1], all[0].output());
    expect(all.at(-1)!.input()).toBe(all[0].output());
    lint(parsed);
  });

  test('are all visited with those in their blocks, whatever becomes of the visited one', () => {
    const parsed = parseIr(`graph(%x : Tensor, %c : bool):
  %1 : Tensor = prim::If(%c)
    block0():
      %2 : Tensor = prim::If(%c)
        block0():
          %3 : Tensor = aten::abs(%x)
          -> (%3)
        block1():
          -> (%x)
      %4 : Tensor = aten::neg(%2)
      -> (%4)
    block1():
      %5 : Tensor = aten::exp(%x)
      -> (%5)
  %6 : Tensor = aten::relu(%x)
  return (%6)
`);
    const kinds = (): string[] => [...parsed.allNodes()].map(({ kind }) => kind);
    expect(kinds()).toEqual(['prim::If', 'prim::If', 'aten::abs', 'aten::neg', 'aten::exp', 'aten::relu']);
    const visited: string[] = [];
    for (const node of parsed.allNodes()) {
      visited.push(node.kind);
      if (node.kind === 'prim::If') node.destroy();
    }
    expect(visited).toEqual(['prim::If', 'aten::relu']);
    expect(kinds()).toEqual(['aten::relu']);
  });
});

describe('ownership', () => {
  test('a used node cannot be destroyed, nor a used output erased', () => {
    const node = relu(x);
    relu(node.output());
    expect(() => node.destroy()).toThrow('is used by aten::relu');
    expect(() => node.eraseOutput(0)).toThrow('is used by');
    expect(() => graph.eraseInput(0)).toThrow('is used by');
  });

  test('a node belongs to one graph and one block', () => {
    const other = new Graph();
    expect(() => other.create('aten::relu', [x])).toThrow('belongs to another graph');
    expect(() => other.appendNode(graph.create('aten::relu', [x]))).toThrow('belongs to another graph');
    const node = relu(x);
    expect(() => node.insertAfter(node)).toThrow('is in a block already');
    node.destroy();
    expect(() => node.insertBefore(graph.returnNode)).toThrow('was destroyed');
    expect(() => graph.create('aten::relu', [node.outputs[0] ?? x]).insertAfter(graph.returnNode)).toThrow(
      'after the Return node',
    );
  });

  test('attributes are of one kind', () => {
    const node = relu(x).setI('n', 3).setS('s', 'text').setTys('types', [IntType.get()]);
    expect(node.i('n')).toBe(3n);
    expect(node.attributeNames).toEqual(['n', 's', 'types']);
    expect(() => node.f('n')).toThrow(CressetError);
    expect(() => node.s('gone')).toThrow("required keyword attribute 'gone' is undefined");
  });

  test('lint finds a value used out of its scope', () => {
    const branch = graph.insertNode(graph.create('prim::If', [graph.insertConstant(true)], 0));
    const inner = graph.withInsertPoint(branch.addBlock(), () => relu(x));
    branch.addBlock();
    relu(inner.output());
    expect(() => lint(graph)).toThrow('is not in scope');
  });
});

describe('order', () => {
  test('positions hold through many insertions at one place', () => {
    const last = relu(x);
    const nodes = Array.from({ length: 200 }, () => graph.create('aten::relu', [x]).insertBefore(last));
    expect(nodes.every((node, index) => index === 0 || nodes[index - 1].isBefore(node))).toBe(true);
    expect(nodes[0].isBefore(last)).toBe(true);
    lint(graph);
  });

  test('iteration bears removal, insertion and moving', () => {
    const nodes = [relu(x), relu(x), relu(x)];
    const seen: Node[] = [];
    for (const node of graph.nodes()) {
      seen.push(node);
      if (node === nodes[0]) {
        nodes[1].destroy();
        node.destroy();
      }
    }
    expect(seen).toEqual([nodes[0], nodes[2]]);
    const before = graph.create('aten::abs', [x]).insertBefore(nodes[2]);
    before.moveAfter(nodes[2]);
    expect([...graph.block.reverseNodes()]).toEqual([before, nodes[2]]);
    expect(nodes[2].isBefore(before)).toBe(true);
  });

  test('the insert point survives the node it is at', () => {
    const node = relu(x);
    graph.setInsertPoint(node);
    node.destroy();
    const next = relu(x);
    expect([...graph.nodes()]).toEqual([next]);
  });
});

describe('making nodes', () => {
  test('containers check their elements', () => {
    expect(() => graph.createList(IntType.get(), [x])).toThrow(
      "Expected a value of type 'int' for a list but found 'Tensor'",
    );
    const list = graph.insertNode(graph.createList(TensorType.get(), [x, x]));
    expect(`${list.output().type}`).toBe('Tensor[]');
    expect(graph.createListUnpack(list.output(), 2).outputs.map((value) => `${value.type}`)).toEqual([
      'Tensor',
      'Tensor',
    ]);
    const tuple = graph.insertNode(graph.createTuple([x, list.output()]));
    expect(`${tuple.output().type}`).toBe('(Tensor, Tensor[])');
    expect(graph.createTupleUnpack(tuple.output()).outputs.length).toBe(2);
  });

  test('attributes of objects have the type that their class says', () => {
    const type = new ClassType('__torch__.M');
    type.addAttribute('n', IntType.get());
    const object = graph.addInput('self').setType(type);
    expect(graph.insertGetAttr(object, 'n').type).toBe(IntType.get());
    expect(() => graph.insertGetAttr(object, 'gone')).toThrow('does not have a field');
  });

  test('insert matches a schema', () => {
    registerOperators([
      { schema: 'test::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor' },
      { schema: 'test::add.int(int a, int b) -> int' },
      { schema: 'test::first.t(t[] list, int[2] sizes=0) -> t' },
    ]);
    const sum = graph.insert('test::add', [x, x], { alpha: 2n });
    expect(sum.node.maybeOperator()?.overloadName).toBe('Tensor');
    expect(graph.insert('test::add', [1n, 2n]).type).toBe(IntType.get());
    const list = graph.insertNode(graph.createList(TensorType.get(), [x])).output();
    expect(graph.insert('test::first', [list]).type).toBe(TensorType.get());
    expect(() => graph.insert('test::add', [x, 'text'])).toThrow(
      "Expected a value of type 'Tensor' for argument 'other'",
    );
    expect(() => graph.insert('test::nothing', [])).toThrow('Unknown operator test::nothing');
    lint(graph);
    operatorRegistry.clear();
  });

  test('the operator of a node stays while its inputs are of the same types, and is another one for other types', () => {
    registerOperators([
      { schema: 'test::half.Tensor(Tensor x) -> Tensor' },
      { schema: 'test::half.int(int x) -> int' },
    ]);
    const [y, n] = [graph.addInput('y'), graph.addInput('n').setType(IntType.get())];
    const node = graph.insertNode(graph.create('test::half', [x]));
    const ofTensors = node.operator();
    expect(ofTensors.overloadName).toBe('Tensor');
    operatorRegistry.clear();
    node.replaceInput(0, y);
    expect(node.operator()).toBe(ofTensors);
    x.replaceAllUsesWith(y);
    y.replaceAllUsesWith(n);
    expect(() => node.operator()).toThrow('Schema not found for node: test::half(int)');
    registerOperators([{ schema: 'test::half.int(int x) -> int' }]);
    expect(node.operator().overloadName).toBe('int');
    operatorRegistry.clear();
  });

  test('copies are equal and apart', () => {
    const loop = graph.insertNode(
      graph.create('prim::Loop', [graph.insertConstant(3n), graph.insertConstant(true), x]),
    );
    const body = loop.addBlock();
    body.addInput('i').setType(IntType.get());
    const carried = body.addInput('acc');
    graph.withInsertPoint(body, () => {
      body.registerOutput(graph.insertConstant(true));
      body.registerOutput(graph.insertNode(graph.create('aten::add', [carried, x])).output());
    });
    graph.registerOutput(loop.output());
    lint(graph);
    const copy = graph.copy();
    lint(copy);
    expect(String(copy)).toBe(String(graph));
    copy.inputs[0].setType(new ListType(IntType.get()));
    expect(`${x.type}`).toBe('Tensor');
  });
});
