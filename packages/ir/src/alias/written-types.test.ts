import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  AliasDb,
  ClassType,
  type Graph,
  isFromOutside,
  isNew,
  isOnlyRead,
  isPlain,
  operatorRegistry,
  parseIrWithNames,
  registerOperators,
  TensorType,
  type Value,
} from '../index.ts';

beforeAll(() =>
  registerOperators([
    { schema: 'aten::relu(Tensor self) -> Tensor' },
    { schema: 'aten::relu_(Tensor(a!) self) -> Tensor(a!)' },
    { schema: 'aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)' },
    { schema: 'aten::view(Tensor(a) self, int[] size) -> Tensor(a)' },
    { schema: 'aten::len.t(t[] a) -> int' },
    { schema: 'aten::_foreach_relu_(Tensor(a!)[] self) -> ()' },
    {
      schema:
        'aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor',
    },
    { schema: 'test::mystery(Tensor x) -> Tensor', aliasAnalysis: 'conservative' },
  ]),
);
afterAll(() => operatorRegistry.clear());

const module = new ClassType('__torch__.M', { isModule: true });
module.addAttribute('state', TensorType.get());

function parse(body: string): { graph: Graph; values: ReadonlyMap<string, Value> } {
  return parseIrWithNames(`graph(%self : __torch__.M, %x : Tensor, %y : Tensor, %s : int[]):\n${body}`, {
    resolveClass: (name) => (name === module.qualifiedName ? module : undefined),
  });
}

/** Names of the values that somebody writes to, or may. */
function written(body: string): { are: string[]; mayBe: string[] } {
  const { graph, values } = parse(body);
  const lazily = AliasDb.lazily(graph);
  const names = (of: (value: Value) => boolean): string[] =>
    [...values].filter(([, value]) => of(value)).map(([name]) => name);
  const db = new AliasDb(graph);
  const are = names((value) => lazily.hasWriters(value));
  expect(are).toEqual(names((value) => db.hasWriters(value)));
  return { are, mayBe: names((value) => lazily.mayHaveWriters(value)) };
}

describe('writers', () => {
  test('are none where nothing is written, and an attribute that is set is no tensor', () => {
    expect(written('  %a : Tensor = aten::relu(%x)\n  return (%a)')).toEqual({ are: [], mayBe: [] });
    expect(
      written('  %a : Tensor = aten::relu(%x)\n   = prim::SetAttr[name="state"](%self, %a)\n  return (%a)'),
    ).toEqual({
      are: ['self'],
      mayBe: ['self'],
    });
  });

  test('of a tensor leave lists alone, and other tensors to those who know what aliases', () => {
    const body = '  %a : Tensor = aten::relu(%x)\n  %b : Tensor = aten::relu_(%a)\n  return (%b)';
    expect(written(body)).toEqual({ are: ['a', 'b'], mayBe: ['x', 'y', 'a', 'b'] });
  });

  test('of a list may mean what it holds', () => {
    const foreach = '  %l : Tensor[] = prim::ListConstruct(%x)\n   = aten::_foreach_relu_(%l)\n  return (%y)';
    expect(written(foreach).mayBe).toEqual(['x', 'y', 's', 'l']);
  });

  test('are what a norm does to its statistics, unless it is known not to', () => {
    const norm = (training: string): string => `  %n : NoneType = prim::Constant()
  %f : float = prim::Constant[value=0.1]()
  %t : bool = prim::Constant[value=${training}]()
  %a : Tensor = aten::batch_norm(%y, %n, %n, %x, %x, %t, %f, %f, %t)
  return (%a)`;
    expect(written(norm('1')).are).toEqual(['x', 'y']);
    expect(written(norm('0'))).toEqual({ are: [], mayBe: [] });
  });

  test('are none of what is new and only read, while they are of its views and of what it is a view of', () => {
    const body = `  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%x)
  %c : Tensor = aten::view(%b, %s)
  %d : Tensor = aten::relu_(%c)
  %e : Tensor = aten::relu(%a)
  return (%a)`;
    expect(written(body).are).toEqual(['b', 'c', 'd']);
    const { values } = parse(body);
    const names = ['x', 'a', 'b', 'c', 'd', 'e'];
    expect(names.filter((name) => isNew(values.get(name)!))).toEqual(['a', 'b', 'e']);
    expect(names.filter((name) => isOnlyRead(values.get(name)!))).toEqual(['x', 'd', 'e']);
  });

  test('are what a norm does to statistics that are new', () => {
    const norm = `  %n : NoneType = prim::Constant()
  %f : float = prim::Constant[value=0.1]()
  %t : bool = prim::Constant[value=1]()
  %m : Tensor = aten::relu(%x)
  %a : Tensor = aten::batch_norm(%y, %n, %n, %m, %m, %t, %f, %f, %t)
  return (%a)`;
    expect(written(norm).are).toEqual(['m']);
    const { values } = parse(norm);
    expect([isOnlyRead(values.get('m')!), isOnlyRead(values.get('y')!)]).toEqual([false, true]);
  });

  test('may be anything of an operator of which nothing is known', () => {
    expect(written('  %a : Tensor = test::mystery(%x)\n  return (%a)').mayBe).toEqual(['self', 'x', 'y', 's', 'a']);
  });
});

test('what comes from outside is an input or taken out of one', () => {
  const { values } = parse(`  %a : Tensor = prim::GetAttr[name="state"](%self)
  %b : Tensor = prim::unchecked_cast(%a)
  %c : Tensor = aten::relu(%b)
  %d : Tensor = prim::unchecked_cast(%c)
  return (%d)`);
  expect(['x', 'a', 'b', 'c', 'd'].filter((name) => isFromOutside(values.get(name)!))).toEqual(['x', 'a', 'b']);
});

test('plain is what can do nothing but give its outputs', () => {
  const { graph } = parse(`  %n : NoneType = prim::Constant()
  %f : float = prim::Constant[value=0.1]()
  %t : bool = prim::Constant[value=0]()
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu_(%a)
  %c : Tensor = aten::view(%a, %s)
  %l : Tensor[] = prim::ListConstruct(%c)
   = aten::_foreach_relu_(%l)
  %d : Tensor = test::mystery(%a)
  %g : Tensor = aten::batch_norm(%y, %n, %n, %x, %x, %t, %f, %f, %t)
   = prim::SetAttr[name="state"](%self, %d)
  %h : Tensor = prim::GetAttr[name="state"](%self)
  return (%g)`);
  const plain = [...graph.nodes()].filter(isPlain).map(({ kind }) => kind);
  expect(plain.filter((kind) => kind !== 'prim::Constant')).toEqual([
    'aten::relu',
    'aten::view',
    'prim::ListConstruct',
    'prim::GetAttr',
  ]);
});

test('a constant is only read where nobody can have it', () => {
  const { values } = parse(`  %a : int[] = prim::Constant[value=[1, 2]]()
  %b : int[] = prim::Constant[value=[1, 2]]()
  %1 : Tensor = aten::view(%x, %a)
  %2 : int = aten::len(%b)
  %3 : int = prim::Constant[value=3]()
  %4 : int[] = aten::append(%b, %3)
  return (%1)`);
  expect(['a', 'b'].map((name) => isOnlyRead(values.get(name)!))).toEqual([true, false]);
});
