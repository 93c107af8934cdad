import { CressetError } from '@cresset/ir';

/** A GPU buffer of the pool, with the last batch of work that uses it. */
export interface PooledBuffer {
  /** Another one where the GPU made it at the second attempt: nobody uses it before it is known to be there. */
  gpu: GPUBuffer;
  readonly byteLength: number;
  /** Stands for the buffer in keys of bind groups. */
  readonly id: number;
  lastBatch: number;
  /** What the GPU says to it, once it has. */
  state: 'unknown' | 'made' | 'failed' | 'discarded';
  /** Why it is not there, where it is not. */
  failure: CressetError | null;
  /** What waits for it to be there, with the bytes that are kept for that. */
  waiting: { readonly byteLength: number; readonly use: () => void }[];
}

export interface BufferPoolOptions {
  /** Asked, before a buffer is tried for once more, to give back what can be spared; gives how many bytes that was. */
  readonly spare: () => number;
  /** Told, later, when the GPU could not make a buffer. */
  readonly outOfMemory: (error: CressetError) => void;
  /** Free buffers are kept up to this sum of bytes, or to what was lately in use at one time; beyond both `trim` hands them back to the GPU. */
  readonly keptBytes: number;
}

/** Of all pools: a bind group may name buffers of two. */
let nextId = 0;

/**
 * Buffers by size class. Creating a buffer and binding it the first time is expensive, so what is released is kept and
 * given out again for the same class.
 */
export class BufferPool {
  readonly #device: GPUDevice;
  readonly #usage: GPUBufferUsageFlags;
  readonly #options: BufferPoolOptions;
  readonly #free = new Map<number, PooledBuffer[]>();
  /** One a buffer that the GPU has not judged yet. */
  readonly #verdicts = new Set<Promise<void>>();
  #freeBytes = 0;
  #heldBytes = 0;
  #peakBytes = 0;
  /** The most bytes that were in use at one time in this span of time, and in the one before. */
  #usedPeak = 0;
  #earlierPeak = 0;
  /** Buffers made since the device was made. */
  allocated = 0;
  /** Bytes that are kept for buffers to be there. */
  waitingBytes = 0;

  constructor(device: GPUDevice, usage: GPUBufferUsageFlags, options: BufferPoolOptions) {
    this.#device = device;
    this.#usage = usage;
    this.#options = options;
  }

  /** Bytes of the buffers that are free for reuse. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** The most bytes that there were at one time, in use or free. */
  get peakBytes(): number {
    return this.#peakBytes;
  }

  /** A buffer of at least this size with undefined contents. With `idleSince`, one that no batch after it uses. */
  take(byteLength: number, idleSince = Infinity): PooledBuffer {
    const { maxBufferSize, maxStorageBufferBindingSize } = this.#device.limits;
    const largest = wholeWords(maxBufferSize);
    if (byteLength > largest) throw tooLarge(byteLength, largest);
    const ofOneBinding = wholeWords(maxStorageBufferBindingSize);
    const size = Math.min(sizeClass(byteLength), byteLength <= ofOneBinding ? ofOneBinding : largest, largest);
    const free = this.#free.get(size);
    if (free) {
      for (let index = free.length - 1; index >= 0; index--) {
        if (free[index].lastBatch > idleSince) continue;
        this.#freeBytes -= size;
        this.#noteUse();
        return free.splice(index, 1)[0];
      }
    }
    const made = this.#create(size);
    this.#noteUse();
    return made;
  }

  /** Takes a buffer back. */
  give(buffer: PooledBuffer): void {
    if (buffer.state === 'failed') return buffer.gpu.destroy();
    const free = this.#free.get(buffer.byteLength);
    if (free) free.push(buffer);
    else this.#free.set(buffer.byteLength, [buffer]);
    this.#freeBytes += buffer.byteLength;
  }

  /**
   * Hands back to the GPU what is free beyond `kept` bytes and not in use by a batch after `idleSince`: what was used longest ago first. By default as
   * much is kept as was lately in use at one time, since a program that is called again takes that again.
   */
  trim(idleSince: number, kept = Math.max(this.#options.keptBytes, this.#usedPeak, this.#earlierPeak)): void {
    if (this.#freeBytes <= kept) return;
    const idle = [...this.#free.values()].flat().filter(({ lastBatch }) => lastBatch <= idleSince);
    idle.sort((a, b) => a.lastBatch - b.lastBatch || b.byteLength - a.byteLength);
    for (const buffer of idle) {
      if (this.#freeBytes <= kept) return;
      const free = this.#free.get(buffer.byteLength)!;
      free.splice(free.indexOf(buffer), 1);
      this.#freeBytes -= buffer.byteLength;
      this.discard(buffer);
    }
  }

  /** Another span of time begins: what was in use in the last one counts for one more. */
  beginSpan(): void {
    this.#earlierPeak = this.#usedPeak;
    this.#usedPeak = this.#heldBytes - this.#freeBytes;
  }

  /** Hands a buffer that was taken back to the GPU. */
  discard(buffer: PooledBuffer): void {
    if (buffer.state !== 'failed') this.#heldBytes -= buffer.byteLength;
    buffer.state = 'discarded';
    buffer.gpu.destroy();
  }

  /** Does what needs a buffer to be there, at once or later. @param byteLength what is kept for it meanwhile */
  whenMade(buffer: PooledBuffer, byteLength: number, use: () => void): void {
    if (buffer.state === 'made') return use();
    this.waitingBytes += byteLength;
    buffer.waiting.push({ byteLength, use });
  }

  /** Resolves when the GPU has judged every buffer that was made so far; null where it has. */
  settled(): Promise<void> | null {
    return this.#verdicts.size > 0 ? Promise.all(this.#verdicts).then(() => undefined) : null;
  }

  destroy(): void {
    for (const free of this.#free.values()) for (const buffer of free) this.discard(buffer);
    this.#free.clear();
    this.#freeBytes = 0;
  }

  #noteUse(): void {
    this.#usedPeak = Math.max(this.#usedPeak, this.#heldBytes - this.#freeBytes);
  }

  #create(size: number): PooledBuffer {
    const made = this.#ask(size);
    const buffer: PooledBuffer = {
      gpu: made.gpu,
      byteLength: size,
      id: nextId++,
      lastBatch: -1,
      state: 'unknown',
      failure: null,
      waiting: [],
    };
    this.allocated++;
    this.#heldBytes += size;
    this.#peakBytes = Math.max(this.#peakBytes, this.#heldBytes);
    const verdict = this.#judge(buffer, made.error).then(() => {
      this.#verdicts.delete(verdict);
      for (const { byteLength, use } of buffer.waiting.splice(0)) {
        this.waitingBytes -= byteLength;
        if (buffer.state === 'made') use();
      }
    });
    this.#verdicts.add(verdict);
    return buffer;
  }

  /** A lack of memory comes out only when the GPU process is asked; buffers are made rarely enough to ask for each. */
  #ask(size: number): { readonly gpu: GPUBuffer; readonly error: Promise<GPUError | null> } {
    this.#device.pushErrorScope('out-of-memory');
    const gpu = this.#device.createBuffer({ size, usage: this.#usage });
    return { gpu, error: this.#device.popErrorScope() };
  }

  /** Finds out whether a buffer is there. One that is not is tried for once more, when what can be spared was given back. */
  async #judge(buffer: PooledBuffer, asked: Promise<GPUError | null>): Promise<void> {
    try {
      let error = await asked;
      let spared = 0;
      if (error && buffer.state !== 'discarded') {
        buffer.gpu.destroy();
        spared = this.#options.spare();
        // What was given back is free when the GPU has done its work with it.
        await this.#device.queue.onSubmittedWorkDone();
        const again = this.#ask(buffer.byteLength);
        buffer.gpu = again.gpu;
        error = await again.error;
      }
      if (buffer.state === 'discarded') buffer.gpu.destroy();
      else if (error) this.#fail(buffer, error, spared);
      else buffer.state = 'made';
    } catch {
      // A lost device tells of the loss itself.
    }
  }

  #fail(buffer: PooledBuffer, { message }: GPUError, spared: number): void {
    const { byteLength } = buffer;
    buffer.state = 'failed';
    this.#heldBytes -= byteLength;
    const free = this.#free.get(byteLength);
    const at = free?.indexOf(buffer) ?? -1;
    if (at >= 0) {
      free!.splice(at, 1);
      this.#freeBytes -= byteLength;
      buffer.gpu.destroy();
    }
    const held = `${this.#heldBytes} bytes it has already, again after ${spared} that were free for reuse were given back`;
    buffer.failure = new CressetError(
      'DEVICE_OUT_OF_MEMORY',
      `the GPU is out of memory: tried to allocate ${byteLength} bytes beside ${held} (${message})`,
    );
    this.#options.outOfMemory(buffer.failure);
  }
}

const wholeWords = (byteLength: number): number => Math.floor(byteLength / 4) * 4;

/** The error of a tensor that is larger than what kernels can use it from. */
export const tooLarge = (byteLength: number, largest: number): CressetError =>
  new CressetError(
    'DEVICE_BUFFER_TOO_LARGE',
    `a tensor takes ${byteLength} bytes on the device, but this GPU allows ${largest} bytes in one buffer`,
  );

/** Sizes are rounded up to a quarter of a power of two, so that neighbours share buffers and little is wasted. */
export function sizeClass(byteLength: number): number {
  if (byteLength <= 256) return byteLength <= 16 ? 16 : byteLength <= 64 ? 64 : 256;
  // The power of two below it, by its leading zeros: buffers are asked for in every run, and a logarithm takes longer.
  const step = byteLength < 2 ** 31 ? 1 << (29 - Math.clz32(byteLength)) : 2 ** (Math.floor(Math.log2(byteLength)) - 2);
  return Math.ceil(byteLength / step) * step;
}
