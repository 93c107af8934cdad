import { script } from '@cresset/frontend';
import { type Graph, lint, parseIr } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { Tensor } from '@cresset/tensor';
import { beforeAll, describe, expect, test } from 'vitest';
import { createAutodiffSubgraphs } from './autodiff/create-autodiff-subgraphs.ts';
import { canonicalizeOps } from './cleanup/canonicalize-ops.ts';
import { canonicalize } from './cleanup/canonicalize.ts';
import { eraseNumberTypes } from './cleanup/erase-number-types.ts';
import { inlineForkWait } from './cleanup/inline-fork-wait.ts';
import { inline } from './cleanup/inliner.ts';
import { unrollConstantLoops, unrollLoops } from './cleanup/loop-unrolling.ts';
import { lowerAllTuples } from './cleanup/lower-all-tuples.ts';
import { refineTupleTypes } from './cleanup/refine-tuple-types.ts';
import { removeDropout } from './freezing/remove-dropout.ts';
import { batchMm } from './fusion/batch-mm.ts';
import { fuseLinear } from './fusion/fuse-linear.ts';
import { fuseAddRelu } from './fusion/fuse-relu.ts';
import { createFunctionalGraphs, inlineFunctionalGraphs } from './mutation/create-functional-graphs.ts';
import { removeInplaceOps } from './mutation/remove-inplace-ops.ts';
import { removeMutation } from './mutation/remove-mutation.ts';
import { functionalToInplaceActivation, inplaceToFunctionalActivation } from './mutation/restore-mutation.ts';
import { fuseAddmm } from './peephole/fuse-addmm.ts';
import { peepholeOptimize } from './peephole/peephole-optimize.ts';
import { propagateDevices } from './propagate-device.ts';

beforeAll(registerAllOperators);

/** The nodes of a graph after a pass, one a line, with values numbered in order. */
function after(pass: (graph: Graph) => unknown, text: string): string[] {
  const graph = parseIr(text);
  pass(graph);
  lint(graph);
  return String(canonicalize(graph, false))
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^%[^:]* : .* = |^return|^with|^->|^= |^block/.test(line));
}

describe('tuples', () => {
  test('go from inputs, blocks and outputs', () => {
    const text = `graph(%t : (Tensor, Tensor), %c : bool):
  %a : Tensor, %b : Tensor = prim::TupleUnpack(%t)
  %r : (Tensor, Tensor) = prim::If(%c)
    block0():
      %x : (Tensor, Tensor) = prim::TupleConstruct(%b, %a)
      -> (%x)
    block1():
      %y : (Tensor, Tensor) = prim::TupleConstruct(%a, %b)
      -> (%y)
  return (%r)
`;
    const lines = after(lowerAllTuples, text);
    expect(lines.join('\n')).not.toContain('Tuple');
    expect(lines).toContain('return (%3, %4)');
  });

  test('leave what blocks give without types', () => {
    const text = `graph(%a : int, %c : bool):
  %t : (int, int) = prim::TupleConstruct(%a, %a)
  %r : (int, int) = prim::If(%c)
    block0():
      -> (%t)
    block1():
      -> (%t)
  return (%r)
`;
    expect(after(lowerAllTuples, text)[0]).toBe('%2 : Tensor, %3 : Tensor = prim::If(%1)');
  });

  test('that something needs whole are an error', () => {
    const text = 'graph(%t : (Tensor, Tensor)):\n  %r : Tensor = my::op(%t)\n  return (%r)\n';
    expect(() => after(lowerAllTuples, text)).toThrow('op that does not forward tuples, unsupported kind: my::op');
  });

  test('are of the types of their elements', () => {
    const text = 'graph(%a : Float(2)):\n  %t : (Tensor) = prim::TupleConstruct(%a)\n  return (%t)\n';
    expect(after(refineTupleTypes, text)[0]).toBe('%1 : (Float(2)) = prim::TupleConstruct(%0)');
  });
});

describe('loops', () => {
  const loop = (trips: string): string => `graph(%x : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %3 : int = prim::Constant[value=3]()
  %r : Tensor = prim::Loop(${trips}, %true, %x)
    block0(%i : int, %v : Tensor):
      %w : Tensor = aten::add(%v, %one, %one)
      -> (%true, %w)
  return (%r)
`;

  test('of a known number of trips are laid out', () => {
    const lines = after(unrollConstantLoops, loop('%3'));
    expect(lines.filter((line) => line.includes('aten::add'))).toHaveLength(3);
    expect(lines.join('\n')).not.toContain('prim::Loop');
  });

  test('of any number of trips go eight at a time, and the rest one by one', () => {
    const lines = after(unrollLoops, loop('%n'));
    expect(lines.filter((line) => line.includes('prim::Loop'))).toHaveLength(2);
    expect(lines.filter((line) => line.includes('aten::add'))).toHaveLength(9);
    expect(after(unrollConstantLoops, loop('%n')).filter((line) => line.includes('aten::add'))).toHaveLength(1);
  });
});

describe('writes', () => {
  test('to tensors and lists that are new become new values', () => {
    const text = `graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %x)
  %b : Tensor = aten::add_(%a, %x, %one)
  %l : Tensor[] = prim::ListConstruct(%b)
  %m : Tensor[] = aten::append(%l, %x)
  %c : Tensor = aten::add_(%x, %x, %one)
  return (%l, %c)
`;
    const lines = after(removeMutation, text).join('\n');
    expect(lines).toContain('aten::add(');
    expect(lines).not.toContain('aten::append');
    // The argument is the caller's.
    expect(lines.match(/aten::add_\(%0/g)).toHaveLength(1);
  });

  test('are made of activations whose argument nothing else needs, and taken back', () => {
    const text =
      'graph(%x : Tensor):\n  %a : Tensor = aten::mul(%x, %x)\n  %b : Tensor = aten::relu(%a)\n  return (%b)\n';
    expect(after(functionalToInplaceActivation, text)).toEqual([
      '%1 : Tensor = aten::mul(%0, %0)',
      '%2 : Tensor = aten::relu_(%1)',
      'return (%1)',
    ]);
    const back = text.replace('relu', 'relu_');
    expect(after(inplaceToFunctionalActivation, back)).toContain('%2 : Tensor = aten::relu(%1)');
  });

  test('of arithmetic go wherever they are, in the dtype they had', () => {
    const text =
      'graph(%x : Float(2), %y : Tensor):\n  %one : int = prim::Constant[value=1]()\n  %b : Tensor = aten::add_(%x, %y, %one)\n  return (%x)\n';
    const lines = after(removeInplaceOps, text);
    expect(lines).toContain('%3 : Tensor = aten::type_as(%1, %0)');
    expect(lines.at(-1)).toBe('return (%4)');
  });
});

describe('products', () => {
  const product = `graph(%x : Float(2, 3), %w : Float(3, 4), %b : Float(4)):
  %one : int = prim::Constant[value=1]()
  %p : Float(2, 4) = aten::mm(%x, %w)
  %s : Float(2, 4) = aten::add(%p, %b, %one)
  return (%s)
`;

  test('and what is added to them become addmm', () => {
    expect(after(fuseAddmm, product).join('\n')).toContain('aten::addmm(%2, %0, %1,');
    // Without the rank, what is added may be a number in a tensor.
    const unknown = product.replace('%b : Float(4)', '%b : Tensor');
    expect(after(fuseAddmm, unknown).join('\n')).not.toContain('addmm');
  });

  test('with a transposed matrix become linear', () => {
    const text =
      'graph(%x : Tensor, %w : Tensor):\n  %t : Tensor = aten::t(%w)\n  %p : Tensor = aten::matmul(%x, %t)\n  return (%p)\n';
    expect(after(fuseLinear, text)).toContain('%3 : Tensor = aten::linear(%0, %1, %2)');
  });

  test('that are summed become one', () => {
    const names = ['a', 'b', 'c', 'd'];
    const products = names.map((name) => `  %p${name} : Tensor = aten::mm(%x, %${name})`).join('\n');
    const text = `graph(%x : Tensor, %a : Tensor, %b : Tensor, %c : Tensor, %d : Tensor):
  %one : int = prim::Constant[value=1]()
${products}
  %s1 : Tensor = aten::add(%pa, %pb, %one)
  %s2 : Tensor = aten::add(%pc, %pd, %one)
  %s : Tensor = aten::add(%s1, %s2, %one)
  return (%s)
`;
    expect(after(batchMm, text)[0]).toMatch(/^%5 : Tensor = prim::MMTreeReduce\((%\d, ){7}%\d\)$/);
  });

  test.each([
    ['aten::mm(%x, %x)', 1],
    ['aten::neg(%x)', 2],
  ])('are looked for before anything unused goes: %s', (call, lines) => {
    const text = `graph(%x : Tensor):\n  %unused : Tensor = aten::relu(%x)\n  %r : Tensor = ${call}\n  return (%r)\n`;
    expect(after(batchMm, text).filter((line) => line.includes('aten::'))).toHaveLength(lines);
  });
});

describe('groups', () => {
  test('of what writes nothing read what is written elsewhere, on the right side of the write', () => {
    const text = `graph(%x : Tensor, %y : Tensor, %l : int[]):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %x)
  %b : Tensor = aten::relu(%a)
  %c : Tensor = aten::mul(%b, %x)
  %w : Tensor = aten::add_(%x, %one, %one)
  %s : int[] = aten::_set_item(%l, %one, %one)
  %d : Tensor = aten::tanh(%c)
  %e : Tensor = aten::tanh(%d)
  %f : Tensor = aten::sigmoid(%e)
  %r : Tensor = aten::add(%f, %y, %one)
  return (%r)
`;
    const lines = after(createFunctionalGraphs, text);
    expect(lines.slice(1, 5).map((line) => line.replace(/.* = /, ''))).toEqual([
      'aten::_set_item(%2, %3, %3)',
      'prim::FunctionalGraph_0(%0)',
      'aten::add_(%0, %3, %3)',
      'aten::add(%5, %1, %3)',
    ]);
  });

  const chain = (kinds: readonly string[]): string => {
    const nodes = kinds.map((kind, index) => `  %v${index + 1} : Tensor = aten::${kind}(%v${index})`);
    return `graph(%v0 : Tensor):\n${nodes.join('\n')}\n  return (%v${kinds.length})\n`;
  };

  test('of nodes that can be differentiated leave out what cannot, and are dissolved where they are small', () => {
    const text = chain(['relu', 'tanh', 'cumsum_unknown', 'exp']).replace('aten::cumsum_unknown', 'aten::isnan');
    const lines = after((graph) => createAutodiffSubgraphs(graph, 2), text).join('\n');
    expect(lines).toContain('prim::DifferentiableGraph_0(%0)');
    expect(lines).toMatch(/return \(%\d+\)\nwith prim::DifferentiableGraph_0/);
    expect(lines).not.toContain('DifferentiableGraph_1');
    expect(after((graph) => createAutodiffSubgraphs(graph, 3), text).join('\n')).not.toContain('Differentiable');
  });

  test('of functional nodes are made and put back', () => {
    const text = chain(['relu', 'tanh', 'exp', 'sigmoid', 'neg', 'abs', 'cos', 'sin']);
    const made = after(createFunctionalGraphs, text).join('\n');
    expect(made).toContain('prim::FunctionalGraph_0(%0)');
    const back = after((graph) => {
      createFunctionalGraphs(graph);
      inlineFunctionalGraphs(graph);
    }, text);
    expect(back).toEqual(after(() => undefined, text));
  });
});

test('numbers become tensors', () => {
  const text =
    'graph(%a : int):\n  %b : int = prim::Constant[value=2]()\n  %c : int = aten::mul(%a, %b)\n  return (%c)\n';
  expect(after(eraseNumberTypes, text)).toEqual([
    '%1 : Long(device=cpu) = prim::Constant[value={2}]()',
    '%2 : Long(device=cpu) = aten::mul(%0, %1)',
    'return (%2)',
  ]);
});

test('chunks that are unpacked have an output each', () => {
  const text = `graph(%x : Tensor):
  %2 : int = prim::Constant[value=2]()
  %l : Tensor[] = aten::chunk(%x, %2, %2)
  %a : Tensor, %b : Tensor = prim::ListUnpack(%l)
  return (%a, %b)
`;
  expect(after(canonicalizeOps, text)[0]).toBe('%1 : Tensor, %2 : Tensor = prim::ConstantChunk[chunks=2, dim=2](%0)');
});

test('constant tensors without dimensions are numbers to arithmetic, as its second operand', () => {
  const number = Tensor.fromArray(Float64Array.of(2.5), [], 'float64');
  const text = (operands: string): string => `graph(%x : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %c : Tensor = prim::Constant[value={2.5}]()
  %r : Tensor = ${operands}
  return (%r)
`;
  const withConstant = (graph: Graph): void => {
    for (const node of graph.allNodes())
      if (node.output().type.kind === 'TensorType' && node.kind === 'prim::Constant') node.setT('value', number);
    canonicalizeOps(graph);
  };
  const lines = after(withConstant, text('aten::add(%x, %c, %one)'));
  expect(lines).toContain('%3 : float = prim::Constant[value=2.5]()');
  expect(lines).toContain('%4 : Tensor = aten::add(%0, %3, %2)');
  for (const other of ['aten::add(%c, %x, %one)', 'aten::add(%x, %c, %n)', 'aten::maximum(%x, %c)']) {
    expect(after(withConstant, text(other)).join()).not.toContain(': float');
  }
});

test('an addition and its relu become one operator', () => {
  const text =
    'graph(%x : Tensor):\n  %one : int = prim::Constant[value=1]()\n  %a : Tensor = aten::add(%x, %x, %one)\n  %b : Tensor = aten::relu(%a)\n  return (%b)\n';
  expect(after(fuseAddRelu, text)).toContain('%2 : Tensor = aten::_add_relu(%0, %0, %1)');
});

test('what is forked runs where it is forked', () => {
  const text = `graph(%x : Tensor):
  %f : Future(Tensor) = prim::fork_0(%x)
  %r : Tensor = aten::wait(%f)
  return (%r)
with prim::fork_0 = graph(%y : Tensor):
  %z : Tensor = aten::relu(%y)
  return (%z)
`;
  expect(after(inlineForkWait, text)).toEqual(['%1 : Tensor = aten::relu(%0)', 'return (%1)']);
});

test('devices go from inputs to results, numbers on the CPU aside', () => {
  const text = `graph(%x : Float(2, device=cuda), %s : Float(device=cpu), %y : Float(2, device=cpu)):
  %a : Tensor = aten::mul(%x, %s)
  %b : Tensor = aten::mul(%x, %y)
  return (%a, %b)
`;
  expect(after(propagateDevices, text)).toEqual([
    '%3 : Tensor(device=cuda) = aten::mul(%0, %1)',
    '%4 : Tensor = aten::mul(%0, %2)',
    'return (%3, %4)',
  ]);
});

test('device propagation unifies the types of branches, and leaves what prim makes alone', () => {
  const text = `graph(%x : Float(2, 3, device=cpu), %z : Float(2, 4, device=cpu), %i : int, %c : bool):
  %n : Long(device=cpu) = prim::NumToTensor(%i)
  %a : Tensor = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> (%z)
  %b : Any = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> (%i)
  return (%n, %a, %b)
`;
  const types = after(propagateDevices, text).filter((line) => line.startsWith('%'));
  expect(types).toEqual([
    '%4 : Long(device=cpu) = prim::NumToTensor(%2)',
    '%5 : Float(2, *, device=cpu) = prim::If(%3)',
    '%6 : Union(Tensor, int) = prim::If(%3)',
  ]);
});

test('dropouts in evaluation mode go', () => {
  const text = `graph(%x : Tensor, %t : bool):
  %p : float = prim::Constant[value=0.5]()
  %false : bool = prim::Constant[value=0]()
  %a : Tensor = aten::dropout(%x, %p, %false)
  %b : Tensor = aten::dropout(%a, %p, %t)
  return (%b)
`;
  expect(after(removeDropout, text).filter((line) => line.includes('dropout'))).toHaveLength(1);
});

describe('peephole', () => {
  test('uses what is known of shapes, unless told not to', () => {
    const text = 'graph(%x : Float(2, 3, strides=[3, 1], device=cpu)):\n  %d : int = aten::dim(%x)\n  return (%d)\n';
    expect(after(peepholeOptimize, text)[0]).toContain('prim::Constant[value=2]');
    expect(after((graph) => peepholeOptimize(graph, { disableShapes: true }), text)[0]).toContain('aten::dim');
  });

  test('merges constants of sums, and concatenations', () => {
    const sums =
      'graph(%x : int):\n  %2 : int = prim::Constant[value=2]()\n  %5 : int = prim::Constant[value=5]()\n  %a : int = aten::add(%x, %2)\n  %b : int = aten::sub(%a, %5)\n  return (%b)\n';
    expect(after(peepholeOptimize, sums)).toEqual([
      '%1 : int = prim::Constant[value=3]()',
      '%2 : int = aten::sub(%0, %1)',
      'return (%2)',
    ]);
    const cats = `graph(%x : Tensor, %y : Tensor):
  %0 : int = prim::Constant[value=0]()
  %l : Tensor[] = prim::ListConstruct(%x, %y)
  %c : Tensor = aten::cat(%l, %0)
  %m : Tensor[] = prim::ListConstruct(%y, %c)
  %d : Tensor = aten::cat(%m, %0)
  return (%d)
`;
    expect(after(peepholeOptimize, cats)).toContain('%3 : Tensor[] = prim::ListConstruct(%1, %0, %1)');
  });

  test('keeps x * 1 where somebody writes to the result', () => {
    const text = (write: string): string => `graph(%x : Float(*)):
  %1 : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %1)
  %b : Tensor = aten::${write}(%a, %1, %1)
  return (%b)
`;
    expect(after(peepholeOptimize, text('add')).join('\n')).not.toContain('aten::mul');
    expect(after(peepholeOptimize, text('add_')).join('\n')).toContain('aten::mul');
  });

  test('keeps x * 1 of what may be truth values, and of what is a number never', () => {
    const text = (type: string): string => `graph(%x : ${type}):
  %1 : int = prim::Constant[value=1]()
  %2 : Tensor = aten::mul(%x, %1)
  %3 : Tensor = aten::add(%2, %2, %1)
  return (%3)
`;
    const kept = (type: string): boolean =>
      after((graph) => peepholeOptimize(graph), text(type))
        .join()
        .includes('aten::mul');
    expect(['Tensor', 'Bool(*)', 'Long(*)', 'Float(*)'].map(kept)).toEqual([true, true, false, false]);
  });
});

describe('inline', () => {
  const callers = (count: number): string =>
    Array.from(
      { length: count },
      (_, at) => `def f${at}(x: int) -> int:\n    return f${at + 1}(x) + f${at + 1}(x + 1)\n`,
    ).join('');
  const kindsAfter = (count: number): string[] => {
    const unit = script(`${callers(count)}def f${count}(x: int) -> int:\n    return x\n`);
    const { graph } = unit.getFunction('__torch__.f0');
    inline(graph);
    return [...graph.allNodes()].map(({ kind }) => kind);
  };

  test('leaves calls where the graph would grow without measure', () => {
    expect(kindsAfter(3)).not.toContain('prim::CallFunction');
    const kinds = kindsAfter(30);
    expect(kinds).toContain('prim::CallFunction');
    expect(kinds.length).toBeLessThan(100_000);
  });
});
