import type { Graph } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { canonicalize } from '@cresset/passes';
import type { ScriptObject } from '@cresset/tensor';
import { describe, expect, it, vi } from 'vitest';
import { setJitLogSink, trace } from '../index.ts';
import { tensor, type Tensor } from '../page/values/tensor.ts';
import { TensorList } from '../page/values/tensor-list.ts';
import { torch, withTrace, type TraceOptions } from '../page/trace.ts';
import { register, TraceRecorder, type RecordedMethod, type TraceableFunction } from './recording.ts';
import type { TraceableModule } from './traced-module.ts';
import type { TracedTensor } from './traced-tensor.ts';
import { TRACED_GRAPHS } from './traced-graphs-fixture.ts';

register();
registerAllOperators();

type Program = TraceableFunction | TraceableModule;

/** What one trace records of a function, or of a module's `forward`. */
function recordTrace(
  program: Program,
  inputs: readonly unknown[],
  options: TraceOptions,
): RecordedMethod & { readonly module: ScriptObject } {
  const { module, methods } = new TraceRecorder(program, options, withTrace).record({ forward: inputs });
  return { module, ...methods.get('forward')! };
}

const ones = (...shape: number[]): Tensor =>
  tensor(new Float32Array(shape.reduce((product, size) => product * size, 1)).fill(1), { shape });

/** Values numbered in order of appearance, without the parameter for self, which PyTorch's functions have not. */
function numbered(text: string): string {
  const names = new Map<string, number>();
  return text
    .replace(/graph\(%\w+ : __torch__\.PlaceholderModule,\n\s*/, 'graph(')
    .replace(/%[\w.]+/g, (name) => {
      if (!names.has(name)) names.set(name, names.size);
      return `%${names.get(name)}`;
    })
    .trim();
}

const textOf = (graph: Graph): string => numbered(`${canonicalize(graph)}`);
const quiet = { warn: () => undefined };
const shift = ones(2);

const addNested = ((t: [TracedTensor, [TracedTensor]], d: { x: TracedTensor }) => [
  t[0].add(t[1][0]),
  { a: d.x },
]) as unknown as TraceableFunction;
const swap = ((l: TracedTensor[]) => new TensorList([l[1], l[0]!.mul(2)])) as unknown as TraceableFunction;

const PROGRAMS: Readonly<
  Record<keyof typeof TRACED_GRAPHS, readonly [TraceableFunction, readonly unknown[], TraceOptions?]>
> = {
  arithmetic: [(x, y) => [x.add(y.mul(2)), x.rsub(1), x.eq(1), x.abs().exp_()], [ones(2), ones(2)]],
  factories: [(x) => [torch.zeros(2, 3), torch.zeros_like(x), torch.full([2], 1.5), x.new_zeros(2)], [ones(2)]],
  sizes: [
    (x) => {
      const y = x.view(x.size(0), -1);
      const n = y.shape[1];
      return [y.reshape(n, -1), x.size(0).mul(2), x.numel(), y.size(1).add(n)];
    },
    [ones(2, 3, 4)],
  ],
  writes: [
    (x) => {
      const y = x.mul(2);
      y.add_(1);
      y.setAt([0], 5);
      y.at([], [1]).mul_(3);
      y.setAt([0, 0], x.at(1, 1));
      return y;
    },
    [ones(2, 3)],
  ],
  results: [(x) => [x.max(1), x.split(1, 0), x.sum([0, 1]), torch.cat([x, x], 1)], [ones(2, 3)]],
  neural: [
    (x, w, b) => [
      torch.conv2d(x, w, b, { stride: 2, padding: 1 }),
      torch.max_pool2d(x, 2),
      x.softmax(-1),
      torch.layer_norm(x, [4]),
      x.float(),
      x.clamp({ min: 0.5 }),
    ],
    [ones(1, 3, 4, 4), ones(5, 3, 3, 3), ones(5)],
  ],
  containers: [addNested, [[ones(1), [ones(1)]], { x: ones(1) }], { strict: false }],
  lists: [swap, [new TensorList([ones(1), ones(2)])], { strict: false }],
  constant: [(x) => [x.add(shift), x.mul(shift)], [ones(2)]],
  transposed: [
    (x, w) => [
      torch.conv_transpose2d(x, w, null, 2, 1, 1),
      torch.conv1d(x.at(0), w.at(0, [], [], [null, 1]).transpose(0, 1), { padding: 1 }),
    ],
    [ones(1, 2, 3, 3), ones(2, 3, 3, 3)],
  ],
  unused: [(x) => [x.mul(2), x.add(1).sin()][0], [ones(2)]],
  inplace_view: [(x) => x.clone().t().add_(1), [ones(2, 3)]],
  index: [(x, i) => [x.at(i), x.at(null, [], i), x.at(x.gt(0))], [ones(3, 3), tensor([0n, 1n])]],
  tensor: [(x) => x.add(torch.tensor([1, 2])), [ones(2)]],
};

describe('graphs of traces', () => {
  it.each(Object.entries(PROGRAMS))('are what PyTorch records: %s', (name, [program, inputs, options]) => {
    const { graph } = recordTrace(program, inputs, { ...quiet, ...options });
    expect(textOf(graph)).toBe(TRACED_GRAPHS[name as keyof typeof TRACED_GRAPHS].trim());
  });

  it('have the names of the parameters', () => {
    const { graph } = recordTrace((left, right) => left.add(right), [ones(1), ones(1)], quiet);
    expect(graph.inputs.map((input) => input.debugName)).toEqual(['left', 'right']);
  });
});

class Linear {
  weight = ones(2, 2);
  bias = ones(2);

  forward(x: TracedTensor): TracedTensor {
    return torch.linear(x, this.weight, this.bias);
  }
}

class Net {
  scale = ones(2);
  shift = ones(2);
  buffers = ['shift'];
  first = new Linear();
  second = new Linear();

  forward(x: TracedTensor): TracedTensor {
    const y = this.first.forward(x.mul(this.scale).add(this.shift));
    return this.second.forward(y.relu()).add(this.first.forward(y));
  }
}

const graphOf = (module: ScriptObject, method: string): string =>
  textOf((module.type.getMethod(method) as unknown as { graph: Graph }).graph);

describe('modules', () => {
  const { module } = recordTrace(new Net(), [ones(1, 2)], quiet);

  it('get their tensors from self and call methods of those below', () => {
    expect(graphOf(module, 'forward')).toBe(
      `
graph(%0 : __torch__.Net,
      %1 : Float(1, 2, strides=[2, 1], requires_grad=0, device=cpu)):
  %2 : __torch__.___torch_mangle_0.Linear = prim::GetAttr[name="second"](%0)
  %3 : __torch__.Linear = prim::GetAttr[name="first"](%0)
  %4 : Tensor = prim::GetAttr[name="shift"](%0)
  %5 : Tensor = prim::GetAttr[name="scale"](%0)
  %6 : Float(1, 2, strides=[2, 1], requires_grad=1, device=cpu) = aten::mul(%1, %5)
  %7 : int = prim::Constant[value=1]()
  %8 : Float(1, 2, strides=[2, 1], requires_grad=1, device=cpu) = aten::add(%6, %4, %7)
  %9 : Tensor = prim::CallMethod[name="forward"](%3, %8)
  %10 : Float(1, 2, strides=[2, 1], requires_grad=1, device=cpu) = aten::relu(%9)
  %11 : Tensor = prim::CallMethod[name="forward"](%2, %10)
  %12 : Tensor = prim::CallMethod[name="forward1"](%3, %9)
  %13 : int = prim::Constant[value=1]()
  %14 : Float(1, 2, strides=[2, 1], requires_grad=1, device=cpu) = aten::add(%11, %12, %13)
  return (%14)`.trim(),
    );
  });

  it('have methods of their own', () => {
    const { type } = module;
    const first = module.slots[type.getAttributeSlot('first')] as ScriptObject;
    expect(graphOf(first, 'forward1')).toBe(
      `
graph(%0 : __torch__.Linear,
      %1 : Float(1, 2, strides=[2, 1], requires_grad=1, device=cpu)):
  %2 : Tensor = prim::GetAttr[name="bias"](%0)
  %3 : Tensor = prim::GetAttr[name="weight"](%0)
  %4 : Float(1, 2, strides=[2, 1], requires_grad=1, device=cpu) = aten::linear(%1, %3, %2), scope: __module.first
  return (%4)`.trim(),
    );
    expect(type.attributes.filter(({ kind }) => kind === 'parameter').map(({ name }) => name)).toEqual(['scale']);
    expect(type.attributes.filter(({ kind }) => kind === 'buffer').map(({ name }) => name)).toEqual(['shift']);
  });

  it('run and are saved', async () => {
    const model = await trace(new Net(), [ones(1, 2)], { device: 'cpu', worker: false });
    const x = tensor([[1, 2]]);
    expect(((await model.forward(x)) as Tensor).tolist()).toEqual([[26, 26]]);
    expect(model.namedParameters().map(({ name }) => name)).toContain('first.weight');
    const bytes = await model.save();
    expect(bytes.length).toBeGreaterThan(1000);
    await model.dispose();
  });
});

describe('traced functions', () => {
  it('are programs of other sizes too, where sizes were traced', async () => {
    const model = await trace((x) => x.view(x.size(0), -1).sum(1), [ones(2, 3, 4)], { device: 'cpu', worker: false });
    expect(((await model.forward(ones(5, 2, 2))) as Tensor).tolist()).toEqual([4, 4, 4, 4, 4]);
    await model.dispose();
  });

  it('warn where numbers are taken out of tensors', () => {
    const warn = vi.fn();
    recordTrace((x) => (Number(x.sum()) > 1 ? x.mul(2) : x), [ones(2)], { warn });
    expect(warn.mock.calls.map(([message]) => message as string)).toEqual([
      expect.stringMatching(/^Converting a tensor to a Python float might cause the trace to be incorrect/),
    ]);
    recordTrace((x) => torch.stack([...x]), [ones(2)], { warn });
    expect(warn).toHaveBeenLastCalledWith(expect.stringContaining('Iterating over a tensor'));
  });

  it.each([
    ['integer', (x: TracedTensor) => x.mul(+x.at(0))],
    ['integer', (x: TracedTensor) => ((x.at(0) as never) > 0 ? x : x.mul(2))],
    ['boolean', (x: TracedTensor) => x.mul(Number(x.gt(0).any()))],
    ['index', (x: TracedTensor) => x.mul([3, 5][x.at(0) as never] as number)],
    ['index', (x: TracedTensor) => x.mul(`${x.at(0)}`.length)],
    ['number', (x: TracedTensor) => x.mul(`${x.at(0).float().mul(0.5)}`.length)],
    ['list', (x: TracedTensor) => x.mul(JSON.stringify({ x }).length)],
    ['number', (x: TracedTensor) => (x.at(0).item() ? x.mul(2) : x)],
  ] as const)('tell where JavaScript makes of a tensor a Python %s: %s', (what, program) => {
    const warn = vi.fn();
    recordTrace(program as TraceableFunction, [tensor([1n, 2n])], { warn });
    expect(warn.mock.calls.map(([message]) => message as string)).toEqual([
      expect.stringContaining(`Converting a tensor to a Python ${what} might`),
    ]);
  });

  it('warn where the log goes, once', async () => {
    const lines: string[] = [];
    setJitLogSink((text) => lines.push(text));
    const model = await trace((x) => x.mul(+x.at(0)).add(+x.at(0)), [tensor([1n, 2n])], {
      device: 'cpu',
      worker: false,
    });
    setJitLogSink((text) => console.debug(text));
    expect(lines).toEqual([expect.stringMatching(/^TracerWarning: Converting a tensor to a Python integer .*\n$/)]);
    await model.dispose();
  });

  it('are traced a second time, and refused where they are not the same', async () => {
    let calls = 0;
    const host = { ...quiet, device: 'cpu', worker: false } as const;
    const changing = (x: TracedTensor): TracedTensor => (calls++ === 0 ? x.add(1) : x.mul(2));
    await expect(trace(changing, [ones(1)], host)).rejects.toThrow(/Graphs differed across invocations/);
    const constant = (x: TracedTensor): TracedTensor => x.add(tensor([calls++]));
    await expect(trace(constant, [ones(1)], host)).rejects.toThrow(/Tensor-valued Constant nodes differed in value/);
  });

  it.each([
    [(x: TracedTensor) => [x, 3], /Only tensors, lists, tuples of tensors/],
    [() => ones(1), /did not have observable data dependence/],
    [(x: TracedTensor) => ({ a: x }), /Encountering a dict at the output of the tracer/],
    [(x: TracedTensor) => x.matmul('a'), /matmul\(\) received an invalid combination of arguments/],
    [async (x: TracedTensor) => x, /async function/],
  ] as const)('that cannot be recorded are errors: %s', (program, message) => {
    expect(() => recordTrace(program as TraceableFunction, [ones(1)], quiet)).toThrow(message);
  });

  it('leave torch empty outside of them', () => {
    expect(() => torch.relu).toThrow(/can be used in a function that is being traced only/);
  });
});
