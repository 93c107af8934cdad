import { CressetError } from '@cresset/ir';
import { afterEach, describe, expect, it } from 'vitest';
import {
  serveArchive,
  SyntheticArchive,
  type ArchiveServer,
  type ServerOptions,
} from '../../../../../test-setup/synthetic-archive.ts';
import { inProcessPorts } from '../in-process-ports.ts';
import type { FromHost, Request, WireTensor } from '../wire/protocol.ts';
import { WorkerClient } from '../worker-client.ts';
import { WorkerHost } from '../worker-host.ts';
import { failure } from '../../../../../test-setup/failure.ts';

const GIGABYTE = 2 ** 30;
const METHODS = `  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    small = self.small
    return torch.mul(x, small)
  def project(self: __torch__.Net,
    x: Tensor) -> Tensor:
    weight = self.weight
    return torch.matmul(x, weight)
  def choose(self: __torch__.Net,
    x: Tensor,
    first: bool) -> Tensor:
    if first:
      a = self.weight
      y = torch.matmul(x, a)
    else:
      b = self.other
      y = torch.matmul(x, b)
    return y
`;

/** 64 small and 4 large tensors: about one gigabyte. */
const large = new SyntheticArchive(
  [
    { name: 'weight', shape: [4, 1 << 20], value: 2 },
    ...Array.from({ length: 60 }, (_, index) => ({ name: `bias${index}`, shape: [256], value: index })),
    { name: 'small', shape: [4], value: 0.5 },
    { name: 'other', shape: [4, 3], value: 4 },
    { name: 'huge', shape: [1 << 14, 1 << 14], value: 3 },
  ],
  METHODS,
);

let server: ArchiveServer | null = null;
afterEach(() => server?.close());

async function connect(
  options: ServerOptions = {},
  archive = large,
): Promise<{ client: WorkerClient; served: ArchiveServer }> {
  const [clientPort, hostPort] = inProcessPorts<Request, FromHost>();
  new WorkerHost(hostPort, {
    openDevice: () => Promise.reject(new CressetError('WEBGPU_NO_API', 'this browser has no WebGPU')),
  }).listen();
  server = await serveArchive(archive, options);
  return { client: new WorkerClient(clientPort), served: server };
}

const loading = (url: string) => ({ type: 'load', model: 1, input: url, device: 'cpu' }) as const;

const vector: WireTensor = {
  kind: 'tensor',
  dtype: 'float32',
  shape: [4],
  data: Float32Array.of(1, 2, 3, 4).buffer,
};

async function call(client: WorkerClient, method = 'forward', args: readonly (WireTensor | boolean)[] = [vector]) {
  const { result } = await client.request('called', {
    type: 'call',
    model: 1,
    module: '',
    method,
    args: args.map((arg) => (typeof arg === 'boolean' ? arg : { ...arg, data: arg.data.slice(0) })),
    kwargs: [],
  });
  return new Float32Array((result.value as WireTensor).data);
}

describe('a file of a gigabyte, served with ranges', { timeout: 60_000 }, () => {
  it('is loaded and its small method run with less than one megabyte read', async () => {
    expect(large.size).toBeGreaterThan(GIGABYTE);
    const { client, served } = await connect();
    const { summary } = await client.request('loaded', loading(served.url));
    expect(summary.tensors).toHaveLength(64);
    expect(served.requests).toHaveLength(2);
    expect([...(await call(client))]).toEqual([0.5, 1, 1.5, 2]);
    expect(served.requests).toHaveLength(3);
    expect(served.sent.bytes).toBeLessThan(1e6);
    // Once read, it is there.
    await call(client);
    expect(served.requests).toHaveLength(3);
  });

  it('reads what a method needs, and of a branch only the one that is taken', async () => {
    const { client, served } = await connect();
    await client.request('loaded', loading(served.url));
    const before = served.sent.bytes;
    expect([...(await call(client, 'choose', [vector, false]))]).toEqual([40, 40, 40]);
    expect(served.sent.bytes - before).toBeLessThan(1000);
    const product = await call(client, 'project');
    expect([product.length, product[0], product.at(-1)]).toEqual([1 << 20, 20, 20]);
    expect(served.sent.bytes - before).toBeLessThan(17 << 20);
    expect([...(await call(client, 'choose', [vector, true])).subarray(0, 2)]).toEqual([20, 20]);
    expect(served.sent.bytes - before).toBeLessThan(17 << 20);
  });

  it('reads a record once, however many wait for it', async () => {
    const { client, served } = await connect();
    await client.request('loaded', loading(served.url));
    const query = { type: 'query', model: 1, module: '', about: 'tensor', name: 'small' } as const;
    const requests = served.requests.length;
    await Promise.all([call(client), call(client), client.request('tensor', query)]);
    expect(served.requests.length).toBe(requests + 1);
  });

  it('ends a run that is aborted while a record travels', async () => {
    let stalled = false;
    const { client, served } = await connect({
      intercept(request, response) {
        if (!stalled) return false;
        response.writeHead(206, { 'content-range': request.headers.range!.replace('=', ' ') + `/${large.size}` });
        response.flushHeaders();
        return true;
      },
    });
    await client.request('loaded', loading(served.url));
    stalled = true;
    const abort = new AbortController();
    const request = { type: 'call', model: 1, module: '', method: 'forward', args: [vector], kwargs: [] } as const;
    const running = failure(client.request('called', request, { signal: abort.signal }));
    setTimeout(() => abort.abort(), 50);
    expect((await running).name).toBe('AbortError');
    // The model is free for the next call, though the server still has not answered.
    const next = failure(
      client.request('text', { type: 'query', model: 1, module: '', about: 'schema', method: 'none' }),
    );
    expect((await next).code).toBe('METHOD_NOT_FOUND');
  });

  it('says so in the call where the file changed on the server, and where the server is gone', async () => {
    let etag = '"1"';
    const { client, served } = await connect({ headers: () => ({ etag }) });
    await client.request('loaded', loading(served.url));
    etag = '"2"';
    const error = await failure(call(client));
    expect(error.message).toContain('changed on the server');
    served.close();
    expect((await failure(call(client))).message).toContain('could not be fetched');
  });

  it('reads a record again after a failure', async () => {
    let broken = false;
    const { client, served } = await connect({
      intercept(_, response) {
        if (broken) response.writeHead(503).end();
        return broken;
      },
    });
    await client.request('loaded', loading(served.url));
    broken = true;
    expect((await failure(call(client))).message).toContain('HTTP status 503');
    broken = false;
    expect([...(await call(client))]).toEqual([0.5, 1, 1.5, 2]);
  });
});

describe('progress of a file over 32 MB', { timeout: 60_000 }, () => {
  const archive = new SyntheticArchive(
    [
      { name: 'weight', shape: [4, 1 << 20], value: 2 },
      { name: 'small', shape: [4], value: 0.5 },
      { name: 'other', shape: [4, 3], value: 4 },
      { name: 'rest', shape: [6 << 20], value: 3 },
    ],
    METHODS,
  );
  const WEIGHT = 16 << 20;

  interface Told {
    readonly told: { readonly loaded: number; readonly total: number | null }[];
    readonly onProgress: (progress: { readonly loaded: number; readonly total: number | null }) => void;
  }
  const listener = (): Told => {
    const told: Told['told'] = [];
    return { told, onProgress: (progress) => told.push(progress) };
  };
  const project = { type: 'call', model: 1, module: '', method: 'project', kwargs: [], tellsProgress: true } as const;
  const args = (): WireTensor[] => [{ ...vector, data: vector.data.slice(0) }];

  it('is what came of the file, while it is loaded and after', async () => {
    const { client, served } = await connect({}, archive);
    const { told, onProgress } = listener();
    const { id } = await client.request('loaded', loading(served.url), { onProgress });
    expect(told.length).toBeGreaterThan(0);
    expect(told.every(({ loaded, total }) => loaded < 1e6 && total === archive.size)).toBe(true);
    await call(client, 'project');
    const { loaded } = told.at(-1)!;
    expect(loaded).toBeGreaterThan(WEIGHT / 2);
    expect(loaded).toBeLessThan(WEIGHT + 1e6);
    client.endProgress(id);
    const count = told.length;
    await client.request('done', { type: 'preload', model: 1 });
    expect(told).toHaveLength(count);
  });

  it('of a call is what came of the weights that it needs', async () => {
    const { client, served } = await connect({}, archive);
    await client.request('loaded', loading(served.url));
    const first = listener();
    await client.request('called', { ...project, args: args() }, first);
    expect(first.told).toEqual([
      { loaded: 0, total: WEIGHT },
      { loaded: WEIGHT, total: WEIGHT },
    ]);
    const second = listener();
    await client.request('called', { ...project, args: args() }, second);
    expect(second.told).toEqual([]);
  });

  it('of preload is what came of what was missing, and nothing is read afterwards', async () => {
    const { client, served } = await connect({}, archive);
    await client.request('loaded', loading(served.url));
    await call(client);
    const { told, onProgress } = listener();
    await client.request('done', { type: 'preload', model: 1 }, { onProgress });
    const total = WEIGHT + 4 * 4 * 3 + (24 << 20);
    expect([told[0], told.at(-1)]).toEqual([
      { loaded: 0, total },
      { loaded: total, total },
    ]);
    const requests = served.requests.length;
    expect([...(await call(client, 'choose', [vector, false]))]).toEqual([40, 40, 40]);
    await call(client, 'project');
    expect(served.requests).toHaveLength(requests);
    await client.request('done', { type: 'preload', model: 1 });
  });

  it('comes to the whole where nothing is left for later', async () => {
    const { client, served } = await connect({}, archive);
    const { told, onProgress } = listener();
    await client.request('loaded', { ...loading(served.url), lazy: false }, { onProgress });
    expect(served.sent.bytes).toBeGreaterThan(40 << 20);
    expect(told.at(-1)).toEqual({ loaded: archive.size, total: archive.size });
    expect(told.filter(({ loaded }) => loaded === archive.size)).toHaveLength(1);
    const requests = served.requests.length;
    await call(client, 'project');
    expect(served.requests).toHaveLength(requests);
  });

  it('of preload ends with the reading where it is aborted or the server is gone', async () => {
    const { client, served } = await connect({}, archive);
    await client.request('loaded', loading(served.url));
    const abort = new AbortController();
    const onProgress = ({ loaded }: { readonly loaded: number }): void => void (loaded > 0 && abort.abort());
    const stopped = await failure(
      client.request('done', { type: 'preload', model: 1 }, { signal: abort.signal, onProgress }),
    );
    expect(stopped.name).toBe('AbortError');
    served.close();
    expect((await failure(client.request('done', { type: 'preload', model: 1 }))).code).toMatch(/^DOWNLOAD_/);
  });
});

describe('a file beyond four gigabytes', { timeout: 60_000 }, () => {
  const parameters = [
    { name: 'before', shape: [3, 2 ** 29], value: 1 },
    { name: 'small', shape: [4], value: 0.25 },
    { name: 'after', shape: [2 ** 31], value: 2 },
    { name: 'weight', shape: [4, 2 ** 18], value: 0.5 },
    { name: 'other', shape: [4, 3], value: 4 },
    // More than any machine has.
    { name: 'boundless', shape: [2 ** 46], value: 4 },
  ];

  it('is read at offsets that 32 bits do not hold', async () => {
    const huge = new SyntheticArchive(parameters.slice(0, -1), METHODS);
    expect(huge.size).toBeGreaterThan(2 ** 33);
    const { client, served } = await connect({}, huge);
    await client.request('loaded', loading(served.url));
    expect([...(await call(client))]).toEqual([0.25, 0.5, 0.75, 1]);
    const product = await call(client, 'project');
    expect([product.length, product[0], product.at(-1)]).toEqual([2 ** 18, 5, 5]);
    expect(served.requests.some((range) => Number(/=(\d+)/.exec(range)![1]) > 2 ** 33)).toBe(true);
    expect(served.sent.bytes).toBeLessThan(6 << 20);
  });

  it('gives an error with the sizes for what no memory can hold', async () => {
    const boundless = new SyntheticArchive(
      parameters,
      `${METHODS}  def all(self: __torch__.Net) -> Tensor:\n    return torch.sum(self.boundless)\n`,
    );
    const { client, served } = await connect({}, boundless);
    await client.request('loaded', loading(served.url));
    expect([...(await call(client))]).toEqual([0.25, 0.5, 0.75, 1]);
    const error = await failure(call(client, 'all', []));
    expect(error.message).toContain("there is no memory for entry 'net/data/5'");
    expect(error.message).toContain(String(2 ** 48));
  });
});
