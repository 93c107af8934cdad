import { elementSize, type ScalarType } from './scalar-type.ts';

/**
 * Layouts in which elements share words: bytes of an element on the host, and how many a word holds. `half` is float32 kept as float16;
 * `packed8` and `packed16` are elements of one byte and of two as they lie on the host.
 */
const shared = {
  half: { hostBytes: 4, toWord: 2 },
  packed8: { hostBytes: 1, toWord: 4 },
  packed16: { hostBytes: 2, toWord: 2 },
} as const;

/** How elements lie on a device: those of a dtype as the device keeps that, or several to a word. */
export type DeviceLayout = ScalarType | keyof typeof shared;

export const sharesWords = (layout: DeviceLayout): layout is keyof typeof shared => layout in shared;

/** Bytes on the host of an element that lies so on a device. */
export const hostElementSize = (layout: DeviceLayout): number =>
  sharesWords(layout) ? shared[layout].hostBytes : elementSize(layout);

/** How many elements share a word. */
export const elementsPerWord = (layout: DeviceLayout): 1 | 2 | 4 => (sharesWords(layout) ? shared[layout].toWord : 1);

/** Bytes on a device of elements that take so many on the host: whole words, of which narrow elements fill the last one. */
export function deviceByteLength(
  memory: Pick<DeviceMemory, 'deviceElementSize'>,
  layout: DeviceLayout,
  hostBytes: number,
): number {
  const bytes = (hostBytes / hostElementSize(layout)) * memory.deviceElementSize(layout);
  return Math.ceil(bytes / 4) * 4;
}

/** How elements of a dtype lie that only the host writes; null where a device has no other way to keep them than its own. */
export function packedLayout(dtype: ScalarType): 'packed8' | 'packed16' | null {
  switch (dtype) {
    case 'bool':
    case 'uint8':
    case 'int8':
      return 'packed8';
    case 'int16':
    case 'float16':
    case 'bfloat16':
      return 'packed16';
    default:
      return null;
  }
}

/** A stretch of device memory. What it is inside is the device's own affair. */
export interface DeviceBuffer {
  readonly byteLength: number;
  /** The device had no memory for it, which may come out later: what was written to it is nowhere. */
  readonly isLost: boolean;
}

/**
 * The part of a device that a storage needs: memory that is filled from the host and read back.
 *
 * Calls take effect in order: an upload is seen by all work enqueued after it, a release waits for work enqueued before
 * it, and a download sees all work enqueued before it.
 */
export interface DeviceMemory {
  /** It is the host's own: of what lies here and there limits count one copy. */
  readonly isOfHost?: boolean;
  /** Buffers that nobody needs any more, which downloads may fill and are taken out then: new memory takes longer to come by than to fill. */
  spare?: ArrayBuffer[];
  /**
   * Bytes an element takes on the device: of narrow types a 32-bit word unless they lie packed or the device can store them as they are, of float64 that
   * of a float32.
   */
  deviceElementSize(layout: DeviceLayout): number;
  allocate(byteLength: number): DeviceBuffer;
  release(buffer: DeviceBuffer): void;
  /** Writes `elements` (host layout) to the front of `buffer`. */
  upload(buffer: DeviceBuffer, layout: DeviceLayout, elements: Uint8Array): void;
  /** Reads `count` elements from the front of `buffer` in host layout; flushes pending work first. */
  download(buffer: DeviceBuffer, layout: DeviceLayout, count: number): Promise<ArrayBuffer>;
}

/** A copy of bytes in a buffer of their size that nobody needs, which is taken out of `spare`, or in a new one. */
export function copyInto(spare: ArrayBuffer[], bytes: Uint8Array): ArrayBuffer {
  const at = spare.findIndex(({ byteLength }) => byteLength === bytes.byteLength);
  // A slice of an array is no shared memory, also where the array's is.
  if (at < 0) return bytes.slice().buffer as ArrayBuffer;
  const [buffer] = spare.splice(at, 1);
  new Uint8Array(buffer).set(bytes);
  return buffer;
}
