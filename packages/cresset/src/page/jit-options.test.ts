import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { load, setJitLogSink, setJitOptions, tensor, type Tensor } from '../index.ts';

const digits = new Uint8Array(
  readFileSync(new URL('../../../../apps/playground/public/models/digits.pt', import.meta.url)),
);

async function scores(): Promise<readonly number[]> {
  const model = await load(digits, { device: 'cpu' });
  const pixels = Float32Array.from({ length: 28 * 28 }, (_, index) => (index % 7) / 7);
  const result = (await model.forward(tensor(pixels, { shape: [1, 1, 28, 28] }))) as Tensor;
  const data = Array.from((await result.data) as Float32Array);
  await model.dispose();
  return data;
}

afterEach(() => setJitOptions({ enabled: undefined, logLevel: undefined, optLimit: undefined }));

test('a program gives the same with and without the JIT, and the log shows what is left out', async () => {
  let log = '';
  setJitLogSink((text) => (log += text));
  setJitOptions({ logLevel: 'graph_executor:>inliner' });
  const optimised = await scores();
  expect(log).toContain('[DUMP graph_executor] Before optimization of forward:');
  expect(log).toContain('[UPDATE inliner] Changing');

  log = '';
  setJitOptions({ enabled: false });
  const plain = await scores();
  expect(log).toContain('[DUMP graph_executor] After graph_executor:');
  expect(log).not.toContain('inliner');
  plain.forEach((value, index) => expect(value).toBeCloseTo(optimised[index], 4));
});

test('a limit of nothing keeps a pass from doing anything', async () => {
  let log = '';
  setJitLogSink((text) => (log += text));
  setJitOptions({ logLevel: '>inliner', optLimit: 'inliner=0' });
  await scores();
  expect(log).toContain('prim::CallMethod');
  expect(log).not.toContain('UPDATE');
});
