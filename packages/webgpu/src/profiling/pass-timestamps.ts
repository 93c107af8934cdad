const bytesPerTimestamp = 8;

/** When a pass began and ended on the GPU, in nanoseconds of its own clock. */
export interface PassTime {
  readonly begin: number;
  readonly end: number;
}

/** Timestamps at both ends of each pass of one batch. */
export class PassTimestamps {
  readonly #querySet: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #staging: GPUBuffer;
  #passes = 0;

  constructor(device: GPUDevice, capacity: number) {
    const size = 2 * bytesPerTimestamp * capacity;
    this.#querySet = device.createQuerySet({ type: 'timestamp', count: 2 * capacity });
    this.#resolved = device.createBuffer({ size, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
    this.#staging = device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  }

  /** Where the next pass writes. */
  next(): GPUComputePassTimestampWrites {
    const first = 2 * this.#passes++;
    return { querySet: this.#querySet, beginningOfPassWriteIndex: first, endOfPassWriteIndex: first + 1 };
  }

  /** Encoded after the last pass. */
  resolve(encoder: GPUCommandEncoder): void {
    const count = 2 * this.#passes;
    encoder.resolveQuerySet(this.#querySet, 0, count, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#staging, 0, count * bytesPerTimestamp);
  }

  /** Of each pass, once the GPU has run them; empty where the device was lost, which the work itself reports. */
  async read(): Promise<readonly PassTime[]> {
    try {
      await this.#staging.mapAsync(GPUMapMode.READ);
      const stamps = new BigUint64Array(this.#staging.getMappedRange());
      return Array.from({ length: this.#passes }, (_, pass) => ({
        begin: Number(stamps[2 * pass]),
        // The clock of some GPUs goes back now and then.
        end: Number(stamps[2 * pass + 1] > stamps[2 * pass] ? stamps[2 * pass + 1] : stamps[2 * pass]),
      }));
    } catch {
      return [];
    } finally {
      this.#querySet.destroy();
      this.#resolved.destroy();
      this.#staging.destroy();
    }
  }
}
