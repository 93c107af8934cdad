import { afterAll, expect, it } from 'vitest';
import { createModule, memory, shutdown, tensor, type DeviceTensor, type ScriptModule, type Tensor } from '../index.ts';
import { decoderOn, emptyCache, release, token, type Cache } from './device-tensors-fixture.ts';

afterAll(() => shutdown());

it('a token of a decoder whose cache is handed on moves itself, and its logits', async () => {
  await using decoder = await decoderOn('webgpu');
  await using plain = await decoderOn('cpu');
  let there: Cache<Tensor | DeviceTensor> = emptyCache();
  let here: Cache<Tensor> = emptyCache();
  for (let step = 0; step < 80; step++) {
    const ids = step === 0 ? token(...Array.from({ length: 20 }, (_, at) => at)) : token((7 * step) % 50);
    const places = { outputs: ['page', 'device'] } as const;
    const [logits, next] = (await decoder.call('forward', [ids, there], places)) as [Tensor, Cache<DeviceTensor>];
    const { submits, readbacks, readbackBytes, uploadedBytes } = decoder.lastRun!;
    const [wanted, cache] = (await plain.forward(ids, here)) as [Tensor, Cache<Tensor>];
    logits.data.forEach((each, at) => expect(each).toBeCloseTo(wanted.data[at] as number, 3));
    if (step > 0) release(there as Cache<DeviceTensor>);
    [there, here] = [next, cache];
    if (step < 10) continue;
    expect({ submits, readbacks }).toEqual({ submits: 1, readbacks: 1 });
    // 50 logits and the word for faults; the token and numbers of launches. A cache is 15,000 bytes and more.
    expect(readbackBytes).toBeLessThan(512);
    expect(uploadedBytes).toBeLessThan(2048);
  }
  const { stretches } = await decoder.explain();
  expect(stretches.some(({ program }) => program?.includes(' grown in '))).toBe(true);
  release(there as Cache<DeviceTensor>);
});

const TWICE = 'def forward(self, x):\n    return torch.tanh(x) * 2\n';

async function on(device: 'cpu' | 'webgpu'): Promise<ScriptModule> {
  const module = await createModule('Net', { device, worker: false });
  await module.define(TWICE);
  return module;
}

it('a result on one device is brought to a model on another', async () => {
  await using cpu = await on('cpu');
  await using gpu = await on('webgpu');
  const numbers = Array.from({ length: 3000 }, (_, at) => Math.sin(at));
  let x = tensor(Float32Array.from(numbers)) as Tensor | DeviceTensor;
  for (let call = 0; call < 6; call++) {
    const next = (await (call % 2 ? cpu : gpu).call('forward', [x], { outputs: 'device' })) as DeviceTensor;
    x.dispose();
    x = next;
  }
  const { data } = await (x as DeviceTensor).tensor();
  const wanted = numbers.map((each) => Array.from({ length: 6 }).reduce((value: number) => Math.tanh(value) * 2, each));
  data.forEach((each, at) => expect(each).toBeCloseTo(wanted[at], 3));
  expect((await memory()).tensors).toBe(1);
  x.dispose();
});
