import { lint, parseIr, TensorType, type Graph } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, test } from 'vitest';
import { canonicalize } from '../cleanup/canonicalize.ts';
import { createAutodiffSubgraphs } from './create-autodiff-subgraphs.ts';
import { inlineAutodiffSubgraphs } from './inline-autodiff-subgraphs.ts';
import { lowerGradOf } from './lower-grad-of.ts';
import { specializeAutogradZero } from './specialize-autograd-zero.ts';

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

describe('gradients that are zero', () => {
  const undefinedTensor = TensorType.get().withUndefined();
  const backward = `graph(%g : Float(2), %h : Float(2), %x : Tensor, %size : int[]?):
  %s : Tensor = prim::AutogradAdd(%g, %h)
  %a : Tensor = prim::GradOf[name="aten::mul"](%s)
    block0():
      %b : Tensor = aten::mul(%s, %x)
      %c : Tensor = aten::_grad_sum_to_size(%b, %size)
      -> (%c)
  return (%a)
`;
  const specialized = (zeros: readonly number[]): string => {
    const graph = parseIr(backward);
    for (const index of zeros) graph.inputs[index].setType(undefinedTensor);
    lowerGradOf(graph);
    specializeAutogradZero(graph, false);
    lint(graph);
    return printed(graph);
  };

  test('make nothing of a block, and take a sum away', () => {
    const text = specialized([0, 1]);
    expect(text).toContain('prim::AutogradZero()');
    expect(text).not.toMatch(/AutogradAdd|prim::If|aten::mul/);
  });

  test('leave what is not: sums become sums, and blocks run', () => {
    const text = specialized([]);
    expect(text).toMatch(/aten::add\(%0, %1, %\d\)/);
    expect(text).not.toMatch(/AutogradAdd|prim::If/);
    expect(specialized([1])).toMatch(/aten::mul\(%0, %2\)/);
  });

  test('are checked where only a profiled run tells of them, with the graph as it was for others', () => {
    const graph = parseIr(`graph(%g : Tensor, %h : Tensor):
  %p : Tensor = prim::profile[profiled_type=Float(2), seen_none=0](%g)
  %q : Tensor = prim::profile[profiled_type=Float(2), seen_none=0](%h)
  %s : Tensor = prim::AutogradAdd(%p, %q)
  return (%s)
`);
    graph.inputs[1].uses[0].user.setTy('profiled_type', undefinedTensor);
    specializeAutogradZero(graph);
    lint(graph);
    const text = printed(graph);
    expect(text).toContain('prim::AutogradAllNonZero(%0)');
    expect(text).toContain('prim::AutogradAllZero(%1)');
    expect(text).toContain('prim::FallbackGraph_0(%0, %1)');
    expect(text.split('with prim::FallbackGraph_0')[0]).not.toContain('AutogradAdd');
  });

  test('are no concern of a graph that is not one of gradients, nor of one in which nothing was seen', () => {
    for (const text of [
      'graph(%x : Tensor):\n  %a : Tensor = aten::exp(%x)\n  return (%a)\n',
      'graph(%x : Tensor):\n  %a : Tensor = prim::AutogradAdd(%x, %x)\n  return (%a)\n',
    ]) {
      const graph = parseIr(text);
      specializeAutogradZero(graph);
      expect([...graph.nodes()].map(({ kind }) => kind)).not.toContain('prim::If');
    }
  });
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
