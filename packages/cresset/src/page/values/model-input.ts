import { CressetError } from '@cresset/ir';

/** What a model can be loaded from: an address (relative to the page; a path outside of browsers), a File or Blob, or bytes. */
export type ModelInput = string | URL | Blob | ArrayBufferLike | ArrayBufferView;

/** Size of the pieces that bytes are cut into: the worker gives up each when it has read what is in it. */
const CHUNK_BYTES = 1 << 20;

function chunksOf(bytes: Uint8Array): ArrayBuffer[] {
  const count = Math.ceil(bytes.byteLength / CHUNK_BYTES);
  return Array.from(
    { length: count },
    (_, at) => bytes.slice(at * CHUNK_BYTES, (at + 1) * CHUNK_BYTES).buffer as ArrayBuffer,
  );
}

/** An address is resolved here, since a worker has another base; bytes are copied, so that the caller keeps its own. */
export function wireInput(input: ModelInput): string | Blob | ArrayBuffer[] {
  if (typeof input === 'string' || input instanceof URL) return resolveAddress(input);
  if (input instanceof Blob) return input;
  const isView = ArrayBuffer.isView(input);
  if (isView || Object.prototype.toString.call(input).endsWith('ArrayBuffer]')) {
    // Of memory that was transferred away no array can be made.
    if (input.byteLength === 0) return [];
    return chunksOf(isView ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input));
  }
  throw new CressetError('ARGUMENT', 'a model is loaded from a URL, a File or Blob, an ArrayBuffer or a typed array');
}

function resolveAddress(address: string | URL): string {
  const base = typeof document === 'undefined' ? globalThis.location?.href : document.baseURI;
  try {
    return new URL((!base && addressOfPath(address)) || address, base).href;
  } catch (cause) {
    throw new CressetError(
      'ARGUMENT',
      `'${String(address)}' is no address${base ? '' : ': there is no page that it could be relative to. Give a whole address, or the bytes of the file'}`,
      {
        cause,
      },
    );
  }
}

/** The `file:` address of what is a path, in Node, Deno and Bun; a drive's letter is no scheme. */
function addressOfPath(address: string | URL): URL | undefined {
  if (typeof address !== 'string' || /^[a-z][a-z\d+.-]+:/i.test(address)) return undefined;
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const functions = process?.getBuiltinModule?.('node:url') as { pathToFileURL(path: string): URL } | undefined;
  return functions?.pathToFileURL(address);
}
