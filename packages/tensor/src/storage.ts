import { CressetError } from '@cresset/ir';
import type { DeviceBuffer, DeviceMemory } from './device-memory.ts';
import { elementSize, type ScalarType } from './scalar-type.ts';

interface DeviceCopy {
  readonly memory: DeviceMemory;
  readonly buffer: DeviceBuffer;
  /** A device lays elements out by dtype, so the copy serves tensors of this dtype only. */
  readonly dtype: ScalarType;
}

// A storage that nobody disposed of must not keep device memory for ever: the safety net below, never the plan.
const abandoned = new FinalizationRegistry<{ copy: DeviceCopy | null }>((held) => {
  if (held.copy) held.copy.memory.release(held.copy.buffer);
});

/**
 * The memory behind one or several tensors (c10::StorageImpl).
 *
 * A storage has a copy on the host, one on a device, or both while they are equal. Whoever reads asks for the copy where
 * the work is done; whoever writes says so, which makes the other copy stale. Going up to the device costs no wait; coming
 * down does, and is the only asynchronous step.
 */
export class Storage {
  #host: ArrayBuffer | null;
  readonly #held: { copy: DeviceCopy | null } = { copy: null };
  #disposed = false;
  #deviceWrites = 0;

  /** @param byteLength size in host layout, bytes. */
  private constructor(
    readonly byteLength: number,
    host: ArrayBuffer | null,
  ) {
    this.#host = host;
  }

  static onHost(bytes: ArrayBuffer): Storage {
    return new Storage(bytes.byteLength, bytes);
  }

  /** A storage of `count` elements whose contents the device is about to write. */
  static onDevice(memory: DeviceMemory, dtype: ScalarType, count: number): Storage {
    const storage = new Storage(count * elementSize(dtype), null);
    storage.#adopt({ memory, dtype, buffer: memory.allocate(count * memory.deviceElementSize(dtype)) });
    return storage;
  }

  /** Whether the host copy is there and up to date. */
  get isOnHost(): boolean {
    return this.#host !== null;
  }

  /** Whether a device copy is there and up to date. */
  get isOnDevice(): boolean {
    return this.#held.copy !== null;
  }

  get isDisposed(): boolean {
    return this.#disposed;
  }

  /** The bytes on the host, for reading. Throws where they are only on the device: `toHost()` must have been awaited. */
  hostBytes(): ArrayBuffer {
    if (this.#host) return this.#host;
    throw new CressetError(
      'STORAGE_NOT_ON_HOST',
      this.#disposed
        ? 'this tensor was disposed of'
        : 'this tensor lies on the device; await its data before reading it on the host',
    );
  }

  /** The bytes on the host, for writing: the device copy, if any, is dropped. */
  hostBytesForWriting(): ArrayBuffer {
    const bytes = this.hostBytes();
    this.#dropDeviceCopy();
    return bytes;
  }

  /** Brings the host copy up to date. The device copy stays. */
  async toHost(): Promise<void> {
    const copy = this.#held.copy;
    if (this.#host || !copy) return;
    const writes = this.#deviceWrites;
    const bytes = await copy.memory.download(copy.buffer, copy.dtype, this.byteLength / elementSize(copy.dtype));
    if (this.#disposed || this.#host) return;
    // Work enqueued while the copy travelled may have written the buffer again: then it has to be fetched once more.
    if (this.#deviceWrites === writes) this.#host = bytes;
    else await this.toHost();
  }

  /** The device buffer for reading, made and filled on first use. `dtype` is that of the tensor that reads. */
  deviceBuffer(memory: DeviceMemory, dtype: ScalarType): DeviceBuffer {
    const copy = this.#held.copy;
    if (copy && copy.memory === memory && copy.dtype === dtype) return copy.buffer;
    const host = this.hostBytes();
    this.#dropDeviceCopy();
    const count = this.byteLength / elementSize(dtype);
    const buffer = memory.allocate(count * memory.deviceElementSize(dtype));
    memory.upload(buffer, dtype, new Uint8Array(host));
    this.#adopt({ memory, dtype, buffer });
    return buffer;
  }

  /** The device buffer for writing: the host copy is stale from now on. */
  deviceBufferForWriting(memory: DeviceMemory, dtype: ScalarType): DeviceBuffer {
    const buffer = this.deviceBuffer(memory, dtype);
    this.#host = null;
    this.#deviceWrites++;
    return buffer;
  }

  /** Whether `deviceBuffer` would answer without a trip over the host. */
  canReachDevice(memory: DeviceMemory, dtype: ScalarType): boolean {
    const copy = this.#held.copy;
    return this.#host !== null || (copy !== null && copy.memory === memory && copy.dtype === dtype);
  }

  /** Frees the memory at once. Tensors over this storage cannot be used afterwards. */
  dispose(): void {
    this.#disposed = true;
    this.#host = null;
    this.#dropDeviceCopy();
  }

  #adopt(copy: DeviceCopy): void {
    this.#held.copy = copy;
    abandoned.register(this, this.#held, this);
  }

  #dropDeviceCopy(): void {
    const copy = this.#held.copy;
    if (!copy) return;
    this.#held.copy = null;
    abandoned.unregister(this);
    copy.memory.release(copy.buffer);
  }
}
