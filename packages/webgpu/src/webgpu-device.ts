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
  largestBuffer,
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
  type TemporaryTensor,
  type TunedCut,
} from '@cresset/tensorexpr';
import { FailureLog } from './failure-log.ts';
import type { CommandListHost, CommandLists } from './launches/command-lists.ts';
import { canBind, storagesRead } from './launches/kernel-bindings.ts';
import { PipelineCache } from './launches/pipeline-cache.ts';
import { prepareKernel, prepareLaunch, type PreparedKernel } from './launches/prepared-kernel.ts';
import { commandOf } from './launches/work-batch.ts';
import type { WorkProbe } from './launches/work-probe.ts';
import { asCressetError, WorkQueue, type DevicePools, type WorkQueueOwner } from './launches/work-queue.ts';
import { BufferPool, tooLarge, type PooledBuffer } from './memory/buffer-pool.ts';
import { deviceElementSize } from './memory/element-layout.ts';
import { IdleMemory } from './memory/idle-memory.ts';
import { Readbacks } from './memory/readbacks.ts';

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

/** Free buffers kept for reuse, in bytes; beyond it they go back to the GPU. */
const keptBytes = 256 * 1024 * 1024;
/** Programs wait where uploads of so many bytes wait for the GPU to make their buffers. */
const waitingUploadBytes = 32 * 1024 * 1024;
/** How long the news of a lost device may take, milliseconds. */
const lossDelay = 100;
const keptReadbackBytes = 32 * 1024 * 1024;
/** Of the uniforms of lists that were forgotten. */
const keptUniformBytes = 1024 * 1024;

/** The WebGPU device: work is enqueued at once, and goes to the GPU in one pass and one submission a flush. */
export class WebGpuDevice implements ComputeDevice, WorkQueueOwner {
  readonly counters = noCounts();
  /** Who watches; null unless a run is being profiled. */
  probe: WorkProbe | null = null;
  readonly #pools: DevicePools;
  readonly #pipelines: PipelineCache;
  readonly #work: WorkQueue;
  readonly #readbacks: Readbacks;
  readonly #idle: IdleMemory;
  /** Comes with {@link fetchRecorder}. */
  recorder: CommandLists | null = null;
  #fetchingRecorder: Promise<void> | null = null;
  /** What chooses schedules by what was measured, once it was asked for. */
  tuner: MeasuredSchedules | null = null;
  #fetchingTuner: Promise<MeasuredSchedules | null> | null = null;
  /** What recorded work may ask of it. */
  readonly host: CommandListHost;
  readonly #failures = new FailureLog();
  #prepared = new WeakMap<Kernel, PreparedKernel>();
  #toldFailures = 0;
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
      outOfMemory: (error: CressetError) => this.#work.fail(error),
    };
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ, UNIFORM } = GPUBufferUsage;
    this.#pools = {
      elements: new BufferPool(gpuDevice, STORAGE | COPY_SRC | COPY_DST, { ...ofPool, keptBytes }),
      readbacks: new BufferPool(gpuDevice, MAP_READ | COPY_DST, { ...ofPool, keptBytes: keptReadbackBytes }),
      uniforms: new BufferPool(gpuDevice, UNIFORM | COPY_DST, { ...ofPool, keptBytes: keptUniformBytes }),
    };
    this.#pipelines = new PipelineCache(gpuDevice, () => this.counters.shaders++);
    this.#work = new WorkQueue(gpuDevice, this.#pools, this.counters, this.#failures, this);
    this.#readbacks = new Readbacks(this.#pools.readbacks, this.#work);
    this.#idle = new IdleMemory((idleSince) => {
      this.#giveBack(idleSince);
      for (const pool of Object.values(this.#pools)) pool.beginSpan();
      return this.memory().pooled > 0;
    });
    this.host = {
      work: this.#work,
      uniformPool: this.#pools.uniforms,
      uniformAlignment: gpuDevice.limits.minUniformBufferOffsetAlignment,
      bufferOf: (handle) => poolBuffer(handle as WebGpuBuffer),
      prepare: (kernel, now) => this.#prepareWhole(kernel, now),
      device: this,
      launchesOf: (kernel, temporary) => this.#launchesOf(kernel, temporary),
      enqueue: (prepared, storages) => {
        this.checkUsable();
        this.#enqueue(prepared, storages);
      },
      capabilities,
      pipelines: this.#pipelines,
    };
    void gpuDevice.lost.then((info) => {
      this.#lost = new CressetError('DEVICE_LOST', `the GPU device was lost (${info.reason}): ${info.message}`);
    });
  }

  deviceElementSize(layout: DeviceLayout): number {
    return deviceElementSize(layout);
  }

  allocate(byteLength: number, isOnlyRead = false): DeviceBuffer {
    this.checkUsable();
    const largest = isOnlyRead ? largestBuffer(this.capabilities) : this.capabilities.maxBindingBytes;
    if (byteLength > largest) throw tooLarge(byteLength, largest);
    const pool = this.#pools.elements;
    const pooled = pool.take(byteLength);
    this.counters.buffersAllocated = pool.allocated;
    this.counters.liveBytes += byteLength;
    return new WebGpuBuffer(byteLength, pooled);
  }

  release(buffer: DeviceBuffer): void {
    const handle = buffer as WebGpuBuffer;
    if (!handle.pooled) return;
    this.counters.liveBytes -= handle.byteLength;
    if (this.#disposed) this.#pools.elements.discard(handle.pooled);
    else this.#pools.elements.give(handle.pooled);
    handle.pooled = null;
    if (!this.#disposed) this.#idle.used(this.#work.submittedBatch);
  }

  upload(buffer: DeviceBuffer, layout: DeviceLayout, elements: Uint8Array): void {
    this.checkUsable();
    const handle = buffer as WebGpuBuffer;
    handle.pooled = this.#work.uploads.upload(poolBuffer(handle), handle.byteLength, layout, elements);
  }

  /** Time spent handing data to the GPU. */
  get uploadMilliseconds(): number {
    return this.#work.uploads.milliseconds;
  }

  async download(buffer: DeviceBuffer, layout: DeviceLayout, count: number): Promise<ArrayBuffer> {
    this.checkUsable();
    const byteLength = deviceByteLength(this, layout, count * hostElementSize(layout));
    if (byteLength === 0) return new ArrayBuffer(0);
    const source = poolBuffer(buffer as WebGpuBuffer);
    const { count: failures } = this.#failures;
    try {
      return await this.#readbacks.read(source, byteLength, layout, count);
    } catch (error) {
      throw await this.#reasonOf(error, failures);
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
    this.checkUsable();
    this.probe?.launch(kernel);
    const known = this.#prepared.get(kernel);
    if (known && hasLayouts(known)) {
      this.#enqueue(known);
      return;
    }
    const temporaries: Tensor[] = [];
    const launches = this.#launchesOf(kernel, (sizes, dtype) => {
      const storage = Storage.onDevice(this, dtype, numelOf(sizes));
      temporaries.push(new Tensor(storage, dtype, sizes, contiguousStrides(sizes)));
      return temporaries.at(-1)!;
    });
    if (launches.length === 1) this.#prepared.set(kernel, launches[0]);
    for (const prepared of launches) this.#enqueue(prepared);
    for (const temporary of temporaries) temporary.dispose();
  }

  /** What {@link launch} enqueues. */
  #launchesOf(kernel: Kernel, temporary: TemporaryTensor): PreparedKernel[] {
    const separate = this.#separated(kernel);
    if (separate) return separate.flatMap((part) => this.#launchesOf(part, temporary));
    const now = this.recorder?.ofNow(kernel) ?? kernel;
    const normal = normalise(runningSoftmaxOf(now) ?? now);
    const chunks = this.tuner?.chooseChunks(normal) ?? null;
    const stages = stagesOf(normal, this.capabilities, temporary, chunks?.cut?.chunks);
    if (stages.length === 1) return [this.#prepare(normal, kernel, chunks)];
    return stages.map((stage) => this.#prepare(stage, stage.kind === 'nest' ? stage : null, chunks));
  }

  /** As {@link launch}, up to the point where buffers are needed. @param now the kernel with the numbers of now */
  #prepareWhole(kernel: Kernel, now: Kernel): PreparedKernel | null {
    if (!canBind(kernel, this.capabilities)) return null;
    const normal = normalise(runningSoftmaxOf(now) ?? now);
    const chunks = this.tuner?.chooseChunks(normal) ?? null;
    return this.isOne(kernel, normal, chunks) ? this.#prepare(normal, kernel, chunks) : null;
  }

  /** Whether a kernel with that form is one launch. */
  isOne(kernel: Kernel, normal: NormalForm, chunks: TunedCut | null = null): boolean {
    let isOne = true;
    const { storage } = kernel.stores[0].operand.tensor;
    const temporary = (sizes: readonly number[], dtype: ScalarType): Tensor => {
      isOne = false;
      return new Tensor(storage, dtype, sizes, contiguousStrides(sizes));
    };
    stagesOf(normal, this.capabilities, temporary, chunks?.cut?.chunks);
    return isOne;
  }

  /** A nest whose stores are more than can be bound at once, as one nest a store; null where that is not so, or does not help. */
  #separated(kernel: Kernel): Kernel[] | null {
    if (kernel.stores.length < 2) return null;
    const stored = kernel.stores.map(({ operand }) => operand.tensor.storage);
    const read = storagesRead(kernel);
    if (canBind(kernel, this.capabilities) || stored.some((storage) => read.has(storage))) return null;
    return kernel.stores.map((store) => ({ ...kernel, stores: [store] }));
  }

  /** @param storages others for its bindings, which lie as those did that it was made ready with */
  #enqueue(prepared: PreparedKernel, storages: readonly Storage[] | null = null): void {
    const { program, bindings, params, x, y } = prepared;
    if (x === 0) return;
    if (this.recorder?.listener) this.recorder.listener(prepared);
    else for (const wish of prepared.wishes) wish.launched();
    this.#work.beginDispatch();
    // Buffers first: a storage's upload must not find itself used by this launch already.
    const buffers = bindings.map(({ operand, stored, layout }, at) => {
      const storage = storages ? storages[at] : operand.tensor.storage;
      const buffer = stored ? storage.deviceBufferForWriting(this, layout) : storage.deviceBuffer(this, layout);
      return poolBuffer(buffer as WebGpuBuffer);
    });
    const command = commandOf(program, this.#work.batchUniforms, buffers, x, y);
    const batch = this.#work.enqueueWith(command, ({ uniforms: { words, floats } }, at) => {
      program.uniforms.write(params, words, floats, at);
    });
    for (const buffer of buffers) batch.use(buffer);
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

  async flush(failures = this.#toldFailures): Promise<void> {
    this.checkUsable();
    await this.#work.flush();
    this.checkUsable();
    const failure = this.#failures.since(failures);
    this.#toldFailures = this.#failures.count;
    if (failure) throw failure;
  }

  failureSince(failures: number): CressetError | null {
    return this.#failures.since(failures);
  }

  room(): Promise<void> | null {
    const { elements } = this.#pools;
    return elements.waitingBytes > waitingUploadBytes ? elements.settled() : this.#work.room();
  }

  memory(): DeviceMemoryUse {
    const { liveBytes: live } = this.counters;
    const scratch = this.recorder?.scratch.byteLength ?? 0;
    const pools = Object.values(this.#pools);
    const pooled = pools.reduce((sum, { freeBytes }) => sum + freeBytes, scratch);
    return { live, pooled, peak: pools.reduce((sum, { peakBytes }) => sum + peakBytes, 0) };
  }

  submitted(batch: number): void {
    this.#pools.elements.trim(batch);
    this.#pools.uniforms.trim(batch);
    this.#idle.used(batch);
  }

  trim(): void {
    this.#giveBack(this.#work.submittedBatch);
  }

  /** Gives back what is free, and what recorded work has for its replays, where no batch after `idleSince` uses it. */
  #giveBack(idleSince: number): void {
    this.recorder?.scratch.trim(idleSince);
    for (const pool of Object.values(this.#pools)) pool.trim(idleSince, 0);
  }

  /** Gives free buffers back to the GPU, which may be what it needs; how many bytes that is. */
  #spare(): number {
    const free = (): number => this.memory().pooled;
    const before = free();
    this.trim();
    return before - free();
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

  /** The WGSL of every kernel that was compiled and is kept or in use, with its label. */
  shaders(): { label: string; code: string }[] {
    return [...this.#pipelines.programs].map(({ label, code }) => ({ label, code }));
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#idle.stop();
    this.recorder?.scratch.trim(Infinity);
    this.#work.dispose();
    for (const pool of Object.values(this.#pools)) pool.destroy();
    this.#prepared = new WeakMap();
    if (this.owned) this.gpuDevice.destroy();
  }

  get isUsable(): boolean {
    return !this.#end();
  }

  checkUsable(): void {
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
