import type { CressetError } from '@cresset/ir';
import type { PooledBuffer } from '../memory/buffer-pool.ts';
import type { Program } from './pipeline-cache.ts';

export interface DispatchCommand {
  readonly kind: 'dispatch';
  readonly program: Program;
  /** What is bound; uniforms come first, where the program has params. */
  readonly buffers: readonly PooledBuffer[];
  /** Null as long as the GPU has not said that those buffers are there. */
  bindGroup: GPUBindGroup | null;
  /** Byte offset of the params in the uniform buffer that is bound; empty where there are none. */
  readonly offsets: readonly number[];
  readonly x: number;
  readonly y: number;
}

/** A launch over these buffers, with params at no place yet. */
export const commandOf = (
  program: Program,
  uniforms: PooledBuffer,
  buffers: readonly PooledBuffer[],
  x: number,
  y: number,
  offsets: readonly number[] = [],
): DispatchCommand => ({
  kind: 'dispatch',
  program,
  buffers: program.uniformWindow > 0 ? [uniforms, ...buffers] : buffers,
  bindGroup: null,
  offsets,
  x,
  y,
});

export interface CopyCommand {
  readonly kind: 'copy';
  readonly source: PooledBuffer;
  readonly target: PooledBuffer;
  readonly byteLength: number;
  /** In the target. */
  readonly offset: number;
}

/** Elements that a buffer gets before the commands of a batch run. */
export interface SmallUpload {
  readonly target: PooledBuffer;
  /** Where they are among all that the batch uploads. */
  readonly offset: number;
  readonly byteLength: number;
}

export type Command = DispatchCommand | CopyCommand;

/** Making an empty array takes a fifth of a microsecond, and every batch begins with one. */
export const noBytes = new Uint8Array(0);

/** Memory for the params of a batch's kernels, whichever they are. */
export interface UniformRoom {
  readonly words: Int32Array<ArrayBuffer>;
  readonly floats: Float32Array<ArrayBuffer>;
}

export function uniformRoom(byteLength: number): UniformRoom {
  const words = new Int32Array(byteLength / 4);
  return { words, floats: new Float32Array(words.buffer) };
}

/** Work that goes to the GPU in one submission, with the params of its kernels. */
export class WorkBatch {
  readonly commands: Command[] = [];
  readonly uploads: SmallUpload[] = [];
  /** What they upload, one after the other, in device layout; the rest of it is room. */
  uploaded = noBytes;
  uploadBytes = 0;
  /** What uploads go through, where there are several. */
  staging: PooledBuffer | null = null;
  /** What has to be compiled first. */
  readonly uncompiled = new Set<Program>();
  /** What may turn out not to be there. */
  readonly unjudged = new Set<PooledBuffer>();
  uniformBytes = 0;
  dispatches = 0;
  /** Why it did not run, where it did not. */
  failure: CressetError | null = null;
  /** Resolves once the batch was submitted and found valid, or has failed; never rejects. */
  done: Promise<void> | null = null;

  /**
   * @param id batches are numbered in order of submission.
   * @param uniforms memory for the params, until the batch was encoded.
   */
  constructor(
    readonly id: number,
    readonly uniforms: UniformRoom,
  ) {}

  get isEmpty(): boolean {
    return this.commands.length === 0 && this.uploads.length === 0;
  }

  /** Has the next bytes of what it uploads go to the front of a buffer. */
  upload(target: PooledBuffer, byteLength: number): void {
    this.uploads.push({ target, offset: this.uploadBytes, byteLength });
    this.uploadBytes += byteLength;
    this.use(target);
  }

  copy(source: PooledBuffer, target: PooledBuffer, byteLength: number, offset = 0): void {
    this.commands.push({ kind: 'copy', source, target, byteLength, offset });
    this.use(source);
    this.use(target);
  }

  dispatch(command: DispatchCommand): void {
    const { program, buffers, bindGroup } = command;
    this.commands.push(command);
    this.dispatches++;
    if (!program.pipeline) {
      void program.compile();
      this.uncompiled.add(program);
    }
    if (!bindGroup) for (const buffer of buffers) this.use(buffer);
  }

  /** Notes that it uses a buffer: until it is submitted, the buffer must not be written from the host. */
  use(buffer: PooledBuffer): void {
    buffer.lastBatch = this.id;
    if (buffer.state !== 'made') this.unjudged.add(buffer);
  }

  /** Whether all that it needs is known to be there. */
  get isReady(): boolean {
    for (const { pipeline } of this.uncompiled) if (!pipeline) return false;
    for (const { state } of this.unjudged) if (state !== 'made') return false;
    return true;
  }

  /** What it computes, for messages. */
  labels(): string {
    const labels = this.commands.flatMap((command) => (command.kind === 'dispatch' ? command.program.label : []));
    return [...new Set(labels)].join(', ');
  }

  /** Room for `byteLength` bytes of params, at a multiple of `alignment`; null where the batch is full. */
  reserve(byteLength: number, alignment: number): number | null {
    const offset = Math.ceil(this.uniformBytes / alignment) * alignment;
    if (offset + byteLength > this.uniforms.words.byteLength) return null;
    this.uniformBytes = offset + byteLength;
    return offset;
  }
}
