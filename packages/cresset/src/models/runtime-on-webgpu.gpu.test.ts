import { parseIr } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { Execution, ExecutorCache, InterpreterState, RuntimeContext, runtimeConstants } from '@cresset/runtime';
import { Tensor, type IValue } from '@cresset/tensor';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

let device: WebGpuDevice;

beforeAll(registerAllOperators);

// A device for each test: its counts are exact, and not moved by what the collector frees of an earlier test.
beforeEach(async () => {
  device = await requestWebGpuDevice();
});

afterEach(() => device.dispose());

/** Runs graph text on the device and brings the resulting tensors back. */
async function run(
  text: string,
  args: readonly IValue[],
): Promise<{ results: IValue[]; context: RuntimeContext; execution: Execution }> {
  const context = new RuntimeContext({ device });
  const executors = new ExecutorCache(() => ({ maxFusedTensors: 8, gradEnabled: false }));
  const execution = new Execution(context);
  const code = executors.ofGraph(parseIr(text, { constants: runtimeConstants }), 'test').code();
  const results = await new InterpreterState(execution, (fn) => executors.ofFunction(fn)).run(code, args);
  for (const result of results) if (result instanceof Tensor) await result.storage.toHost();
  return { results: [...results], context, execution };
}

function random(sizes: readonly number[], seed: number): Tensor {
  const count = sizes.reduce((a, b) => a * b, 1);
  const data = Float32Array.from({ length: count }, (_, i) => Math.sin(i * 12.9898 + seed * 78.233) * 2);
  return Tensor.fromArray(data, sizes, 'float32');
}

describe('fusion groups on WebGPU', () => {
  it('runs a chain with broadcasting as one dispatch', async () => {
    const text = `
graph(%x : Tensor, %b : Tensor, %s : float):
  %one : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %b, %one)
  %z : Tensor = aten::mul(%y, %s)
  %r : Tensor = aten::relu(%z)
  return (%r)
`;
    const x = random([40, 50], 1);
    const b = random([50], 2);
    const { results, context } = await run(text, [x, b, 1.5]);
    expect(context.counters.device.rows).toEqual([['add+mul+relu', 1]]);
    const got = (results[0] as Tensor).contiguousArray();
    const xs = x.contiguousArray();
    const bs = b.contiguousArray();
    for (let i = 0; i < got.length; i++) {
      expect(Number(got[i])).toBeCloseTo(Math.max((Number(xs[i]) + Number(bs[i % 50])) * 1.5, 0), 5);
    }
  });

  it('stores what is used outside, each at its own shape', async () => {
    const text = `
graph(%x : Tensor, %b : Tensor):
  %one : int = prim::Constant[value=1]()
  %e : Tensor = aten::exp(%b)
  %y : Tensor = aten::add(%x, %e, %one)
  return (%e, %y)
`;
    const x = random([30, 60], 3);
    const b = random([60], 4);
    const { results, context } = await run(text, [x, b]);
    expect(context.counters.device.rows).toEqual([['exp+add', 2]]);
    const [e, y] = results as Tensor[];
    expect(e.sizes).toEqual([60]);
    expect(y.sizes).toEqual([30, 60]);
    const bs = b.contiguousArray();
    const xs = x.contiguousArray();
    e.contiguousArray().forEach((value: unknown, i: number) =>
      expect(Number(value)).toBeCloseTo(Math.exp(Number(bs[i])), 4),
    );
    const got = y.contiguousArray();
    for (let i = 0; i < got.length; i++)
      expect(Number(got[i])).toBeCloseTo(Number(xs[i]) + Math.exp(Number(bs[i % 60])), 4);
  });

  it('writes the parts of a concatenation where they belong, in one dispatch', async () => {
    const text = `
graph(%x : Tensor, %y : Tensor):
  %dim : int = prim::Constant[value=-1]()
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::mul(%x, %y)
  %list : Tensor[] = prim::ListConstruct(%a, %b, %y)
  %r : Tensor = aten::cat(%list, %dim)
  return (%r)
`;
    const x = random([30, 50], 1);
    const y = random([30, 50], 2);
    const { results, context } = await run(text, [x, y]);
    expect(context.counters.device.rows).toEqual([['relu+mul+cat', 1]]);
    const got = results[0] as Tensor;
    expect(got.sizes).toEqual([30, 150]);
    const [xs, ys, values] = [x, y, got].map((tensor) => tensor.contiguousArray());
    for (let i = 0; i < 30 * 50; i++) {
      const at = Math.floor(i / 50) * 150 + (i % 50);
      expect(Number(values[at])).toBe(Math.max(Number(xs[i]), 0));
      expect(Number(values[at + 50])).toBeCloseTo(Number(xs[i]) * Number(ys[i]), 5);
      expect(values[at + 100]).toBe(ys[i]);
    }
  });

  it('concatenates parts of other sizes, and what follows is another group', async () => {
    const text = `
graph(%x : Tensor, %y : Tensor):
  %dim : int = prim::Constant[value=0]()
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::neg(%y)
  %list : Tensor[] = prim::ListConstruct(%a, %b)
  %c : Tensor = aten::cat(%list, %dim)
  %r : Tensor = aten::neg(%c)
  %s : Tensor = aten::abs(%r)
  return (%s)
`;
    const x = random([30, 50], 1);
    const y = random([20, 50], 2);
    const { results } = await run(text, [x, y]);
    const values = (results[0] as Tensor).contiguousArray();
    const [xs, ys] = [x, y].map((tensor) => tensor.contiguousArray());
    expect(values.length).toBe(2500);
    for (let i = 0; i < 2500; i++) {
      const want = i < 1500 ? Math.max(Number(xs[i]), 0) : Math.abs(Number(ys[i - 1500]));
      expect(Number(values[i])).toBeCloseTo(want, 5);
    }
  });

  it('frees what it made at its last use', async () => {
    const text = `
graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %m : Tensor = aten::matmul(%x, %x)
  %n : Tensor = aten::matmul(%m, %x)
  %p : Tensor = aten::matmul(%n, %m)
  return (%p)
`;
    const x = random([64, 64], 5);
    const before = device.counters.liveBytes;
    const { results, execution } = await run(text, [x]);
    // The input's copy on the device and the result are all that is left.
    expect(device.counters.liveBytes - before).toBe(2 * 64 * 64 * 4);
    expect(execution.ledger!.entries.size).toBe(1);
    (results[0] as Tensor).dispose();
    x.dispose();
    await device.flush();
    expect(device.counters.liveBytes).toBe(before);
  });
});

describe('memory of tensors in containers', () => {
  it('keeps what a list that changes holds, and frees the rest', async () => {
    const text = `
graph(%x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %list : Tensor[] = prim::ListConstruct()
  %m : Tensor = aten::matmul(%x, %x)
  %same : Tensor[] = aten::append(%list, %m)
  %n : Tensor = aten::matmul(%x, %x)
  %again : Tensor[] = aten::append(%list, %n)
  %first : Tensor = aten::__getitem__(%list, %zero)
  %r : Tensor = aten::matmul(%first, %x)
  return (%r)
`;
    const x = random([64, 64], 6);
    const { results } = await run(text, [x]);
    expect((results[0] as Tensor).contiguousArray().some((value) => Number(value) !== 0)).toBe(true);
  });
});

describe('epilogues', () => {
  it.each([
    { name: 'convolution, batch norm, residual and activation', sizes: [3, 5, 17, 19] },
    { name: 'the same over one pixel', sizes: [301, 5, 1, 1] },
  ])('$name', async ({ sizes }) => {
    const text = `
graph(%x : Tensor, %w : Tensor, %m : Tensor, %v : Tensor, %g : Tensor, %b : Tensor, %r : Tensor):
  %none : NoneType = prim::Constant()
  %false : bool = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %eps : float = prim::Constant[value=1e-05]()
  %ones : int[] = prim::Constant[value=[1, 1]]()
  %c : Tensor = aten::conv2d(%x, %w, %none, %ones, %ones, %ones, %one)
  %n : Tensor = aten::batch_norm(%c, %g, %b, %m, %v, %false, %eps, %eps, %false)
  %s : Tensor = aten::add(%n, %r, %one)
  %o : Tensor = aten::relu(%s)
  return (%o)
`;
    const channels = 6;
    const x = random(sizes, 1);
    const w = random([channels, 5, 3, 3], 2);
    const [m, g, b] = [3, 4, 5].map((seed) => random([channels], seed));
    const v = Tensor.fromArray(
      Float32Array.from({ length: channels }, (_, i) => 0.5 + i),
      [channels],
      'float32',
    );
    // The residual lies in another order than the result: its elements are found by their indices.
    const r = random([sizes[2], sizes[3], sizes[0], channels], 6);
    const residual = r.asStrided(
      [sizes[0], channels, sizes[2], sizes[3]],
      [r.strides[2], r.strides[3], r.strides[0], r.strides[1]],
    );
    const args = [x, w, m, v, g, b, residual];
    const { results, context } = await run(text, args);
    const host = new RuntimeContext();
    const executors = new ExecutorCache(() => ({ maxFusedTensors: 0, gradEnabled: false }));
    const code = executors.ofGraph(parseIr(text, { constants: runtimeConstants }), 'test').code();
    for (const arg of args) await arg.storage.toHost();
    const [want] = await new InterpreterState(new Execution(host), (fn) => executors.ofFunction(fn)).run(code, args);
    expect(context.counters.device.rows.reduce((sum, [, count]) => sum + count, 0)).toBe(1);
    const got = (results[0] as Tensor).contiguousArray();
    const expected = (want as Tensor).contiguousArray();
    expect(got.length).toBe(expected.length);
    got.forEach((value: number | bigint, i: number) => expect(Number(value)).toBeCloseTo(Number(expected[i]), 3));
  });

  it('frees what operators in place compute before they write it', async () => {
    const text = `
graph(%x : Tensor, %y : Tensor, %n : int):
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %zero : int = prim::Constant[value=0]()
  %none : NoneType = prim::Constant()
   = prim::Loop(%n, %true)
    block0(%i : int):
      %row : Tensor = aten::select(%y, %zero, %i)
      %product : Tensor = aten::matmul(%x, %row)
      %copied : Tensor = aten::copy_(%row, %product, %false)
      %sums : Tensor = aten::cumsum_(%row, %zero, %none)
      -> (%true)
  return (%y)
`;
    const rows = 50;
    await run(text, [random([40, 40], 1), random([rows, 40], 2), BigInt(rows)]);
    expect(device.counters.liveBytes).toBe((40 * 40 + rows * 40) * 4);
  });

  it('runs an operator by itself where what follows has another shape', async () => {
    const text = `
graph(%x : Tensor, %y : Tensor):
  %m : Tensor = aten::matmul(%x, %x)
  %s : Tensor = aten::mul(%m, %y)
  return (%s)
`;
    const { results, context } = await run(text, [random([40, 40], 1), random([3, 40, 40], 2)]);
    expect((results[0] as Tensor).sizes).toEqual([3, 40, 40]);
    expect(context.counters.device.rows.map(([, count]) => count)).toEqual([2]);
  });
});

describe('results that no binding of the GPU holds', () => {
  const text = (size: number) => `
graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %no : bool = prim::Constant[value=0]()
  %size : int = prim::Constant[value=${size}]()
  %sizes : int[] = prim::ListConstruct(%size)
  %wide : Tensor = aten::expand(%x, %sizes, %no)
  %y : Tensor = aten::add(%wide, %one, %one)
  %z : Tensor = aten::neg(%y)
  %none : NoneType = prim::Constant()
  %sum : Tensor = aten::sum(%z, %none)
  return (%sum)
`;

  it('are computed on the host, which is counted, fused or not', async () => {
    const size = device.capabilities.maxBindingBytes / 4 + 1;
    const { results, context } = await run(text(size), [Tensor.fromArray(new Float32Array([1]), [1], 'float32')]);
    // The sum itself is made on the GPU, in float32.
    expect(Number((results[0] as Tensor).contiguousArray()[0]) / (-2 * size)).toBeCloseTo(1, 5);
    expect(new Set(context.counters.fallbackReasons.values())).toEqual(
      new Set(['a tensor larger than a buffer of this GPU']),
    );
  });
});
