import { registerAllOperators } from '@cresset/operators';
import { readFileSync } from 'node:fs';
import { CressetError, setJitOptions } from '@cresset/ir';
import type { ComputeDevice, DeviceCapabilities } from '@cresset/tensorexpr';
import { describe, expect, it, vi } from 'vitest';
import { register as registerMemory } from '../parts/memory.ts';
import { CountingDevice } from '../counting-device-fixture.ts';
import { inProcessPorts } from './in-process-ports.ts';
import { PartLoader } from './part-loader.ts';
import type { FromHost, Request, WireTensor, WireTuple } from './wire/protocol.ts';
import { registerRequestHandlers } from './request-handlers.ts';
import { WorkerClient } from './worker-client.ts';
import { WorkerHost } from './worker-host.ts';
import { failure } from '../../../../test-setup/failure.ts';

const digits = readFileSync(new URL('../../../../apps/playground/public/models/digits.pt', import.meta.url));
const little = readFileSync(new URL('../../../archive/fixtures/frozen.pt', import.meta.url));

const noDevice = (): Promise<ComputeDevice> =>
  Promise.reject(new CressetError('WEBGPU_NO_API', 'this browser has no WebGPU'));

/** A client and a host within this thread; no GPU, unless one is given. */
function connect(openDevice = noDevice, openHost?: () => Promise<ComputeDevice | null>): WorkerClient {
  const [clientPort, hostPort] = inProcessPorts<Request, FromHost>();
  new WorkerHost(hostPort, openHost ? { openDevice, openHost } : { openDevice }).listen();
  return new WorkerClient(clientPort);
}

async function connectAndLoad(): Promise<WorkerClient> {
  const client = connect();
  await client.request('loaded', { type: 'load', model: 1, input: new Uint8Array(digits).buffer, device: 'auto' });
  return client;
}

/** A vertical stroke, a picture that the model takes. */
function picture(): WireTensor {
  const ink = new Float32Array(28 * 28);
  for (let row = 5; row < 22; row++) ink[row * 28 + 14] = 1;
  return { kind: 'tensor', dtype: 'float32', shape: [1, 1, 28, 28], data: ink.buffer };
}

const call = (args: WireTensor[], method = 'forward') =>
  ({ type: 'call', model: 1, module: '', method, args, kwargs: [] }) as const;

registerAllOperators();
registerMemory();

describe('WorkerHost', () => {
  it('says what it loaded, and why it runs where it does', async () => {
    const client = connect();
    const progress: number[] = [];
    const { summary } = await client.request(
      'loaded',
      { type: 'load', model: 1, input: new Blob([digits]) as unknown as Blob, device: 'auto' },
      { onProgress: ({ loaded }) => progress.push(loaded) },
    );
    expect(summary.device).toMatchObject({ device: 'cpu', reason: expect.stringContaining('no WebGPU') });
    expect(summary.modules[0]).toMatchObject({ name: '', methods: expect.arrayContaining(['forward']) });
    expect(summary.tensors.length).toBeGreaterThan(0);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(progress.at(-1)).toBe(digits.length);
  });

  it("refuses device 'webgpu' where there is none, and goes on working", async () => {
    const client = connect();
    const input = new Uint8Array(digits).buffer;
    const error = await failure(client.request('loaded', { type: 'load', model: 1, input, device: 'webgpu' }));
    expect(error.code).toBe('WEBGPU_NO_API');
    await client.request('loaded', { type: 'load', model: 2, input: new Uint8Array(digits).buffer, device: 'cpu' });
  });

  it('names the weight that a GPU cannot hold in one buffer, and runs on the host unless the GPU was asked for', async () => {
    const small = {
      description: 'a small GPU',
      capabilities: { software: false, maxBindingBytes: 4096, maxStorageBuffers: 8 },
      deviceElementSize: () => 4,
    } as unknown as ComputeDevice;
    const client = connect(() => Promise.resolve(small));
    const placeOn = async (device: 'auto' | 'webgpu', model: number) => {
      const input = new Uint8Array(digits).buffer;
      return (await client.request('loaded', { type: 'load', model, input, device })).summary.device;
    };
    const complaint = /'[\w.]+\.weight' takes \d{4,} bytes .* allows 4096 bytes in one buffer/;
    const asked = await placeOn('webgpu', 1);
    expect([asked.device, asked.description]).toEqual(['webgpu', 'a small GPU']);
    expect(asked.reason).toMatch(complaint);
    expect(asked.reason).toMatch(/^device 'webgpu' was asked for, but .*: what uses it runs on the host$/);
    const { device, reason } = await placeOn('auto', 2);
    expect([device, reason]).toEqual(['cpu', expect.stringMatching(complaint)]);
  });

  it('counts weights that are to be rounded to float16 as what they take then', async () => {
    // The largest weight of the file takes 82,944 bytes as float32.
    const half = {
      description: 'a small GPU',
      capabilities: { software: false, maxBindingBytes: 41_472, maxStorageBuffers: 8 },
      deviceElementSize: (layout: string) => (layout === 'half' ? 2 : 4),
    } as unknown as ComputeDevice;
    const client = connect(() => Promise.resolve(half));
    const placeOf = async (weights: 'float32' | 'float16', model: number) => {
      const input = new Uint8Array(digits).buffer;
      return (await client.request('loaded', { type: 'load', model, input, device: 'auto', weights })).summary.device;
    };
    expect(await placeOf('float32', 1)).toMatchObject({ device: 'cpu', reason: expect.stringContaining('82944') });
    expect((await placeOf('float16', 2)).device).toBe('webgpu');
  });

  const deviceOf = (capabilities: Partial<DeviceCapabilities>, description: string): ComputeDevice =>
    ({
      description,
      capabilities: { software: false, maxBindingBytes: 2 ** 31, maxStorageBuffers: 8, ...capabilities },
      deviceElementSize: () => 4,
    }) as unknown as ComputeDevice;

  it.each([
    [
      'a software adapter is left alone',
      digits,
      'auto',
      { software: true },
      'WebAssembly',
      /^the GPU is a software adapter \(GPU\)$/,
    ],
    [
      'a GPU is not woken for little',
      little,
      'auto',
      {},
      'WebAssembly',
      /^a call .* some [\d.e-]+ million multiplications, fewer/,
    ],
    [
      'a GPU has what is much',
      digits,
      'auto',
      {},
      'GPU',
      /^WebGPU is there, and a call .* some \d\d+ million multiplications$/,
    ],
    ['what is asked for is done', little, 'webgpu', {}, 'GPU', /^device 'webgpu' was asked for$/],
    [
      'a software adapter may be asked for',
      digits,
      'webgpu',
      { software: true },
      'GPU',
      /^device 'webgpu' was asked for$/,
    ],
    ['the host may be asked for', digits, 'cpu', {}, 'WebAssembly', /^device 'cpu' was asked for$/],
  ] as const)('%s', async (_, file, device, capabilities, description, reason) => {
    const host = deviceOf({ host: true }, 'WebAssembly');
    const client = connect(
      () => Promise.resolve(deviceOf(capabilities, 'GPU')),
      () => Promise.resolve(host),
    );
    const load = { type: 'load', model: 1, input: new Uint8Array(file).buffer, device } as const;
    const { summary } = await client.request('loaded', load);
    expect(summary.device).toMatchObject({ description, reason: expect.stringMatching(reason) });
    const about = { type: 'query', model: 1, module: '', method: 'forward', about: 'explain' } as const;
    const { explanation } = await client.request('explained', about);
    expect(explanation.place).toEqual(summary.device);
  });

  it('says which memory has no room for the weights, and computes in JavaScript', async () => {
    const host = deviceOf({ host: true, memoryBytes: 2 ** 12 }, 'WebAssembly');
    const client = connect(undefined, () => Promise.resolve(host));
    const load = { type: 'load', model: 1, input: new Uint8Array(digits).buffer, device: 'cpu' } as const;
    const { summary } = await client.request('loaded', load);
    const reason = expect.stringMatching(/^the weights take \d{4,} bytes, and a WebAssembly memory has 4096$/);
    expect(summary.device).toMatchObject({ device: 'cpu', description: 'host', reason });
  });

  it('tells up to how many elements work is left to the host beside a device, and takes another number', async () => {
    const load = { type: 'load', model: 1, input: new Uint8Array(digits).buffer, device: 'webgpu' } as const;
    const placed = async (): Promise<number | undefined> => {
      const client = connect(() => Promise.resolve(deviceOf({}, 'GPU')));
      return (await client.request('loaded', load)).summary.device.smallWork;
    };
    expect(await placed()).toBe(1000);
    setJitOptions({ smallWork: -1 });
    try {
      expect(await placed()).toBe(-1);
    } finally {
      setJitOptions({ smallWork: undefined });
    }
  });

  it('takes any adapter before JavaScript', async () => {
    const client = connect(
      () => Promise.resolve(deviceOf({ software: true }, 'GPU')),
      () => Promise.resolve(null),
    );
    const load = { type: 'load', model: 1, input: new Uint8Array(digits).buffer, device: 'auto' } as const;
    const { summary } = await client.request('loaded', load);
    expect(summary.device).toMatchObject({ device: 'webgpu', reason: 'WebGPU is there, on a software adapter' });
  });

  it('says which part answers a request where it is not there', async () => {
    const client = await connectAndLoad();
    const save = () =>
      failure(client.request('saved', { type: 'save', model: 1, module: '', function: null, extraFiles: [] }));
    expect(await save()).toMatchObject({ code: 'PART_MISSING', message: "'save' is answered by the part 'saving'" });
  });

  it('fetches what records runs when a method is called on a device for the second time', async () => {
    const [clientPort, hostPort] = inProcessPorts<Request, FromHost>();
    let fetched = 0;
    const parts = new PartLoader({
      padding: () => Promise.resolve({}),
      resampling: () => Promise.resolve({}),
      plans: () => {
        fetched++;
        return Promise.reject(new TypeError('there is no such file'));
      },
    });
    new WorkerHost(hostPort, { openDevice: () => Promise.resolve(new CountingDevice()), parts }).listen();
    const client = new WorkerClient(clientPort);
    await client.request('loaded', { type: 'load', model: 1, input: new Uint8Array(digits).buffer, device: 'webgpu' });
    await client.request('called', call([picture()]));
    await client.request('called', call([picture()], 'centred'));
    expect(fetched).toBe(0);
    await client.request('called', call([picture()]));
    await client.request('called', call([picture()]));
    expect(fetched).toBe(1);
  });

  it('tells of the readers that come with questions, and of the part that answers a request', async () => {
    const client = await connectAndLoad();
    registerRequestHandlers({ passes: async () => ({ type: 'passes', steps: [] }) });
    const about = { type: 'query', model: 1, module: '', method: 'forward' } as const;
    const told = async (): Promise<readonly string[]> => {
      const { explanation } = await client.request('explained', { ...about, about: 'explain' });
      return explanation.parts.map(({ name, reason }) => `${name}: ${reason}`);
    };
    const before = await told();
    await client.request('text', { ...about, about: 'graph' });
    await client.request('passes', { type: 'passes', model: 1, module: '', method: 'forward' });
    expect(await told()).toEqual([...before, "debug-ranges: lines of the author's source", "inspection: 'passes'"]);
  });

  it('fetches what makes programs faster on the host while one is loaded, once more with the first call, and goes without where it is not there', async () => {
    const [clientPort, hostPort] = inProcessPorts<Request, FromHost>();
    let fetched = 0;
    const parts = new PartLoader({
      padding: () => Promise.resolve({}),
      resampling: () => Promise.resolve({}),
      host: () => {
        fetched++;
        return Promise.reject(new TypeError('there is no such file'));
      },
    });
    new WorkerHost(hostPort, { openDevice: () => Promise.reject(new TypeError('there is no GPU')), parts }).listen();
    const client = new WorkerClient(clientPort);
    await client.request('loaded', { type: 'load', model: 1, input: new Uint8Array(digits).buffer, device: 'cpu' });
    expect(fetched).toBe(1);
    await client.request('called', call([picture()]));
    await client.request('called', call([picture()]));
    expect(fetched).toBe(2);
  });

  it('runs calls in the order they came, and one that fails hurts no other', async () => {
    const client = await connectAndLoad();
    const order: string[] = [];
    const note = (name: string) => (): void => void order.push(name);
    const first = client.request('called', call([picture()]));
    const bad = client.request('called', call([]));
    const last = client.request('called', call([picture()]));
    await Promise.allSettled([first.then(note('first')), bad.catch(note('bad')), last.then(note('last'))]);
    expect(order).toEqual(['first', 'bad', 'last']);
    expect((await failure(bad)).code).toBe('ARGUMENT_COUNT');
    const [a, b] = await Promise.all([first, last]);
    const scores = (value: unknown): Float32Array =>
      new Float32Array(
        ((value as WireTuple).kind === 'tuple' ? ((value as WireTuple).items[0] as WireTensor) : (value as WireTensor))
          .data,
      );
    expect(scores(a.result.value)).toEqual(scores(b.result.value));
    expect(a.result.profile.instructions).toBeGreaterThan(0);
  });

  it("tells a program's error in terms of its author's source", async () => {
    const client = await connectAndLoad();
    const blank: WireTensor = { ...picture(), data: new ArrayBuffer(28 * 28 * 4) };
    const error = await failure(client.request('called', call([blank])));
    expect(error).toMatchObject({
      code: 'SCRIPT_RAISED',
      name: 'TorchScriptError',
      pythonClassName: 'builtins.ValueError',
    });
    expect(error.message).toContain('original code');
    expect(error.message).toMatch(/File ".*digit_classifier\.py", line \d+, in forward/);
  });

  it('ends an aborted request at once', async () => {
    const client = await connectAndLoad();
    const abort = new AbortController();
    const running = client.request('called', call([picture()]), { signal: abort.signal });
    abort.abort();
    expect((await failure(running)).name).toBe('AbortError');
    await client.request('called', call([picture()]));
  });

  it('calls the end of an aborted run by its name on the web', async () => {
    const answers: FromHost[] = [];
    const [clientPort, hostPort] = inProcessPorts<Request, FromHost>();
    new WorkerHost(hostPort, { openDevice: noDevice }).listen();
    const answered = new Promise<void>((resolve) => {
      clientPort.receive((message) => {
        answers.push(message);
        if (message.type === 'loaded') {
          clientPort.send({ ...call([picture()]), id: 2 }, []);
          clientPort.send({ type: 'abort', id: 2 }, []);
        }
        if (message.type === 'failed') resolve();
      });
    });
    clientPort.send({ type: 'load', id: 1, model: 1, input: new Uint8Array(digits).buffer, device: 'cpu' }, []);
    await answered;
    expect(answers.at(-1)).toMatchObject({ id: 2, error: { code: 'ABORTED', name: 'AbortError' } });
  });

  it('tells the message once, with the calls of both sides below it', async () => {
    const client = await connectAndLoad();
    const blank: WireTensor = { ...picture(), data: new ArrayBuffer(28 * 28 * 4) };
    const { message, stack } = await failure(client.request('called', call([blank])));
    expect(stack?.split(message)).toHaveLength(2);
    expect(stack?.split('digit_classifier.py')).toHaveLength(message.split('digit_classifier.py').length);
    expect(stack).toMatch(/\n {2}in the worker:\n {4}at /);
  });

  it('answers questions about the program', async () => {
    const client = await connectAndLoad();
    const about = { type: 'query', model: 1, module: '' } as const;
    const { text: graph } = await client.request('text', { ...about, about: 'graph', method: 'forward' });
    expect(graph).toMatch(/^graph\(%self/);
    const { explanation } = await client.request('explained', { ...about, about: 'explain', method: 'forward' });
    expect(explanation.operators.length).toBeGreaterThan(0);
    expect(explanation.operators.filter(({ placement }) => placement === 'missing')).toEqual([]);
  });

  it('forgets a model that was disposed of', async () => {
    const client = await connectAndLoad();
    await client.request('done', { type: 'dispose', model: 1 });
    expect((await failure(client.request('called', call([picture()])))).code).toBe('MODEL_DISPOSED');
    expect((await client.request('memory', { type: 'memory' })).report.models).toBe(0);
  });

  it('is sent switches until it is gone', () => {
    const [port] = inProcessPorts<Request, FromHost>();
    const send = vi.spyOn(port, 'send');
    const client = new WorkerClient(port);
    setJitOptions({});
    expect(send).toHaveBeenCalledTimes(2);
    client.break(new CressetError('SHUT_DOWN', 'gone'));
    setJitOptions({});
    expect(send).toHaveBeenCalledTimes(2);
  });

  it('has devices trimmed some time after a model went, and drops the memory of the host with the last one', async () => {
    vi.useFakeTimers();
    try {
      const opened: CountingDevice[] = [];
      const client = connect(undefined, async () => {
        opened.push(Object.assign(new CountingDevice(), { trim: vi.fn(), dispose: vi.fn() }));
        return opened.at(-1)!;
      });
      const load = (model: number) =>
        client.request('loaded', { type: 'load', model, input: new Uint8Array(digits).buffer, device: 'cpu' });
      await Promise.all([load(1), load(2)]);
      await client.request('done', { type: 'dispose', model: 1 });
      expect(opened[0].trim).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(5000);
      expect(opened[0].trim).toHaveBeenCalledTimes(1);
      expect(opened[0].dispose).not.toHaveBeenCalled();
      await client.request('done', { type: 'dispose', model: 2 });
      // One that comes in time has the memory that is there.
      await load(3);
      await vi.advanceTimersByTimeAsync(5000);
      expect(opened[0].dispose).not.toHaveBeenCalled();
      await client.request('done', { type: 'dispose', model: 3 });
      await vi.advanceTimersByTimeAsync(5000);
      expect(opened[0].dispose).toHaveBeenCalledTimes(1);
      expect(vi.getTimerCount()).toBe(0);
      await load(4);
      expect(opened).toHaveLength(2);
      await client.request('done', { type: 'trim' });
      expect(opened[1].dispose).not.toHaveBeenCalled();
      // What is being loaded has its device already.
      await client.request('done', { type: 'dispose', model: 4 });
      await Promise.all([load(5), client.request('done', { type: 'trim' })]);
      expect(opened[1].dispose).not.toHaveBeenCalled();
      await client.request('done', { type: 'dispose', model: 5 });
      await client.request('done', { type: 'trim' });
      expect(opened[1].dispose).toHaveBeenCalledTimes(1);
    } finally {
      vi.useRealTimers();
    }
  });
});
