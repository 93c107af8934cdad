/**
 * What the scope of an AudioWorklet lacks of what the library takes for granted: there are no addresses, no timers, no transfers and no codecs of text. Evaluated before
 * all else, this fills the gaps, and leaves alone what there is. Models come as bytes there, by `postMessage`.
 */

/** Text as UTF-8. */
class Encoder {
  encode(text = ''): Uint8Array {
    return Uint8Array.from(unescape(encodeURIComponent(text.toWellFormed())), (byte) => byte.charCodeAt(0));
  }
}

/** Characters of several bytes, and bytes that are none. */
const SEQUENCES = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[\x80-\xff]/g;

/** Bytes as text: UTF-8, or one character for each byte. What is no UTF-8 becomes U+FFFD, byte by byte. */
class Decoder {
  constructor(private readonly label = 'utf-8') {}

  decode(bytes: ArrayBuffer | ArrayBufferView = new ArrayBuffer()): string {
    const view = ArrayBuffer.isView(bytes)
      ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      : new Uint8Array(bytes);
    const pieces: string[] = [];
    for (let at = 0; at < view.length; at += 4096) pieces.push(String.fromCharCode(...view.subarray(at, at + 4096)));
    const text = pieces.join('');
    if (this.label === 'latin1') return text;
    const decoded = text.replaceAll(SEQUENCES, (sequence) => {
      try {
        return decodeURIComponent(escape(sequence));
      } catch {
        return '\ufffd'.repeat(sequence.length);
      }
    });
    return decoded.replace(/^\ufeff/, '');
  }
}

class Signal extends EventTarget {
  aborted = false;
  reason: unknown = undefined;
}

class Controller {
  readonly signal = new Signal();

  abort(reason: unknown = new Error('this was aborted')): void {
    if (this.signal.aborted) return;
    Object.assign(this.signal, { aborted: true, reason });
    this.signal.dispatchEvent(new Event('abort'));
  }
}

/** An address as it was given: there is nothing that it could be relative to. */
class Address {
  readonly href: string;

  constructor(address: unknown) {
    this.href = String(address);
  }
}

/** Nothing is one. */
class NoBlob {}

class NoParameters {
  get(): null {
    return null;
  }
}

/** A copy of what messages hold: plain objects, lists, and memory, which may be given away. */
function copyOf(value: unknown, options?: { readonly transfer?: readonly ArrayBuffer[] }): unknown {
  // Older browsers cannot give memory away by themselves; then it is copied.
  if (value instanceof ArrayBuffer) return (options?.transfer?.includes(value) && value.transfer?.()) || value.slice(0);
  if (Array.isArray(value)) return value.map((each) => copyOf(each, options));
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyOf(each, options)]));
}

const substitutes: Readonly<Record<string, unknown>> = {
  AbortController: Controller,
  AbortSignal: Signal,
  Blob: NoBlob,
  TextDecoder: Decoder,
  TextEncoder: Encoder,
  URL: Address,
  URLSearchParams: NoParameters,
  fetch: () => Promise.reject(new TypeError('an AudioWorklet fetches nothing: give it the bytes, by postMessage')),
  performance: { now: () => Date.now() },
  queueMicrotask: (task: () => void) => void Promise.resolve().then(task),
  structuredClone: copyOf,
};

/** Gives a scope what it lacks, where it is an AudioWorklet's. */
export function fillGaps(scope: Record<string, unknown>): void {
  if (!('AudioWorkletGlobalScope' in scope)) return;
  for (const [name, value] of Object.entries(substitutes)) scope[name] ??= value;
}

fillGaps(globalThis as unknown as Record<string, unknown>);
