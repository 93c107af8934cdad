import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  AliasDb,
  ClassType,
  IntType,
  type Node,
  operatorRegistry,
  parseIrWithNames,
  registerOperators,
  TensorType,
  type Value,
} from '../index.ts';
import { lint } from '../graph/lint.ts';

beforeAll(() =>
  registerOperators([
    { schema: 'aten::relu(Tensor self) -> Tensor' },
    { schema: 'aten::relu_(Tensor(a!) self) -> Tensor(a!)' },
    { schema: 'aten::view(Tensor(a) self, int[] size) -> Tensor(a)' },
    { schema: 'aten::split(Tensor(a -> *) self, int size) -> Tensor(a)[]' },
    { schema: 'aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)' },
    { schema: 'aten::cat(Tensor[] tensors, int dim=0) -> Tensor' },
    { schema: 'aten::zeros(int[] size) -> Tensor' },
    { schema: 'test::mystery(Tensor x) -> Tensor', aliasAnalysis: 'conservative' },
    { schema: 'test::pure(Tensor[] x) -> Tensor', aliasAnalysis: 'pure-function' },
  ]),
);
afterAll(() => operatorRegistry.clear());

interface Subject {
  readonly db: AliasDb;
  value(name: string): Value;
  node(name: string): Node;
}

function subject(body: string, inputs = '%x : Tensor, %y : Tensor, %s : int[]', type?: ClassType): Subject {
  const { graph, values } = parseIrWithNames(`graph(${inputs}):\n${body}`, {
    resolveClass: (name) => (name === type?.qualifiedName ? type : undefined),
  });
  lint(graph);
  const value = (name: string): Value => values.get(name)!;
  return { db: new AliasDb(graph), value, node: (name) => value(name).node };
}

describe('aliases', () => {
  test('go by annotations; inputs may be each other', () => {
    const { db, value } = subject(`
  %v : Tensor = aten::view(%x, %s)
  %r : Tensor = aten::relu(%x)
  %w : Tensor = aten::view(%r, %s)
  return (%v, %w)`);
    expect(db.mayAlias(value('v'), value('x'))).toBe(true);
    expect(db.mayAlias(value('v'), value('y'))).toBe(true);
    expect(db.mayAlias(value('r'), value('x'))).toBe(false);
    expect(db.mayAlias(value('r'), value('w'))).toBe(true);
    expect(db.mayAlias([value('r'), value('s')], [value('x'), value('w')])).toBe(true);
    expect(db.mayAlias(value('x'), value('s'))).toBe(false);
  });

  test('are joined by branches and loops', () => {
    const { db, value } = subject(
      `
  %a : Tensor = aten::zeros(%s)
  %b : Tensor = aten::zeros(%s)
  %o : Tensor = prim::If(%c)
    block0():
      -> (%a)
    block1():
      -> (%b)
  %n : int = prim::Constant[value=3]()
  %l : Tensor = prim::Loop(%n, %c, %a)
    block0(%i : int, %k : Tensor):
      %m : Tensor = aten::view(%k, %s)
      -> (%c, %m)
  return (%o, %l)`,
      '%c : bool, %s : int[]',
    );
    expect(db.mayAlias(value('o'), value('a'))).toBe(true);
    expect(db.mayAlias(value('o'), value('b'))).toBe(true);
    expect(db.mayAlias(value('a'), value('b'))).toBe(false);
    expect(db.mayAlias(value('l'), value('a'))).toBe(true);
    expect(db.mayAlias(value('l'), value('b'))).toBe(false);
  });

  test('of what was put in a container are unknown, unless it is only read', () => {
    const { db, value } = subject(`
  %a : Tensor = aten::zeros(%s)
  %b : Tensor = aten::zeros(%s)
  %l : Tensor[] = prim::ListConstruct(%a)
  %m : Tensor[] = aten::append(%l, %y)
  %k : Tensor[] = prim::ListConstruct(%b)
  %d : int = prim::Constant[value=0]()
  %c : Tensor = aten::cat(%k, %d)
  return (%c, %m)`);
    expect(db.mayAlias(value('a'), value('x'))).toBe(true);
    expect(db.mayAlias(value('b'), value('x'))).toBe(false);
    expect(db.mayContainAlias(value('k'), value('b'))).toBe(true);
    expect(db.mayContainAlias(value('k'), value('a'))).toBe(false);
    expect(db.mayContainAlias(value('l'), value('x'))).toBe(true);
  });

  test('of nodes nobody knows are anything', () => {
    const { db, value, node } = subject(`
  %a : Tensor = aten::zeros(%s)
  %b : Tensor = test::mystery(%a)
  %c : Tensor = test::unregistered(%b)
  return (%c)`);
    expect(db.mayAlias(value('b'), value('x'))).toBe(true);
    expect(db.hasWriters(value('a'))).toBe(true);
    expect(db.writesToWildcard(node('c'))).toBe(true);
  });
});

describe('writes', () => {
  test('reach every alias', () => {
    const { db, value, node } = subject(`
  %a : Tensor = aten::zeros(%s)
  %v : Tensor = aten::view(%a, %s)
  %w : Tensor = aten::relu_(%v)
  %b : Tensor = aten::zeros(%s)
  return (%b)`);
    expect(['a', 'v', 'w', 'b', 'x'].map((name) => db.hasWriters(value(name)))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(db.isMutable(node('w'))).toBe(true);
    expect(db.writesToWildcard(node('w'))).toBe(false);
    expect(db.writesToAlias(node('w'), [value('a')])).toBe(true);
    expect(db.hasInputWriters(node('v'))).toBe(true);
    expect(db.hasWriters(node('b'))).toBe(false);
  });

  test('to an attribute make what is set unknown', () => {
    const type = new ClassType('__torch__.M', { isModule: true });
    type.addAttribute('t', TensorType.get());
    type.addAttribute('n', IntType.get());
    const { db, value } = subject(
      `
  %a : Tensor = aten::zeros(%s)
   = prim::SetAttr[name="t"](%self, %a)
  %t : Tensor = prim::GetAttr[name="t"](%self)
  return (%t)`,
      '%self : __torch__.M, %s : int[]',
      type,
    );
    expect(db.mayAlias(value('t'), value('a'))).toBe(true);
    expect(db.hasWriters(value('self'))).toBe(true);
  });

  test('decide what may change its aliases', () => {
    const { db, value } = subject(`
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%a)
  %c : Tensor = aten::relu(%b)
  return (%c)`);
    expect(db.escapesScope([value('c')])).toBe(true);
    expect(db.escapesScope([value('b')])).toBe(false);
    expect(db.safeToChangeAliasingRelationship([value('a')], [value('b')])).toBe(true);
    expect(db.safeToChangeAliasingRelationship([value('x')], [value('c')])).toBe(false);
  });
});

describe('moving nodes', () => {
  const text = `
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%a)
  %w : Tensor = aten::relu_(%y)
  %c : Tensor = aten::relu(%y)
  return (%b, %c)`;

  test('takes along what depends on them', () => {
    const { db, node } = subject(text, '%x : Tensor, %y : Tensor');
    // x and y may be one tensor, which relu_ writes to: a must stay before it, and so must b not hold c up.
    expect(db.couldMoveAfterTopologically(node('a'), node('w'))).toBe(false);
    expect(db.moveAfterTopologicallyValid(node('b'), node('c'))).toBe(true);
    expect([...node('a').owningBlock.nodes()].map((other) => other.output().debugName)).toHaveLength(4);
    expect(node('c').isBefore(node('b'))).toBe(true);
    expect(db.moveBeforeTopologicallyValid(node('c'), node('w'))).toBe(false);
    lint(node('a').owningGraph);
  });

  test('never passes side effects', () => {
    const { db, node } = subject(`
  %a : Tensor = aten::relu(%x)
   = prim::Print(%x)
  %b : Tensor = aten::relu(%y)
  return (%a, %b)`);
    expect(db.couldMoveAfterTopologically(node('a'), node('b'))).toBe(false);
    expect(db.couldMoveBeforeTopologically(node('a'), node('b'))).toBe(false);
  });
});
