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
    { schema: 'aten::dropout(Tensor input, float p, bool train) -> Tensor', mayGiveArguments: true },
    { schema: 'aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]', mayGiveArguments: true },
    { schema: 'aten::select.t(t[](a) list, int idx) -> t(*)' },
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

  test('are those of what a loop was given, where it may make no trip', () => {
    const loop = (trips: string): string => `
  %a : Tensor = aten::zeros(%s)
  %t : bool = prim::Constant[value=1]()
  %n : int = prim::Constant[value=3]()
  %l : Tensor = prim::Loop(${trips}, %t, %a)
    block0(%i : int, %k : Tensor):
      %m : Tensor = aten::zeros(%s)
      -> (%t, %m)
  return (%l)`;
    const may = subject(loop('%u'), '%u : int, %s : int[]');
    expect(may.db.mayAlias(may.value('l'), may.value('a'))).toBe(true);
    const does = subject(loop('%n'), '%s : int[]');
    expect(does.db.mayAlias(does.value('l'), does.value('a'))).toBe(false);
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

describe('operators that may give their arguments', () => {
  test('are views of them, though no schema says so', () => {
    const { db, value } = subject(`
  %p : float = prim::Constant[value=0.5]()
  %t : bool = prim::Constant[value=0]()
  %a : Tensor = aten::dropout(%x, %p, %t)
  %b : Tensor = aten::relu_(%a)
  return (%b)`);
    expect(db.mayAlias(value('a'), value('x'))).toBe(true);
    expect(db.hasWriters(value('x'))).toBe(true);
  });

  test('make what comes in lists anything', () => {
    const { db, value } = subject(`
  %i : int = prim::Constant[value=0]()
  %z : Tensor = aten::zeros(%s)
  %l : Tensor[] = prim::ListConstruct(%z)
  %m : Tensor[] = aten::broadcast_tensors(%l)
  %a : Tensor = aten::select(%m, %i)
  return (%a)`);
    expect(db.mayAlias(value('a'), value('z'))).toBe(true);
  });
});

describe('waiting', () => {
  const cat = (between: string): string => `
  %i : int = prim::Constant[value=0]()
  %l : Tensor[] = prim::ListConstruct(%x, %z)
  %c : Tensor = aten::cat(%l, %i)
  ${between}
  %r : Tensor = aten::relu(%c)
  return (%r)`;
  const mayWait = (between: string): boolean => {
    const { db, node } = subject(`\n  %z : Tensor = aten::zeros(%s)${cat(between)}`);
    const answer = db.mayWaitUntil(node('c'), node('r'));
    expect(AliasDb.lazily(db.graph).mayWaitUntil(node('c'), node('r'))).toBe(answer);
    return answer;
  };

  test('changes nothing where what is read, within lists too, is not written meanwhile', () => {
    expect(mayWait('%w : Tensor = aten::relu(%x)')).toBe(true);
    expect(mayWait('%w : Tensor = aten::relu_(%c)')).toBe(true);
    expect(mayWait('%w : Tensor = aten::relu_(%x)')).toBe(false);
    expect(mayWait('%w : Tensor = aten::relu_(%z)')).toBe(false);
    expect(mayWait('%v : Tensor = aten::view(%z, %s)\n  %w : Tensor = aten::relu_(%v)')).toBe(false);
  });

  test('ends at code that is not seen', () => {
    expect(mayWait('%w : Tensor = test::mystery(%x)')).toBe(false);
    expect(mayWait('%f : Future(Tensor) = prim::fork(%y)')).toBe(false);
  });

  test('of who writes ends at who reads', () => {
    const { db, node } = subject(`
  %z : Tensor = aten::zeros(%s)
  %w : Tensor = aten::relu_(%z)
  %u : Tensor = aten::relu(%y)
  %v : Tensor = aten::relu(%z)
  return (%v)`);
    expect(db.mayWaitUntil(node('w'), node('u'))).toBe(true);
    expect(db.mayWaitUntil(node('w'), node('v'))).toBe(true);
    expect(db.mayWaitUntil(node('w'), db.graph.returnNode)).toBe(false);
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

  test('reach what lists hold, where operators read that', () => {
    const { db, node } = subject(
      `
  %i : int = prim::Constant[value=0]()
  %l : Tensor[] = aten::select(%x, %i)
  %a : Tensor = aten::cat(%l, %i)
  %e : Tensor = aten::select(%l, %i)
  %w : Tensor = aten::relu_(%e)
  %b : Tensor = aten::cat(%l, %i)
  return (%a, %b)`,
      '%x : Tensor[][], %y : Tensor',
    );
    expect([db.hasWriters(node('a')), db.hasWritersWithin(node('a'))]).toEqual([false, true]);
    expect(AliasDb.lazily(db.graph).hasWritersWithin(node('a'))).toBe(true);
    // What an index takes out of a list is written to, and the list of lists itself is handed on.
    expect(db.hasWritersWithin(node('e'))).toBe(true);
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
