import { lint, parseIr } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, test } from 'vitest';
import { peepholeListIdiomsAndLengths } from '../peephole/refine-list-lengths.ts';
import { refineIntegerValues } from './refine-integer-values.ts';

beforeAll(registerAllOperators);

describe('refineIntegerValues', () => {
  test('puts the constant where a branch or an assertion has found it', () => {
    const graph = parseIr(`graph(%x : int, %y : int):
  %two : int = prim::Constant[value=2]()
  %three : int = prim::Constant[value=3]()
  %text : str = prim::Constant[value="no"]()
  %none : NoneType = prim::Constant()
  %is : bool = aten::eq(%x, %two)
  %a : int = prim::If(%is)
    block0():
      %s : int = aten::add(%x, %y)
      -> (%s)
    block1():
      -> (%x)
  %not : bool = aten::ne(%y, %three)
   = prim::If(%not)
    block0():
       = prim::RaiseException(%text, %none)
      -> ()
    block1():
      -> ()
  %b : int = aten::mul(%x, %y)
  return (%a, %b)
`);
    expect(refineIntegerValues(graph)).toBe(true);
    lint(graph);
    const [sum] = [...graph.allNodes()].filter(({ kind }) => kind === 'aten::add');
    expect(sum.input(0).node.i('value')).toBe(2n);
    expect(sum.input(1)).toBe(graph.inputs[1]);
    const product = graph.outputs[1].node;
    expect(product.input(0)).toBe(graph.inputs[0]);
    expect(product.input(1).node.i('value')).toBe(3n);
  });

  test('follows `and`, and knows that `1 if x == 1 else x` is x', () => {
    const graph = parseIr(`graph(%x : int, %y : int):
  %one : int = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %c : bool = aten::eq(%x, %one)
  %both : bool = prim::If(%c)
    block0():
      %d : bool = aten::eq(%y, %one)
      -> (%d)
    block1():
      -> (%false)
  %s : int = prim::If(%both)
    block0():
      %t : int = aten::add(%x, %y)
      -> (%t)
    block1():
      -> (%y)
  %r : int = prim::If(%c)
    block0():
      -> (%one)
    block1():
      -> (%x)
  return (%s, %r)
`);
    refineIntegerValues(graph);
    lint(graph);
    const [sum] = [...graph.allNodes()].filter(({ kind }) => kind === 'aten::add');
    expect(sum.inputs.map(({ node }) => node.i('value'))).toEqual([1n, 1n]);
    expect(graph.outputs[1]).toBe(graph.inputs[0]);
  });

  test('changes nothing without comparisons', () => {
    const graph = parseIr(`graph(%x : int):
  %y : int = aten::add(%x, %x)
  return (%y)
`);
    expect(refineIntegerValues(graph)).toBe(false);
  });
});

test('lengths of lists are known after an assertion, unless the list is written to', () => {
  const graph = parseIr(`graph(%a : int[], %b : float[]):
  %f : float = prim::Constant[value=2.]()
  %two : int = prim::Constant[value=2]()
  %text : str = prim::Constant[value="no"]()
  %none : NoneType = prim::Constant()
  %la : int = aten::len(%a)
  %ca : bool = aten::eq(%la, %two)
   = prim::If(%ca)
    block0():
      -> ()
    block1():
       = prim::RaiseException(%text, %none)
      -> ()
  %lb : int = aten::len(%b)
  %cb : bool = aten::eq(%lb, %two)
   = prim::If(%cb)
    block0():
      -> ()
    block1():
       = prim::RaiseException(%text, %none)
      -> ()
  %w : float[] = aten::append(%b, %f)
  %la2 : int = aten::len(%a)
  %lb2 : int = aten::len(%b)
  return (%la2, %lb2)
`);
  expect(peepholeListIdiomsAndLengths(graph)).toBe(true);
  expect(graph.outputs[0].node.kind).toBe('prim::Constant');
  expect(graph.outputs[1].node.kind).toBe('aten::len');
});
