import { expect, test } from '@playwright/test';
import { pagesAddress } from './addresses.ts';
import type * as Cresset from 'cresset';
import { expected, expectOnGpuInWorker, expectPyTorchsAnswer, largestDifference, runDigits } from './digits.ts';

const pages = [
  { name: 'the ES module on a plain page', address: `${pagesAddress}module.html` },
  { name: 'the one-file script on a plain page', address: `${pagesAddress}script-tag.html` },
  { name: 'the ES module under a strict policy', address: `${pagesAddress}strict/module.html` },
  { name: 'the one-file script under a strict policy', address: `${pagesAddress}strict/script-tag.html` },
];

for (const { name, address } of pages) {
  test(`${name} runs a model from a URL on WebGPU in a Worker`, async ({ page }) => {
    const complaints: string[] = [];
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    await page.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective}`));
    });
    const response = await page.goto(address);
    const policy = response?.headers()['content-security-policy'];
    expect(policy).toBe(address.includes('/strict/') ? "script-src 'self'; worker-src 'self'" : undefined);

    const run = await runDigits(page, new URL('models/digits.pt', address).href);
    expectPyTorchsAnswer(run);
    expectOnGpuInWorker(run);
    expect(page.workers()).toHaveLength(1);
    expect(complaints).toEqual([]);
  });
}

test('the host computes in WebAssembly where a policy allows to compile it, and in JavaScript where it does not', async ({
  page,
}) => {
  const run = async (folder: string) => {
    await page.goto(`${pagesAddress}${folder}module.html`);
    const done = await runDigits(page, new URL('models/digits.pt', pagesAddress).href, 'cpu');
    expectPyTorchsAnswer(done);
    return { description: done.place.description, isCompiled: done.profile.dispatches > 0 };
  };
  expect(await run('compiling/')).toEqual({
    description: expect.stringMatching(/^WebAssembly/),
    isCompiled: true,
  });
  expect(await run('strict/')).toEqual({ description: 'host', isCompiled: false });
});

test('the host has several threads in a page that is isolated from other origins', async ({ page }) => {
  const product = async (folder: string, worker: boolean) => {
    await page.goto(`${pagesAddress}${folder}module.html`);
    await page.waitForFunction(() => 'cresset' in globalThis);
    return page.evaluate(async (inWorker) => {
      const { script, setJitOptions, tensor } = globalThis.cresset;
      setJitOptions({ numThreads: 2 });
      const source = 'def f(x):\n    return torch.softmax(x @ x.t(), -1)\n';
      const { f } = await script<'f'>(source, { device: 'cpu', worker: inWorker });
      const values = Float32Array.from({ length: 300 * 200 }, (_, at) => Math.sin(at));
      const answers: number[][] = [];
      for (let call = 0; call < 3; call++) {
        const { data } = (await f(tensor(values, [300, 200]))) as Cresset.Tensor;
        answers.push(Array.from(data as Float32Array));
      }
      const { place } = await f.explain();
      return { description: place.description, answers };
    }, worker);
  };
  const { description, answers } = await product('', true);
  expect(description).not.toContain('threads');
  for (const worker of [true, false]) {
    const shared = await product('isolated/', worker);
    expect(shared.description).toContain(', 2 threads');
    expect(page.workers()).toHaveLength(worker ? 2 : 1);
    expect(shared.answers).toEqual(answers);
  }
});

test('a software adapter is left alone where WebAssembly may be compiled', async ({ page }) => {
  const placeOn = async (folder: string) => {
    await page.goto(`${pagesAddress}${folder}module.html`);
    return (await runDigits(page, new URL('models/digits.pt', pagesAddress).href, 'auto')).place;
  };
  expect(await placeOn('compiling/')).toMatchObject({
    device: 'cpu',
    description: expect.stringMatching(/^WebAssembly/),
    reason: expect.stringContaining('software adapter'),
  });
  expect(await placeOn('strict/')).toMatchObject({
    device: 'webgpu',
    reason: 'WebGPU is there, on a software adapter',
  });
});

test('a warm run of the digits is one upload, one submit, one readback and few dispatches', async ({ page }) => {
  await page.goto(`${pagesAddress}module.html`);
  const { profile } = await runDigits(page, 'models/digits.pt');
  expect(profile).toMatchObject({ uploads: 1, submits: 1, readbacks: 1, shaders: 0 });
  // Six convolutions with all that follows them, the mean, the linear layer and the softmax.
  expect(profile.dispatches).toBeLessThanOrEqual(9);
});

test('a profile and the passes come with parts of the library', async ({ page }) => {
  await page.goto(`${pagesAddress}module.html`);
  await page.waitForFunction(() => 'cresset' in globalThis);
  const { kernels, call, trace, steps } = await page.evaluate(async () => {
    const { load, tensor } = globalThis.cresset;
    const model = await load('models/digits.pt', { device: 'webgpu' });
    const picture = tensor(
      Float32Array.from({ length: 784 }, (_, at) => (at % 5 === 0 ? 1 : 0)),
      [1, 1, 28, 28],
    );
    const profile = await model.profile([picture]);
    const passes = await model.passes();
    await model.dispose();
    return { ...profile, steps: passes.map(({ name }) => name) };
  });
  const convolution = kernels.find(({ operators }) => operators.includes('aten::conv2d'));
  expect(convolution).toMatchObject({ place: 'device', code: expect.stringContaining('@compute') });
  expect(convolution!.flops).toBeGreaterThan(100_000);
  expect(convolution!.python.map(({ file }) => file)).toContainEqual(expect.stringContaining('digit_classifier.py'));
  // A page's clock is coarse: single phases may have taken none of it.
  expect(call.submit).toBeGreaterThanOrEqual(0);
  expect(trace.traceEvents.length).toBeGreaterThan(10);
  expect(steps[0]).toBe('compiled');
});

test("a Worker holds weights as float16 with weights: 'float16', and computes with the rounded numbers", async ({
  page,
}) => {
  await page.goto(`${pagesAddress}module.html`);
  await page.waitForFunction(() => 'cresset' in globalThis);
  const { probabilities, uploaded, parts, thread, wrong, rounded } = await page.evaluate(
    async ({ shape, picture, pictureScale }) => {
      const { load, tensor } = globalThis.cresset;
      const pixels = tensor(
        Float32Array.from(picture, (value) => value / pictureScale),
        shape,
      );
      const bytes: number[] = [];
      const states: Record<string, Cresset.Tensor>[] = [];
      for (const weights of ['float32', 'float16'] as const) {
        const model = await load('models/digits.pt', { device: 'webgpu', weights });
        const answer = (await model.forward(pixels)) as Cresset.Tensor;
        bytes.push(model.lastRun!.uploadedBytes);
        states.push(Object.fromEntries(await model.stateDict()));
        if (weights === 'float32') {
          await model.dispose();
          continue;
        }
        const { place, parts: own } = model;
        await model.dispose();
        // Four bytes become two for each element that is rounded; the smallest weights and all buffers stay float32.
        const { f16round } = Math as typeof Math & { f16round(value: number): number };
        const counts = { rounded: 0, wrong: 0 };
        for (const [name, { data }] of Object.entries(states[1])) {
          const exact = states[0][name].data as Float32Array;
          const isNarrow = data.some((value, at) => value !== exact[at]);
          if (isNarrow) counts.rounded += data.length;
          counts.wrong += exact.filter((value, at) => data[at] !== (isNarrow ? f16round(value) : value)).length;
        }
        return {
          ...counts,
          probabilities: [...(answer.data as Float32Array)],
          uploaded: bytes[0] - bytes[1],
          parts: own.map(({ name }) => name),
          thread: place.thread,
        };
      }
      throw new Error('nothing was loaded');
    },
    expected,
  );
  expect(thread).toBe('worker');
  expect(parts).toContain('narrow-weights');
  expect(wrong).toBe(0);
  expect(rounded).toBeGreaterThan(10_000);
  expect(uploaded).toBe(2 * rounded);
  expect(largestDifference(probabilities, expected.probabilities)).toBeLessThan(1e-2);
});

test('the CPU gives the same answer', async ({ page }) => {
  await page.goto(`${pagesAddress}module.html`);
  const run = await runDigits(page, 'models/digits.pt', 'cpu');
  expectPyTorchsAnswer(run);
  expect(run.place).toMatchObject({ device: 'cpu', thread: 'worker' });
});

test('a server that knows no ranges will do', async ({ page }) => {
  await page.goto(`${pagesAddress}module.html`);
  expectPyTorchsAnswer(await runDigits(page, 'models/digits.pt?ranges=no'));
});

test('init finds the GPU', async ({ page }) => {
  await page.goto(`${pagesAddress}module.html`);
  await page.waitForFunction(() => 'cresset' in globalThis);
  const found = await page.evaluate(() => globalThis.cresset.init());
  expect(found).toMatchObject({ available: true });
});
