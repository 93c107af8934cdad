import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { openUrl } from './url-source.ts';
import { failure } from '../../../../test-setup/failure.ts';

/** A file of which only parts are read, and one that is read as a whole. */
const file = pattern(33 << 20);
const smallFile = pattern(3 << 20);

function pattern(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index++) bytes[index] = Math.imul(index, 2654435761) >>> 24;
  return bytes;
}

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

function withRanges(requests: string[], file: Uint8Array, headers: Record<string, string> = { etag: '"1"' }): Handler {
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
      ...headers,
    });
    response.end(file.subarray(start, end + 1));
  };
}

describe('openUrl', { timeout: 60_000 }, () => {
  it('reads by ranges where the server has them, near ones together', async () => {
    const requests: string[] = [];
    const progress: number[] = [];
    const source = await openUrl(await serve(withRanges(requests, file)), {
      onProgress: ({ loaded }) => progress.push(loaded),
    });
    expect(source.size).toBe(file.length);
    expect(await source.read(1000, 10)).toEqual(file.subarray(1000, 1010));
    expect(await source.read(file.length - 100_000, 10)).toEqual(file.subarray(-100_000, -99_990));
    expect(requests).toEqual(['bytes=0-131071', `bytes=${file.length - (256 << 10)}-${file.length - 1}`]);
    const [a, b, c] = await source.readAll([
      { offset: 4_000_000, length: 100 },
      { offset: 2_000_000, length: 50 },
      { offset: 2_000_100, length: 50 },
    ]);
    expect(a).toEqual(file.subarray(4_000_000, 4_000_100));
    expect(b).toEqual(file.subarray(2_000_000, 2_000_050));
    expect(c).toEqual(file.subarray(2_000_100, 2_000_150));
    expect(requests.slice(2).toSorted()).toEqual(['bytes=2000000-2000149', 'bytes=4000000-4000099']);
    expect(progress).toEqual(progress.toSorted((x, y) => x - y));
  });

  it('reads a small file as a whole, with two requests, and a very small one with one', async () => {
    for (const [length, count] of [
      [smallFile.length, 2],
      [100_000, 1],
    ]) {
      const requests: string[] = [];
      const bytes = smallFile.subarray(0, length);
      const source = await openUrl(await serve(withRanges(requests, bytes)));
      expect(Buffer.compare(await source.read(0, length), bytes)).toBe(0);
      expect(await source.read(length - 10, 10)).toEqual(bytes.subarray(-10));
      expect(requests).toHaveLength(count);
      server!.close();
    }
  });

  it.each([
    ['small', smallFile, 2],
    ['large', file, 2],
  ])('transfers a %s file once for all who open it at a time', async (_, bytes, count) => {
    const requests: string[] = [];
    const url = await serve(withRanges(requests, bytes));
    const sources = await Promise.all([openUrl(url), openUrl(new URL(url)), openUrl(url)]);
    expect(requests).toHaveLength(count);
    for (const source of sources) expect(await source.read(bytes.length - 10, 10)).toEqual(bytes.subarray(-10));
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

  it('asks again for the whole where a part passes for it, as in browser extensions', async () => {
    for (const headers of [{}, { 'content-length': 128 << 10 }]) {
      const requests: string[] = [];
      const progress: number[] = [];
      const url = await serve((request, response) => {
        requests.push(request.headers.range ?? 'whole');
        if (!request.headers.range) response.writeHead(200).end(smallFile);
        else response.writeHead(200, headers).end(smallFile.subarray(0, 128 << 10));
      });
      const source = await openUrl(url, { onProgress: ({ loaded }) => progress.push(loaded) });
      expect(Buffer.compare(await source.read(0, smallFile.length), smallFile)).toBe(0);
      expect(requests).toEqual(['bytes=0-131071', 'whole']);
      expect(progress).toEqual(progress.toSorted((x, y) => x - y));
      server!.close();
    }
  });

  it('takes the whole where parts are those of what was compressed', async () => {
    const packed = gzipSync(smallFile);
    const url = await serve((request, response) => {
      const [, start, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
      const headers = { 'content-encoding': 'gzip' };
      if (start === undefined) return void response.writeHead(200, headers).end(packed);
      const end = Math.min(Number(last), packed.length - 1);
      response.writeHead(206, { ...headers, 'content-range': `bytes ${start}-${end}/${packed.length}` });
      response.end(packed.subarray(Number(start), end + 1));
    });
    const source = await openUrl(url);
    expect(Buffer.compare(await source.read(0, smallFile.length), smallFile)).toBe(0);
  });

  it('says what to do with a file of this machine', async () => {
    expect((await failure(openUrl('file:///models/model.pt'))).message).toContain('load its bytes');
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
    const answer = withRanges([], file);
    const url = await serve((request, response) => {
      if (request.headers.range?.startsWith('bytes=3000000') && broken++ === 0) response.destroy();
      else answer(request, response);
    });
    const source = await openUrl(url);
    expect(await source.read(3_000_000, 20)).toEqual(file.subarray(3_000_000, 3_000_020));
    expect(broken).toBe(2);
  });

  it('goes on where a range broke off', async () => {
    const requests: string[] = [];
    const answer = withRanges(requests, file);
    let broken = false;
    const url = await serve((request, response) => {
      if (!request.headers.range?.startsWith('bytes=3000000') || broken) return answer(request, response);
      broken = true;
      response.writeHead(206, {
        'content-range': `bytes 3000000-4999999/${file.length}`,
        'content-length': 2_000_000,
      });
      response.write(file.subarray(3_000_000, 3_600_000), () => setTimeout(() => response.destroy(), 50));
    });
    const source = await openUrl(url);
    expect(Buffer.compare(await source.read(3_000_000, 2_000_000), file.subarray(3_000_000, 5_000_000))).toBe(0);
    expect(requests.at(-1)).toBe('bytes=3600000-4999999');
  });

  it('gives up a range that breaks again and again, with the byte counts', async () => {
    const answer = withRanges([], file);
    const url = await serve((request, response) => {
      if (request.headers.range?.startsWith('bytes=3000000')) response.destroy();
      else answer(request, response);
    });
    const source = await openUrl(url);
    const error = await failure(source.read(3_000_000, 50));
    expect(error.code).toBe('DOWNLOAD_FAILED');
  });

  it.each([
    ['another ETag', { etag: '"2"' }, 206],
    ['another date', { 'last-modified': 'Tue, 01 Jan 2030 00:00:00 GMT' }, 206],
    ['the whole of another file', { etag: '"2"' }, 200],
    ['a failed precondition', {}, 412],
    ['a range outside of a shorter file', {}, 416],
  ])('notices a file that changes while it is read, by %s', async (_, headers, status) => {
    let changed = false;
    const first = { ...('etag' in headers ? { etag: '"1"' } : {}), 'last-modified': 'Sat, 01 Jan 2028 00:00:00 GMT' };
    const url = await serve((request, response) => {
      if (!changed) return withRanges([], file, first)(request, response);
      if (status === 206) return withRanges([], file, headers as Record<string, string>)(request, response);
      response.writeHead(status, { ...headers, 'content-length': 5 }).end('other');
    });
    const source = await openUrl(url);
    changed = true;
    expect((await failure(source.read(3_000_000, 20))).code).toBe('DOWNLOAD_CHANGED');
  });

  it('streams a stretch, and lets go of the connection when nobody wants more', async () => {
    let closed = 0;
    const answer = withRanges([], file);
    const url = await serve((request, response) => {
      response.once('close', () => closed++);
      answer(request, response);
    });
    const source = await openUrl(url);
    let seen = 0;
    for await (const piece of source.stream(1 << 20, 30 << 20)) {
      expect(piece[0]).toBe(file[(1 << 20) + seen]);
      seen += piece.byteLength;
      if (seen > 100_000) break;
    }
    await expect.poll(() => closed).toBe(3);
    expect(seen).toBeLessThan(2 << 20);
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
    // The server never ends its answer: only the abort does.
    const error = await loading;
    expect([error.code, error.name]).toEqual(['ABORTED', 'AbortError']);
  });
});
