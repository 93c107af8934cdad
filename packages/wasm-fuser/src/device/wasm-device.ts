import { compilerServices, CressetError, extendServices, type CompilerServices } from '@cresset/ir';
import {
  contiguousStrides,
  copyInto,
  elementSize,
  numelOf,
  Storage,
  Tensor,
  type DeviceBuffer,
  type ScalarType,
} from '@cresset/tensor';
import {
  isSymbolicKernel,
  noCounts,
  SizedKernels,
  type ComputeDevice,
  type DeviceCapabilities,
  type DeviceMemoryUse,
  type DeviceProfiler,
  type IntegerServices,
  type Kernel,
  type Routine,
  type TakeBack,
  type TemporaryTensor,
  withSizesOfNow,
} from '@cresset/tensorexpr';
import { compileVectors, hasRelaxedSimd } from '../engine-features.ts';
import type { WasmIntegerProducts } from '../integers/integer-products.ts';
import { LinearMemory, MOST_MEMORY } from '../linear-memory.ts';
import type { ThreadPool } from '../threads/thread-pool.ts';
import { CommandLists } from './command-lists.ts';
import type { LaunchProbe } from './launch-probe.ts';
import { hasLongPoints, withShortPoints } from './long-loops.ts';
import { bytesOfBlock, writeParams, writePlaces } from './launch-memory.ts';
import { Launches } from './launches.ts';
import { ProductModules } from './product-modules.ts';
import { Programs, type PreparedKernel } from './programs.ts';
import { Turns, type Work } from './turns.ts';
import { storesSoFar, WasmBuffer } from './wasm-buffer.ts';

/** Bytes behind each buffer that belong to nobody: four lanes may be read where one is wanted. */
const MARGIN = 64;

/**
 * The host as a device: tensors lie in one WebAssembly memory, in which elements are as they are everywhere else, and kernels are functions
 * that are emitted and compiled here. A launch is done when it is made, unless the event loop has waited long enough for its turn.
 */
export class WasmDevice implements ComputeDevice {
  readonly description: string;
  readonly isOfHost = true;
  readonly capabilities: DeviceCapabilities = {
    f16: false,
    subgroupSize: 0,
    software: false,
    hardware: null,
    host: true,
    doubles: true,
    maxWorkgroupSize: 1,
    maxWorkgroupStorage: 0,
    maxStorageBuffers: 32,
    maxBindingBytes: 2 ** 31 - 2 ** 20,
    memoryBytes: MOST_MEMORY,
    maxWorkgroupsPerDimension: 2 ** 31 - 1,
  };
  readonly counters = noCounts();
  spare: ArrayBuffer[] = [];
  readonly linear: LinearMemory;
  readonly launches: Launches;
  readonly recorder = new CommandLists(this);
  readonly turns = new Turns((error) => this.fail(error));
  /** Who watches; null unless kernels are being profiled. */
  probe: LaunchProbe | null = null;
  /** Time spent copying tensors into the memory. */
  uploadMilliseconds = 0;
  /** Bytes of packed weights. */
  keptBytes = 0;
  #peak = 0;
  readonly #programs: Programs;
  readonly #threads: ThreadPool | null;
  #prepared = new WeakMap<Kernel, PreparedKernel>();
  readonly #sized = new SizedKernels((kernel) => this.#prepareNew(kernel));
  /** Those that this device fetched; one of several devices of a thread answers for what they keep. */
  #integerProducts: WasmIntegerProducts | null = null;
  readonly #failures: CressetError[] = [];
  #toldFailures = 0;
  #disposed = false;

  /**
   * @param threadPool makes threads over the device's memory, which are to help; null where this one is alone
   * @param isRelaxed whether products and sums are rounded once; only where the engine has that
   * @throws where an engine has no WebAssembly, or a page's policy forbids to compile it
   */
  constructor(threadPool: ((linear: LinearMemory) => ThreadPool) | null = null, isRelaxed = hasRelaxedSimd()) {
    this.linear = new LinearMemory(threadPool !== null);
    compileVectors();
    const threads = (this.#threads = threadPool?.(this.linear) ?? null);
    this.launches = new Launches(this, new ProductModules(this.linear, threads, isRelaxed), threads);
    this.#programs = new Programs(this.linear, threads, isRelaxed);
    const engine = isRelaxed ? 'WebAssembly with relaxed SIMD' : 'WebAssembly';
    this.description = threads ? `${engine}, ${threads.size} threads` : engine;
    // Nothing lies before the first buffer either.
    this.linear.take(MARGIN);
  }

  deviceElementSize(dtype: ScalarType): number {
    return elementSize(dtype);
  }

  allocate(byteLength: number): DeviceBuffer {
    this.#checkUsable();
    const buffer = new WasmBuffer(byteLength, this.takeMemory(byteLength + MARGIN));
    this.counters.buffersAllocated++;
    this.counters.liveBytes += byteLength;
    this.#peak = Math.max(this.#peak, this.counters.liveBytes);
    return buffer;
  }

  /** As `linear.take`; throws a CressetError where there is no more memory. */
  takeMemory(byteLength: number): number {
    try {
      return this.linear.take(byteLength);
    } catch (error) {
      throw new CressetError(
        'DEVICE_BUFFER_TOO_LARGE',
        `a WebAssembly memory has no room for ${byteLength} bytes more: it has four gigabytes at most`,
        {
          cause: error,
        },
      );
    }
  }

  release(handle: DeviceBuffer): void {
    const buffer = handle as WasmBuffer;
    if (buffer.isReleased) return;
    buffer.isReleased = true;
    this.counters.liveBytes -= buffer.byteLength;
    this.turns.after(() => this.linear.give(buffer.address));
  }

  upload(handle: DeviceBuffer, _dtype: ScalarType, elements: Uint8Array): void {
    this.#checkUsable();
    const buffer = handle as WasmBuffer;
    buffer.writes++;
    // Work that waits may read what is there.
    const bytes = this.turns.idle ? elements.slice() : elements;
    this.turns.after(() => {
      const start = performance.now();
      new Uint8Array(this.linear.memory.buffer, buffer.address, bytes.byteLength).set(bytes);
      this.uploadMilliseconds += performance.now() - start;
    });
    this.counters.uploads++;
    this.counters.uploadedBytes += elements.byteLength;
  }

  async download(handle: DeviceBuffer, dtype: ScalarType, count: number): Promise<ArrayBuffer> {
    this.#checkUsable();
    const { failures } = this.counters;
    // A buffer that is released meanwhile holds anything: nobody looks at what comes of it.
    while (this.turns.idle) await this.turns.idle;
    const failure = this.failureSince(failures);
    if (failure) throw failure;
    const { address } = handle as WasmBuffer;
    const byteLength = count * elementSize(dtype);
    this.counters.readbacks++;
    this.counters.readbackBytes += byteLength;
    return copyInto(this.spare, new Uint8Array(this.linear.memory.buffer, address, byteLength));
  }

  prepare(kernel: Kernel): PreparedKernel {
    const known = this.#prepared.get(kernel);
    if (known) return known;
    const prepared = this.prepareAgain(kernel);
    this.#prepared.set(kernel, prepared);
    return prepared;
  }

  /** As `prepare`, for the sizes that a kernel has now. */
  prepareAgain(kernel: Kernel): PreparedKernel {
    return (isSymbolicKernel(kernel) ? this.#sized.of(kernel) : this.#prepareNew(kernel))();
  }

  #prepareNew(kernel: Kernel): () => PreparedKernel {
    this.counters.prepared++;
    const prepared = this.#programs.prepare(kernel);
    this.counters.shaders = this.#programs.size;
    return prepared;
  }

  launch(kernel: Kernel): void {
    this.#checkUsable();
    this.probe?.launch(kernel);
    const temporaries: Tensor[] = [];
    const launches = this.launchesOf(kernel, (sizes, dtype) => {
      const storage = Storage.onDevice(this, dtype, numelOf(sizes));
      temporaries.push(new Tensor(storage, dtype, sizes, contiguousStrides(sizes)));
      return temporaries.at(-1)!;
    });
    for (const prepared of launches) this.enqueue(prepared);
    for (const temporary of temporaries) temporary.dispose();
  }

  /** What {@link launch} enqueues. */
  launchesOf(kernel: Kernel, temporary: TemporaryTensor): PreparedKernel[] {
    const prepared = this.prepare(kernel);
    if (!hasLongPoints(prepared)) return [prepared];
    // Stretches are of numbers: what is recorded of them holds for the sizes of now.
    return withShortPoints(withSizesOfNow(prepared.normal), temporary).map((nest) => this.prepare(nest));
  }

  launchRoutine(routine: Routine): void {
    this.#checkUsable();
    this.probe?.launch(routine);
    this.counters.prepared++;
    const prepared = this.#programs.prepareRoutine(routine);
    this.counters.shaders = this.#programs.size;
    this.enqueue(prepared);
  }

  /** @param storages others for its bindings, which lie as those did that it was made ready with */
  enqueue(prepared: PreparedKernel, storages: readonly Storage[] | null = null): void {
    this.#checkUsable();
    if (prepared.kind === 'nest' && prepared.points === 0) return;
    this.recorder.listener?.(prepared);
    const buffers = prepared.bindings.map(({ operand: { tensor, dtype }, stored }, at) => {
      const storage = storages ? storages[at] : tensor.storage;
      const buffer = stored ? storage.deviceBufferForWriting(this, dtype) : storage.deviceBuffer(this, dtype);
      if (stored) (buffer as WasmBuffer).writes++;
      return buffer as WasmBuffer;
    });
    this.counters.dispatches++;
    const work = this.#run(prepared, buffers);
    this.turns.take(this.probe?.measured(prepared, work) ?? work, () => ({
      reads: buffers,
      stores: buffers.filter((_, at) => prepared.bindings[at].stored),
    }));
  }

  revocable(): TakeBack {
    const begun = storesSoFar();
    return (stored) => {
      const buffers = stored as readonly WasmBuffer[];
      if (buffers.some(({ storedAt }) => storedAt > begun)) return false;
      this.turns.takeBack(new Set(buffers));
      return true;
    };
  }

  *#run(prepared: PreparedKernel, buffers: readonly WasmBuffer[]): Work {
    for (const [at, { stored }] of prepared.bindings.entries()) if (stored) buffers[at].noteStore();
    const { linear: memory, launches } = this;
    const block = this.takeMemory(bytesOfBlock(prepared.signature));
    try {
      writeParams(memory, block, prepared.signature);
      writePlaces(memory, block, buffers);
      yield* launches.run(prepared, block, buffers, null);
    } finally {
      memory.give(block);
    }
  }

  get hasTransforms(): boolean {
    return this.#programs.linesOfTransform !== null;
  }

  async fetchTransforms(): Promise<void> {
    if (this.hasTransforms) return;
    try {
      const { transformLines } = await import('../routines/transform/transform.ts');
      this.#programs.linesOfTransform = transformLines;
    } catch {
      // Nests transform too.
    }
  }

  async fetchIntegerProducts(): Promise<void> {
    if (compilerServices<CompilerServices & IntegerServices>().integerProducts) return;
    const { WasmIntegerProducts } = await import('../integers/integer-products.ts');
    this.#integerProducts ??= new WasmIntegerProducts();
    extendServices<CompilerServices & IntegerServices>({ integerProducts: this.#integerProducts });
  }

  async profiler(): Promise<DeviceProfiler> {
    const { WasmProfiler } = await import('../profiling/wasm-profiler.ts');
    return new WasmProfiler(this);
  }

  /** The modules that a kernel's functions are in, once more. */
  modulesOf(prepared: PreparedKernel): Uint8Array[] {
    return this.#programs.modulesOf(prepared);
  }

  memory(): DeviceMemoryUse {
    const packed = this.keptBytes + (this.#integerProducts?.takenBytes ?? 0);
    return { live: this.counters.liveBytes, pooled: this.recorder.scratchBytes + packed, peak: this.#peak };
  }

  trim(): void {
    this.recorder.trim();
  }

  async flush(failures = this.#toldFailures): Promise<void> {
    while (this.turns.idle) await this.turns.idle;
    this.#toldFailures = this.#failures.length;
    const failure = this.failureSince(failures);
    if (failure) throw failure;
  }

  failureSince(failures: number): CressetError | null {
    return this.#failures[failures] ?? null;
  }

  room(): Promise<void> | null {
    return this.turns.idle;
  }

  dispose(): void {
    this.#disposed = true;
    this.turns.clear();
    this.#threads?.dispose();
    this.#prepared = new WeakMap();
    if (this.#integerProducts) extendServices<CompilerServices & IntegerServices>({ integerProducts: undefined });
    this.#integerProducts = null;
  }

  fail(error: unknown): void {
    this.#failures.push(
      error instanceof CressetError ? error : new CressetError('DEVICE_ERROR', String(error), { cause: error }),
    );
    this.counters.failures = this.#failures.length;
  }

  #checkUsable(): void {
    if (this.#disposed) throw new CressetError('DEVICE_DISPOSED', 'this device was disposed of');
  }
}
