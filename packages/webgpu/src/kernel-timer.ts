/** Time that a kind of kernel took on the GPU. */
export interface KernelTiming {
  /** The operators the kernel computes. */
  readonly label: string;
  readonly dispatches: number;
  readonly milliseconds: number;
}

const bytesPerTimestamp = 8;

/** Measures kernels by timestamps at both ends of a pass of their own. */
export class KernelTimer {
  readonly #device: GPUDevice;
  readonly #totals = new Map<string, { dispatches: number; nanoseconds: number }>();
  #pending: Promise<void>[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Timestamps for one batch of at most `capacity` passes. */
  batch(capacity: number): BatchTimer {
    return new BatchTimer(this.#device, capacity);
  }

  /** Adds up a batch's times once the GPU has run it. */
  collect(batch: BatchTimer): void {
    const added = batch.read().then(
      (times) => {
        times.forEach((nanoseconds, index) => {
          const label = batch.labels[index];
          const total = this.#totals.get(label) ?? { dispatches: 0, nanoseconds: 0 };
          total.dispatches++;
          total.nanoseconds += nanoseconds;
          this.#totals.set(label, total);
        });
      },
      // A device that is lost takes its timestamps along; the work itself reports the loss.
      () => {},
    );
    this.#pending.push(added);
  }

  /** What was measured since the last call, the longest first. */
  async take(): Promise<KernelTiming[]> {
    const pending = this.#pending;
    this.#pending = [];
    await Promise.all(pending);
    const timings = [...this.#totals].map(([label, { dispatches, nanoseconds }]) => ({
      label,
      dispatches,
      milliseconds: nanoseconds / 1e6,
    }));
    this.#totals.clear();
    return timings.sort((a, b) => b.milliseconds - a.milliseconds);
  }
}

class BatchTimer {
  readonly labels: string[] = [];
  readonly #querySet: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #staging: GPUBuffer;

  constructor(device: GPUDevice, capacity: number) {
    const size = 2 * bytesPerTimestamp * capacity;
    this.#querySet = device.createQuerySet({ type: 'timestamp', count: 2 * capacity });
    this.#resolved = device.createBuffer({ size, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
    this.#staging = device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  }

  /** Where the next pass writes its timestamps. */
  pass(label: string): GPUComputePassTimestampWrites {
    const first = 2 * this.labels.length;
    this.labels.push(label);
    return { querySet: this.#querySet, beginningOfPassWriteIndex: first, endOfPassWriteIndex: first + 1 };
  }

  /** Encoded after the last pass. */
  resolve(encoder: GPUCommandEncoder): void {
    const count = 2 * this.labels.length;
    encoder.resolveQuerySet(this.#querySet, 0, count, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#staging, 0, count * bytesPerTimestamp);
  }

  /** Nanoseconds of each pass. */
  async read(): Promise<number[]> {
    try {
      await this.#staging.mapAsync(GPUMapMode.READ);
      const stamps = new BigUint64Array(this.#staging.getMappedRange());
      return this.labels.map((_, index) => Math.max(0, Number(stamps[2 * index + 1] - stamps[2 * index])));
    } finally {
      this.#querySet.destroy();
      this.#resolved.destroy();
      this.#staging.destroy();
    }
  }
}
