import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32 } from 'node:zlib';

/** A float32 parameter whose elements all have one value. */
export interface SyntheticParameter {
  readonly name: string;
  readonly shape: readonly number[];
  readonly value: number;
}

interface Entry {
  readonly name: string;
  readonly offset: number;
  readonly header: Uint8Array;
  readonly size: number;
  readonly crc: number;
  /** Contents, or the four bytes of which they consist. */
  readonly contents: Uint8Array;
}

const text = new TextEncoder();
const ALIGNMENT = 64;

/**
 * For tests: a TorchScript archive of any size of which no more exists than is read. A module of class `__torch__.Net` with the given
 * parameters and methods, laid out as PyTorch does.
 */
export class SyntheticArchive {
  readonly size: number;
  readonly #entries: Entry[] = [];
  readonly #directory: Uint8Array;
  readonly #directoryOffset: number;

  /** @param methods source text of the methods, indented by two. */
  constructor(parameters: readonly SyntheticParameter[], methods: string) {
    parameters.forEach(({ shape, value }, index) => {
      const pattern = new Uint8Array(Float32Array.of(value).buffer);
      this.#add(`data/${index}`, pattern, 4 * shape.reduce((product, size) => product * size, 1));
    });
    const names = parameters.map(({ name }) => `"${name}", `).join('');
    const attributes = parameters.map(({ name }) => `  ${name} : Tensor\n`).join('');
    const code = `class Net(Module):\n  __parameters__ = [${names}]\n  __buffers__ = []\n${attributes}  training : bool\n${methods}`;
    this.#add('data.pkl', modulePickle(parameters));
    this.#add('code/__torch__.py', text.encode(code));
    this.#add('constants.pkl', Uint8Array.of(0x80, 2, 0x29, 0x2e));
    this.#add('version', text.encode('3\n'));
    this.#add('byteorder', text.encode('little'));
    this.#directoryOffset = this.#end;
    this.#directory = this.#makeDirectory();
    this.size = this.#directoryOffset + this.#directory.byteLength;
  }

  /** Bytes of the archive, made as they are asked for. */
  bytes(offset: number, length: number): Uint8Array {
    const result = new Uint8Array(length);
    const put = (at: number, bytes: Uint8Array, size: number): void => {
      const start = Math.max(at, offset);
      const end = Math.min(at + size, offset + length);
      if (bytes.byteLength === size) {
        if (start < end) result.set(bytes.subarray(start - at, end - at), start - offset);
      } else {
        // The pattern once, and then what is there twice as often.
        const target = result.subarray(start - offset, Math.max(end - offset, 0));
        for (let place = 0; place < Math.min(4, target.byteLength); place++)
          target[place] = bytes[(start - at + place) % 4];
        for (let done = 4; done < target.byteLength; done *= 2) target.copyWithin(done, 0, done);
      }
    };
    for (const entry of this.#entries) {
      put(entry.offset, entry.header, entry.header.byteLength);
      put(entry.offset + entry.header.byteLength, entry.contents, entry.size);
    }
    put(this.#directoryOffset, this.#directory, this.#directory.byteLength);
    return result;
  }

  get #end(): number {
    const last = this.#entries.at(-1);
    return last ? last.offset + last.header.byteLength + last.size : 0;
  }

  #add(name: string, contents: Uint8Array, size = contents.byteLength): void {
    const path = text.encode(`net/${name}`);
    const offset = this.#end;
    const unpadded = offset + 30 + path.byteLength + 4;
    const padding = (ALIGNMENT - (unpadded % ALIGNMENT)) % ALIGNMENT;
    const header = new Uint8Array(30 + path.byteLength + 4 + padding);
    const view = new DataView(header.buffer);
    view.setUint32(0, 0x04034b50, true);
    view.setUint16(26, path.byteLength, true);
    view.setUint16(28, 4 + padding, true);
    header.set(path, 30);
    header.set(text.encode('FB'), 30 + path.byteLength);
    view.setUint16(30 + path.byteLength + 2, padding, true);
    const crc = size === contents.byteLength ? crc32(contents) : 0;
    this.#entries.push({ name: `net/${name}`, offset, header, size, crc, contents });
  }

  #makeDirectory(): Uint8Array {
    const parts = this.#entries.map(({ name, offset, size, crc }) => {
      const path = text.encode(name);
      const isLarge = offset > 0xfffffffe || size > 0xfffffffe;
      const bytes = new Uint8Array(46 + path.byteLength + (isLarge ? 28 : 0));
      const view = new DataView(bytes.buffer);
      view.setUint32(0, 0x02014b50, true);
      view.setUint32(16, crc, true);
      view.setUint32(20, isLarge ? 0xffffffff : size, true);
      view.setUint32(24, isLarge ? 0xffffffff : size, true);
      view.setUint16(28, path.byteLength, true);
      view.setUint16(30, isLarge ? 28 : 0, true);
      view.setUint32(42, isLarge ? 0xffffffff : offset, true);
      bytes.set(path, 46);
      if (isLarge) {
        const extra = 46 + path.byteLength;
        view.setUint16(extra, 1, true);
        view.setUint16(extra + 2, 24, true);
        [size, size, offset].forEach((number, at) => view.setBigUint64(extra + 4 + 8 * at, BigInt(number), true));
      }
      return bytes;
    });
    const start = this.#directoryOffset;
    const length = parts.reduce((sum, part) => sum + part.byteLength, 0);
    const end = new Uint8Array(56 + 20 + 22);
    const view = new DataView(end.buffer);
    view.setUint32(0, 0x06064b50, true);
    view.setBigUint64(4, 44n, true);
    [parts.length, parts.length, length, start].forEach((number, at) =>
      view.setBigUint64(24 + 8 * at, BigInt(number), true),
    );
    view.setUint32(56, 0x07064b50, true);
    view.setBigUint64(64, BigInt(start + length), true);
    view.setUint32(72, 1, true);
    view.setUint32(76, 0x06054b50, true);
    view.setUint16(84, parts.length, true);
    view.setUint16(86, parts.length, true);
    view.setUint32(88, Math.min(length, 0xffffffff), true);
    view.setUint32(92, Math.min(start, 0xffffffff), true);
    return concatenate([...parts, end]);
  }
}

/** `data.pkl` of the module, in the opcodes that PyTorch uses. */
function modulePickle(parameters: readonly SyntheticParameter[]): Uint8Array {
  const parts: Uint8Array[] = [];
  const raw = (code: string): void => void parts.push(text.encode(code));
  const string = (value: string): void => {
    const bytes = text.encode(value);
    parts.push(Uint8Array.of(0x58, bytes.byteLength, 0, 0, 0), bytes);
  };
  const int = (value: number): void => {
    const bytes = new Uint8Array(10);
    bytes.set([0x8a, 8]);
    new DataView(bytes.buffer).setBigInt64(2, BigInt(value), true);
    parts.push(bytes);
  };
  const tuple = (write: () => void): void => {
    raw('(');
    write();
    raw('t');
  };
  parts.push(Uint8Array.of(0x80, 2));
  raw('c__torch__\nNet\n)');
  parts.push(Uint8Array.of(0x81));
  raw('}(');
  parameters.forEach(({ name, shape }, index) => {
    const count = shape.reduce((product, size) => product * size, 1);
    string(name);
    raw('ctorch._utils\n_rebuild_tensor_v2\n(');
    tuple(() => {
      string('storage');
      raw('ctorch\nFloatStorage\n');
      string(String(index));
      string('cpu');
      int(count);
    });
    raw('Q');
    int(0);
    tuple(() => shape.forEach(int));
    tuple(() => shape.forEach((_, dim) => int(shape.slice(dim + 1).reduce((product, size) => product * size, 1))));
    parts.push(Uint8Array.of(0x89));
    raw('ccollections\nOrderedDict\n)RtR');
  });
  string('training');
  parts.push(Uint8Array.of(0x89));
  raw('ub.');
  return concatenate(parts);
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.byteLength;
  }
  return result;
}

export interface ArchiveServer {
  readonly url: string;
  /** Bytes sent so far, and the ranges that were asked for. */
  readonly sent: { bytes: number };
  readonly requests: string[];
  close(): void;
}

export interface ServerOptions {
  /** False for a server that answers every request with the whole file. */
  readonly ranges?: boolean;
  readonly headers?: () => Record<string, string>;
  /** Called before each answer; true where it has answered itself. */
  readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

/** Serves an archive on localhost; bytes are made while they are sent. */
export async function serveArchive(
  archive: Pick<SyntheticArchive, 'size' | 'bytes'>,
  options: ServerOptions = {},
): Promise<ArchiveServer> {
  const sent = { bytes: 0 };
  const requests: string[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(request.headers.range ?? 'whole');
    if (options.intercept?.(request, response)) return;
    const match = options.ranges === false ? null : /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    const start = match ? Number(match[1]) : 0;
    const end = match ? Math.min(Number(match[2]) + 1, archive.size) : archive.size;
    const headers = {
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Content-Range, ETag',
      etag: '"1"',
      ...options.headers?.(),
    };
    const range = match ? { 'content-range': `bytes ${start}-${end - 1}/${archive.size}` } : {};
    response.writeHead(match ? 206 : 200, { ...headers, ...range, 'content-length': end - start });
    let at = start;
    const write = (): void => {
      while (at < end && !response.destroyed) {
        const length = Math.min(64 << 10, end - at);
        sent.bytes += length;
        const more = response.write(archive.bytes(at, length));
        at += length;
        if (!more) return void response.once('drain', write);
      }
      response.end();
    };
    write();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/net.pt`,
    sent,
    requests,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
