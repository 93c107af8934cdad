import { lint, parseIr, type Graph } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, test } from 'vitest';
import { canonicalize } from '../cleanup/canonicalize.ts';
import { createAutodiffSubgraphs } from './create-autodiff-subgraphs.ts';
import { inlineAutodiffSubgraphs } from './inline-autodiff-subgraphs.ts';
import { lowerGradOf } from './lower-grad-of.ts';

beforeAll(registerAllOperators);

const printed = (graph: Graph): string => String(canonicalize(graph, false));

test('a linear block becomes an If on whether any of the gradients it takes is not zero', () => {
  const graph = parseIr(`graph(%g : Tensor, %x : Tensor):
  %a : Tensor, %b : Tensor = prim::GradOf[name="aten::mul"](%g)
    block0():
      %c : Tensor = aten::mul(%g, %x)
      -> (%c, %g)
  return (%a, %b)
`);
  lowerGradOf(graph);
  lint(graph);
  expect(printed(graph)).toBe(`graph(%0 : Tensor,
      %1 : Tensor):
  %2 : int = prim::AutogradAnyNonZero(%0)
  %3 : Tensor, %4 : Tensor = prim::If(%2)
    block0():
      %5 : Tensor = aten::mul(%0, %1)
      -> (%5, %0)
    block1():
      %6 : Tensor = prim::AutogradZero()
      -> (%6, %6)
  return (%3, %4)
`);
});

describe('differentiable graphs', () => {
  const text = `graph(%x : Tensor):
  %a : Tensor = aten::exp(%x)
  %b : Tensor = aten::tanh(%a)
  return (%b)
`;

  test('are dissolved below a number of nodes, and stay from there on', () => {
    const graph = parseIr(text);
    createAutodiffSubgraphs(graph, 1);
    const made = printed(graph);
    expect(made).toContain('prim::DifferentiableGraph_0(%0)');
    inlineAutodiffSubgraphs(graph, 2);
    expect(printed(graph)).toBe(made);
    inlineAutodiffSubgraphs(graph, 3);
    lint(graph);
    expect(printed(graph)).toBe(printed(parseIr(text)));
  });

  test('count what is executed: profiling makes no group', () => {
    const profiled = text.replace(
      '  %b : Tensor = aten::tanh(%a)\n',
      '  %b : Tensor = prim::profile[profiled_type=Float(2), seen_none=0](%a)\n',
    );
    const groups = (threshold: number): number => createAutodiffSubgraphs(parseIr(profiled), threshold).length;
    expect([groups(1), groups(2)]).toEqual([1, 0]);
  });
});
