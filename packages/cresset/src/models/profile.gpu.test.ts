import { describe, expect, it } from 'vitest';
import { createModule, script, setJitOptions, tensor, type ScriptModule, type Tensor } from '../index.ts';

const waves = (...shape: number[]): Tensor => {
  const count = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length: count }, (_, at) => Math.sin(at)),
    shape,
  );
};

async function net(device: 'webgpu' | 'cpu'): Promise<ScriptModule> {
  const module = await createModule('Net', { worker: false, device });
  await module.registerParameter('weight', waves(64, 128));
  await module.registerBuffer('calls', tensor([0]));
  return module.define(
    `def forward(self, x):
    self.calls.add_(1)
    y = torch.relu(torch.nn.functional.linear(x, self.weight))
    return torch.softmax(y, -1), x.add_(1)`,
    { filename: 'net.py' },
  );
}

describe('a profile on WebGPU', () => {
  it('has a row for each kernel, with its operators, lines, shader, bytes and operations', async () => {
    const module = await net('webgpu');
    const { kernels, device, method } = await module.profile([waves(256, 128)]);
    expect(method).toBe('forward');
    expect(device).toContain('WebGPU');
    const linear = kernels.find(({ operators }) => operators.includes('aten::linear'))!;
    expect(linear).toMatchObject({
      operators: ['aten::linear', 'aten::relu'],
      python: [{ file: 'net.py', line: 3, text: 'y = torch.relu(torch.nn.functional.linear(x, self.weight))' }],
      place: 'device',
      runs: 1,
      bytes: 4 * (256 * 128 + 64 * 128 + 256 * 64),
    });
    expect(linear.flops).toBeGreaterThanOrEqual(2 * 256 * 128 * 64);
    expect(linear.code).toContain('@compute');
    expect(linear.schedule).toMatch(/^\d×\d to a thread, 1×\d+ threads$/);
    const softmax = kernels.find(({ operators }) => operators.includes('aten::softmax.int'))!;
    expect(softmax).toMatchObject({ python: [{ file: 'net.py', line: 4 }], runs: 1, bytes: 2 * 4 * 256 * 64 });
    if (linear.shareOfPeak !== null) expect(linear.shareOfPeak).toBeGreaterThan(0);
    await module.dispose();
  });

  it('says where the time of a call goes, and the parts make up the whole', async () => {
    const module = await net('webgpu');
    const { call, load } = await module.profile([waves(256, 128)]);
    const { total, guards, enqueue, encode, submit, readback, fallback } = call;
    expect(guards + enqueue + encode + submit + readback).toBeCloseTo(total, 6);
    for (const part of [guards, encode, submit, readback, load.compile, load.passes, load.pipelines, load.upload]) {
      expect(part).toBeGreaterThan(0);
    }
    expect(fallback).toBe(0);
    await module.dispose();
  });

  it('gives each call the inputs as they were, and measures nothing afterwards', async () => {
    const module = await net('webgpu');
    const x = waves(256, 128);
    const first = x.data[1];
    await module.profile([x]);
    expect(x.data[1]).toBe(first);
    const calls = Number(((await module.parameter('calls')) as Tensor).data[0]);
    expect(calls).toBeGreaterThanOrEqual(3);
    await module.forward(x);
    expect(x.data[1]).toBeCloseTo(Number(first) + 1, 5);
    await module.dispose();
  });

  it('can be opened as a Chrome trace: a call by phases, another by operators, and its kernels', async () => {
    const module = await net('webgpu');
    const { trace, kernels } = await module.profile([waves(256, 128)]);
    const { traceEvents } = JSON.parse(JSON.stringify(trace)) as typeof trace;
    const rows = traceEvents.filter(({ ph }) => ph === 'M').map(({ tid, args }) => [tid, args!['name']]);
    expect(rows).toEqual([
      [0, 'before the first answer'],
      [1, 'one call'],
      [2, 'another, operator by operator'],
      [3, 'its kernels on the GPU'],
    ]);
    const named = (tid: number): string[] =>
      traceEvents.filter((event) => event.ph === 'X' && event.tid === tid).map(({ name }) => name);
    expect(named(0)).toEqual(['download', 'read', 'compile', 'passes', 'pipelines', 'upload']);
    expect(named(1)).toEqual(['forward, as it is called', 'encode', 'submit', 'readback']);
    expect(named(2)).toContain('aten::linear + aten::relu');
    if (kernels[0].milliseconds !== null) expect(named(3)).toContain('linear+relu');
    expect(traceEvents.every(({ ph, ts, dur }) => ph === 'M' || (ts! >= 0 && dur! >= 0))).toBe(true);
    await module.dispose();
  });
});

describe('a profile on the host', () => {
  it('has a row for each kernel, with its WebAssembly, bytes, operations and share of the peak', async () => {
    const module = await net('cpu');
    const { kernels, peak, call, load, device, trace } = await module.profile([waves(256, 128)]);
    expect(device).toMatch(/^WebAssembly/);
    // A megabyte a second is less than any processor does, and an exabyte more.
    for (const rate of [peak!.bytesPerSecond, peak!.operationsPerSecond]) {
      expect(rate).toBeGreaterThan(2 ** 20);
      expect(rate).toBeLessThan(2 ** 60);
    }
    expect(call).toMatchObject({ encode: 0, submit: 0, readback: 0, fallback: 0 });
    for (const phase of [load.pipelines, load.upload]) expect(phase).toBeGreaterThan(0);
    const linear = kernels.find(({ operators }) => operators.includes('aten::linear'))!;
    expect(linear).toMatchObject({
      operators: ['aten::linear', 'aten::relu'],
      python: [{ file: 'net.py', line: 3 }],
      place: 'device',
      runs: 1,
      bytes: 4 * (256 * 128 + 64 * 128 + 256 * 64),
      schedule: null,
    });
    expect(linear.flops).toBeGreaterThanOrEqual(2 * 256 * 128 * 64);
    expect(linear.code).toMatch(/^\(module\n[^]*\(func \$store [^]*f32x4/);
    expect(linear.milliseconds).toBeGreaterThan(0);
    expect(linear.shareOfPeak).toBeGreaterThan(0);
    expect(trace.traceEvents.map(({ args }) => args?.['name'])).toContain('its kernels in WebAssembly');
    expect(trace.traceEvents.filter(({ cat }) => cat === 'kernel').length).toBeGreaterThan(1);
    expect(trace.traceEvents.every(({ ph, ts, dur }) => ph === 'M' || (ts! >= 0 && dur! >= 0))).toBe(true);
    await module.dispose();
  });

  it('has a row for each operator where no WebAssembly may be compiled, with its time', async () => {
    setJitOptions({ webAssembly: false });
    try {
      const module = await net('cpu');
      const { kernels, peak, device } = await module.profile([waves(64, 128)]);
      expect({ peak, device }).toEqual({ peak: null, device: 'host' });
      const linear = kernels.find(({ operators }) => operators[0].startsWith('aten::linear'))!;
      expect(linear).toMatchObject({ place: 'host', runs: 1, code: null, schedule: null, shareOfPeak: null });
      expect(linear.milliseconds).toBeGreaterThan(0);
      await module.dispose();
    } finally {
      setJitOptions({ webAssembly: true });
    }
  });

  it('rejects with the error of the program', async () => {
    const module = await net('cpu');
    await expect(module.profile([waves(64, 127)])).rejects.toThrow(/mat1 and mat2 shapes cannot be multiplied/);
    await module.dispose();
  });
});

describe('a profile of a program that asks for gradients', () => {
  const POTENTIAL = `
class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64, 64))

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        x = x.detach().requires_grad_()
        energy = torch.tanh(x @ self.weight).square().sum()
        forces = torch.autograd.grad([energy], [x])[0]
        assert forces is not None
        return energy, -forces
`;

  async function potential(device: 'webgpu' | 'cpu'): Promise<ScriptModule> {
    const unit = await script(POTENTIAL, { device, worker: false, filename: 'potential.py' });
    return (unit as unknown as { Potential(): Promise<ScriptModule> }).Potential();
  }

  it('has a row for each kernel of the recorded run, forward and backward, and no other', async () => {
    const model = await potential('webgpu');
    for (let call = 0; call < 2; call++) await model.forward(waves(64, 64));
    const { dispatches } = model.lastRun!;
    const { kernels } = await model.profile([waves(64, 64)]);
    const onDevice = kernels.filter(({ place }) => place === 'device');
    expect(onDevice.reduce((sum, { runs }) => sum + runs, 0)).toBe(dispatches);
    const linesOf = (operator: string): (string | undefined)[] =>
      kernels.filter(({ operators }) => operators.includes(operator)).map(({ python }) => python[0]?.text);
    expect(linesOf('aten::tanh')).toEqual(['energy = torch.tanh(x @ self.weight).square().sum()']);
    expect(linesOf('aten::matmul')).toHaveLength(2);
    const files = new Set(kernels.flatMap(({ python }) => python.map(({ file }) => file)));
    for (const file of ['potential.py', ...['tanh', 'square', 'matmul'].map((of) => `<derivative of aten::${of}>`)]) {
      expect(files).toContain(file);
    }
    expect(files).not.toContain('<builtin>');
    await model.dispose();
  });

  it('is one on the host, too', async () => {
    const model = await potential('cpu');
    const { kernels } = await model.profile([waves(64, 64)]);
    expect(kernels.filter(({ operators }) => operators.includes('aten::matmul'))).toHaveLength(2);
    expect(new Set(kernels.map(({ place }) => place))).toEqual(new Set(['device']));
    await model.dispose();
  });

  it('verifies the operators of its gradients on the device', async () => {
    const model = await potential('cpu');
    const report = await model.verify([waves(64, 64)]);
    expect(report).toMatchObject({ passed: true, differences: [] });
    // Five of the forward run, one of the result, and at least two for each derivative.
    expect(report.compared).toBeGreaterThan(11);
    await model.dispose();
  });
});

describe('passes', () => {
  it('begin with the compiled graph and end with the one that runs, each with what it changed', async () => {
    const module = await net('webgpu');
    const steps = await module.passes();
    expect(steps[0].name).toBe('compiled');
    expect(steps[0].graph).toContain('aten::linear');
    expect(steps.at(-1)!.graph).toContain('prim::FusionGroup');
    steps.slice(1).forEach(({ graph }, at) => expect(graph).not.toBe(steps[at].graph));
    await module.dispose();
  });
});
