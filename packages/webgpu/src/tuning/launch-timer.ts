import { deviceByteLength, type Storage } from '@cresset/tensor';
import type { PreparedKernel } from '../launches/prepared-kernel.ts';
import { sizeClass } from '../memory/buffer-pool.ts';
import { PassTimestamps } from '../profiling/pass-timestamps.ts';
import type { WebGpuDevice } from '../webgpu-device.ts';

/** A browser's timestamps come in steps of up to so many nanoseconds. */
const clockStep = 1e5;
/** Nanoseconds that a pass takes at least, of as many launches as that is. */
const passTime = 30 * clockStep;
/** The same by the page's clock, which tells of the submission too. */
const passTimeOfPage = 20e6;
const mostLaunches = 512;

/** Every candidate is measured in so many passes, in turn with the others. */
const rounds = 5;
/** Nanoseconds of a round of single launches from which on the first of them serves as well, and there is one more. */
const longRound = 3e8;

/** What takes so many times as long as the first of all is measured no further. */
const hopeless = 3;

/** More is not taken for the sake of measuring. */
const mostBytes = 512 * 1024 * 1024;

/** A candidate with its place to run in. */
interface Trial {
  readonly launches: readonly { readonly launch: PreparedKernel; readonly bindGroup: GPUBindGroup }[];
  /** In a pass. */
  count: number;
  readonly times: number[];
}

/**
 * How long candidates for one kernel take at least, each a launch or several in order: on buffers of their own as large as the kernel's, which hold zeros, by the
 * GPU's clock or else by the page's. In nanoseconds; Infinity where a shader does not compile. Null where there is no memory for that, or nobody waits for it
 * any more.
 */
export async function timeLaunches(
  device: WebGpuDevice,
  candidates: readonly (readonly PreparedKernel[])[],
  signal: AbortSignal | null,
): Promise<number[] | null> {
  const compiled = await Promise.all(
    candidates.map((launches) =>
      Promise.all(launches.map(({ program }) => program.compile())).then(
        () => true,
        () => false,
      ),
    ),
  );
  if (!compiled[0] || signal?.aborted) return null;
  const room = new TrialRoom(device.gpuDevice);
  try {
    const trials = candidates.map((launches, at) => (compiled[at] ? room.trial(launches, device) : null));
    return await room.within(async () => {
      const known = trials.filter((trial) => trial !== null);
      return (await measure(device.gpuDevice, known, signal)) ? trials.map(leastOf) : null;
    });
  } finally {
    room.destroy();
  }
}

/** False where it was ended. */
async function measure(gpu: GPUDevice, trials: readonly Trial[], signal: AbortSignal | null): Promise<boolean> {
  let first = await timePasses(gpu, trials);
  const promising = trials.filter((_, at) => first[at] <= hopeless * Math.max(first[0], clockStep));
  trials.forEach((trial, at) => !promising.includes(trial) && trial.times.push(first[at]));
  first = first.filter((_, at) => promising.includes(trials[at]));
  if (signal?.aborted) return false;
  const isLong = sumOf(first) >= longRound;
  // What is touched the first time is slower, but for what takes long.
  if (isLong) promising.forEach((trial, at) => trial.times.push(first[at]));
  else first = await timePasses(gpu, promising);
  const least = gpu.features.has('timestamp-query') ? passTime : passTimeOfPage;
  promising.forEach((trial, at) => {
    trial.count = Math.min(mostLaunches, Math.max(1, Math.ceil(least / Math.max(first[at], 1))));
  });
  for (let turn = 0; turn < (isLong ? 1 : rounds); turn++) {
    if (signal?.aborted) return false;
    const times = await timePasses(gpu, promising);
    promising.forEach((trial, at) => trial.times.push(times[at]));
  }
  return true;
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** Nanoseconds of one launch of each, of a pass for each. */
async function timePasses(gpu: GPUDevice, trials: readonly Trial[]): Promise<number[]> {
  if (!gpu.features.has('timestamp-query')) {
    const times: number[] = [];
    for (const trial of trials) {
      const start = performance.now();
      submitPasses(gpu, [trial]);
      await gpu.queue.onSubmittedWorkDone();
      times.push(((performance.now() - start) * 1e6) / trial.count);
    }
    return times;
  }
  const timestamps = new PassTimestamps(gpu, trials.length);
  submitPasses(gpu, trials, timestamps);
  const passes = await timestamps.read();
  return trials.map(({ count }, at) => (passes[at] ? (passes[at].end - passes[at].begin) / count : Infinity));
}

function submitPasses(gpu: GPUDevice, trials: readonly Trial[], timestamps?: PassTimestamps): void {
  const encoder = gpu.createCommandEncoder();
  for (const { launches, count } of trials) {
    const timestampWrites = timestamps?.next();
    const pass = encoder.beginComputePass(timestampWrites ? { timestampWrites } : {});
    for (let time = 0; time < count; time++) {
      for (const { launch, bindGroup } of launches) {
        if (time === 0 || launches.length > 1) {
          pass.setPipeline(launch.program.pipeline!);
          pass.setBindGroup(0, bindGroup, launch.program.uniformWindow > 0 ? [0] : []);
        }
        pass.dispatchWorkgroups(launch.x, launch.y);
      }
    }
    pass.end();
  }
  timestamps?.resolve(encoder);
  gpu.queue.submit([encoder.finish()]);
}

/** What else a machine does only ever adds to a time. */
const leastOf = (trial: Trial | null): number => Math.min(...(trial?.times ?? []));

/** Memory that launches are tried in: each storage of the kernel has a buffer, which all of them share. */
class TrialRoom {
  readonly #buffers = new Map<Storage, GPUBuffer>();
  readonly #uniforms: GPUBuffer[] = [];
  #bytes = 0;

  constructor(private readonly gpu: GPUDevice) {
    gpu.pushErrorScope('out-of-memory');
    gpu.pushErrorScope('validation');
  }

  /** Null where it takes more memory than is taken for that. */
  trial(launches: readonly PreparedKernel[], device: WebGpuDevice): Trial | null {
    const places = launches.flatMap((launch) => {
      const bindGroup = this.#bindGroupOf(launch, device);
      return bindGroup ? [{ launch, bindGroup }] : [];
    });
    return places.length === launches.length ? { launches: places, count: 1, times: [] } : null;
  }

  #bindGroupOf(launch: PreparedKernel, device: WebGpuDevice): GPUBindGroup | null {
    const { program, bindings, params } = launch;
    const buffers = bindings.map(({ operand, layout }) => {
      const { storage } = operand.tensor;
      return this.#bufferOf(storage, sizeClass(deviceByteLength(device, layout, storage.byteLength)));
    });
    const { uniforms, uniformWindow: size } = program;
    const resources: GPUBufferBinding[] = [];
    if (size > 0) {
      const buffer = this.gpu.createBuffer({ size, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
      const words = new Int32Array(size / 4);
      uniforms.write(params, words, new Float32Array(words.buffer), 0);
      this.gpu.queue.writeBuffer(buffer, 0, words);
      this.#uniforms.push(buffer);
      resources.push({ buffer, size });
    }
    for (const buffer of buffers) {
      if (!buffer) return null;
      resources.push({ buffer });
    }
    const entries = resources.map((resource, binding) => ({ binding, resource }));
    return this.gpu.createBindGroup({ layout: program.bindGroupLayout, entries });
  }

  #bufferOf(storage: Storage, size: number): GPUBuffer | null {
    const known = this.#buffers.get(storage);
    if (known) return known;
    this.#bytes += size;
    if (this.#bytes > mostBytes) return null;
    const buffer = this.gpu.createBuffer({ size, usage: GPUBufferUsage.STORAGE });
    this.#buffers.set(storage, buffer);
    return buffer;
  }

  /** What `work` gives; null where there was no memory for it, or the GPU refused it. */
  async within<Result>(work: () => Promise<Result | null>): Promise<Result | null> {
    const errors = [this.gpu.popErrorScope(), this.gpu.popErrorScope()];
    if (this.#bytes > mostBytes || (await Promise.all(errors)).some((error) => error !== null)) return null;
    return work();
  }

  destroy(): void {
    for (const buffer of [...this.#buffers.values(), ...this.#uniforms]) buffer.destroy();
  }
}
