import { parseIr, TensorType, type Graph, type Node } from '@cresset/ir';
import { findRow, registerAllOperators, runOnHost, type HostContext } from '@cresset/operators';
import type { IValue, Tensor } from '@cresset/tensor';
import { beforeAll, describe, expect, test } from 'vitest';
import { propagateDtypes } from './propagate-dtypes.ts';
import { eraseShapeInformation, propagateInputShapes } from './propagate-input-shapes.ts';

beforeAll(registerAllOperators);

function evaluate(node: Node, inputs: readonly unknown[]): readonly unknown[] | null {
  const { name, overloadName } = node.operator();
  try {
    return runOnHost(findRow(name, overloadName)!, inputs as readonly IValue[], {} as HostContext);
  } catch {
    return null;
  }
}

/** The text of a graph whose first input is a float32 tensor of these sizes, after `analyse`. */
function analysed(text: string, sizes: readonly number[], analyse: (graph: Graph) => unknown): string {
  const graph = parseIr(text);
  graph.inputs[0].setType(TensorType.createContiguous('float32', 'cpu', sizes).withRequiresGrad(false));
  analyse(graph);
  return graph.toString({ sourceRanges: false });
}

const chain = `graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %t : Tensor = aten::t(%x)
  %y : Tensor = aten::add(%t, %t, %one)
  %z : Tensor = aten::abs(%y)
  %r : Tensor = aten::logcumsumexp(%z, %one)
  return (%r)
`;

describe('propagateInputShapes', () => {
  test('knows sizes and strides, then ranks only, then nothing', () => {
    const text = analysed(chain, [2, 3], (graph) => propagateInputShapes(graph, evaluate));
    expect(text).toContain(': Float(3, 2, strides=[1, 3], requires_grad=0, device=cpu) = aten::t');
    expect(text).toContain(': Float(3, 2, strides=[1, 3], device=cpu) = aten::add');
    expect(text).toContain(': Float(*, *, device=cpu) = aten::abs');
    expect(text).toContain(': Tensor = aten::logcumsumexp');
  });

  test('knows the rank of what is created from a constant size, and from nested lists', () => {
    const lines = analysed(
      `graph(%x : Tensor, %f : float, %d : Device):
  %n : NoneType = prim::Constant()
  %no : bool = prim::Constant[value=0]()
  %two : int = prim::Constant[value=2]()
  %size : int[] = prim::Constant[value=[2, 3]]()
  %made : int[] = prim::ListConstruct(%two, %two)
  %a : Tensor = aten::zeros(%size, %n, %n, %n, %n)
  %b : Tensor = aten::ones(%made, %n, %n, %n, %n)
  %c : Tensor = aten::zeros_like(%x, %n, %n, %d, %n, %n)
  %row : float[] = prim::ListConstruct(%f)
  %rows : float[][] = prim::ListConstruct(%row)
  %e : Tensor = aten::tensor(%rows, %n, %n, %no)
  return (%a, %b, %c, %e)
`,
      [2, 3],
      (graph) => propagateInputShapes(graph, evaluate),
    );
    expect(lines).toContain(': Double(*, *, device=cpu) = aten::zeros(');
    expect(lines).toContain(': Tensor = aten::ones(');
    expect(lines).toContain(': Tensor = aten::zeros_like(');
    expect(lines).toContain(': Float(*, *, device=cpu) = aten::tensor(');
  });

  test('keeps what was known of gradients, of which running on examples tells nothing', () => {
    const text = analysed(
      `graph(%x : Tensor):
  %y : Float(2, 3, requires_grad=0) = aten::mul(%x, %x)
  return (%y)
`,
      [2, 3],
      (graph) => propagateInputShapes(graph, evaluate),
    );
    expect(text).toContain(': Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::mul');
  });

  test('expands what is compared with something larger, but not while the types of a loop are found', () => {
    const text = analysed(
      `graph(%x : Tensor, %n : int):
  %yes : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %step : int = prim::Constant[value=1]()
  %one : Tensor = aten::narrow(%x, %zero, %zero, %step)
  %r : Tensor = prim::Loop(%n, %yes, %x)
    block0(%i : int, %y : Tensor):
      %c : Tensor = aten::max(%y, %one)
      -> (%yes, %c)
  %d : Tensor = aten::lt(%one, %x)
  return (%r, %d)
`,
      [2, 3],
      (graph) => propagateInputShapes(graph, evaluate),
    );
    expect(text.match(/aten::expand/g)).toHaveLength(1);
    expect(text).toContain(': Float(*, *, device=cpu) = aten::max(%y, %5)');
    expect(text).toContain('value=[2, 3]');
    expect(text).toMatch(/: Float\(2, 3, strides=\[0, 1\], .* = aten::expand\(%5, /);
  });

  test('writes what it found into a list of sizes that nobody else has', () => {
    const text = (uses: string): string =>
      analysed(
        `graph(%x : Tensor):
  %l : int[] = prim::Constant[value=[-1, 1]]()
  %v : Tensor = aten::view(%x, %l)
${uses}  return (%v)
`,
        [2, 3],
        (graph) => propagateInputShapes(graph, evaluate),
      );
    expect(text('')).toContain('prim::Constant[value=[6, 1]]');
    expect(text('  %w : Tensor = aten::reshape(%x, %l)\n')).toContain('prim::Constant[value=[-1, 1]]');
  });

  test.each([
    ['aten::mm(%u, %r)', 'Float(*, *, device=cpu)'],
    ['aten::bmm(%u, %u)', 'Tensor'],
    ['aten::dot(%u, %r)', 'Float(device=cpu)'],
    ['aten::remainder(%r, %u)', 'Tensor'],
    ['aten::add(%r, %u, %one)', 'Tensor(device=cpu)'],
    ['aten::sub(%d, %r, %one)', 'Float(*, *, device=cpu)'],
    ['aten::mul(%b, %d)', 'Double(*, device=cpu)'],
    ['aten::add(%b, %one, %one)', 'Long(*, device=cpu)'],
    ['aten::cumsum(%b, %one, %none)', 'Long(*, device=cpu)'],
    ['aten::take(%u, %r)', 'Tensor(*, *, device=cpu)'],
    ['aten::select(%d, %one, %one)', 'Tensor'],
    ['aten::detach(%r)', 'Float(*, *, requires_grad=0, device=cpu)'],
    ['aten::embedding(%r, %u, %one, %no, %no)', 'Tensor'],
  ])('knows as much of %s as PyTorch does', (call, type) => {
    const graph =
      parseIr(`graph(%u : Tensor, %r : Float(*, *, device=cpu), %d : Double(device=cpu), %b : Bool(*, device=cpu)):
  %one : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %no : bool = prim::Constant[value=0]()
  %y : Tensor = ${call}
  return (%y)
`);
    propagateInputShapes(graph, evaluate);
    expect(`${graph.outputs[0].type}`).toBe(type);
  });

  test('does not run operators on memory that the graph writes to', () => {
    const text = analysed(
      `graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %w : Tensor = aten::add_(%x, %one, %one)
  %y : Tensor = aten::add(%x, %x, %one)
  return (%y)
`,
      [4],
      (graph) => propagateInputShapes(graph, evaluate),
    );
    expect(text).toContain(': Tensor = aten::add_');
    expect(text).toContain(': Float(*, device=cpu) = aten::add');
  });

  test('merges what comes around a loop', () => {
    const text = analysed(
      `graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %r : Tensor = prim::Loop(%n, %true, %x)
    block0(%i : int, %y : Tensor):
      %z : Tensor = aten::unsqueeze(%y, %zero)
      -> (%true, %z)
  return (%r)
`,
      [4],
      (graph) => propagateInputShapes(graph, evaluate),
    );
    expect(text).toContain(': FloatTensor(requires_grad=0, device=cpu) = prim::Loop');
  });

  test('gives what a loop carries the type of what comes around, too', () => {
    const text = analysed(
      `graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %none : NoneType = prim::Constant()
  %pair : (NoneType, Tensor) = prim::TupleConstruct(%none, %x)
  %r : int?, %p : (int?, Tensor) = prim::Loop(%n, %true, %none, %pair)
    block0(%i : int, %c : int?, %t : (int?, Tensor)):
      %k : int?, %y : Tensor = prim::TupleUnpack(%t)
      %z : Tensor = aten::unsqueeze(%y, %zero)
      %next : (int, Tensor) = prim::TupleConstruct(%i, %z)
      -> (%true, %i, %next)
  return (%r, %p)
`,
      [4],
      (graph) => propagateInputShapes(graph, evaluate),
    );
    expect(text).toContain(' : (int?, FloatTensor(requires_grad=0, device=cpu)) = prim::Loop');
    expect(text).toContain('block0(%i : int, %c : int?, %t : (int?, FloatTensor(requires_grad=0, device=cpu)))');
  });

  test('is undone by eraseShapeInformation', () => {
    const text = analysed(chain, [2, 3], (graph) => {
      propagateInputShapes(graph, evaluate);
      eraseShapeInformation(graph);
    });
    expect(text).toBe(String(parseIr(chain)));
  });
});

test('propagateDtypes refines what follows from known ranks', () => {
  const text = analysed(chain, [2, 3], (graph) =>
    propagateDtypes(graph, (node, inputs) => evaluate(node, inputs)?.map((result) => (result as Tensor).dtype) ?? null),
  );
  expect(text).toContain(': FloatTensor = aten::t');
  expect(text).toContain(': Tensor = aten::add');
});
