import type { ScalarType } from './scalar-type.ts';

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
  deviceElementSize(dtype: ScalarType): number;
  allocate(byteLength: number): DeviceBuffer;
  release(buffer: DeviceBuffer): void;
  /** Writes `elements` of `dtype` (host layout) to the front of `buffer` (device layout). */
  upload(buffer: DeviceBuffer, dtype: ScalarType, elements: Uint8Array): void;
  /** Reads `count` elements of `dtype` from the front of `buffer` in host layout; flushes pending work first. */
  download(buffer: DeviceBuffer, dtype: ScalarType, count: number): Promise<ArrayBuffer>;
}
