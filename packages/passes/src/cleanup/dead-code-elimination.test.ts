import { lint, parseIr, type Graph } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, it } from 'vitest';
import { eliminateDeadCode, eliminateDeadWrites } from './dead-code-elimination.ts';

beforeAll(registerAllOperators);

const kindsOf = (graph: Graph): string[] =>
  [...graph.allNodes()].map(({ kind }) => kind).filter((kind) => kind !== 'prim::Constant');

describe('eliminateDeadWrites', () => {
  it('keeps what writes to the elements of a list that is found live before it', () => {
    // Backwards, the write is met first: that it matters shows where the list is made.
    const graph = parseIr(`graph(%x : Tensor):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%x)
  %l : Tensor[] = prim::ListConstruct(%a)
  %2 : Tensor = aten::add_(%a, %1, %1)
  %3 : Tensor = aten::add_(%b, %1, %1)
  %n : int = aten::len(%l)
  return (%l, %n)
`);
    expect(eliminateDeadWrites(graph)).toBe(true);
    lint(graph);
    expect(kindsOf(graph)).toEqual(['aten::relu', 'prim::ListConstruct', 'aten::add_', 'aten::len']);
  });

  it('keeps what writes to the elements of a list that only an operator reads', () => {
    const graph = parseIr(`graph(%x : Tensor):
  %0 : int = prim::Constant[value=0]()
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::relu(%x)
  %l : Tensor[] = prim::ListConstruct(%a, %x)
  %1 : Tensor = aten::zero_(%a)
  %2 : Tensor = aten::zero_(%b)
  %s : Tensor = aten::stack(%l, %0)
  return (%s)
`);
    expect(eliminateDeadWrites(graph)).toBe(true);
    lint(graph);
    expect(kindsOf(graph)).toEqual(['aten::relu', 'prim::ListConstruct', 'aten::zero_', 'aten::stack']);
  });

  it('keeps what is appended to a list that is live, and lets go what is appended to another', () => {
    const graph = parseIr(`graph(%x : Tensor):
  %l : Tensor[] = prim::ListConstruct()
  %m : Tensor[] = prim::ListConstruct()
  %a : Tensor = aten::relu(%x)
  %1 : Tensor[] = aten::append(%l, %a)
  %n : int = aten::len(%l)
  return (%n)
`);
    // What is said of a list by its own name needs no table of aliases, which knows no more.
    expect(eliminateDeadWrites(graph)).toBe(true);
    expect(kindsOf(graph)).toEqual(['prim::ListConstruct', 'aten::relu', 'aten::append', 'aten::len']);
    const dead = parseIr(`graph(%x : Tensor):
  %m : Tensor[] = prim::ListConstruct()
  %1 : Tensor[] = aten::append(%m, %x)
  return (%x)
`);
    expect(eliminateDeadWrites(dead)).toBe(true);
    expect(kindsOf(dead)).toEqual([]);
  });

  it('keeps what the trip before last of a loop makes for the last', () => {
    const graph = parseIr(`graph(%n : int, %x : Tensor):
  %t : bool = prim::Constant[value=1]()
  %a : Tensor, %b : Tensor = prim::Loop(%n, %t, %x, %x)
    block0(%i : int, %p : Tensor, %q : Tensor):
      %dead : Tensor = aten::neg(%q)
      %abs : Tensor = aten::abs(%x)
      %relu : Tensor = aten::relu(%q)
      -> (%t, %relu, %abs)
  return (%a)
`);
    expect(eliminateDeadWrites(graph)).toBe(true);
    lint(graph);
    expect(kindsOf(graph)).toEqual(['prim::Loop', 'aten::abs', 'aten::relu']);
  });

  it('keeps the constant condition of a loop that goes, and no other, as PyTorch does', () => {
    const graph = parseIr(`graph(%n : int, %x : Tensor):
  %t : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %a : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %p : Tensor):
      %sum : Tensor = aten::add(%x, %x, %one)
      -> (%t, %sum)
  return (%x)
`);
    expect(eliminateDeadCode(graph)).toBe(true);
    lint(graph);
    expect([...graph.allNodes()].map((node) => node.output().type.str())).toEqual(['bool']);
  });

  it('keeps a loop whose trips use what the last one made, also where nobody uses what comes of it', () => {
    const graph = parseIr(`graph(%n : int, %x : Tensor):
  %t : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %a : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %p : Tensor):
      %sum : Tensor = aten::add(%p, %x, %one)
      -> (%t, %sum)
  return (%x)
`);
    expect(eliminateDeadCode(graph)).toBe(false);
    expect(kindsOf(graph)).toEqual(['prim::Loop', 'aten::add']);
  });

  it('looks again once something has changed', () => {
    const graph = parseIr('graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)\n');
    expect([eliminateDeadWrites(graph), eliminateDeadCode(graph)]).toEqual([false, false]);
    graph.block.replaceOutput(0, graph.inputs[0]);
    expect(eliminateDeadCode(graph)).toBe(true);
    expect(kindsOf(graph)).toEqual([]);
  });
});
