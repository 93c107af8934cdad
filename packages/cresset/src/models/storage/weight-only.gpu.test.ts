import { afterAll, describe, expect, it } from 'vitest';
import { collectGarbage } from '../../../../../test-setup/collect-garbage.ts';
import { load, memory, shutdown } from '../../index.ts';
import { expectResults, file, inputs } from './weight-only-fixture.ts';

afterAll(() => shutdown());

async function settledBytes(): Promise<number> {
  collectGarbage();
  await new Promise((resolve) => setImmediate(resolve));
  return (await memory()).deviceBytes;
}

describe('weights of four and of eight bits on WebGPU', () => {
  it('give the numbers that PyTorch gave, call after call', async () => {
    await using model = await load(file, { device: 'webgpu', worker: false, lazy: false });
    for (let call = 0; call < 4; call++) await expectResults(model);
    expect(model.lastRun!.hostFallback).toEqual([]);
    expect(model.lastRun!.replayed).toBe(model.lastRun!.dispatches);
  });

  it('stay on the device as they are in the file', async () => {
    await using model = await load(file, { device: 'webgpu', worker: false, lazy: false });
    const before = await settledBytes();
    for (let call = 0; call < 3; call++) await model.forward(...inputs);
    const weights = (144 * 64) / 2 + (64 * 256) / 2 + (48 * 128) / 2 + 37 * 144;
    const scales = 2 * 4 * (2 * 144) + 2 * 2 * (2 * 64 + 2 * 48) + 4 * 37;
    expect((await settledBytes()) - before).toBe(weights + scales);
  });
});
