import { parseIr, type Graph, lint } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, it } from 'vitest';
import { fuseGraph } from './graph-fuser.ts';
import { removeTensorMutation } from '../mutation/remove-mutation.ts';

beforeAll(registerAllOperators);

function fused(text: string, maxTensors?: number): Graph {
  const graph = parseIr(text);
  fuseGraph(graph, maxTensors === undefined ? {} : { maxTensors });
  lint(graph);
  return graph;
}

/** The operators of each group, in the order of the graph. */
function groupsOf(graph: Graph): string[][] {
  return [...graph.allNodes()]
    .filter((node) => node.kind === 'prim::FusionGroup')
    .map((node) => [...node.g('Subgraph').nodes()].map(({ kind }) => kind).filter((kind) => kind !== 'prim::Constant'));
}

describe('fuseGraph', () => {
  it('groups a chain of pointwise operators, with its constants', () => {
    const graph = fused(`
graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %y, %one)
  %b : Tensor = aten::relu(%a)
  return (%b)
`);
    expect(groupsOf(graph)).toEqual([['aten::add', 'aten::relu']]);
    const [group] = [...graph.nodes()].filter(({ kind }) => kind === 'prim::FusionGroup');
    expect(group.inputs.map((input) => input.debugName)).toEqual(['x', 'y']);
  });

  it.each([
    ['aten::zero_(%x)', false],
    ['aten::zero_(%y)', false],
    ['aten::zero_(%z)', true],
  ])('moves what reads a list past no write to what that holds: %s', (write, isMoved) => {
    const graph = fused(`
graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %z : Tensor = aten::relu(%x)
  %l : Tensor[] = prim::ListConstruct(%x, %y)
  %s : Tensor = aten::stack(%l, %zero)
  %w : Tensor = ${write}
  %b : Tensor = aten::mul(%s, %one)
  return (%b, %w)
`);
    expect(groupsOf(graph)).toEqual(isMoved ? [['aten::stack', 'aten::mul']] : []);
  });

  it('gives out what is used elsewhere', () => {
    const graph = fused(`
graph(%x : Tensor):
  %a : Tensor = aten::exp(%x)
  %b : Tensor = aten::relu(%a)
  return (%a, %b)
`);
    const [group] = [...graph.nodes()];
    expect(group.outputs.length).toBe(2);
  });

  it('begins with one convolution or product whose result is only changed element by element', () => {
    const graph = fused(`
graph(%x : Tensor, %w : Tensor, %v : Tensor):
  %m : Tensor = aten::matmul(%x, %w)
  %n : Tensor = aten::matmul(%x, %v)
  %a : Tensor = aten::mul(%m, %n)
  %r : Tensor = aten::relu(%a)
  return (%r)
`);
    expect(groupsOf(graph)).toEqual([['aten::matmul', 'aten::mul', 'aten::relu']]);
    expect([...graph.nodes()].map(({ kind }) => kind)).toEqual(['aten::matmul', 'prim::FusionGroup']);
  });

  it('leaves a product alone that is used by something else', () => {
    const graph = fused(`
graph(%x : Tensor, %w : Tensor):
  %m : Tensor = aten::matmul(%x, %w)
  %a : Tensor = aten::relu(%m)
  %b : Tensor = aten::matmul(%m, %a)
  return (%b)
`);
    expect(groupsOf(graph)).toEqual([]);
  });

  it('does not run an operator after a write to what it reads', () => {
    const graph = fused(`
graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::exp(%x)
  %w : Tensor = aten::add_(%x, %y, %one)
  %b : Tensor = aten::relu(%a)
  return (%b, %w)
`);
    expect(groupsOf(graph)).toEqual([]);
  });

  it('does not run an operator after one that uses its result', () => {
    const graph = fused(
      `
graph(%x : Tensor, %w : Tensor):
  %a : Tensor = aten::exp(%x)
  %m : Tensor = aten::matmul(%a, %w)
  %b : Tensor = aten::add(%a, %m, %one)
  return (%b)
`.replace('  %a : Tensor', '  %one : int = prim::Constant[value=1]()\n  %a : Tensor'),
    );
    expect(groupsOf(graph)).toEqual([['aten::matmul', 'aten::add']]);
  });

  it('keeps to the number of tensors a kernel may bind', () => {
    const text = `
graph(%a : Tensor, %b : Tensor, %c : Tensor, %d : Tensor):
  %x : Tensor = aten::mul(%a, %b)
  %y : Tensor = aten::mul(%x, %c)
  %z : Tensor = aten::mul(%y, %d)
  return (%z)
`;
    expect(groupsOf(fused(text, 5))).toEqual([['aten::mul', 'aten::mul', 'aten::mul']]);
    expect(groupsOf(fused(text, 4))).toEqual([['aten::mul', 'aten::mul']]);
  });

  it('fuses within the blocks of Ifs and Loops', () => {
    const graph = fused(`
graph(%x : Tensor, %c : bool):
  %r : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::exp(%x)
      %b : Tensor = aten::relu(%a)
      -> (%b)
    block1():
      -> (%x)
  return (%r)
`);
    expect(groupsOf(graph)).toEqual([['aten::exp', 'aten::relu']]);
  });
});

describe('what runs code that is not seen', () => {
  const chain = (between: string): string => `
graph(%x : Tensor, %n : int, %c : bool):
  %a : Tensor = aten::exp(%x)
${between}
  %b : Tensor = aten::relu(%a)
  return (%b)
`;

  it.each([
    '  %r : int = prim::CallMethod[name="tick"](%n)',
    '  %r : int = prim::Enter(%n)',
    `  %r : int = prim::If(%c)
    block0():
      %s : int = prim::CallMethod[name="tick"](%n)
      -> (%s)
    block1():
      -> (%n)`,
  ])('is not passed by what reads a tensor: %s', (between) => {
    expect(groupsOf(fused(chain(between)))).toEqual([]);
  });

  it('is no output, and no error that may be raised', () => {
    const graph = fused(chain('   = prim::Print(%n)'));
    expect(groupsOf(graph)).toEqual([['aten::exp', 'aten::relu']]);
  });

  it('is a write to what dropout hands on', () => {
    const graph = fused(`
graph(%x : Tensor, %p : float):
  %no : bool = prim::Constant[value=0]()
  %y : Tensor = aten::neg(%x)
  %d : Tensor = aten::dropout(%y, %p, %no)
  %a : Tensor = aten::exp(%d)
  %w : Tensor = aten::zero_(%y)
  %b : Tensor = aten::relu(%a)
  return (%b, %w)
`);
    expect(groupsOf(graph)).toEqual([]);
  });
});

describe('removeTensorMutation', () => {
  it('makes an in-place operator on a fresh tensor functional', () => {
    const graph = parseIr(`
graph(%x : Tensor, %w : Tensor):
  %m : Tensor = aten::matmul(%x, %w)
  %r : Tensor = aten::relu_(%m)
  %s : Tensor = aten::exp(%m)
  return (%s)
`);
    expect(removeTensorMutation(graph, { keepTypes: true })).toBe(true);
    expect([...graph.nodes()].map(({ kind }) => kind)).toEqual(['aten::matmul', 'aten::relu', 'aten::exp']);
    expect([...graph.nodes()][2].input().node.kind).toBe('aten::relu');
  });

  it('keeps an operator that fills, since another one would know nothing of types that are kept', () => {
    const text = `
graph(%x : Tensor):
  %1 : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=3]()
  %y : Tensor = aten::add(%x, %1, %1)
  %z : Tensor = aten::fill_(%y, %3)
  return (%y)
`;
    const kindsAfter = (keepTypes: boolean): string[] => {
      const graph = parseIr(text);
      expect(removeTensorMutation(graph, { keepTypes })).toBe(true);
      return [...graph.nodes()].map(({ kind }) => kind);
    };
    expect(kindsAfter(true)).toContain('aten::fill');
    expect(kindsAfter(false)).toContain('aten::full_like');
  });

  it('leaves writes alone that an alias could see', () => {
    for (const text of [
      `
graph(%x : Tensor):
  %r : Tensor = aten::relu_(%x)
  return (%r)
`,
      `
graph(%x : Tensor, %w : Tensor):
  %m : Tensor = aten::matmul(%x, %w)
  %t : Tensor = aten::t(%m)
  %r : Tensor = aten::relu_(%m)
  return (%t)
`,
      `
graph(%x : Tensor, %w : Tensor):
  %m : Tensor = aten::matmul(%x, %w)
  %t : Tensor = aten::atleast_2d(%m)
  %r : Tensor = aten::relu_(%m)
  return (%t)
`,
    ]) {
      expect(removeTensorMutation(parseIr(text), { keepTypes: true })).toBe(false);
    }
  });
});
