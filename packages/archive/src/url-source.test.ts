import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CressetError } from '@cresset/ir';
import { afterEach, describe, expect, it } from 'vitest';
import { openUrl } from './url-source.ts';

const file = Uint8Array.from({ length: 5 << 20 }, (_, index) => (index * 2654435761) >>> 24);

let server: Server | null = null;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = null;
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(handler: Handler): Promise<string> {
  server = createServer(handler);
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/model.pt`;
}

function withRanges(requests: string[]): Handler {
  return (request, response) => {
    const match = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    requests.push(request.headers.range ?? 'whole');
    if (!match) {
      response.writeHead(200).end(file);
      return;
    }
    const start = Number(match[1]);
    const end = Math.min(Number(match[2]), file.length - 1);
    response.writeHead(206, {
      'content-range': `bytes ${start}-${end}/${file.length}`,
      'content-length': end - start + 1,
      etag: '"1"',
    });
    response.end(file.subarray(start, end + 1));
  };
}

async function failure(work: Promise<unknown>): Promise<CressetError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CressetError);
  return error as CressetError;
}

describe('openUrl', () => {
  it('reads by ranges where the server has them, near ones together', async () => {
    const requests: string[] = [];
    const progress: number[] = [];
    const source = await openUrl(await serve(withRanges(requests)), {
      onProgress: ({ loaded }) => progress.push(loaded),
    });
    expect(source.size).toBe(file.length);
    expect(await source.read(1000, 10)).toEqual(file.subarray(1000, 1010));
    expect(requests).toEqual(['bytes=0-1048575']);
    const [a, b, c] = await source.readAll([
      { offset: 4_000_000, length: 100 },
      { offset: 2_000_000, length: 50 },
      { offset: 2_000_100, length: 50 },
    ]);
    expect(a).toEqual(file.subarray(4_000_000, 4_000_100));
    expect(b).toEqual(file.subarray(2_000_000, 2_000_050));
    expect(c).toEqual(file.subarray(2_000_100, 2_000_150));
    expect(requests.slice(1).toSorted()).toEqual(['bytes=2000000-2000149', 'bytes=4000000-4000099']);
    expect(progress).toEqual(progress.toSorted((x, y) => x - y));
  });

  it('takes one streamed download where the server has no ranges', async () => {
    let count = 0;
    const totals = new Set<number | null>();
    const url = await serve((_, response) => {
      count++;
      response.writeHead(200, { 'content-length': file.length }).end(file);
    });
    const source = await openUrl(url, { onProgress: ({ total }) => totals.add(total) });
    expect(await source.read(3_000_000, 5)).toEqual(file.subarray(3_000_000, 3_000_005));
    expect([source.size, count, [...totals]]).toEqual([file.length, 1, [file.length]]);
  });

  it('does without a Content-Length', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200);
      response.write(file.subarray(0, 1000));
      response.end(file.subarray(1000));
    });
    const totals = new Set<number | null>();
    const source = await openUrl(url, { onProgress: ({ total }) => totals.add(total) });
    expect([source.size, [...totals]]).toEqual([file.length, [null]]);
  });

  it('gives the byte counts of a broken download', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-length': file.length });
      response.write(file.subarray(0, 100_000), () => response.destroy());
    });
    const error = await failure(openUrl(url));
    expect(error.code).toBe('DOWNLOAD_TRUNCATED');
    expect(error.message).toContain(`100000 of ${file.length} bytes`);
  });

  it('asks again when one range breaks', async () => {
    let broken = 0;
    const answer = withRanges([]);
    const url = await serve((request, response) => {
      if (request.headers.range?.startsWith('bytes=3000000') && broken++ === 0) response.destroy();
      else answer(request, response);
    });
    const source = await openUrl(url);
    expect(await source.read(3_000_000, 20)).toEqual(file.subarray(3_000_000, 3_000_020));
    expect(broken).toBe(2);
  });

  it('notices a file that changes while it is read', async () => {
    let etag = 0;
    const url = await serve((request, response) => {
      const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range!)!;
      response.writeHead(206, { 'content-range': `bytes ${start}-${end}/${file.length}`, etag: `"${etag++}"` });
      response.end(file.subarray(Number(start), Number(end) + 1));
    });
    const source = await openUrl(url);
    expect((await failure(source.read(3_000_000, 20))).code).toBe('DOWNLOAD_CHANGED');
  });

  it('names HTTP failures and unreachable servers', async () => {
    const url = await serve((_, response) => response.writeHead(404).end('not here'));
    const error = await failure(openUrl(url));
    expect([error.code, error.message]).toEqual([
      'DOWNLOAD_FAILED',
      `${url} answered with HTTP status 404 (Not Found)`,
    ]);
    expect((await failure(openUrl('http://127.0.0.1:9/x.pt'))).code).toBe('DOWNLOAD_FAILED');
  });

  it('rejects at once when aborted, during a download too', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-length': file.length });
      response.write(file.subarray(0, 1000));
    });
    const abort = new AbortController();
    const loading = failure(openUrl(url, { signal: abort.signal }));
    setTimeout(() => abort.abort(), 50);
    const start = performance.now();
    const error = await loading;
    expect([error.code, error.name]).toEqual(['ABORTED', 'AbortError']);
    expect(performance.now() - start).toBeLessThan(1000);
  });
});
