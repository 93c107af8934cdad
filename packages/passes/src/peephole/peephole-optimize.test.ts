import { parseIr, lint } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, it } from 'vitest';
import { eliminateDeadCode } from '../cleanup/dead-code-elimination.ts';
import { peepholeOptimize } from './peephole-optimize.ts';

beforeAll(registerAllOperators);

function simplified(text: string): string {
  const graph = parseIr(text);
  peepholeOptimize(graph, { disableShapes: true });
  lint(graph);
  eliminateDeadCode(graph);
  return graph.toString({ sourceRanges: false });
}

describe('peepholeOptimize', () => {
  it('answers comparisons with None that types decide', () => {
    const text = simplified(`
graph(%x : Tensor, %o : Tensor?):
  %none : NoneType = prim::Constant()
  %a : bool = aten::__isnot__(%x, %none)
  %b : bool = aten::__is__(%x, %none)
  %c : bool = aten::__is__(%o, %none)
  return (%a, %b, %c)
`);
    expect(text).toMatch(/value=1\]\(\)/);
    expect(text).toMatch(/value=0\]\(\)/);
    expect(text.match(/aten::__is/g)).toHaveLength(1);
  });

  it('looks into lists that nothing changes', () => {
    const text = `
graph(%a : int, %b : int):
  %one : int = prim::Constant[value=1]()
  %l : int[] = prim::ListConstruct(%a, %b)
  %n : int = aten::len(%l)
  %e : int = aten::__getitem__(%l, %one)
  return (%n, %e)
`;
    expect(simplified(text)).not.toContain('ListConstruct');
    const changed = text.replace('  %n :', '  %m : int[] = aten::append(%l, %a)\n  %n :');
    expect(simplified(changed)).toContain('aten::len');
  });

  it('leaves an index that is out of range to fail when it runs', () => {
    expect(
      simplified(`
graph(%a : int):
  %five : int = prim::Constant[value=5]()
  %l : int[] = prim::ListConstruct(%a)
  %e : int = aten::__getitem__(%l, %five)
  return (%e)
`),
    ).toContain('aten::__getitem__');
  });

  it('takes conversions there and back, and flags chosen by a flag, for what they are', () => {
    const text = simplified(`
graph(%n : int, %c : bool):
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %t : Tensor = prim::NumToTensor(%n)
  %m : int = aten::Int(%t)
  %d : bool = prim::If(%c)
    block0():
      -> (%true)
    block1():
      -> (%false)
  return (%m, %d)
`);
    expect(text).toContain('return (%n, %c)');
  });
});
