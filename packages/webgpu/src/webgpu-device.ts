import { CressetError } from '@cresset/ir';
import {
  contiguousStrides,
  elementSize,
  numelOf,
  Storage,
  Tensor,
  type DeviceBuffer,
  type ScalarType,
} from '@cresset/tensor';
import {
  childrenOf,
  chooseSchedule,
  expressionsOf,
  normalise,
  reductionStages,
  scheduleKey,
  signatureOf,
  type ComputeDevice,
  type DeviceCapabilities,
  type DeviceCounters,
  type DeviceMemoryUse,
  type DeviceProfiler,
  type Expr,
  type Kernel,
  type NormalKernel,
} from '@cresset/tensorexpr';
import { BindGroupCache } from './bind-group-cache.ts';
import { BufferPool, type PooledBuffer } from './buffer-pool.ts';
import { CommandLists, type PreparedKernel } from './command-lists.ts';
import { deviceElementSize, piecesInDeviceLayout, toHostLayout } from './element-layout.ts';
import { FailureLog } from './failure-log.ts';
import { PipelineCache, type Program } from './pipeline-cache.ts';
import { markUse, WorkBatch, type DispatchCommand } from './work-batch.ts';
import type { WorkProbe } from './work-probe.ts';

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
/** Uploads of a batch share one transfer up to this sum of bytes. */
const sharedUploadBytes = 1024 * 1024;
/** An upload of more takes longer to copy into that transfer than a transfer of its own takes. */
const copiedUploadBytes = 64 * 1024;
/** How long the news of a lost device may take, milliseconds. */
const lossDelay = 100;
const keptReadbackBytes = 32 * 1024 * 1024;
/** Of the uniforms of lists that were forgotten. */
const keptUniformBytes = 1024 * 1024;

/** The WebGPU device: work is enqueued at once, and goes to the GPU in one pass and one submission a flush. */
export class WebGpuDevice implements ComputeDevice {
  readonly counters: DeviceCounters = {
    prepared: 0,
    dispatches: 0,
    submits: 0,
    uploads: 0,
    uploadedBytes: 0,
    readbacks: 0,
    readbackBytes: 0,
    shaders: 0,
    buffersAllocated: 0,
    liveBytes: 0,
    failures: 0,
  };
  /** Who watches; null unless a run is being profiled. */
  probe: WorkProbe | null = null;
  /** Time spent handing data to the GPU. */
  uploadMilliseconds = 0;
  readonly #pool: BufferPool;
  readonly #pipelines: PipelineCache;
  /** Buffers that results are copied to and mapped in. */
  readonly #readbacks: BufferPool;
  /** Params of launches that are not listed, batch by batch. */
  readonly #uniformBuffer: PooledBuffer;
  readonly #uniforms: BufferPool;
  readonly recorder: CommandLists;
  readonly #bindGroups = new BindGroupCache();
  readonly #failures = new FailureLog();
  #prepared = new WeakMap<Kernel, PreparedKernel>();
  #batch: WorkBatch;
  #submittedBatch = -1;
  /** The GPU has run all batches up to this one. */
  #finishedBatch = -1;
  /** Of a batch that was encoded, for the next one. */
  #spareUniforms: ArrayBuffer | null = null;
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
    const outOfMemory = (error: CressetError): void => {
      this.#fail(error);
      // What is free may be what the next attempt needs.
      this.recorder.scratch.trim(this.#submittedBatch, 0);
      for (const pool of this.#pools()) pool.trim(this.#submittedBatch, 0);
    };
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ, UNIFORM } = GPUBufferUsage;
    this.#pool = new BufferPool(gpuDevice, STORAGE | COPY_SRC | COPY_DST, { outOfMemory, keptBytes });
    this.#readbacks = new BufferPool(gpuDevice, MAP_READ | COPY_DST, { outOfMemory, keptBytes: keptReadbackBytes });
    this.#uniforms = new BufferPool(gpuDevice, UNIFORM | COPY_DST, { outOfMemory, keptBytes: keptUniformBytes });
    this.#pipelines = new PipelineCache(gpuDevice);
    this.#uniformBuffer = this.#uniforms.take(uniformBytesPerBatch);
    this.recorder = new CommandLists(this.#commandListHost(), this.#pool, this.#uniforms);
    this.#batch = new WorkBatch(0, new ArrayBuffer(uniformBytesPerBatch));
    void gpuDevice.lost.then((info) => {
      this.#lost = new CressetError('DEVICE_LOST', `the GPU device was lost (${info.reason}): ${info.message}`);
    });
  }

  deviceElementSize(dtype: ScalarType): number {
    return deviceElementSize(dtype);
  }

  allocate(byteLength: number): DeviceBuffer {
    this.#checkUsable();
    const pooled = this.#take(byteLength);
    this.counters.liveBytes += byteLength;
    return new WebGpuBuffer(byteLength, pooled);
  }

  #take(byteLength: number, idleSince?: number): PooledBuffer {
    const buffer = this.#pool.take(byteLength, idleSince);
    this.counters.buffersAllocated = this.#pool.allocated;
    return buffer;
  }

  release(buffer: DeviceBuffer): void {
    const handle = buffer as WebGpuBuffer;
    if (!handle.pooled) return;
    this.counters.liveBytes -= handle.byteLength;
    if (this.#disposed) this.#pool.discard(handle.pooled);
    else this.#pool.give(handle.pooled);
    handle.pooled = null;
  }

  upload(buffer: DeviceBuffer, dtype: ScalarType, elements: Uint8Array): void {
    this.#checkUsable();
    const handle = buffer as WebGpuBuffer;
    const byteLength = (elements.byteLength / elementSize(dtype)) * deviceElementSize(dtype);
    if (byteLength === 0) return;
    this.counters.uploadedBytes += byteLength;
    const target = poolBuffer(handle);
    if (target.lastBatch <= this.#submittedBatch) {
      this.#write(target, dtype, elements, byteLength);
    } else if (byteLength >= handle.byteLength) {
      // Enqueued work still needs the old contents: the new ones get a buffer of their own.
      const fresh = this.#take(handle.byteLength, this.#submittedBatch);
      this.#pool.give(target);
      handle.pooled = fresh;
      this.#write(fresh, dtype, elements, byteLength);
    } else {
      this.#uploadInOrder(target, dtype, elements, byteLength);
    }
  }

  /** Writes a part of a buffer that enqueued work uses, when its turn has come. */
  #uploadInOrder(target: PooledBuffer, dtype: ScalarType, elements: Uint8Array, byteLength: number): void {
    const staging = this.#take(byteLength, this.#submittedBatch);
    this.#write(staging, dtype, elements, byteLength);
    this.#batch.commands.push({ kind: 'copy', source: staging.gpu, target: target.gpu, byteLength });
    markUse(staging, this.#batch);
    markUse(target, this.#batch);
    this.#pool.give(staging);
  }

  /** Writes a buffer that nothing enqueued uses. Little goes with the batch, where it shares one transfer with other such. */
  #write(target: PooledBuffer, dtype: ScalarType, elements: Uint8Array, byteLength: number): void {
    const start = performance.now();
    if (byteLength <= copiedUploadBytes && this.#batch.uploadBytes + byteLength <= sharedUploadBytes) {
      // The program may write its elements again before the batch goes.
      const pieces = [...piecesInDeviceLayout(dtype, elements)].map((piece) =>
        piece.buffer === elements.buffer ? piece.slice() : piece,
      );
      this.#batch.upload({ target, pieces, byteLength });
    } else {
      this.counters.uploads++;
      this.#writeNow(target, piecesInDeviceLayout(dtype, elements));
    }
    this.uploadMilliseconds += performance.now() - start;
  }

  #writeNow(target: PooledBuffer, pieces: Iterable<Uint8Array>): void {
    this.#tolerating([target], () => {
      let offset = 0;
      for (const words of pieces) {
        this.gpuDevice.queue.writeBuffer(target.gpu, offset, words as Uint8Array<ArrayBuffer>, 0, words.byteLength);
        offset += words.byteLength;
      }
    });
  }

  /** Uses buffers that may turn out not to be there: that is told as a lack of memory, not once more as misuse of them. */
  #tolerating<Result>(buffers: readonly PooledBuffer[], use: () => Result): Result {
    if (buffers.every(({ state }) => state === 'made')) return use();
    this.gpuDevice.pushErrorScope('validation');
    try {
      return use();
    } finally {
      this.gpuDevice.popErrorScope().catch(() => {});
    }
  }

  async download(buffer: DeviceBuffer, dtype: ScalarType, count: number): Promise<ArrayBuffer> {
    this.#checkUsable();
    const byteLength = count * deviceElementSize(dtype);
    if (byteLength === 0) return new ArrayBuffer(0);
    const source = poolBuffer(buffer as WebGpuBuffer);
    const staging = this.#readbacks.take(byteLength);
    const { gpu } = staging;
    const { count: failures } = this.#failures;
    const batch = this.#batch;
    batch.commands.push({ kind: 'copy', source: source.gpu, target: gpu, byteLength });
    markUse(source, batch);
    this.counters.readbacks++;
    this.counters.readbackBytes += byteLength;
    // Results that are asked for together travel together.
    await Promise.resolve();
    if (batch === this.#batch) this.#submitBatch();
    try {
      // The map waits for the copy by itself; only the submission has to come first.
      if (batch.id > this.#submittedBatch) await batch.done;
      if (batch.failure) throw batch.failure;
      await this.#tolerating([staging], () => gpu.mapAsync(GPUMapMode.READ, 0, byteLength));
      await batch.done;
      if (batch.failure) throw batch.failure;
      this.#finishedBatch = Math.max(this.#finishedBatch, batch.id);
      return toHostLayout(dtype, gpu.getMappedRange(0, byteLength), count);
    } catch (error) {
      await batch.done;
      throw await this.#reasonOf(error, failures);
    } finally {
      if (gpu.mapState === 'mapped') gpu.unmap();
      if (this.#disposed || this.#lost) this.#readbacks.discard(staging);
      else {
        this.#readbacks.give(staging);
        this.#readbacks.trim(Infinity);
      }
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
    if (known) {
      this.#enqueue(known);
      return;
    }
    const separate = this.#separated(kernel);
    if (separate) {
      for (const part of separate) this.launch(part);
      return;
    }
    const normal = normalise(kernel);
    if (normal.kind === 'nest') {
      const temporaries: Tensor[] = [];
      const stages = reductionStages(normal, this.capabilities, (sizes, dtype) => {
        const storage = Storage.onDevice(this, dtype, numelOf(sizes));
        temporaries.push(new Tensor(storage, dtype, sizes, contiguousStrides(sizes)));
        return temporaries.at(-1)!;
      });
      if (stages.length > 1) {
        for (const stage of stages) this.#enqueue(this.#prepare(stage, null));
        for (const temporary of temporaries) temporary.dispose();
        return;
      }
    }
    const prepared = this.#prepare(normal, kernel);
    this.#prepared.set(kernel, prepared);
    this.#enqueue(prepared);
  }

  /** As {@link launch}, up to the point where buffers are needed. */
  #prepareWhole(kernel: Kernel): PreparedKernel | null {
    if (kernelBindings(kernel) > this.capabilities.maxStorageBuffers) return null;
    const normal = normalise(kernel);
    let isOne = true;
    const { storage } = kernel.stores[0].operand.tensor;
    if (normal.kind === 'nest') {
      reductionStages(normal, this.capabilities, (sizes, dtype) => {
        isOne = false;
        return new Tensor(storage, dtype, sizes, contiguousStrides(sizes));
      });
    }
    return isOne ? this.#prepare(normal, kernel) : null;
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
    this.recorder.listener?.(prepared);
    if (this.#batch.dispatches >= dispatchesPerBatch) this.#submitBatch();
    // Buffers first: a storage's upload must not find itself used by this launch already.
    const buffers = bindings.map(({ operand, stored }) => {
      const { storage, dtype } = operand.tensor;
      const buffer = stored ? storage.deviceBufferForWriting(this, dtype) : storage.deviceBuffer(this, dtype);
      return poolBuffer(buffer as WebGpuBuffer);
    });
    const bindGroup = this.#bindGroup(program, this.#uniformBuffer, buffers);
    const batch = this.#dispatch(
      { kind: 'dispatch', program, bindGroup, offsets: [], x, y },
      ({ uniformWords, uniformFloats }, at) => {
        program.uniforms.write(params, uniformWords, uniformFloats, at);
      },
    );
    for (const buffer of buffers) markUse(buffer, batch);
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
    this.#batch.dispatch({ ...command, offsets });
    this.counters.dispatches++;
    return this.#batch;
  }

  #prepare(normal: NormalKernel, whole: Kernel | null): PreparedKernel {
    this.counters.prepared++;
    const { kernel, schedule, workgroups } = chooseSchedule(normal, this.capabilities);
    const signature = signatureOf(kernel);
    const { maxStorageBuffers, maxWorkgroupsPerDimension } = this.capabilities;
    if (signature.bindings.length > maxStorageBuffers) {
      throw new CressetError(
        'DEVICE_BINDING_LIMIT',
        `${kernel.label} uses ${signature.bindings.length} tensors at once, but this GPU allows ${maxStorageBuffers}`,
      );
    }
    const wide = workgroups > maxWorkgroupsPerDimension;
    const y = wide ? Math.ceil(workgroups / maxWorkgroupsPerDimension) : 1;
    const x = Math.ceil(workgroups / y);
    const key = `${signature.key}${scheduleKey(schedule)}${wide ? 'w' : ''}`;
    const program = this.#pipelines.find(key, kernel, schedule, signature, wide);
    this.counters.shaders = this.#pipelines.size;
    return { program, bindings: signature.bindings, params: signature.params, kernel: whole, x, y };
  }

  #commandListHost(): ConstructorParameters<typeof CommandLists>[0] {
    const submittedBatch = (): number => this.#submittedBatch;
    return {
      uniformAlignment: this.gpuDevice.limits.minUniformBufferOffsetAlignment,
      get submittedBatch() {
        return submittedBatch();
      },
      bindGroup: (program, uniforms, buffers) => this.#bindGroup(program, uniforms, buffers),
      write: (buffer, words) =>
        this.#tolerating([buffer], () => this.gpuDevice.queue.writeBuffer(buffer.gpu, 0, words)),
      batchUniforms: this.#uniformBuffer,
      enqueueWith: (command, write) => this.#dispatch(command, write).id,
      enqueue: (commands) => this.#enqueueAll(commands),
      bufferOf: (handle) => poolBuffer(handle as WebGpuBuffer),
      prepare: (kernel) => this.#prepareWhole(kernel),
    };
  }

  #enqueueAll(commands: readonly DispatchCommand[]): number {
    this.#checkUsable();
    for (const command of commands) {
      if (this.#batch.dispatches >= dispatchesPerBatch) this.#submitBatch();
      this.#batch.dispatch(command);
    }
    this.counters.dispatches += commands.length;
    return this.#batch.id;
  }

  #bindGroup(program: Program, uniforms: PooledBuffer, buffers: readonly PooledBuffer[]): GPUBindGroup {
    let key = `${program.layoutKey}:${program.uniformWindow > 0 ? uniforms.id : ''}`;
    for (const buffer of buffers) key += `,${buffer.id}`;
    return this.#bindGroups.find(key, () => {
      const resources: GPUBufferBinding[] = buffers.map((buffer) => ({ buffer: buffer.gpu }));
      if (program.uniformWindow > 0) resources.unshift({ buffer: uniforms.gpu, size: program.uniformWindow });
      const entries = resources.map((resource, binding) => ({ binding, resource }));
      return this.#tolerating([uniforms, ...buffers], () =>
        this.gpuDevice.createBindGroup({ layout: program.bindGroupLayout, entries }),
      );
    });
  }

  async flush(failures = this.#toldFailures): Promise<void> {
    this.#checkUsable();
    const { done } = this.#submitBatch();
    await Promise.all([done, this.#pool.settled(), this.#uniforms.settled()]);
    this.#checkUsable();
    const failure = this.#failures.since(failures);
    this.#toldFailures = this.#failures.count;
    if (failure) throw failure;
  }

  failureSince(failures: number): CressetError | null {
    return this.#failures.since(failures);
  }

  room(): Promise<void> | null {
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
    const pooled = this.recorder.scratch.byteLength + this.#pools().reduce((sum, { freeBytes }) => sum + freeBytes, 0);
    return { live, pooled, peak: this.#pools().reduce((sum, { peakBytes }) => sum + peakBytes, 0) };
  }

  #pools(): BufferPool[] {
    return [this.#pool, this.#readbacks, this.#uniforms];
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
    this.#batch = new WorkBatch(batch.id + 1, this.#spareUniforms ?? new ArrayBuffer(uniformBytesPerBatch));
    this.#spareUniforms = null;
    const compiled = [...batch.uncompiled].every((program) => program.pipeline !== null);
    if (compiled && !this.#pending) {
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

  /** Submits a batch when its shaders are compiled and the batches before it are on their way. */
  async #submitLater(batch: WorkBatch, before: Promise<void> | null): Promise<{ checked: Promise<void> }> {
    await before;
    try {
      await Promise.all([...batch.uncompiled].map((program) => program.ready));
    } catch (error) {
      batch.failure = asCressetError(error);
      this.#fail(batch.failure);
      this.#submittedBatch = batch.id;
      this.#uploadAgain(batch);
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
      gpuDevice.queue.writeBuffer(this.#uniformBuffer.gpu, 0, batch.uniformWords.buffer, 0, size);
      this.#spareUniforms = batch.uniformWords.buffer;
    }
    const encoder = gpuDevice.createCommandEncoder();
    this.#encodeUploads(batch, encoder);
    const probe = this.probe?.batch(batch.dispatches);
    let pass: GPUComputePassEncoder | null = null;
    let pipeline: GPUComputePipeline | null = null;
    for (const command of batch.commands) {
      if (command.kind === 'copy') {
        pass?.end();
        pass = null;
        encoder.copyBufferToBuffer(command.source, 0, command.target, 0, command.byteLength);
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
      pass.setBindGroup(0, command.bindGroup, command.offsets);
      pass.dispatchWorkgroups(command.x, command.y);
    }
    pass?.end();
    probe?.encoded(encoder);
    gpuDevice.queue.submit([encoder.finish()]);
    probe?.submitted();
    this.counters.submits++;
    this.recorder.scratch.trim(batch.id, keptScratchBytes);
    this.#pool.trim(batch.id);
    this.#uniforms.trim(batch.id);
    // Buffers are judged first: work with one that is not there is refused for that reason.
    const [error] = await Promise.all([
      gpuDevice.popErrorScope().catch(() => null),
      ...this.#pools().map((pool) => pool.settled()),
    ]);
    if (error) {
      batch.failure = new CressetError(
        'DEVICE_VALIDATION',
        `the GPU refused work (${batch.labels()}): ${error.message}`,
      );
      this.#fail(batch.failure);
      this.#uploadAgain(batch);
    }
    batch.uploads.length = 0;
  }

  /** Uploads come before everything else in a batch: what uses their targets is enqueued after them. */
  #encodeUploads({ uploads, uploadBytes, id }: WorkBatch, encoder: GPUCommandEncoder): void {
    if (uploads.length === 0) return;
    this.counters.uploads++;
    if (uploads.length === 1) return this.#writeNow(uploads[0].target, uploads[0].pieces);
    const staging = this.#take(uploadBytes, id - 1);
    const bytes = new Uint8Array(uploadBytes);
    let offset = 0;
    for (const { target, pieces, byteLength } of uploads) {
      encoder.copyBufferToBuffer(staging.gpu, offset, target.gpu, 0, byteLength);
      for (const piece of pieces) {
        bytes.set(piece, offset);
        offset += piece.byteLength;
      }
    }
    this.#writeNow(staging, [bytes]);
    staging.lastBatch = id;
    this.#pool.give(staging);
  }

  /** What a batch was to upload is wanted also where its work was refused: storages count on it. */
  #uploadAgain({ id, uploads }: WorkBatch): void {
    for (const { target, pieces } of uploads) {
      if (target.state !== 'failed' && target.lastBatch === id) this.#writeNow(target, pieces);
    }
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
    this.recorder.scratch.trim(Infinity, 0);
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

/** How many buffers a kernel binds. */
function kernelBindings(kernel: Kernel): number {
  return new Set([...kernel.stores.map(({ operand }) => operand.tensor.storage), ...storagesRead(kernel)]).size;
}

/** The storages that a kernel loads from. */
function storagesRead(kernel: Kernel): Set<Storage> {
  const seen = new Set<Expr>();
  const found = new Set<Storage>();
  const visit = (expr: Expr): void => {
    if (seen.has(expr)) return;
    seen.add(expr);
    if (expr.kind === 'load') found.add(expr.operand.tensor.storage);
    for (const child of childrenOf(expr)) visit(child);
  };
  for (const expr of kernel.stores.flatMap(expressionsOf)) visit(expr);
  if (kernel.kind === 'contraction') for (const expr of [kernel.left, kernel.right]) visit(expr);
  return found;
}

function poolBuffer(handle: WebGpuBuffer): PooledBuffer {
  if (!handle.pooled) throw new CressetError('DEVICE_BUFFER_RELEASED', 'this device buffer was released');
  return handle.pooled;
}

function asCressetError(error: unknown): CressetError {
  if (error instanceof CressetError) return error;
  return new CressetError('DEVICE_ERROR', error instanceof Error ? error.message : String(error), { cause: error });
}
