import { lint, parseIr, TensorType, type Graph } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, it } from 'vitest';
import { bailoutGraph, insertBailOuts } from './bailout-graph.ts';
import { eliminateRedundantGuards } from './guard-elimination.ts';
import { insertGuards } from './insert-guards.ts';
import { liveValuesAt } from './liveness.ts';
import { instrumentGraph } from './profiling-nodes.ts';
import { propagateRequiresGrad } from './requires-grad-analysis.ts';

beforeAll(registerAllOperators);

const SEEN = TensorType.createContiguous('float32', 'cpu', [2, 3]).withRequiresGrad(false);

/** A graph as it is once a run was watched in which all tensors were alike. */
function watched(text: string): Graph {
  const graph = parseIr(text);
  instrumentGraph(graph);
  for (const node of graph.allNodes()) {
    if (node.kind === 'prim::profile' && node.inputs.length > 0) node.setTy('profiled_type', SEEN);
  }
  return graph;
}

function guarded(text: string): Graph {
  const graph = watched(text);
  insertGuards(graph, (type) => type);
  return graph;
}

/** The graph without places and types of tensors that were seen. */
function textOf(graph: Graph): string {
  lint(graph);
  return graph
    .toString({ sourceRanges: false })
    .replaceAll('Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)', 'Seen');
}

const CHAIN = `
graph(%x : Tensor, %y : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %y)
  %b : Tensor = aten::add(%a, %x, %one)
  return (%b)
`;

it('a guard stands at every use that a profile was at', () => {
  expect(textOf(guarded(CHAIN)).match(/prim::Guard\(/g)).toHaveLength(5);
});

describe('guards that nothing depends on', () => {
  it('go where they are for one tensor, or follow from guarded inputs', () => {
    const graph = guarded(CHAIN);
    eliminateRedundantGuards(graph);
    const text = textOf(graph);
    expect(text.match(/ = prim::Guard\(%\w+\)/g)).toHaveLength(2);
    expect(text).toMatch(/: Seen = prim::Guard\(%x\)/);
    expect(text).toMatch(/: Seen = prim::Guard\(%y\)/);
    expect(text, 'the type of the result is known without one').toMatch(/: Seen = aten::add/);
  });

  it('stay where the tensor may have become another one', () => {
    const graph = guarded(`
graph(%x : Tensor, %size : int[]):
  %none : NoneType = prim::Constant()
  %a : Tensor = aten::relu(%x)
  %r : Tensor = aten::resize_(%x, %size, %none)
  %b : Tensor = aten::relu(%x)
  %c : Tensor[] = prim::ListConstruct(%a, %b)
  return (%c)
`);
    eliminateRedundantGuards(graph);
    expect(textOf(graph).match(/ = prim::Guard\(%x\)/g)).toHaveLength(2);
  });
});

const LOOP = `
graph(%x : Tensor, %n : int, %log : int[]):
  %zero : int = prim::Constant[value=0]()
  %true : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %c : Tensor):
      %size : int = aten::size(%c, %zero)
      %l : int[] = aten::append(%log, %size)
      %d : Tensor = aten::mul(%c, %i)
      -> (%true, %d)
  return (%y)
`;

describe('bailouts', () => {
  it('carry what is needed from the guard to the end, in the trip, in further trips and behind the loop', () => {
    const graph = guarded(LOOP);
    eliminateRedundantGuards(graph);
    const live = [...liveValuesAt(graph, 'prim::Guard')].find(([{ owningBlock }]) => owningBlock !== graph.block)!;
    const names = [...live[1]].filter(({ node }) => node.kind !== 'prim::Constant').map(({ debugName }) => debugName);
    expect(new Set(names)).toEqual(new Set(['c', 'i', 'n', 'log']));
    insertBailOuts(graph);
    expect(textOf(graph)).toMatch(/prim::BailOut\[index=\d\]\(%\w+, %c, %i, %n, %log\)/);
  });

  it('go on with the trips that are left, and with their counts', () => {
    const graph = guarded(LOOP);
    eliminateRedundantGuards(graph);
    insertBailOuts(graph);
    const bailOut = [...graph.allNodes()].find(({ kind }) => kind === 'prim::BailOut')!;
    const rest = bailoutGraph(bailOut.input(0).node.g('Subgraph'), bailOut.i('index'));
    expect(textOf(rest).replaceAll(/%[\w.]+/g, '%')).toBe(
      `graph(% : Tensor,
      % : int,
      % : int,
      % : int[]):
  % : int = prim::Constant[value=1]()
  % : int = prim::Constant[value=0]()
  % : bool = prim::Constant[value=1]()
  % : int = aten::size(%, %)
  % : int[] = aten::append(%, %)
  % : Tensor = aten::mul(%, %)
  % : int = aten::add(%, %)
  % : int = aten::sub(%, %)
  % : Tensor = prim::Loop(%, %, %)
    block0(% : int, % : Tensor):
      % : int = aten::add(%, %)
      % : int = aten::size(%, %)
      % : int[] = aten::append(%, %)
      % : Tensor = aten::mul(%, %)
      -> (%, %)
  return (%)
`,
    );
  });
});

it('a gradient is required of what is computed from what requires one, around a loop too', () => {
  const graph = parseIr(`
graph(%x : Float(2, requires_grad=0, device=cpu), %w : Float(2, requires_grad=1, device=cpu), %n : int):
  %true : bool = prim::Constant[value=1]()
  %a : Float(2) = aten::relu(%x)
  %y : Float(2) = prim::Loop(%n, %true, %a)
    block0(%i : int, %c : Float(2)):
      %d : Float(2) = aten::mul(%c, %w)
      -> (%true, %d)
  %e : Bool(2) = aten::gt(%y, %x)
  return (%y, %e)
`);
  propagateRequiresGrad(graph);
  const required = [...graph.allNodes()].flatMap(({ kind, outputs }) =>
    outputs.flatMap(({ type }) => (type instanceof TensorType ? [`${kind} ${type.requiresGrad}`] : [])),
  );
  expect(required).toEqual(['aten::relu false', 'prim::Loop true', 'aten::mul true', 'aten::gt false']);
});
