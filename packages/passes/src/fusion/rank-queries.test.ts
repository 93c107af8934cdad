import { parseIr } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, it } from 'vitest';
import { hoistRankQueries } from './rank-queries.ts';

beforeAll(registerAllOperators);

/** The input that a graph asks for its rank in the end, after these lines, or what makes the value that it asks. */
function asked(lines: string): string {
  const graph = parseIr(`
graph(%x : Tensor, %y : Tensor, %w : Tensor, %o : Tensor?):
  %none : NoneType = prim::Constant()
  %one : int = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %list : int[] = prim::ListConstruct(%one, %one)
${lines}
  %rank : int = aten::dim(%last)
  return (%rank)
`);
  hoistRankQueries(graph);
  const value = [...graph.nodes()].find(({ kind }) => kind === 'aten::dim')!.input();
  return value.node.kind === 'prim::Param' ? value.debugName : value.node.kind;
}

describe('hoistRankQueries', () => {
  it('asks for the rank of what convolutions and pointwise functions are of', () => {
    expect(
      asked(`
  %c : Tensor = aten::conv2d(%x, %w, %none, %list, %list, %list, %one)
  %last : Tensor = aten::relu(%c)`),
    ).toBe('x');
  });

  it('asks past a sum of tensors that have the rank of one', () => {
    expect(
      asked(`
  %r : Tensor = aten::relu(%x)
  %c : Tensor = aten::conv2d(%r, %w, %none, %list, %list, %list, %one)
  %total : Tensor = aten::add(%c, %r, %one)
  %last : Tensor = aten::relu(%total)`),
    ).toBe('x');
  });

  it('does not ask past a sum of tensors of which one may have more', () => {
    expect(
      asked(`
  %total : Tensor = aten::add(%x, %y, %one)
  %last : Tensor = aten::relu(%total)`),
    ).toBe('aten::add');
    expect(
      asked(`
  %last : Tensor = aten::clamp(%x, %o, %o)`),
    ).toBe('aten::clamp');
  });
});
