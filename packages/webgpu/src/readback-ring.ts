import { sizeClass } from './buffer-pool.ts';

/** Buffers that results are copied to and mapped in; reused in turn. */
export class ReadbackRing {
  readonly #device: GPUDevice;
  readonly #free = new Map<number, GPUBuffer[]>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  take(byteLength: number): GPUBuffer {
    const size = sizeClass(byteLength);
    return (
      this.#free.get(size)?.pop() ??
      this.#device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST })
    );
  }

  give(buffer: GPUBuffer): void {
    const free = this.#free.get(buffer.size) ?? [];
    // A few of each size are enough for results that are fetched together.
    if (free.length >= 8) buffer.destroy();
    else free.push(buffer);
    this.#free.set(buffer.size, free);
  }

  destroy(): void {
    for (const free of this.#free.values()) for (const buffer of free) buffer.destroy();
    this.#free.clear();
  }
}
