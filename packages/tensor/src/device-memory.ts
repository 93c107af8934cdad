import { elementSize, type ScalarType } from './scalar-type.ts';

/** How elements lie on a device: those of a dtype as the device keeps that; `half` is float32 kept as float16, two to a word. */
export type DeviceLayout = ScalarType | 'half';

/** Bytes on the host of an element that lies so on a device. */
export const hostElementSize = (layout: DeviceLayout): number => elementSize(layout === 'half' ? 'float32' : layout);

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
  /** Bytes an element takes on the device; narrow types are widened to a 32-bit word, float64 is kept as float32. */
  deviceElementSize(layout: DeviceLayout): number;
  allocate(byteLength: number): DeviceBuffer;
  release(buffer: DeviceBuffer): void;
  /** Writes `elements` (host layout) to the front of `buffer`. */
  upload(buffer: DeviceBuffer, layout: DeviceLayout, elements: Uint8Array): void;
  /** Reads `count` elements from the front of `buffer` in host layout; flushes pending work first. */
  download(buffer: DeviceBuffer, layout: DeviceLayout, count: number): Promise<ArrayBuffer>;
}
