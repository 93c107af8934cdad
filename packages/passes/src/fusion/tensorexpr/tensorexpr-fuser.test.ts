import { lint, parseIr, type Graph } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { evaluate } from '../../shape-analysis/symbolic/evaluate-fixture.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { fuseTensorExprs, type TensorExprFuserOptions } from './tensorexpr-fuser.ts';

beforeAll(registerAllOperators);

const T = 'Float(2, 4, strides=[4, 1], requires_grad=0, device=cpu)';

function fused(text: string, options: TensorExprFuserOptions = {}): Graph {
  const graph = parseIr(text.replaceAll('T(2, 4)', T));
  fuseTensorExprs(graph, { canFuseOn: () => true, ...options });
  lint(graph);
  return graph;
}

const kinds = (graph: Graph): string[] => [...graph.nodes()].map(({ kind }) => kind);
const inGroups = (graph: Graph): string[][] =>
  [...graph.allNodes()]
    .filter(({ kind }) => kind === 'prim::TensorExprGroup')
    .map((group) => kinds(group.g('Subgraph')).filter((kind) => kind !== 'prim::Constant'));

const chain = `graph(%x : T(2, 4), %y : T(2, 4)):
  %one : int = prim::Constant[value=1]()
  %a : T(2, 4) = aten::add(%x, %y, %one)
  %b : T(2, 4) = aten::relu(%a)
  return (%b)
`;

describe('fuseTensorExprs', () => {
  test('puts a group behind a check of types, with its operators as they were to fall back to', () => {
    const graph = fused(chain);
    expect(kinds(graph)).toEqual(['prim::TypeCheck', 'prim::If']);
    const [check, branch] = [...graph.nodes()];
    expect(check.tys('types').map(String)).toEqual([T, T]);
    expect(check.outputs.map(({ type }) => `${type}`)).toEqual([T, T, 'bool']);
    const [group] = [...branch.blocks[0].nodes()];
    expect(group.inputs).toEqual(check.outputs.slice(0, 2));
    const [fallback] = [...branch.blocks[1].nodes()];
    expect(fallback.kind).toBe('prim::FallbackGraph');
    expect(fallback.inputs).toEqual(check.inputs);
    expect(inGroups(graph)).toEqual([['aten::add', 'aten::relu']]);
    expect(`${branch.output().type} ${graph.inputs[0].type} ${group.output().type}`).toBe(`Tensor Tensor ${T}`);
  });

  test('asks for a device it may fuse on, and for enough operators', () => {
    expect(inGroups(fused(chain, { canFuseOn: undefined }))).toEqual([]);
    expect(inGroups(fused(chain, { minGroupSize: 3 }))).toEqual([]);
    expect(inGroups(fused(chain, { exclude: new Set(['aten::relu']) }))).toEqual([]);
    expect(inGroups(fused(chain, { exclude: new Set(['aten::relu']), minGroupSize: 1 }))).toEqual([['aten::add']]);
  });

  test('takes only tensors of which all is known, and dtypes it can compute with', () => {
    expect(inGroups(fused(chain.replace('%y : T(2, 4)', '%y : Float(2, 4, device=cpu)')))).toEqual([]);
    expect(inGroups(fused(chain.replaceAll('T(2, 4)', T.replace('Float', 'Byte'))))).toEqual([]);
    expect(inGroups(fused(chain.replaceAll('T(2, 4)', T.replace('Float', 'Half'))))).toEqual([]);
    expect(inGroups(fused(chain.replaceAll('T(2, 4)', T.replace('Float', 'Double'))))).toHaveLength(1);
  });

  test('takes reductions when told to, and joins groups that stand beside each other', () => {
    const text = `graph(%x : T(2, 4), %y : T(2, 4)):
  %dim : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %a : T(2, 4) = aten::exp(%x)
  %b : T(2, 4) = aten::softmax(%a, %dim, %none)
  %c : T(2, 4) = aten::neg(%b)
  %d : T(2, 4) = aten::tanh(%y)
  %e : T(2, 4) = aten::abs(%d)
  return (%c, %e)
`;
    expect(inGroups(fused(text))).toEqual([['aten::tanh', 'aten::abs']]);
    expect(inGroups(fused(text, { reductions: true }))).toEqual([
      ['aten::tanh', 'aten::abs', 'aten::exp', 'aten::softmax', 'aten::neg'],
    ]);
  });

  test('takes a concatenation with its list, and a view whose only user it is', () => {
    const graph = fused(`graph(%x : T(2, 4), %y : T(2, 4)):
  %zero : int = prim::Constant[value=0]()
  %a : T(2, 4) = aten::relu(%x)
  %l : Tensor[] = prim::ListConstruct(%a, %y)
  %c : Float(4, 4, strides=[4, 1], device=cpu) = aten::cat(%l, %zero)
  %u : Float(1, 4, 4, strides=[16, 4, 1], device=cpu) = aten::unsqueeze(%c, %zero)
  %r : Float(1, 4, 4, strides=[16, 4, 1], device=cpu) = aten::neg(%u)
  return (%r)
`);
    expect(inGroups(graph)).toEqual([
      ['aten::relu', 'prim::ListConstruct', 'aten::cat', 'aten::unsqueeze', 'aten::neg'],
    ]);
  });

  test('makes a group of one depthwise convolution', () => {
    const text = (filters: string): string => `graph(
      %x : Float(1, 4, 8, 8, strides=[256, 64, 8, 1], device=cpu),
      %w : ${filters}, %b : Float(4, strides=[1], device=cpu)):
  %one : int = prim::Constant[value=1]()
  %groups : int = prim::Constant[value=4]()
  %ones : int[] = prim::Constant[value=[1, 1]]()
  %c : Float(1, 4, 8, 8, strides=[256, 64, 8, 1], device=cpu) = aten::conv2d(%x, %w, %b, %ones, %ones, %ones, %groups)
  return (%c)
`;
    expect(inGroups(fused(text('Float(4, 1, 3, 3, strides=[9, 9, 3, 1], device=cpu)')))).toEqual([['aten::conv2d']]);
    expect(inGroups(fused(text('Float(4, 1, 1, 1, strides=[1, 1, 1, 1], device=cpu)')))).toEqual([]);
  });
});

describe('fuseTensorExprs with dynamic shapes', () => {
  test('makes a group for all sizes: names for them, and those of results computed beside it', () => {
    const graph = fused(
      `graph(%x : T(2, 4), %y : Float(4, strides=[1], requires_grad=0, device=cpu)):
  %one : int = prim::Constant[value=1]()
  %a : T(2, 4) = aten::add(%x, %y, %one)
  %l : Tensor[] = prim::ListConstruct(%a, %a)
  %c : Float(2, 8, strides=[8, 1], requires_grad=0, device=cpu) = aten::cat(%l, %one)
  return (%c)
`,
      { dynamicShapes: evaluate },
    );
    const [guard, branch] = [...graph.nodes()].filter(({ kind }) => kind !== 'prim::Constant');
    expect(guard.kind).toBe('prim::TensorExprDynamicGuard');
    expect(guard.tys('types').map(String)).toEqual([
      'Float(*, *, requires_grad=0, device=cpu)',
      'Float(*, requires_grad=0, device=cpu)',
    ]);
    expect(`${graph}`).toContain('striding_inputs_desc=[["TENSOR_CONT"], ["TENSOR_CONT"]]');
    const group = [...branch.blocks[0].nodes()].at(-1)!;
    expect(group.inputs.slice(2).map(({ node }) => node.kind)).toEqual([
      'aten::add',
      'aten::__getitem__',
      'aten::__getitem__',
    ]);
    expect(group.is('symbolic_shape_inputs')).toHaveLength(3);
    expect(group.g('Subgraph').inputs).toHaveLength(5);
    expect([...branch.blocks[1].nodes()].map(({ kind }) => kind)).toEqual(['prim::FallbackGraph']);
  });

  test('says how strides have to be', () => {
    const text = (type: string): string => {
      const graph = fused(chain.replaceAll('T(2, 4)', type), { dynamicShapes: evaluate });
      return /striding_inputs_desc=\[(\[.*?\])/.exec(`${graph}`)![1];
    };
    expect(text('Float(2, 4, strides=[1, 2], requires_grad=0, device=cpu)')).toBe('["S_ONE", "S_TRAN_CONT"]');
    expect(text('Float(2, 4, strides=[8, 2], requires_grad=0, device=cpu)')).toBe('["S_CONT", "S_AS_ARG"]');
    expect(text('Float(2, 3, 4, 5, strides=[60, 1, 15, 3], requires_grad=0, device=cpu)')).toBe(
      '["TENSOR_CONT_CHANNELS_LAST"]',
    );
  });

  test('leaves products to themselves, and takes groups apart whose sizes cannot be computed', () => {
    const graph = fused(
      `graph(%x : Float(4, 4, strides=[4, 1], requires_grad=0, device=cpu)):
  %m : Float(4, 4, strides=[4, 1], requires_grad=0, device=cpu) = aten::matmul(%x, %x)
  %r : Float(4, 4, strides=[4, 1], requires_grad=0, device=cpu) = aten::relu(%m)
  return (%r)
`,
      { dynamicShapes: evaluate },
    );
    expect(inGroups(graph)).toEqual([]);
  });
});
