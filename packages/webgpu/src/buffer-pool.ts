import { CressetError } from '@cresset/ir';

/** A GPU buffer of the pool, with the last batch of work that uses it. */
export interface PooledBuffer {
  readonly gpu: GPUBuffer;
  readonly byteLength: number;
  /** Stands for the buffer in keys of bind groups. */
  readonly id: number;
  lastBatch: number;
}

/** A buffer is checked for lack of memory from this size on: the check is a message to the GPU process and back. */
const largeBuffer = 8 * 1024 * 1024;
/** Free buffers kept for reuse, in bytes; beyond it they go back to the GPU. */
const keptBytes = 256 * 1024 * 1024;

/**
 * Storage buffers by size class. Creating a buffer and binding it the first time is expensive, so what is released is kept
 * and given out again for the same class.
 */
export class BufferPool {
  readonly #device: GPUDevice;
  readonly #outOfMemory: (error: CressetError) => void;
  readonly #free = new Map<number, PooledBuffer[]>();
  #freeBytes = 0;
  #nextId = 0;
  /** Buffers made since the device was made. */
  allocated = 0;

  /** @param outOfMemory is told, later, when the GPU could not make a buffer. */
  constructor(device: GPUDevice, outOfMemory: (error: CressetError) => void) {
    this.#device = device;
    this.#outOfMemory = outOfMemory;
  }

  /** A buffer of at least this size with undefined contents. With `idleSince`, one that no batch after it uses. */
  take(byteLength: number, idleSince = Infinity): PooledBuffer {
    const size = sizeClass(byteLength);
    const free = this.#free.get(size);
    if (free) {
      for (let index = free.length - 1; index >= 0; index--) {
        if (free[index].lastBatch > idleSince) continue;
        this.#freeBytes -= size;
        return free.splice(index, 1)[0];
      }
    }
    return this.#create(size);
  }

  give(buffer: PooledBuffer): void {
    const free = this.#free.get(buffer.byteLength);
    if (free) free.push(buffer);
    else this.#free.set(buffer.byteLength, [buffer]);
    this.#freeBytes += buffer.byteLength;
  }

  /** Hands back to the GPU what is free beyond the limit and not in use by a batch after `idleSince`; says whether it did. */
  trim(idleSince: number): boolean {
    let destroyed = false;
    if (this.#freeBytes <= keptBytes) return destroyed;
    for (const [size, free] of [...this.#free].sort((a, b) => b[0] - a[0])) {
      for (let index = free.length - 1; index >= 0 && this.#freeBytes > keptBytes; index--) {
        if (free[index].lastBatch > idleSince) continue;
        const [buffer] = free.splice(index, 1);
        this.#freeBytes -= size;
        buffer.gpu.destroy();
        destroyed = true;
      }
    }
    return destroyed;
  }

  destroy(): void {
    for (const free of this.#free.values()) for (const buffer of free) buffer.gpu.destroy();
    this.#free.clear();
    this.#freeBytes = 0;
  }

  #create(size: number): PooledBuffer {
    const { limits } = this.#device;
    const largest = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
    if (size > largest) {
      throw new CressetError(
        'DEVICE_BUFFER_TOO_LARGE',
        `a tensor takes ${size} bytes on the device, but this GPU allows ${largest} bytes in one buffer`,
      );
    }
    const checked = size >= largeBuffer;
    if (checked) this.#device.pushErrorScope('out-of-memory');
    const gpu = this.#device.createBuffer({
      size,
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
    if (checked) {
      void this.#device.popErrorScope().then(
        (error) => {
          if (!error) return;
          this.#outOfMemory(
            new CressetError(
              'DEVICE_OUT_OF_MEMORY',
              `the GPU is out of memory: tried to allocate ${size} bytes (${error.message})`,
            ),
          );
        },
        () => {},
      );
    }
    this.allocated++;
    return { gpu, byteLength: size, id: this.#nextId++, lastBatch: -1 };
  }
}

/** Sizes are rounded up to a quarter of a power of two, so that neighbours share buffers and little is wasted. */
export function sizeClass(byteLength: number): number {
  if (byteLength <= 256) return byteLength <= 16 ? 16 : byteLength <= 64 ? 64 : 256;
  const step = 2 ** Math.max(2, Math.floor(Math.log2(byteLength)) - 2);
  return Math.ceil(byteLength / step) * step;
}
