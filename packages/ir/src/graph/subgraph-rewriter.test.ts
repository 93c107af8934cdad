import { describe, expect, test } from 'vitest';
import { ClassType, findPatternMatches, parseIr, SubgraphRewriter } from '../index.ts';
import { lint } from './lint.ts';

const CONV_RELU = `graph(%x, %w):
  %c = test::conv(%x, %w)
  %r = test::relu(%c)
  return (%r)`;

const FUSED = `graph(%x, %w):
  %r = test::convrelu(%x, %w)
  return (%r)`;

describe('patterns', () => {
  test('fit where all inner values are used as in the pattern, blocks included', () => {
    const graph = parseIr(`graph(%x, %w, %c : bool):
  %a = test::conv(%x, %w)
  %b = test::relu(%a)
  %d = test::conv(%b, %w)
  %e = test::relu(%d)
  %f = prim::If(%c)
    block0():
      %g = test::conv(%x, %w)
      %h = test::relu(%g)
      -> (%h)
    block1():
      -> (%e)
  return (%f, %d)`);
    const matches = findPatternMatches(parseIr(CONV_RELU), graph);
    expect(matches.map((match) => match.anchor.depth)).toEqual([0, 1]);
  });

  test('compare attributes, strings as regular expressions', () => {
    const pattern = parseIr('graph(%x):\n  %r = test::op[mode="near.*", n=1](%x)\n  return (%r)');
    const graph = (attributes: string): number =>
      findPatternMatches(pattern, parseIr(`graph(%x):\n  %r = test::op[${attributes}](%x)\n  return (%r)`)).length;
    expect(graph('mode="nearest", n=1')).toBe(1);
    expect(graph('mode="linear", n=1')).toBe(0);
    expect(graph('mode="nearest", n=2')).toBe(0);
    expect(graph('mode="nearest"')).toBe(0);
  });

  test('know modules by the end of their class name', () => {
    const conv = new ClassType('__torch__.torch.nn.Conv2d', { isModule: true });
    const graph = parseIr(
      'graph(%self : __torch__.M):\n  %c : __torch__.torch.nn.Conv2d = prim::GetAttr[name="conv"](%self)\n  return (%c)',
      { resolveClass: (name) => (name.endsWith('Conv2d') ? conv : new ClassType(name)) },
    );
    const pattern = parseIr('graph(%self):\n  %c = match::module[name="Conv2d"](%self)\n  return (%c)');
    expect(findPatternMatches(pattern, graph)).toHaveLength(1);
  });
});

describe('rewriting', () => {
  const text = `graph(%x, %w):
  %a = test::conv(%x, %w)
  %b = test::relu(%a)
  %c = test::conv(%b, %w)
  %d = test::relu(%c)
  return (%d)`;

  test('replaces every match', () => {
    const graph = parseIr(text);
    expect(new SubgraphRewriter().registerRewritePattern(CONV_RELU, FUSED).runOnGraph(graph)).toBe(true);
    lint(graph);
    expect([...graph.nodes()].map((node) => node.kind)).toEqual(['test::convrelu', 'test::convrelu']);
  });

  test('leaves what the filter refuses', () => {
    const graph = parseIr(text);
    const rewriter = new SubgraphRewriter().registerRewritePattern(CONV_RELU, FUSED);
    expect(rewriter.runOnGraph(graph, (match, names) => match.values.get(names.get('x')!) === graph.inputs[0])).toBe(
      true,
    );
    expect([...graph.nodes()].map((node) => node.kind)).toEqual(['test::convrelu', 'test::conv', 'test::relu']);
    expect(rewriter.runOnGraph(graph, () => false)).toBe(false);
  });

  test('of overlapping matches takes the first', () => {
    const graph = parseIr('graph(%x):\n  %a = t::f(%x)\n  %b = t::f(%a)\n  %c = t::f(%b)\n  return (%c)');
    const rewriter = new SubgraphRewriter().registerRewritePattern(
      'graph(%x):\n  %a = t::f(%x)\n  %b = t::f(%a)\n  return (%b)',
      'graph(%x):\n  %b = t::g(%x)\n  return (%b)',
    );
    rewriter.runOnGraph(graph);
    lint(graph);
    expect([...graph.nodes()].map((node) => node.kind)).toEqual(['t::g', 't::f']);
  });
});
