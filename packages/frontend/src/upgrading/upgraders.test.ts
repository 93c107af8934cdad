import { CompilationUnit, type Graph, lint, registerOperators, Source } from '@cresset/ir';
import { beforeAll, describe, expect, it } from 'vitest';
import { declareFunctions } from '../define.ts';
import { NATIVE_RESOLVER } from '../native-resolver.ts';
import { registerTestOperators } from '../operators-fixture.ts';
import { Parser } from '../parser/parser.ts';
import { replaceOldOperatorsWithUpgraders } from './replace-old-operators.ts';
import type { Def } from '../parser/tree.ts';

const OPTIONS = '*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None';

beforeAll(() => {
  registerTestOperators();
  registerOperators(
    [
      'aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor',
      'aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor',
      'aten::is_floating_point(Tensor self) -> bool',
      'aten::gelu(Tensor self, *, str approximate="none") -> Tensor',
      `aten::linspace(Scalar start, Scalar end, int steps, ${OPTIONS}) -> Tensor`,
      `aten::full(int[] size, Scalar fill_value, ${OPTIONS}) -> Tensor`,
      'aten::Float.Scalar(Scalar a) -> float',
    ].map((schema) => ({ schema })),
  );
});

function compile(body: string, opVersion: number | undefined): Graph {
  const source = `def f(x: Tensor, y: Tensor):\n  return ${body}\n`;
  const [fn] = declareFunctions(
    new CompilationUnit(),
    new Parser(new Source(source), 'serialized').parseDefinitions() as Def[],
    { resolver: NATIVE_RESOLVER, opVersion },
  );
  lint(fn!.graph);
  return fn!.graph;
}

const kinds = (graph: Graph): string[] =>
  [...graph.allNodes()].map((node) => node.kind).filter((kind) => kind.startsWith('aten::') || kind === 'prim::If');

describe('operators of an older version', () => {
  it('become what they were, where the version is below the one that changed them', () => {
    const old = compile('torch.div(x, y)', 3);
    expect(kinds(old)).toEqual([
      'aten::is_floating_point',
      'prim::If',
      'aten::is_floating_point',
      'prim::If',
      'aten::div',
      'aten::div',
    ]);
    expect(old.opVersion).toBe(10);
    expect(kinds(compile('torch.div(x, y)', 4))).toEqual(['aten::div']);
    expect(kinds(compile('torch.div(x, y)', undefined))).toEqual(['aten::div']);
  });

  it('are matched by the schema that they had', () => {
    // Without steps the call fits the old schema only.
    expect(kinds(compile('torch.linspace(0, 1)', 7))).toContain('aten::linspace');
    expect(() => compile('torch.linspace(0, 1)', 8)).toThrow('Argument steps not provided');
    // And with the new argument it fits the new one only.
    expect(() => compile("torch.gelu(x, approximate='tanh')", 9)).toThrow('Keyword argument approximate unknown');
    expect(kinds(compile("torch.gelu(x, approximate='tanh')", 10))).toEqual(['aten::gelu']);
  });

  it('keep their node’s place, users and results', () => {
    const graph = compile('torch.relu(torch.gelu(torch.div(x, 2)))', 3);
    expect(kinds(graph).slice(-3)).toEqual(['aten::div', 'aten::gelu', 'aten::relu']);
    expect(graph.outputs[0]!.node.kind).toBe('aten::relu');
  });

  it('fill with floats where no dtype is given', () => {
    expect(kinds(compile('torch.full([2], 1)', 4))).toContain('aten::Float');
    expect(kinds(compile('torch.full([2], 1)', 5))).not.toContain('aten::Float');
  });

  it('are left alone in a graph without a version', () => {
    const graph = compile('torch.div(x, y)', undefined);
    const before = graph.toString();
    replaceOldOperatorsWithUpgraders(graph);
    expect(graph.toString()).toBe(before);
  });
});
