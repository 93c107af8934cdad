import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { load, memory, setJitOptions, setWorker, shutdown, tensor, TorchScriptError, type Tensor } from '../index.ts';
import { failure } from '../../../../test-setup/failure.ts';
import { serveArchive, SyntheticArchive } from '../../../../test-setup/synthetic-archive.ts';

const shared = new URL('../../../../../shared/models/', import.meta.url);
const read = (path: string): Uint8Array => new Uint8Array(readFileSync(new URL(path, shared)));

describe.skipIf(!existsSync(shared))('load, over the corpus beside the project', () => {
  it('runs silero-vad chunk by chunk, with its state', async () => {
    const model = await load(read('silero-vad/silero_vad.pt'), { device: 'cpu' });
    expect(model.place).toMatchObject({ device: 'cpu', thread: 'page' });
    expect(model.methods()).toContain('forward');
    const first = (await model.forward(tensor(new Float32Array(512), { shape: [1, 512] }), 16000)) as Tensor;
    expect(first.shape).toEqual([1, 1]);
    expect(model.lastRun!.instructions).toBeGreaterThan(0);
    await model.call('reset_states', []);
    const error = await failure(model.forward(tensor(new Float32Array(100), { shape: [1, 100] }), 16000));
    expect(error.message).toContain('vad_annotator.py", line 676, in _validate_input');
    expect((error as TorchScriptError).reason).toBe('Input audio chunk is too short');
    expect(error).toBeInstanceOf(TorchScriptError);
    await model.dispose();
    expect((await failure((async () => model.forward())())).code).toBe('MODEL_DISPOSED');
  });
});

const digits = new URL('../../../../apps/playground/public/models/digits.pt', import.meta.url);

it('outside of browsers a model is named by its path, or its `file:` address', async () => {
  const path = fileURLToPath(digits);
  for (const place of [path, relative(process.cwd(), path), digits, digits.href]) {
    await using model = await load(place, { device: 'cpu' });
    expect(model.methods()).toContain('forward');
  }
  const error = await failure(load('no such folder/model.pt', { device: 'cpu' }));
  expect(error.code).toBe('FILE_UNREADABLE');
  expect(error.message).toContain('no%20such%20folder/model.pt cannot be read: ENOENT');
});

it('mapLocation is another name for device, which counts where both are given', async () => {
  const onHost = await load(digits, { mapLocation: 'cpu', worker: false });
  const chosen = await load(digits, { device: 'cpu', mapLocation: 'webgpu', worker: false });
  expect([onHost, chosen].map(({ place }) => place.device)).toEqual(['cpu', 'cpu']);
  await Promise.all([onHost.dispose(), chosen.dispose()]);
});

it('transfers a file once for loads that go on at a time, of which each has a model of its own', async () => {
  const archive = new SyntheticArchive(
    [{ name: 'w', shape: [512, 1024], value: 2 }],
    '  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    _0 = torch.add_(self.w, x)\n    return torch.sum(self.w)\n',
  );
  const server = await serveArchive(archive);
  const abort = new AbortController();
  const options = { device: 'cpu', worker: false } as const;
  const [first, second, aborted] = [{}, {}, { signal: abort.signal }].map((more) =>
    load(server.url, { ...options, ...more }),
  );
  const ended = failure(aborted);
  abort.abort();
  expect((await ended).name).toBe('AbortError');
  await using one = await first;
  await using other = await second;
  expect(server.sent.bytes).toBeLessThan(archive.size + (256 << 10));
  const sum = async (model: typeof one): Promise<unknown> => ((await model.forward(tensor([1]))) as Tensor).data[0];
  expect([await sum(one), await sum(one), await sum(other)]).toEqual([3, 4, 3].map((each) => each * 512 * 1024));
  server.close();
});

it('computes on the host in WebAssembly, and in JavaScript where that is asked for', async () => {
  const answers: number[][] = [];
  for (const webAssembly of [true, false]) {
    setJitOptions({ webAssembly });
    await using model = await load(readFileSync(digits), { device: 'cpu' });
    expect(model.place.description).toMatch(webAssembly ? /^WebAssembly/ : /^host$/);
    for (let run = 0; run < 3; run++) {
      const answer = (await model.forward(
        tensor(
          Float32Array.from({ length: 784 }, (_, at) => Math.sin(at)),
          [1, 1, 28, 28],
        ),
      )) as Tensor;
      answers.push([...(answer.data as Float32Array)]);
    }
    expect(model.lastRun!.dispatches > 0).toBe(webAssembly);
  }
  setJitOptions({ webAssembly: undefined });
  const exact = answers.at(-1)!;
  for (const answer of answers) answer.forEach((value, at) => expect(value).toBeCloseTo(exact[at], 4));
});

describe('shutdown', () => {
  it('ends what all models hold, and the next load starts anew', async () => {
    const model = await load(readFileSync(digits), { device: 'cpu' });
    expect((await memory()).models).toBe(1);
    expect(() => setWorker(() => new Worker('worker.js'))).toThrow('after shutdown()');
    await shutdown();
    await shutdown();
    expect((await failure(model.forward(tensor([1])))).code).toBe('SHUT_DOWN');
    await model.dispose();
    await model.dispose();
    expect((await memory()).models).toBe(0);
    await using again = await load(readFileSync(digits), { device: 'cpu' });
    expect(((await again.forward(tensor(new Float32Array(784).fill(1), [1, 1, 28, 28]))) as Tensor).shape).toEqual([
      1, 10,
    ]);
  });

  it('says what to do with an address that leads nowhere, and with inputs that are none', async () => {
    expect((await failure(load('model.pt'))).message).toMatch(/^file:.*model\.pt cannot be read/);
    await using model = await load(readFileSync(digits), { device: 'cpu' });
    const call = model.call('forward', tensor([1]) as never);
    expect((await failure(call)).message).toBe("the inputs of call 'forward' have to be an array");
  });

  it('ends a call that is under way', async () => {
    const model = await load(readFileSync(digits), { device: 'cpu' });
    const running = failure(model.forward(tensor(new Float32Array(784 * 8).fill(1), [8, 1, 28, 28])));
    await shutdown();
    expect((await running).code).toBe('SHUT_DOWN');
  });
});
