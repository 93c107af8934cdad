import { CressetError } from '@cresset/ir';
import type { Binding, DeviceCounters } from '@cresset/tensorexpr';
import type { FailureLog } from '../failure-log.ts';
import type { BufferPool, PooledBuffer } from '../memory/buffer-pool.ts';
import { Uploads } from '../memory/uploads.ts';
import { BindGroupCache } from './bind-group-cache.ts';
import { uniformRoom, WorkBatch, type DispatchCommand, type UniformRoom } from './work-batch.ts';
import type { WorkProbe } from './work-probe.ts';

/** Longer lists of work are submitted in pieces, so that the GPU starts while the rest is still being enqueued. */
const dispatchesPerBatch = 512;
const uniformBytesPerBatch = 512 * 256;
/** So many batches may be ahead of the GPU before programs are asked to wait. */
const batchesAhead = 32;

/** Where buffers of a device come from, by what they are for. */
export type DevicePools = Readonly<Record<'elements' | 'readbacks' | 'uniforms', BufferPool>>;

/** What work asks of its device. */
export interface WorkQueueOwner {
  /** Who watches; null unless a run is being profiled. */
  readonly probe: WorkProbe | null;
  /** False once it was lost or disposed of. */
  readonly isUsable: boolean;
  /** Throws what it ended by. */
  checkUsable(): void;
  /** Told of each batch that has left. */
  submitted(batch: number): void;
}

/** Work on its way to the GPU: what is enqueued goes in one pass and one submission a batch, in order. */
export class WorkQueue {
  /** The work that is being enqueued. */
  batch: WorkBatch;
  /** Batches up to this one have left. */
  submittedBatch = -1;
  readonly uploads: Uploads;
  readonly queue: GPUQueue;
  readonly pool: BufferPool;
  readonly #bindGroups = new BindGroupCache();
  /** The GPU has run all batches up to this one. */
  #finishedBatch = -1;
  /** Params of launches that are not listed, batch by batch. */
  #uniformBuffer: PooledBuffer;
  /** Of a batch that was encoded, for the next one. */
  #spareUniforms: UniformRoom | null = null;
  #catchingUp: Promise<void> | null = null;
  /** The batch whose submission the next one has to wait for; null when none is on its way. */
  #pending: Promise<void> | null = null;

  constructor(
    private readonly gpuDevice: GPUDevice,
    private readonly pools: DevicePools,
    readonly counters: DeviceCounters,
    private readonly failures: FailureLog,
    private readonly owner: WorkQueueOwner,
  ) {
    this.queue = gpuDevice.queue;
    this.pool = pools.elements;
    this.#uniformBuffer = pools.uniforms.take(uniformBytesPerBatch);
    this.batch = new WorkBatch(0, uniformRoom(uniformBytesPerBatch));
    this.uploads = new Uploads(this);
  }

  get isUsable(): boolean {
    return this.owner.isUsable;
  }

  /** The buffer that params lie in which go with their batch. */
  get batchUniforms(): PooledBuffer {
    if (this.#uniformBuffer.state === 'failed') this.#uniformBuffer = this.pools.uniforms.take(uniformBytesPerBatch);
    return this.#uniformBuffer;
  }

  /** Enqueues a command with params of its own, which `write` puts at a word of the batch's. Gives the batch. */
  enqueueWith(command: DispatchCommand, write: (batch: WorkBatch, at: number) => void): WorkBatch {
    const { uniformWindow } = command.program;
    this.beginDispatch();
    const offsets: number[] = [];
    if (uniformWindow > 0) {
      const alignment = this.gpuDevice.limits.minUniformBufferOffsetAlignment;
      let offset = this.batch.reserve(uniformWindow, alignment);
      if (offset === null) {
        this.submit();
        offset = this.batch.reserve(uniformWindow, alignment)!;
      }
      offsets.push(offset);
      write(this.batch, offset / 4);
    }
    command.bindGroup ??= this.#bindGroup(command);
    this.batch.dispatch({ ...command, offsets });
    this.counters.dispatches++;
    return this.batch;
  }

  /** Enqueues commands; gives the number of the batch that the last of them is in. */
  enqueue(commands: readonly DispatchCommand[]): number {
    this.owner.checkUsable();
    for (const command of commands) {
      this.beginDispatch();
      command.bindGroup ??= this.#bindGroup(command);
      this.batch.dispatch(command);
    }
    this.counters.dispatches += commands.length;
    return this.batch.id;
  }

  /** Sees that the batch has room for another dispatch. */
  beginDispatch(): void {
    if (this.batch.dispatches >= dispatchesPerBatch) this.submit();
  }

  /** Null where the GPU has not said yet that the buffers are there. */
  #bindGroup({ program, buffers }: DispatchCommand): GPUBindGroup | null {
    let key = program.layoutKey;
    for (const { id, state } of buffers) {
      if (state !== 'made') return null;
      key += `,${id}`;
    }
    return this.#bindGroups.find(key, () => {
      const { bindGroupLayout: layout, uniformWindow, bindings } = program;
      const first = uniformWindow > 0 ? 1 : 0;
      const resources = buffers.flatMap(({ gpu: buffer, byteLength }, at): GPUBufferBinding[] => {
        if (at < first) return [{ buffer, size: uniformWindow }];
        const { windows } = bindings[at - first];
        return windows ? windowsOfBuffer(buffer, byteLength, windows) : [{ buffer }];
      });
      const entries = resources.map((resource, binding) => ({ binding, resource }));
      return this.gpuDevice.createBindGroup({ layout, entries });
    });
  }

  /** Closes the current batch and sends it off, at once where its shaders are compiled and nothing is ahead of it. */
  submit(): WorkBatch {
    const { batch } = this;
    if (batch.isEmpty) {
      batch.done = this.#pending ?? Promise.resolve();
      return batch;
    }
    this.batch = new WorkBatch(batch.id + 1, this.#spareUniforms ?? uniformRoom(uniformBytesPerBatch));
    this.#spareUniforms = null;
    this.uploads.prepare(batch);
    this.counters.buffersAllocated = this.pool.allocated;
    if (batch.isReady && !this.#pending) {
      batch.done = this.#encode(batch);
      return batch;
    }
    const submitted = this.#submitLater(batch, this.#pending);
    const pending = submitted.then(() => {
      if (this.#pending === pending) this.#pending = null;
    });
    this.#pending = pending;
    batch.done = submitted.then(({ checked }) => checked);
    return batch;
  }

  /** Submits a batch when its shaders are compiled, its buffers there, and the batches before it on their way. */
  async #submitLater(batch: WorkBatch, before: Promise<void> | null): Promise<{ checked: Promise<void> }> {
    await before;
    try {
      await Promise.all([...batch.uncompiled].map((program) => program.compile()));
    } catch (error) {
      batch.failure = asCressetError(error);
      this.fail(batch.failure);
    }
    await settled(...Object.values(this.pools));
    for (const { failure } of batch.unjudged) batch.failure ??= failure;
    if (batch.failure) {
      this.submittedBatch = batch.id;
      this.uploads.encodeAgain(batch);
      this.uploads.forget(batch);
      if (batch.staging) this.pool.give(batch.staging);
      return { checked: Promise.resolve() };
    }
    // In an object: a bare promise would be waited for, and the next batch with it.
    return { checked: this.#encode(batch) };
  }

  /** Encodes and submits a batch; the promise resolves when the GPU process has found it valid. */
  async #encode(batch: WorkBatch): Promise<void> {
    const { gpuDevice, queue } = this;
    this.submittedBatch = batch.id;
    if (!this.isUsable) return;
    gpuDevice.pushErrorScope('validation');
    if (batch.uniformBytes > 0) {
      const size = Math.ceil(batch.uniformBytes / 4) * 4;
      queue.writeBuffer(this.#uniformBuffer.gpu, 0, batch.uniforms.words.buffer, 0, size);
    }
    this.#spareUniforms = batch.uniforms;
    const encoder = gpuDevice.createCommandEncoder();
    this.uploads.encode(batch, encoder);
    const probe = this.owner.probe?.batch(batch.dispatches);
    let pass: GPUComputePassEncoder | null = null;
    let pipeline: GPUComputePipeline | null = null;
    for (const command of batch.commands) {
      if (command.kind === 'copy') {
        pass?.end();
        pass = null;
        const { source, target, offset, byteLength } = command;
        encoder.copyBufferToBuffer(source.gpu, 0, target.gpu, offset, byteLength);
        continue;
      }
      if (probe?.separatesPasses) pass?.end();
      if (!pass || probe?.separatesPasses) {
        pass = encoder.beginComputePass({ timestampWrites: probe?.pass(command) });
        pipeline = null;
      }
      if (command.program.pipeline !== pipeline) {
        pipeline = command.program.pipeline;
        pass.setPipeline(pipeline!);
      }
      pass.setBindGroup(0, (command.bindGroup ??= this.#bindGroup(command)), command.offsets);
      pass.dispatchWorkgroups(command.x, command.y);
    }
    pass?.end();
    probe?.encoded(encoder);
    queue.submit([encoder.finish()]);
    probe?.submitted();
    this.counters.submits++;
    this.owner.submitted(batch.id);
    const error = await gpuDevice.popErrorScope().catch(() => null);
    if (error) {
      batch.failure = new CressetError(
        'DEVICE_VALIDATION',
        `the GPU refused work (${batch.labels()}): ${error.message}`,
      );
      this.fail(batch.failure);
      this.uploads.encodeAgain(batch);
    }
    this.uploads.forget(batch);
  }

  /** Sends off what there is; resolves when all of it was found valid, or has failed. */
  async flush(): Promise<void> {
    const { done } = this.submit();
    await done;
    await settled(this.pool, this.pools.uniforms);
  }

  /** Notes that something went wrong, for whoever asks next. */
  fail(error: CressetError): void {
    this.failures.add(error);
    this.counters.failures = this.failures.count;
  }

  /** Notes that the GPU has run all batches up to this one. */
  finished(batch: number): void {
    this.#finishedBatch = Math.max(this.#finishedBatch, batch);
  }

  /** Resolves when the GPU has caught up; null where it is not far behind. */
  room(): Promise<void> | null {
    if (this.batch.id - this.#finishedBatch <= batchesAhead || !this.isUsable) return null;
    return (this.#catchingUp ??= this.#catchUp());
  }

  async #catchUp(): Promise<void> {
    const { done } = this.submit();
    const last = this.batch.id - 1;
    try {
      await done;
      await this.queue.onSubmittedWorkDone();
    } catch {
      // A lost device tells of the loss itself.
    }
    this.finished(last);
    this.#catchingUp = null;
  }

  dispose(): void {
    this.pools.uniforms.give(this.#uniformBuffer);
  }
}

function windowsOfBuffer(
  buffer: GPUBuffer,
  total: number,
  { count, byteLength }: NonNullable<Binding['windows']>,
): GPUBufferBinding[] {
  return Array.from({ length: count }, (_, at) => {
    const offset = at * byteLength;
    return { buffer, offset, size: Math.min(byteLength, total - offset) };
  });
}

/** Resolves when the GPU has judged every buffer of these pools; null where it has. */
function settled(...pools: readonly BufferPool[]): Promise<unknown> | null {
  const pending = pools.flatMap((pool) => pool.settled() ?? []);
  return pending.length > 0 ? Promise.all(pending) : null;
}

export function asCressetError(error: unknown): CressetError {
  if (error instanceof CressetError) return error;
  return new CressetError('DEVICE_ERROR', error instanceof Error ? error.message : String(error), { cause: error });
}
