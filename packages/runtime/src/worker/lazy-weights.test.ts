import { CressetError } from '@cresset/ir';
import { afterEach, describe, expect, it } from 'vitest';
import {
  serveArchive,
  SyntheticArchive,
  type ArchiveServer,
  type ServerOptions,
} from '../../../../test-setup/synthetic-archive.ts';
import { inProcessPorts } from './in-process-ports.ts';
import type { FromHost, Request, WireTensor } from './protocol.ts';
import { WorkerClient } from './worker-client.ts';
import { WorkerHost } from './worker-host.ts';
import { failure } from '../../../../test-setup/failure.ts';

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
    // The model is free for the next call at once.
    const start = performance.now();
    const next = failure(
      client.request('text', { type: 'query', model: 1, module: '', about: 'schema', method: 'none' }),
    );
    expect((await next).code).toBe('METHOD_NOT_FOUND');
    expect(performance.now() - start).toBeLessThan(1000);
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
