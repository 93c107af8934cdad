import { applyJitOptions } from '@cresset/ir';
import { Tensor, type DeviceBuffer } from '@cresset/tensor';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { CountingDevice } from '../counting-device-fixture.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { gradientsOf } from './tape.ts';
import { RecordedProgram } from './tape-fixture.ts';

beforeAll(registerAllParts);
afterEach(() => applyJitOptions({}));

/** Counts the buffers that are there. */
class HoldingDevice extends CountingDevice {
  live = 0;
  most = 0;

  override allocate(byteLength: number): DeviceBuffer {
    this.most = Math.max(this.most, ++this.live);
    return super.allocate(byteLength);
  }

  override release(): void {
    this.live--;
  }
}

/** What is kept for gradients: `a` twice over, and `b`. */
const BODY = 'a = torch.exp(x * y)\nb = torch.exp(a * x)\nreturn b * a';

class Recorded {
  readonly device = new HoldingDevice();
  readonly program: RecordedProgram;
  readonly args = [floats(), floats()];
  readonly gradient = floats();

  constructor(body = BODY, executor?: 'profiling' | 'simple') {
    const context = new RuntimeContext({ device: this.device, limits: { smallWork: 0 } });
    this.program = new RecordedProgram(body, executor, context);
    for (const tensor of this.args) tensor.requiresGrad = true;
    // They are there from the beginning.
    for (const { storage, dtype } of [...this.args, this.gradient]) storage.deviceBuffer(this.device, dtype);
  }

  get live(): number {
    return this.device.live;
  }

  call(): Promise<readonly Tensor[]> {
    return this.program.call(...this.args);
  }

  gradientsOf(output: Tensor, options: { retainGraph?: boolean; createGraph?: boolean } = {}): Promise<Tensor[]> {
    const task = { outputs: [output], gradients: [this.gradient], inputs: this.args, ...options };
    return gradientsOf(task, this.program.context) as Promise<Tensor[]>;
  }
}

const floats = (): Tensor => Tensor.fromArray(new Float32Array(64).fill(0.5), [64], 'float32');

const GIVEN = 3;

describe('on a device', () => {
  it('what is kept is freed when gradients have been worked out with it', async () => {
    const run = new Recorded();
    const [result] = await run.call();
    expect(run.live).toBe(GIVEN + 1 + 2);
    run.device.most = 0;
    await run.gradientsOf(result);
    expect(run.live).toBe(GIVEN + 1 + 2);
    expect(run.device.most).toBe(GIVEN + 1 + 5);
  });

  it('a long chain backwards holds what is kept, and no gradient for longer than it is needed', async () => {
    const steps = 40;
    const run = new Recorded(`a = x * y\nfor i in range(${steps}):\n    a = torch.exp(a)\nreturn torch.neg(a)`);
    const [result] = await run.call();
    expect(run.live).toBe(GIVEN + 1 + steps);
    run.device.most = 0;
    await run.gradientsOf(result);
    expect(run.live).toBe(GIVEN + 1 + 2);
    // Two gradients beside what is kept: the one that comes, and the one that goes.
    expect(run.device.most).toBe(GIVEN + 1 + steps + 2);
  });

  it.each([undefined, 'profiling', 'simple'] as const)('a thousand passes take no memory: %s', async (executor) => {
    const run = new Recorded(BODY, executor);
    for (let pass = 0; pass < 1000; pass++) {
      const [result] = await run.call();
      const found = await run.gradientsOf(result);
      for (const { storage } of [result, ...found]) storage.dispose();
      if (pass % 100 === 0) expect(run.live).toBe(GIVEN);
    }
    expect(run.live).toBe(GIVEN);
  });

  it('a graph that is kept keeps what it needs until it is given up', async () => {
    const run = new Recorded();
    const [result] = await run.call();
    const first = await run.gradientsOf(result, { retainGraph: true });
    expect(run.live).toBe(GIVEN + 1 + 2 + 2);
    for (const { storage } of first) storage.dispose();
    await run.gradientsOf(result);
    expect(run.live).toBe(GIVEN + 1 + 2);
  });

  it('what others have is theirs', async () => {
    const run = new Recorded('a = torch.exp(x * y)\nb = torch.exp(a * x)\nreturn b * a, a, [b]');
    const [result, a] = await run.call();
    await run.gradientsOf(result);
    expect(a.storage.isDisposed).toBe(false);
    expect(run.live).toBe(GIVEN + 3 + 2);
  });

  it('gradients of gradients leave nothing behind of the steps that they led through', async () => {
    const run = new Recorded('return torch.exp(torch.exp(x * y) * x)');
    const [result] = await run.call();
    const first = await run.gradientsOf(result, { createGraph: true });
    const task = { outputs: first, gradients: [run.gradient, run.gradient], inputs: run.args };
    const second = (await gradientsOf(task, run.program.context)) as Tensor[];
    expect(second.every(({ storage }) => !storage.isDisposed)).toBe(true);
    for (const { storage } of [result, ...first, ...second]) storage.dispose();
    expect(run.live).toBe(GIVEN);
  });

  it('gradients that are added up are those of the leaves, and are not copied for them', async () => {
    const run = new Recorded();
    const [result] = await run.call();
    const task = { outputs: [result], gradients: [run.gradient], inputs: null };
    await gradientsOf(task, run.program.context);
    expect(run.args.map(({ grad }) => grad?.storage.isDisposed)).toEqual([false, false]);
    expect(run.live).toBe(GIVEN + 1 + 2);
    expect(run.device.most).toBe(GIVEN + 1 + 5);
  });

  it('gradients within a program leave nothing behind', async () => {
    const body = `a = x * y
for i in range(30):
    b = torch.exp(torch.exp(x * y))
    g = torch.autograd.grad([b.sum()], [x])[0]
    assert g is not None
    a = a.detach() + g
return a`;
    const run = new Recorded(body);
    await run.call();
    expect(run.live).toBe(GIVEN + 1);
  });
});
