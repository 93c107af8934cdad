import { elementSize, type ScalarType } from './scalar-type.ts';

/** How elements lie on a device: as it keeps those of a dtype, or `half`, which is float32 kept as float16. */
export type DeviceLayout = ScalarType | 'half';

/** Bytes on the host of an element that lies so on a device. */
export const hostElementSize = (layout: DeviceLayout): number => (layout === 'half' ? 4 : elementSize(layout));

/** Bytes on a device of elements that take so many on the host: whole words, of which narrow elements fill the last one. */
export function deviceByteLength(
  memory: Pick<DeviceMemory, 'deviceElementSize'>,
  layout: DeviceLayout,
  hostBytes: number,
): number {
  const bytes = (hostBytes / hostElementSize(layout)) * memory.deviceElementSize(layout);
  return Math.ceil(bytes / 4) * 4;
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
  /** Bytes an element takes on the device: as many as on the host, but of float64 those of a float32 where there is no other. */
  deviceElementSize(layout: DeviceLayout): number;
  /**
   * Memory with undefined contents. Throws a CressetError where it is larger than the device has at one place.
   *
   * @param isOnlyRead no kernel will write to it: it may be larger then
   */
  allocate(byteLength: number, isOnlyRead?: boolean): DeviceBuffer;
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
