import { elementSize, type ScalarType } from './scalar-type.ts';

/**
 * How elements lie on a device: those of a dtype as the device keeps that; `half` is float32 kept as float16, two to a word; `packed8` and
 * `packed16` are elements of one byte and of two as they lie on the host, four and two to a word.
 */
export type DeviceLayout = ScalarType | 'half' | 'packed8' | 'packed16';

/** Bytes on the host of an element that lies so on a device. */
export function hostElementSize(layout: DeviceLayout): number {
  switch (layout) {
    case 'half':
      return 4;
    case 'packed8':
      return 1;
    case 'packed16':
      return 2;
    default:
      return elementSize(layout);
  }
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

/** How many elements share a word. */
export const elementsPerWord = (layout: DeviceLayout): 1 | 2 | 4 =>
  layout === 'packed8' ? 4 : layout === 'half' || layout === 'packed16' ? 2 : 1;

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
  /** Bytes an element takes on the device: of narrow types a 32-bit word unless they lie packed, of float64 that of a float32. */
  deviceElementSize(layout: DeviceLayout): number;
  allocate(byteLength: number): DeviceBuffer;
  release(buffer: DeviceBuffer): void;
  /** Writes `elements` (host layout) to the front of `buffer`. */
  upload(buffer: DeviceBuffer, layout: DeviceLayout, elements: Uint8Array): void;
  /** Reads `count` elements from the front of `buffer` in host layout; flushes pending work first. */
  download(buffer: DeviceBuffer, layout: DeviceLayout, count: number): Promise<ArrayBuffer>;
}
