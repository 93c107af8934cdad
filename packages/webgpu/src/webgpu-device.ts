import { CressetError } from '@cresset/ir';
import {
  contiguousStrides,
  deviceByteLength,
  hostElementSize,
  numelOf,
  Storage,
  Tensor,
  type DeviceBuffer,
  type DeviceLayout,
  type ScalarType,
} from '@cresset/tensor';
import {
  hasLayouts,
  normalise,
  stagesOf,
  runningSoftmaxOf,
  noCounts,
  type ComputeDevice,
  type DeviceCapabilities,
  type DeviceMemoryUse,
  type DeviceProfiler,
  type Kernel,
  type Launch,
  type MeasuredSchedules,
  type NormalForm,
  type TunedCut,
} from '@cresset/tensorexpr';
import { BindGroupCache } from './launches/bind-group-cache.ts';
import { BufferPool, type PooledBuffer } from './memory/buffer-pool.ts';
import type { CommandListHost, CommandLists } from './launches/command-lists.ts';
import { deviceElementSize, toHostLayout } from './memory/element-layout.ts';
import { FailureLog } from './failure-log.ts';
import { kernelBindings, storagesRead } from './launches/kernel-bindings.ts';
import { PipelineCache } from './launches/pipeline-cache.ts';
import { prepareKernel, prepareLaunch, type PreparedKernel } from './launches/prepared-kernel.ts';
import { Uploads, type UploadHost } from './memory/uploads.ts';
import { commandOf, uniformRoom, WorkBatch, type DispatchCommand, type UniformRoom } from './launches/work-batch.ts';
import type { WorkProbe } from './launches/work-probe.ts';

/** A stretch of GPU memory as tensors hold it. What lies behind may be exchanged while work that reads it is pending. */
class WebGpuBuffer implements DeviceBuffer {
  constructor(
    readonly byteLength: number,
    public pooled: PooledBuffer | null,
  ) {}

  get isLost(): boolean {
    return this.pooled?.state === 'failed';
  }
}

/** Longer lists of work are submitted in pieces, so that the GPU starts while the rest is still being enqueued. */
const dispatchesPerBatch = 512;
const uniformBytesPerBatch = 512 * 256;
/** So many batches may be ahead of the GPU before programs are asked to wait. */
const batchesAhead = 32;
/** Free buffers kept for reuse, in bytes; beyond it they go back to the GPU. */
const keptBytes = 256 * 1024 * 1024;
/** The same of buffers that lists share. */
const keptScratchBytes = 256 * 1024 * 1024;
/** Programs wait where uploads of so many bytes wait for the GPU to make their buffers. */
const waitingUploadBytes = 32 * 1024 * 1024;
/** How long the news of a lost device may take, milliseconds. */
const lossDelay = 100;
const keptReadbackBytes = 32 * 1024 * 1024;
/** Results that are asked for together come down in one buffer, as far as that reaches. */
const readbackBytes = 4096;
/** Of the uniforms of lists that were forgotten. */
const keptUniformBytes = 1024 * 1024;

/** A buffer that results come down in. */
interface Readback {
  readonly staging: PooledBuffer;
  readonly batch: WorkBatch;
  used: number;
  users: number;
  mapped: Promise<undefined> | null;
}

/** The WebGPU device: work is enqueued at once, and goes to the GPU in one pass and one submission a flush. */
export class WebGpuDevice implements ComputeDevice {
  readonly counters = noCounts();
  /** Who watches; null unless a run is being profiled. */
  probe: WorkProbe | null = null;
  readonly #pool: BufferPool;
  readonly #pipelines: PipelineCache;
  /** Buffers that results are copied to and mapped in. */
  readonly #readbacks: BufferPool;
  /** That of the results that are asked for now. */
  #readback: Readback | null = null;
  /** Params of launches that are not listed, batch by batch. */
  #uniformBuffer: PooledBuffer;
  readonly #uniforms: BufferPool;
  readonly #uploads: Uploads;
  /** Comes with {@link fetchRecorder}. */
  recorder: CommandLists | null = null;
  #fetchingRecorder: Promise<void> | null = null;
  /** What chooses schedules by what was measured, once it was asked for. */
  tuner: MeasuredSchedules | null = null;
  #fetchingTuner: Promise<MeasuredSchedules | null> | null = null;
  /** What its own rooms may ask of it. */
  readonly host: UploadHost & CommandListHost;
  readonly #bindGroups = new BindGroupCache();
  readonly #failures = new FailureLog();
  #prepared = new WeakMap<Kernel, PreparedKernel>();
  #batch: WorkBatch;
  #submittedBatch = -1;
  /** The GPU has run all batches up to this one. */
  #finishedBatch = -1;
  /** Of a batch that was encoded, for the next one. */
  #spareUniforms: UniformRoom | null = null;
  #catchingUp: Promise<void> | null = null;
  #toldFailures = 0;
  /** The batch whose submission the next one has to wait for; null when none is on its way. */
  #pending: Promise<void> | null = null;
  #lost: CressetError | null = null;
  #disposed = false;

  /** @param owned the device was requested for this object and goes with it. */
  constructor(
    readonly gpuDevice: GPUDevice,
    readonly description: string,
    readonly capabilities: DeviceCapabilities,
    readonly owned: boolean,
  ) {
    const ofPool = {
      spare: () => this.#spare(),
      outOfMemory: (error: CressetError) => this.#fail(error),
    };
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ, UNIFORM } = GPUBufferUsage;
    this.#pool = new BufferPool(gpuDevice, STORAGE | COPY_SRC | COPY_DST, { ...ofPool, keptBytes });
    this.#readbacks = new BufferPool(gpuDevice, MAP_READ | COPY_DST, { ...ofPool, keptBytes: keptReadbackBytes });
    this.#uniforms = new BufferPool(gpuDevice, UNIFORM | COPY_DST, { ...ofPool, keptBytes: keptUniformBytes });
    this.#pipelines = new PipelineCache(gpuDevice, () => this.counters.shaders++);
    this.#uniformBuffer = this.#uniforms.take(uniformBytesPerBatch);
    this.#batch = new WorkBatch(0, uniformRoom(uniformBytesPerBatch));
    this.host = this.#makeHost();
    this.#uploads = new Uploads(this.host);
    void gpuDevice.lost.then((info) => {
      this.#lost = new CressetError('DEVICE_LOST', `the GPU device was lost (${info.reason}): ${info.message}`);
    });
  }

  deviceElementSize(layout: DeviceLayout): number {
    return deviceElementSize(layout);
  }

  allocate(byteLength: number): DeviceBuffer {
    this.#checkUsable();
    const pooled = this.#pool.take(byteLength);
    this.counters.buffersAllocated = this.#pool.allocated;
    this.counters.liveBytes += byteLength;
    return new WebGpuBuffer(byteLength, pooled);
  }

  release(buffer: DeviceBuffer): void {
    const handle = buffer as WebGpuBuffer;
    if (!handle.pooled) return;
    this.counters.liveBytes -= handle.byteLength;
    if (this.#disposed) this.#pool.discard(handle.pooled);
    else this.#pool.give(handle.pooled);
    handle.pooled = null;
  }

  upload(buffer: DeviceBuffer, layout: DeviceLayout, elements: Uint8Array): void {
    this.#checkUsable();
    const handle = buffer as WebGpuBuffer;
    handle.pooled = this.#uploads.upload(poolBuffer(handle), handle.byteLength, layout, elements);
  }

  /** Time spent handing data to the GPU. */
  get uploadMilliseconds(): number {
    return this.#uploads.milliseconds;
  }

  async download(buffer: DeviceBuffer, layout: DeviceLayout, count: number): Promise<ArrayBuffer> {
    this.#checkUsable();
    const byteLength = deviceByteLength(this, layout, count * hostElementSize(layout));
    if (byteLength === 0) return new ArrayBuffer(0);
    const source = poolBuffer(buffer as WebGpuBuffer);
    const { count: failures } = this.#failures;
    const batch = this.#batch;
    const readback = this.#readbackOf(byteLength, batch);
    const { staging, used: offset } = readback;
    readback.used += Math.ceil(byteLength / 8) * 8;
    readback.users++;
    batch.copy(source, staging, byteLength, offset);
    this.counters.readbackBytes += byteLength;
    // Results that are asked for together travel together.
    await Promise.resolve();
    if (readback === this.#readback) this.#readback = null;
    if (batch === this.#batch) this.#submitBatch();
    try {
      // The map waits for the copy by itself; only the submission has to come first.
      if (batch.id > this.#submittedBatch) await batch.done;
      if (batch.failure) throw batch.failure;
      await (readback.mapped ??= staging.gpu.mapAsync(GPUMapMode.READ, 0, readback.used));
      await batch.done;
      if (batch.failure) throw batch.failure;
      this.#finishedBatch = Math.max(this.#finishedBatch, batch.id);
      return toHostLayout(layout, staging.gpu.getMappedRange(offset, byteLength), count);
    } catch (error) {
      await batch.done;
      throw await this.#reasonOf(error, failures);
    } finally {
      if (--readback.users === 0) this.#giveBack(staging);
    }
  }

  /** Where bytes come down: small ones that are asked for together lie in one buffer. */
  #readbackOf(byteLength: number, batch: WorkBatch): Readback {
    const known = this.#readback;
    if (known?.batch === batch && known.used + byteLength <= readbackBytes) return known;
    this.counters.readbacks++;
    const staging = this.#readbacks.take(Math.max(byteLength, readbackBytes));
    return (this.#readback = { staging, batch, used: 0, users: 0, mapped: null });
  }

  #giveBack(staging: PooledBuffer): void {
    if (staging.gpu.mapState === 'mapped') staging.gpu.unmap();
    if (this.#disposed || this.#lost) this.#readbacks.discard(staging);
    else {
      this.#readbacks.give(staging);
      this.#readbacks.trim(Infinity);
    }
  }

  /** Why a readback came to nothing: what failed since it began rather than what that led to. */
  async #reasonOf(error: unknown, failures: number): Promise<CressetError> {
    const known = (): CressetError | null => this.#end() ?? this.#failures.since(failures);
    if (!known() && !(error instanceof CressetError)) {
      // The news that the device was lost may come after all that was under way has failed.
      await Promise.race([this.gpuDevice.lost, new Promise((resolve) => setTimeout(resolve, lossDelay))]);
    }
    return known() ?? asCressetError(error);
  }

  launch(kernel: Kernel): void {
    this.#checkUsable();
    this.probe?.launch(kernel);
    const known = this.#prepared.get(kernel);
    if (known && hasLayouts(known)) {
      this.#enqueue(known);
      return;
    }
    const separate = this.#separated(kernel);
    if (separate) {
      for (const part of separate) this.launch(part);
      return;
    }
    const normal = normalise(runningSoftmaxOf(kernel) ?? kernel);
    const temporaries: Tensor[] = [];
    const chunks = this.tuner?.chooseChunks(normal) ?? null;
    const temporary = (sizes: readonly number[], dtype: ScalarType): Tensor => {
      const storage = Storage.onDevice(this, dtype, numelOf(sizes));
      temporaries.push(new Tensor(storage, dtype, sizes, contiguousStrides(sizes)));
      return temporaries.at(-1)!;
    };
    const stages = stagesOf(normal, this.capabilities, temporary, chunks?.cut?.chunks);
    if (stages.length > 1) {
      for (const stage of stages) this.#enqueue(this.#prepare(stage, stage.kind === 'nest' ? stage : null, chunks));
      for (const temporary of temporaries) temporary.dispose();
      return;
    }
    const prepared = this.#prepare(normal, kernel, chunks);
    this.#prepared.set(kernel, prepared);
    this.#enqueue(prepared);
  }

  /** As {@link launch}, up to the point where buffers are needed. */
  #prepareWhole(kernel: Kernel): PreparedKernel | null {
    if (kernelBindings(kernel) > this.capabilities.maxStorageBuffers) return null;
    const normal = normalise(runningSoftmaxOf(kernel) ?? kernel);
    let isOne = true;
    const { storage } = kernel.stores[0].operand.tensor;
    const temporary = (sizes: readonly number[], dtype: ScalarType): Tensor => {
      isOne = false;
      return new Tensor(storage, dtype, sizes, contiguousStrides(sizes));
    };
    const chunks = this.tuner?.chooseChunks(normal) ?? null;
    stagesOf(normal, this.capabilities, temporary, chunks?.cut?.chunks);
    return isOne ? this.#prepare(normal, kernel, chunks) : null;
  }

  /** A nest whose stores are more than can be bound at once, as one nest a store; null where that is not so, or does not help. */
  #separated(kernel: Kernel): Kernel[] | null {
    if (kernel.stores.length < 2) return null;
    const stored = kernel.stores.map(({ operand }) => operand.tensor.storage);
    const read = storagesRead(kernel);
    if (kernelBindings(kernel) <= this.capabilities.maxStorageBuffers || stored.some((storage) => read.has(storage)))
      return null;
    return kernel.stores.map((store) => ({ ...kernel, stores: [store] }));
  }

  #enqueue(prepared: PreparedKernel): void {
    const { program, bindings, params, x, y } = prepared;
    if (x === 0) return;
    if (this.recorder?.listener) this.recorder.listener(prepared);
    else for (const wish of prepared.wishes) wish.launched();
    if (this.#batch.dispatches >= dispatchesPerBatch) this.#submitBatch();
    // Buffers first: a storage's upload must not find itself used by this launch already.
    const buffers = bindings.map(({ operand, stored, layout }) => {
      const { storage } = operand.tensor;
      const buffer = stored ? storage.deviceBufferForWriting(this, layout) : storage.deviceBuffer(this, layout);
      return poolBuffer(buffer as WebGpuBuffer);
    });
    const command = commandOf(program, this.#batchUniforms(), buffers, x, y);
    const batch = this.#dispatch(command, ({ uniforms: { words, floats } }, at) => {
      program.uniforms.write(params, words, floats, at);
    });
    for (const buffer of buffers) batch.use(buffer);
  }

  /** What params lie in that go with their batch. */
  #batchUniforms(): PooledBuffer {
    if (this.#uniformBuffer.state === 'failed') this.#uniformBuffer = this.#uniforms.take(uniformBytesPerBatch);
    return this.#uniformBuffer;
  }

  /** Puts a command into the batch, with params that go with it. */
  #dispatch(command: DispatchCommand, write: (batch: WorkBatch, at: number) => void): WorkBatch {
    const { uniformWindow } = command.program;
    if (this.#batch.dispatches >= dispatchesPerBatch) this.#submitBatch();
    const offsets: number[] = [];
    if (uniformWindow > 0) {
      const alignment = this.gpuDevice.limits.minUniformBufferOffsetAlignment;
      let offset = this.#batch.reserve(uniformWindow, alignment);
      if (offset === null) {
        this.#submitBatch();
        offset = this.#batch.reserve(uniformWindow, alignment)!;
      }
      offsets.push(offset);
      write(this.#batch, offset / 4);
    }
    command.bindGroup ??= this.#bindGroup(command);
    this.#batch.dispatch({ ...command, offsets });
    this.counters.dispatches++;
    return this.#batch;
  }

  #prepare(normal: NormalForm, whole: Kernel | null, chunks: TunedCut | null): PreparedKernel {
    this.counters.prepared++;
    return prepareKernel(normal, whole, this.capabilities, this.#pipelines, this.tuner, chunks);
  }

  /** A launch made ready with the schedule that it has, whatever another might bring. */
  prepareLaunch(launch: Launch): PreparedKernel {
    return prepareLaunch(launch, null, this.capabilities, this.#pipelines);
  }

  /** Has kernels made ready anew when they are launched next. */
  forgetPrepared(): void {
    this.#prepared = new WeakMap();
  }

  #makeHost(): UploadHost & CommandListHost {
    const batch = (): WorkBatch => this.#batch;
    const submittedBatch = (): number => this.#submittedBatch;
    const batchUniforms = (): PooledBuffer => this.#batchUniforms();
    const capabilities = (): DeviceCapabilities => this.capabilities;
    return {
      queue: this.gpuDevice.queue,
      pool: this.#pool,
      uniformPool: this.#uniforms,
      counters: this.counters,
      uniformAlignment: this.gpuDevice.limits.minUniformBufferOffsetAlignment,
      get batch() {
        return batch();
      },
      get submittedBatch() {
        return submittedBatch();
      },
      get batchUniforms() {
        return batchUniforms();
      },
      enqueueWith: (command, write) => this.#dispatch(command, write).id,
      enqueue: (commands) => this.#enqueueAll(commands),
      bufferOf: (handle) => poolBuffer(handle as WebGpuBuffer),
      prepare: (kernel) => this.#prepareWhole(kernel),
      get capabilities() {
        return capabilities();
      },
      pipelines: this.#pipelines,
    };
  }

  #enqueueAll(commands: readonly DispatchCommand[]): number {
    this.#checkUsable();
    for (const command of commands) {
      if (this.#batch.dispatches >= dispatchesPerBatch) this.#submitBatch();
      command.bindGroup ??= this.#bindGroup(command);
      this.#batch.dispatch(command);
    }
    this.counters.dispatches += commands.length;
    return this.#batch.id;
  }

  /** Null where the GPU has not said yet that the buffers are there. */
  #bindGroup({ program, buffers }: DispatchCommand): GPUBindGroup | null {
    let key = program.layoutKey;
    for (const { id, state } of buffers) {
      if (state !== 'made') return null;
      key += `,${id}`;
    }
    return this.#bindGroups.find(key, () => {
      const { bindGroupLayout: layout, uniformWindow } = program;
      const entries = buffers.map(({ gpu: buffer }, binding) => {
        const isUniform = binding === 0 && uniformWindow > 0;
        return { binding, resource: isUniform ? { buffer, size: uniformWindow } : { buffer } };
      });
      return this.gpuDevice.createBindGroup({ layout, entries });
    });
  }

  async flush(failures = this.#toldFailures): Promise<void> {
    this.#checkUsable();
    const { done } = this.#submitBatch();
    await done;
    await this.#settled(this.#pool, this.#uniforms);
    this.#checkUsable();
    const failure = this.#failures.since(failures);
    this.#toldFailures = this.#failures.count;
    if (failure) throw failure;
  }

  failureSince(failures: number): CressetError | null {
    return this.#failures.since(failures);
  }

  room(): Promise<void> | null {
    if (this.#pool.waitingBytes > waitingUploadBytes) return this.#pool.settled();
    if (this.#batch.id - this.#finishedBatch <= batchesAhead || this.#end()) return null;
    return (this.#catchingUp ??= this.#catchUp());
  }

  async #catchUp(): Promise<void> {
    const { done } = this.#submitBatch();
    const last = this.#batch.id - 1;
    try {
      await done;
      await this.gpuDevice.queue.onSubmittedWorkDone();
    } catch {
      // A lost device tells of the loss itself.
    }
    this.#finishedBatch = Math.max(this.#finishedBatch, last);
    this.#catchingUp = null;
  }

  memory(): DeviceMemoryUse {
    const { liveBytes: live } = this.counters;
    const scratch = this.recorder?.scratch.byteLength ?? 0;
    const pooled = this.#pools().reduce((sum, { freeBytes }) => sum + freeBytes, scratch);
    return { live, pooled, peak: this.#pools().reduce((sum, { peakBytes }) => sum + peakBytes, 0) };
  }

  /** Resolves when the GPU has judged every buffer of these pools; null where it has. */
  #settled(...pools: readonly BufferPool[]): Promise<unknown> | null {
    const pending = pools.flatMap((pool) => pool.settled() ?? []);
    return pending.length > 0 ? Promise.all(pending) : null;
  }

  #pools(): BufferPool[] {
    return [this.#pool, this.#readbacks, this.#uniforms];
  }

  /** Gives free buffers back to the GPU, which may be what it needs; how many bytes that is. */
  #spare(): number {
    const free = (): number => this.memory().pooled;
    const before = free();
    this.recorder?.scratch.trim(this.#submittedBatch, 0);
    for (const pool of this.#pools()) pool.trim(this.#submittedBatch, 0);
    return before - free();
  }

  #fail(error: CressetError): void {
    this.#failures.add(error);
    this.counters.failures = this.#failures.count;
  }

  /** Closes the current batch and sends it off, at once where its shaders are compiled and nothing is ahead of it. */
  #submitBatch(): WorkBatch {
    const batch = this.#batch;
    if (batch.isEmpty) {
      batch.done = this.#pending ?? Promise.resolve();
      return batch;
    }
    this.#batch = new WorkBatch(batch.id + 1, this.#spareUniforms ?? uniformRoom(uniformBytesPerBatch));
    this.#spareUniforms = null;
    this.#uploads.prepare(batch);
    this.counters.buffersAllocated = this.#pool.allocated;
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
      this.#fail(batch.failure);
    }
    await this.#settled(...this.#pools());
    for (const { failure } of batch.unjudged) batch.failure ??= failure;
    if (batch.failure) {
      this.#submittedBatch = batch.id;
      this.#uploads.encodeAgain(batch);
      this.#uploads.forget(batch);
      if (batch.staging) this.#pool.give(batch.staging);
      return { checked: Promise.resolve() };
    }
    // In an object: a bare promise would be waited for, and the next batch with it.
    return { checked: this.#encode(batch) };
  }

  /** Encodes and submits a batch; the promise resolves when the GPU process has found it valid. */
  async #encode(batch: WorkBatch): Promise<void> {
    const { gpuDevice } = this;
    this.#submittedBatch = batch.id;
    if (this.#lost || this.#disposed) return;
    gpuDevice.pushErrorScope('validation');
    if (batch.uniformBytes > 0) {
      const size = Math.ceil(batch.uniformBytes / 4) * 4;
      gpuDevice.queue.writeBuffer(this.#uniformBuffer.gpu, 0, batch.uniforms.words.buffer, 0, size);
    }
    this.#spareUniforms = batch.uniforms;
    const encoder = gpuDevice.createCommandEncoder();
    this.#uploads.encode(batch, encoder);
    const probe = this.probe?.batch(batch.dispatches);
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
    gpuDevice.queue.submit([encoder.finish()]);
    probe?.submitted();
    this.counters.submits++;
    this.recorder?.scratch.trim(batch.id, keptScratchBytes);
    this.#pool.trim(batch.id);
    this.#uniforms.trim(batch.id);
    const error = await gpuDevice.popErrorScope().catch(() => null);
    if (error) {
      batch.failure = new CressetError(
        'DEVICE_VALIDATION',
        `the GPU refused work (${batch.labels()}): ${error.message}`,
      );
      this.#fail(batch.failure);
      this.#uploads.encodeAgain(batch);
    }
    this.#uploads.forget(batch);
  }

  fetchRecorder(): Promise<void> {
    return (this.#fetchingRecorder ??= import('./launches/command-lists.ts').then(
      ({ recordOn }) => recordOn(this),
      // Work is done without it too, and it is not tried again.
      () => undefined,
    ));
  }

  fetchTuner(): Promise<MeasuredSchedules | null> {
    return (this.#fetchingTuner ??= import('./tuning/webgpu-tuner.ts').then(
      async ({ tunerOf }) => {
        this.tuner = await tunerOf(this);
        this.forgetPrepared();
        return this.tuner;
      },
      // The rules serve too.
      () => null,
    ));
  }

  async profiler(): Promise<DeviceProfiler> {
    const { WebGpuProfiler } = await import('./profiling/webgpu-profiler.ts');
    return new WebGpuProfiler(this);
  }

  /** When each shader was compiled, by its code. */
  compilations(): Map<string, { begin: number; end: number }> {
    return new Map([...this.#pipelines.programs].map(({ code, begin, end }) => [code, { begin, end }]));
  }

  /** The WGSL of every kernel compiled so far, with its label. */
  shaders(): { label: string; code: string }[] {
    return [...this.#pipelines.programs].map(({ label, code }) => ({ label, code }));
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.recorder?.scratch.trim(Infinity, 0);
    this.#uniforms.give(this.#uniformBuffer);
    for (const pool of this.#pools()) pool.destroy();
    this.#prepared = new WeakMap();
    if (this.owned) this.gpuDevice.destroy();
  }

  #checkUsable(): void {
    const end = this.#end();
    if (end) throw end;
  }

  /** Why this device is of no more use; null while it is. */
  #end(): CressetError | null {
    return this.#disposed ? new CressetError('DEVICE_DISPOSED', 'this device was disposed of') : this.#lost;
  }
}

function poolBuffer(handle: WebGpuBuffer): PooledBuffer {
  if (!handle.pooled) throw new CressetError('DEVICE_BUFFER_RELEASED', 'this device buffer was released');
  return handle.pooled;
}

function asCressetError(error: unknown): CressetError {
  if (error instanceof CressetError) return error;
  return new CressetError('DEVICE_ERROR', error instanceof Error ? error.message : String(error), { cause: error });
}
