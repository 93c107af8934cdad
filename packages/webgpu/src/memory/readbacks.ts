import type { DeviceLayout } from '@cresset/tensor';
import type { BufferPool, PooledBuffer } from './buffer-pool.ts';
import { toHostLayout } from './element-layout.ts';
import type { WorkBatch } from '../launches/work-batch.ts';
import type { WorkQueue } from '../launches/work-queue.ts';

/** Results that are asked for together come down in one buffer, as far as that reaches. */
const readbackBytes = 4096;

/** A buffer that results come down in. */
interface Readback {
  readonly staging: PooledBuffer;
  readonly batch: WorkBatch;
  used: number;
  users: number;
  mapped: Promise<undefined> | null;
}

/** Results on their way to the host: each is copied to a buffer that is mapped, behind the work that makes it. */
export class Readbacks {
  /** That of the results that are asked for now. */
  #open: Readback | null = null;

  constructor(
    private readonly pool: BufferPool,
    private readonly work: WorkQueue,
  ) {}

  /**
   * The first `count` elements of a buffer, which are `byteLength` bytes there, as the host has them. Rejects with what the batch failed by, or
   * with what the GPU says, once it is known what became of the batch.
   */
  async read(source: PooledBuffer, byteLength: number, layout: DeviceLayout, count: number): Promise<ArrayBuffer> {
    const { work } = this;
    const { batch } = work;
    const readback = this.#roomFor(byteLength, batch);
    const { staging, used: offset } = readback;
    readback.used += Math.ceil(byteLength / 8) * 8;
    readback.users++;
    batch.copy(source, staging, byteLength, offset);
    work.counters.readbackBytes += byteLength;
    // Results that are asked for together travel together.
    await Promise.resolve();
    if (readback === this.#open) this.#open = null;
    if (batch === work.batch) work.submit();
    try {
      // The map waits for the copy by itself; only the submission has to come first.
      if (batch.id > work.submittedBatch) await batch.done;
      if (batch.failure) throw batch.failure;
      await (readback.mapped ??= staging.gpu.mapAsync(GPUMapMode.READ, 0, readback.used));
      await batch.done;
      if (batch.failure) throw batch.failure;
      work.finished(batch.id);
      return toHostLayout(layout, staging.gpu.getMappedRange(offset, byteLength), count);
    } catch (error) {
      await batch.done;
      throw error;
    } finally {
      if (--readback.users === 0) this.#giveBack(staging);
    }
  }

  #roomFor(byteLength: number, batch: WorkBatch): Readback {
    const open = this.#open;
    if (open?.batch === batch && open.used + byteLength <= readbackBytes) return open;
    this.work.counters.readbacks++;
    const staging = this.pool.take(Math.max(byteLength, readbackBytes));
    return (this.#open = { staging, batch, used: 0, users: 0, mapped: null });
  }

  #giveBack(staging: PooledBuffer): void {
    if (staging.gpu.mapState === 'mapped') staging.gpu.unmap();
    if (this.work.isUsable) {
      this.pool.give(staging);
      this.pool.trim(Infinity);
    } else {
      this.pool.discard(staging);
    }
  }
}
