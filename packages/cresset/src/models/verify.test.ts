import type { LaunchRecorder } from '@cresset/tensorexpr';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createModule, script, tensor, type Tensor } from '../index.ts';

/** More elements than are worth doing beside the host's device. */
const LARGE = 5000;
const ramp = (count = LARGE): Tensor => tensor(Float32Array.from({ length: count }, (_, index) => index / count - 0.5));
const host = { device: 'cpu', filename: 'author.py' } as const;

/** From now on nothing comes of what is replayed, where it is at least so many launches. */
function breakReplays(launches = 1): void {
  const device = new WasmDevice();
  const recorders = Object.getPrototypeOf(device.recorder) as LaunchRecorder;
  device.dispose();
  const { replay } = recorders;
  vi.spyOn(recorders, 'replay').mockImplementation(function (this: LaunchRecorder, ...args) {
    const list = args[0] as unknown as { launches: readonly unknown[] };
    if (list.launches.length < launches) replay.apply(this, args);
  });
}

const source = `
def scaled(x):
    return torch.cumsum(x * 3.0, 0)

def run(x):
    y = torch.cumsum(x, 0)
    z = scaled(y)
    return z - 1.0
`;

describe('verify', () => {
  afterEach(() => vi.restoreAllMocks());

  it('compares the program as it is recorded with the plain one, at two sizes', async () => {
    const unit = await script<'run'>(source, host);
    const report = await unit.run.verify([ramp()]);
    expect(report).toMatchObject({ passed: true, runs: 6, differences: [] });
    expect(report.compared).toBeGreaterThan(0);
  });

  it('compares at one size where the program takes no other', async () => {
    const unit = await script<'run'>('def run(x):\n    return x.view(50, 100) * 2.0\n', host);
    expect(await unit.run.verify([ramp()])).toMatchObject({ passed: true, runs: 3 });
  });

  it('names the first node of a program that is wrong only where it is replayed', async () => {
    breakReplays(2);
    const unit = await script<'run'>(source, host);
    const { passed, differences } = await unit.run.verify([ramp()]);
    expect(passed).toBe(false);
    expect(differences).toHaveLength(1);
    const [{ operator, python, run, part, at }] = differences;
    expect([operator, run, part]).toEqual(['aten::cumsum', 2, 'result']);
    expect(python).toContain('File "author.py", line 7, in run');
    expect(python).toContain('File "author.py", line 3, in scaled');
    expect(at!.device).not.toBeCloseTo(at!.host);
  });

  it('sees what is wrong above a number of elements only', async () => {
    breakReplays();
    const unit = await script<'run'>('def run(x):\n    return torch.tanh(x) * x\n', host);
    expect((await unit.run.verify([ramp(40)])).passed).toBe(true);
    expect((await unit.run.verify([ramp()])).differences[0].operator).toBe('aten::tanh');
  });

  it('sees arguments and state that are wrong', async () => {
    breakReplays();
    const unit = await script<'run'>('def run(x):\n    x.mul_(2.0)\n    return 1\n', host);
    expect((await unit.run.verify([ramp()])).differences).toMatchObject([
      { operator: 'aten::mul_', run: 2, part: 'arguments' },
    ]);
    const net = await createModule<'forward'>('Net', { device: 'cpu' });
    await net.registerBuffer('sum', ramp());
    await net.define('def forward(self, x):\n    self.sum.add_(x)\n    return 1\n');
    expect((await net.verify([ramp()])).differences).toMatchObject([{ operator: 'aten::add_', part: 'state' }]);
  });

  it('leaves the model as it was', async () => {
    const net = await createModule<'forward'>('Net', { device: 'cpu' });
    await net.registerBuffer('sum', ramp());
    await net.define(
      'def forward(self, x):\n    self.sum.add_(x)\n    self.sum = self.sum * torch.rand(1)\n    return self.sum\n',
    );
    const x = ramp();
    expect(await net.verify([x])).toMatchObject({ passed: true, runs: 3 });
    expect(x.data).toEqual(ramp().data);
    expect((await net.parameter('sum')).data).toEqual(ramp().data);
  });
});
