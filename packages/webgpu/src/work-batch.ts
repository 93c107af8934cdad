import type { CressetError } from '@cresset/ir';
import type { PooledBuffer } from './buffer-pool.ts';
import type { Program } from './pipeline-cache.ts';

export interface DispatchCommand {
  readonly kind: 'dispatch';
  readonly program: Program;
  readonly bindGroup: GPUBindGroup;
  /** Byte offset of the params in the uniform buffer that is bound; empty where there are none. */
  readonly offsets: readonly number[];
  readonly x: number;
  readonly y: number;
}

export interface CopyCommand {
  readonly kind: 'copy';
  readonly source: GPUBuffer;
  readonly target: GPUBuffer;
  readonly byteLength: number;
}

/** Elements that a buffer gets before the commands of a batch run, in device layout. */
export interface SmallUpload {
  readonly target: PooledBuffer;
  readonly pieces: readonly Uint8Array[];
  readonly byteLength: number;
}

export type Command = DispatchCommand | CopyCommand;

/** Work that goes to the GPU in one submission, with the params of its kernels. */
export class WorkBatch {
  readonly commands: Command[] = [];
  readonly uploads: SmallUpload[] = [];
  uploadBytes = 0;
  /** What has to be compiled first. */
  readonly uncompiled = new Set<Program>();
  readonly uniformWords: Int32Array<ArrayBuffer>;
  readonly uniformFloats: Float32Array<ArrayBuffer>;
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
    uniforms: ArrayBuffer,
  ) {
    this.uniformWords = new Int32Array(uniforms);
    this.uniformFloats = new Float32Array(uniforms);
  }

  get isEmpty(): boolean {
    return this.commands.length === 0 && this.uploads.length === 0;
  }

  upload(upload: SmallUpload): void {
    this.uploads.push(upload);
    this.uploadBytes += upload.byteLength;
    markUse(upload.target, this);
  }

  dispatch(command: DispatchCommand): void {
    this.commands.push(command);
    this.dispatches++;
    if (!command.program.pipeline) this.uncompiled.add(command.program);
  }

  /** What it computes, for messages. */
  labels(): string {
    const labels = this.commands.flatMap((command) => (command.kind === 'dispatch' ? command.program.label : []));
    return [...new Set(labels)].join(', ');
  }

  /** Room for `byteLength` bytes of params, at a multiple of `alignment`; null where the batch is full. */
  reserve(byteLength: number, alignment: number): number | null {
    const offset = Math.ceil(this.uniformBytes / alignment) * alignment;
    if (offset + byteLength > this.uniformWords.byteLength) return null;
    this.uniformBytes = offset + byteLength;
    return offset;
  }
}

/** Notes that a batch uses a buffer: until it is submitted, the buffer must not be written from the host. */
export function markUse(buffer: PooledBuffer, batch: WorkBatch): void {
  buffer.lastBatch = batch.id;
}
