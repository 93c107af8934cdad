import { script } from '@cresset/frontend';
import { lint, parseIr, type Graph } from '@cresset/ir';
import { namedPasses } from '@cresset/passes';
import { Tensor, type IValue } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { ExecutorCache, GraphExecutor } from '../executor/graph-executor.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { Execution } from '../run/execution.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { passEnvironment } from './pass-environment.ts';

beforeAll(registerAllParts);

const passes = namedPasses(passEnvironment);

const graphOf = (source: string): Graph => script(source).getFunction('__torch__.f').graph.copy();

function run(graph: Graph, ...args: IValue[]): Tensor {
  const executors = new ExecutorCache(() => ({ maxFusedTensors: 0, gradEnabled: false }));
  const { code } = new GraphExecutor('f', graph, executors).planFor(executors.spec());
  const state = new InterpreterState(new Execution(new RuntimeContext()), (fn) => executors.ofFunction(fn));
  return (state.run(code, args) as readonly IValue[])[0] as Tensor;
}

const numbers = (tensor: Tensor): number[] => Array.from(tensor.contiguousArray() as Float32Array);

const matrix = (rows: number, columns: number, start = 0): Tensor =>
  Tensor.fromArray(
    Float32Array.from({ length: rows * columns }, (_, at) => ((at * 7 + start) % 11) - 5),
    [rows, columns],
    'float32',
  );

/** Makes inputs of a graph constants, as freezing does with weights. */
function withConstants(graph: Graph, constants: Readonly<Record<string, Tensor>>): Graph {
  graph.setInsertPoint([...graph.nodes()][0]);
  for (let index = graph.inputs.length - 1; index >= 0; index--) {
    const input = graph.inputs[index];
    const tensor = constants[input.debugName.replace(/\.\d+$/, '')];
    if (!tensor) continue;
    input.replaceAllUsesWith(graph.insertConstant(tensor));
    graph.eraseInput(index);
  }
  return graph;
}

const kindsOf = (graph: Graph): string[] =>
  [...graph.allNodes()].map(({ kind }) => kind).filter((kind) => kind !== 'prim::Constant');

describe('linear layers with constant weights', () => {
  const three = `
def f(x: Tensor, w: Tensor, v: Tensor, u: Tensor, b: Tensor, c: Tensor) -> Tensor:
    one = torch.linear(x, w, b)
    two = torch.linear(x, v, c)
    three = torch.linear(x, u, None)
    return torch.cat([two, one, three], 1)
`;
  const weights = () => ({
    w: matrix(2, 3),
    v: matrix(4, 3, 2),
    u: matrix(2, 3, 5),
    b: Tensor.fromArray(Float32Array.of(1, 2), [2], 'float32'),
    c: Tensor.fromArray(Float32Array.of(3, 4, 5, 6), [4], 'float32'),
  });

  it('of one input and with a bias become one', () => {
    const graph = withConstants(graphOf(three), weights());
    const expected = numbers(run(graph, matrix(3, 3, 1)));
    expect(passes.concat_frozen_linear(graph)).toBe(true);
    lint(graph);
    expect(kindsOf(graph)).toEqual([
      'aten::linear',
      'aten::slice',
      'aten::slice',
      'aten::linear',
      'prim::ListConstruct',
      'aten::cat',
    ]);
    expect(numbers(run(graph, matrix(3, 3, 1)))).toEqual(expected);
    expect(passes.concat_frozen_linear(graph)).toBe(false);
  });

  it('stay apart where the input is written to between them', () => {
    const source = `
def f(x: Tensor, w: Tensor, v: Tensor, b: Tensor) -> Tensor:
    one = torch.linear(x, w, b)
    x.mul_(2)
    return one + torch.linear(x, v, b)
`;
    const constants = { w: matrix(2, 3), v: matrix(2, 3, 4), b: weights().b };
    const graph = withConstants(graphOf(source), constants);
    const before = String(graph);
    expect(passes.concat_frozen_linear(graph)).toBe(false);
    expect(String(graph)).toBe(before);
  });

  it('become products with the transposed weight', () => {
    const graph = withConstants(graphOf(three), weights());
    const expected = numbers(run(graph, matrix(3, 3, 1)));
    expect(passes.transpose_frozen_linear(graph)).toBe(true);
    lint(graph);
    expect(kindsOf(graph).slice(0, 5)).toEqual([
      'aten::matmul',
      'aten::add',
      'aten::matmul',
      'aten::add',
      'aten::matmul',
    ]);
    const [first] = [...graph.allNodes()].filter(({ kind }) => kind === 'aten::matmul');
    expect(first.input(1).node.t('value')).toMatchObject({ sizes: [3, 2], strides: [2, 1] });
    expect(numbers(run(graph, matrix(3, 3, 1)))).toEqual(expected);
    expect(passes.transpose_frozen_linear(graph)).toBe(false);
  });
});

describe('dtypes of results', () => {
  const dtypeOf = (result: string): string => {
    const graph =
      parseIr(`graph(%x : Float(2, 3), %i : Long(2, 3), %v : Float(3), %c : ComplexFloat(2), %b : Bool(2), %batch : Bool(2, 3, 3)):
  %none : NoneType = prim::Constant()
  %yes : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %two : float = prim::Constant[value=2.]()
  %r : Tensor = ${result}
  return (%r)
`);
    passes.propagate_dtype(graph);
    return String(graph.outputs[0].type);
  };

  it.each([
    ['aten::remainder(%i, %i)', 'LongTensor'],
    ['aten::div(%i, %i)', 'FloatTensor'],
    // In terms of others.
    ['aten::soft_margin_loss(%x, %x, %one)', 'FloatTensor'],
    ['aten::renorm(%x, %one, %one, %two)', 'FloatTensor'],
    // A dimension has one element in the examples, so there is none at 1.
    ['aten::select(%x, %one, %one)', 'Tensor'],
    // Whatever takes truth values or None is left alone.
    ['aten::std(%x, %yes)', 'Tensor'],
    ['aten::sum(%x, %none)', 'Tensor'],
    // What is written in place has to take the result, and its sizes.
    ['aten::div_(%x, %i)', 'FloatTensor'],
    ['aten::div_(%i, %x)', 'Tensor'],
    ['aten::mul_(%v, %x)', 'Tensor'],
    // Kernels refuse these dtypes, rules of sizes do not; negation and angles are refused by both.
    ['aten::ceil(%c)', 'ComplexFloatTensor'],
    ['aten::rad2deg(%c)', 'Tensor'],
    ['aten::neg(%b)', 'Tensor'],
    ['aten::bmm(%batch, %batch)', 'BoolTensor'],
    // Numbers are 1 in the examples, which is the code of int8.
    ['aten::softmax(%x, %one, %one)', 'CharTensor'],
    ['aten::one_hot(%x, %one)', 'Tensor'],
    ['aten::nonzero_static(%x, %one, %one)', 'LongTensor'],
    ['aten::corrcoef(%x)', 'Tensor'],
  ])('%s: %s', (result, dtype) => expect(dtypeOf(result)).toBe(dtype));
});

describe('a pass of a name', () => {
  const source = `
def twice(x: Tensor, n: int) -> Tensor:
    return x * n

def f(x: Tensor, w: Tensor, flag: bool) -> Tensor:
    y = torch.addmm(x, x, torch.t(w))
    pair = (y, x.size(0))
    z, n = pair
    rows = [z, z]
    rows.append(x)
    for i in range(3):
        z = torch.relu(z + i)
        z.add_(1)
    if flag:
        z = twice(z, n) - len(rows)
    return z + torch.relu(rows[2] * 2 + 2)
`;
  // What these make is for other passes or for exporters, and nobody runs it; the last one leaves out what only writes.
  const notRun = new Set([
    'create_functional_graphs',
    'create_autodiff_subgraphs',
    'create_autodiff_subgraphs_threshold2',
    'erase_number_types',
    'dce_allow_deleting_nodes_with_side_effects',
  ]);

  it.each(Object.keys(passes))('%s leaves what a program computes', (name) => {
    const expected = numbers(run(graphOf(source), matrix(3, 3), matrix(3, 3, 4), true));
    const graph = graphOf(source);
    passes.inline(graph);
    passes[name](graph);
    lint(graph);
    if (!notRun.has(name)) expect(numbers(run(graph, matrix(3, 3), matrix(3, 3, 4), true))).toEqual(expected);
  });
});

describe('propagate_dtype', () => {
  const result = (call: string, x: string, y = x): string => {
    const graph = parseIr(`graph(%x : ${x}, %y : ${y}):
  %one : float = prim::Constant[value=1.]()
  %ints : int[] = prim::Constant[value=[1, 1]]()
  %text : str = prim::Constant[value="constant"]()
  %none : NoneType = prim::Constant()
  %r : Tensor = ${call}
  return (%r)
`);
    passes.propagate_dtype(graph);
    return String(graph.outputs[0].type);
  };
  const float = 'Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)';
  const long = 'Long(2, 3, strides=[3, 1], requires_grad=0, device=cpu)';
  const complex = 'ComplexFloat(2, 3, strides=[3, 1], requires_grad=0, device=cpu)';

  // As PyTorch 2.13 says, which asks with tensors that have no elements.
  it.each([
    ['aten::celu(%x, %one)', long, long, 'LongTensor'],
    ['aten::bitwise_and(%x, %y)', float, long, 'FloatTensor'],
    ['aten::gt(%x, %y)', complex, float, 'BoolTensor'],
    ['aten::erf(%x)', complex, complex, 'ComplexFloatTensor'],
    ['aten::nonzero(%x)', float, float, 'Tensor'],
    ['aten::outer(%x, %y)', float, float, 'Tensor'],
    ['aten::mm(%x, %y)', long, float, 'LongTensor'],
    ['aten::addmm(%x, %y, %x, %one, %one)', long, float, 'FloatTensor'],
    ['aten::elu(%x, %one, %one, %one)', long, long, 'Tensor'],
    ['aten::prelu(%x, %y)', long, long, 'LongTensor'],
    ['aten::prelu(%x, %y)', long, float, 'Tensor'],
    ['aten::replication_pad1d(%x, %ints)', long, long, 'LongTensor'],
    ['aten::pad(%x, %ints, %text, %none)', float, float, 'Tensor'],
  ])('%s of %s and %s is %4$s', (call, x, y, expected) => {
    expect(result(call, x, y)).toBe(expected);
  });
});

it('checks that no function of Python writes to its arguments', () => {
  const calling = (inplace: number): Graph =>
    parseIr(`graph(%x : Tensor):
  %y : Tensor = prim::PythonOp[name="Scale", inplace=${inplace}](%x)
  return (%y)
`);
  passes.check_inplace(calling(0));
  expect(() => passes.check_inplace(calling(1))).toThrow('inplace Scale not supported in the JIT');
});
