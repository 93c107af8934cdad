import { deviceByteLength, type DeviceLayout } from '@cresset/tensor';
import type { DeviceCounters } from '@cresset/tensorexpr';
import type { BufferPool, PooledBuffer } from './buffer-pool.ts';
import { deviceElementSize, piecesInDeviceLayout } from './element-layout.ts';
import { noBytes, type SmallUpload, type WorkBatch } from '../launches/work-batch.ts';

/** Uploads of a batch share one transfer up to this sum of bytes. */
const sharedBytes = 1024 * 1024;
/** An upload of more takes longer to copy into that transfer than a transfer of its own takes. */
const copiedBytes = 64 * 1024;

/** Bytes that a batch has room for where it uploads anything. */
const leastRoom = 4096;

/** What uploads ask of their device. */
export interface UploadHost {
  readonly queue: GPUQueue;
  readonly pool: BufferPool;
  readonly counters: DeviceCounters;
  /** The work that is being enqueued. */
  readonly batch: WorkBatch;
  /** Batches up to this one have left. */
  readonly submittedBatch: number;
}

/** Elements on their way to the GPU: each upload is seen by the work that is enqueued after it, and by none before. */
export class Uploads {
  /** Time spent handing data to the GPU. */
  milliseconds = 0;
  /** Room that no batch has at present. */
  #spare: Uint8Array<ArrayBuffer> | null = null;

  constructor(private readonly host: UploadHost) {}

  /**
   * Writes `elements` to the front of a buffer of `byteLength` bytes. Gives the buffer that holds them: another one, where
   * enqueued work still needs what is in this one.
   */
  upload(target: PooledBuffer, byteLength: number, layout: DeviceLayout, elements: Uint8Array): PooledBuffer {
    const { batch, submittedBatch, counters } = this.host;
    const written = deviceByteLength({ deviceElementSize }, layout, elements.byteLength);
    if (written === 0) return target;
    counters.uploadedBytes += written;
    if (target.lastBatch <= submittedBatch) {
      this.#write(target, layout, elements, written);
      return target;
    }
    const isWhole = written >= byteLength;
    const fresh = this.host.pool.take(isWhole ? byteLength : written, submittedBatch);
    this.#write(fresh, layout, elements, written);
    if (isWhole) {
      this.host.pool.give(target);
      return fresh;
    }
    // A part of a buffer that enqueued work uses is written when its turn has come.
    batch.copy(fresh, target, written);
    this.host.pool.give(fresh);
    return target;
  }

  /** Writes a buffer that nothing enqueued uses. Little goes with the batch, where it shares one transfer with other such. */
  #write(target: PooledBuffer, layout: DeviceLayout, elements: Uint8Array, byteLength: number): void {
    const start = performance.now();
    const { batch, counters } = this.host;
    if (byteLength <= copiedBytes && batch.uploadBytes + byteLength <= sharedBytes) {
      this.#note(batch, piecesInDeviceLayout(layout, elements), byteLength);
      batch.upload(target, byteLength);
    } else {
      counters.uploads++;
      if (target.state === 'made') this.writeNow(target, piecesInDeviceLayout(layout, elements));
      else {
        const pieces = [...ownPieces(layout, elements)];
        this.host.pool.whenMade(target, byteLength, () => this.writeNow(target, pieces));
      }
    }
    this.milliseconds += performance.now() - start;
  }

  /** Copies what is uploaded next: the program may write its elements again before they go. */
  #note(batch: WorkBatch, pieces: Iterable<Uint8Array>, byteLength: number): void {
    let offset = batch.uploadBytes;
    if (offset + byteLength > batch.uploaded.byteLength) {
      const room = this.#roomFor(offset + byteLength);
      room.set(batch.uploaded.subarray(0, offset));
      batch.uploaded = room;
    }
    for (const piece of pieces) {
      batch.uploaded.set(piece, offset);
      offset += piece.byteLength;
    }
  }

  #roomFor(byteLength: number): Uint8Array<ArrayBuffer> {
    const spare = this.#spare;
    if (!spare || spare.byteLength < byteLength) return new Uint8Array(Math.max(leastRoom, 2 * byteLength));
    this.#spare = null;
    return spare;
  }

  /** Writes a buffer that is there. */
  writeNow(target: PooledBuffer, pieces: Iterable<Uint8Array>): void {
    let offset = 0;
    for (const words of pieces) {
      this.host.queue.writeBuffer(target.gpu, offset, words as Uint8Array<ArrayBuffer>, 0, words.byteLength);
      offset += words.byteLength;
    }
  }

  /** Gets ready what a batch takes to encode its uploads. */
  prepare(batch: WorkBatch): void {
    if (batch.uploads.length < 2) return;
    batch.staging = this.host.pool.take(batch.uploadBytes, batch.id - 1);
    batch.use(batch.staging);
  }

  /** Uploads come before everything else in a batch: what uses their targets is enqueued after them. */
  encode({ uploads, uploaded, uploadBytes, staging }: WorkBatch, encoder: GPUCommandEncoder): void {
    if (uploads.length === 0) return;
    this.host.counters.uploads++;
    if (!staging) return this.#writeUpload(uploads[0], uploaded);
    for (const { target, offset, byteLength } of uploads) {
      encoder.copyBufferToBuffer(staging.gpu, offset, target.gpu, 0, byteLength);
    }
    this.host.queue.writeBuffer(staging.gpu, 0, uploaded, 0, uploadBytes);
    this.host.pool.give(staging);
  }

  #writeUpload({ target, offset, byteLength }: SmallUpload, uploaded: Uint8Array<ArrayBuffer>): void {
    this.host.queue.writeBuffer(target.gpu, 0, uploaded, offset, byteLength);
  }

  /** What a batch was to upload is wanted also where its work came to nothing: storages count on it. */
  encodeAgain({ id, uploads, uploaded }: WorkBatch): void {
    for (const upload of uploads) {
      if (upload.target.state === 'made' && upload.target.lastBatch === id) this.#writeUpload(upload, uploaded);
    }
  }

  /** What a batch uploaded is not asked for again: another batch may have its room. */
  forget(batch: WorkBatch): void {
    batch.uploads.length = 0;
    if (batch.uploaded.byteLength > (this.#spare?.byteLength ?? 0)) this.#spare = batch.uploaded;
    batch.uploaded = noBytes;
  }
}

/** As {@link piecesInDeviceLayout}, in memory of their own: the program may write its elements again before they go. */
function* ownPieces(layout: DeviceLayout, elements: Uint8Array): Generator<Uint8Array> {
  for (const piece of piecesInDeviceLayout(layout, elements)) {
    yield piece.buffer === elements.buffer ? piece.slice() : piece;
  }
}
