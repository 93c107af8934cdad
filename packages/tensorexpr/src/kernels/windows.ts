import type { Storage } from '@cresset/tensor';
import type { DeviceCapabilities } from '../device.ts';

/** Bindings of a GPU begin at multiples of so many bytes of a buffer. */
const ALIGNMENT = 256;
/** Bindings that a kernel has besides those of a large operand: what else it reads, its result, and where it notes faults. */
const OTHER_BINDINGS = 3;

type WindowLimits = Pick<DeviceCapabilities, 'maxBindingBytes' | 'maxBufferBytes' | 'maxStorageBuffers'>;

/** Bytes of each window but the last one of a buffer that is larger than what one binding reaches. */
export const windowBytes = ({ maxBindingBytes }: Pick<WindowLimits, 'maxBindingBytes'>): number =>
  Math.floor(maxBindingBytes / ALIGNMENT) * ALIGNMENT;

/** Bindings that a kernel takes to read so many bytes of one buffer. */
export const windowsOf = (byteLength: number, limits: Pick<WindowLimits, 'maxBindingBytes'>): number =>
  byteLength <= limits.maxBindingBytes ? 1 : Math.ceil(byteLength / windowBytes(limits));

/** The largest buffer, in bytes, that kernels can read; what they store to is no larger than one binding. */
export function largestBuffer(limits: WindowLimits): number {
  const { maxBindingBytes, maxBufferBytes = maxBindingBytes, maxStorageBuffers } = limits;
  const windows = Math.max(1, maxStorageBuffers - OTHER_BINDINGS);
  return Math.max(maxBindingBytes, Math.min(maxBufferBytes, windows * windowBytes(limits)));
}

/** Bindings that a kernel takes for these storages, each in a buffer of its own. */
export function bindingsFor(storages: Iterable<Storage>, limits: Pick<WindowLimits, 'maxBindingBytes'>): number {
  let count = 0;
  for (const { byteLength, isNarrow } of storages) count += windowsOf(isNarrow ? byteLength / 2 : byteLength, limits);
  return count;
}
