import type { DeviceBuffer, Storage } from '@cresset/tensor';
import {
  isSymbolicKernel,
  scheduledLaunch,
  SizedKernels,
  withSizesOfNow,
  type CommandList,
  type DeviceCapabilities,
  type Kernel,
  type LaunchRecorder,
  type PreparedLaunch,
  type RecordedLaunch,
  type ScheduledLaunch,
  type TemporaryTensor,
} from '@cresset/tensorexpr';
import type { BufferPool, PooledBuffer } from '../memory/buffer-pool.ts';
import type { PipelineCache, Program } from './pipeline-cache.ts';
import type { PreparedKernel } from './prepared-kernel.ts';
import { JoinedLaunches } from './joined-launches.ts';
import { sizedLaunch } from './sized-launches.ts';
import { ScratchBuffers, scratchPlaces, type ScratchPlace } from '../memory/scratch-buffers.ts';
import type { WebGpuDevice } from '../webgpu-device.ts';
import type { WorkQueue } from './work-queue.ts';
import { commandOf, type DispatchCommand } from './work-batch.ts';

/** What command lists ask of their device. */
export interface CommandListHost {
  readonly work: WorkQueue;
  readonly uniformPool: BufferPool;
  readonly uniformAlignment: number;
  bufferOf(handle: DeviceBuffer): PooledBuffer;
  /** A kernel made ready, where it is one launch. @param now the kernel with the numbers of now */
  prepare(kernel: Kernel, now: Kernel): PreparedKernel | null;
  readonly device: WebGpuDevice;
  launchesOf(kernel: Kernel, temporary: TemporaryTensor): readonly PreparedKernel[];
  enqueue(prepared: PreparedKernel, storages: readonly Storage[]): void;
  readonly capabilities: DeviceCapabilities;
  readonly pipelines: PipelineCache;
}

/** Sets of buffers a launch is remembered with: outputs and inputs trade places from run to run. */
const rememberedSets = 4;

interface Command {
  readonly program: Program;
  readonly places: readonly number[];
  readonly offsets: readonly number[];
  readonly x: number;
  readonly y: number;
  /** Its params, where they are other ones now than the list was made with; null where they lie in the list's. */
  readonly words: Int32Array<ArrayBuffer> | null;
  /** Params that come with each replay: which of its own they are, and which of those given. */
  readonly open: readonly { readonly param: number; readonly number: number }[];
  /** What it was enqueued as last, first. */
  readonly recent: { readonly buffers: readonly PooledBuffer[]; readonly command: DispatchCommand }[];
}

class WebGpuCommandList implements CommandList {
  /** The buffers of the last replay: those given, then scratch. */
  readonly bound: (PooledBuffer | undefined)[] = [];
  commands: DispatchCommand[] | null = null;
  scratchGeneration = -1;

  constructor(
    readonly launches: Command[],
    readonly given: number,
    public scratch: readonly ScratchPlace[],
    /** The params of all launches, as they lie in `uniforms`. */
    readonly words: Int32Array<ArrayBuffer>,
    public uniforms: PooledBuffer,
    readonly scheduled: readonly ScheduledLaunch[],
  ) {}

  get byteLength(): number {
    return this.uniforms.byteLength;
  }
}

/** Launches as lists: bind groups that stay, a uniform buffer for each list, scratch buffers for all of them. */
export class CommandLists implements LaunchRecorder {
  listener: ((launch: PreparedLaunch) => void) | null = null;
  readonly scratch: ScratchBuffers;
  readonly #sized = new SizedKernels((kernel) => sizedLaunch(kernel, this.host));

  readonly #joined: JoinedLaunches;

  constructor(private readonly host: CommandListHost) {
    this.#joined = new JoinedLaunches(host.capabilities, host.pipelines);
    this.scratch = new ScratchBuffers(host.work.pool);
  }

  prepare(kernel: Kernel): PreparedKernel | null {
    const isSized = isSymbolicKernel(kernel) && !this.host.device.tuner;
    return isSized ? this.#sized.of(kernel)() : this.host.prepare(kernel, withSizesOfNow(kernel));
  }

  /** A kernel with the numbers of now. */
  ofNow(kernel: Kernel): Kernel {
    return withSizesOfNow(kernel);
  }

  prepareAll(kernel: Kernel, temporary: TemporaryTensor): readonly PreparedLaunch[] {
    return this.host.launchesOf(kernel, temporary);
  }

  launch(launch: PreparedLaunch, storages: readonly Storage[]): void {
    this.host.enqueue(launch as PreparedKernel, storages);
  }

  prepareAgain(kernel: Kernel): PreparedLaunch | null {
    const prepared = this.prepare(kernel);
    return prepared && prepared.x > 0 ? prepared : null;
  }

  together(launches: readonly PreparedLaunch[]): PreparedLaunch | null {
    return this.#joined.of(launches as readonly PreparedKernel[]);
  }

  record(recorded: readonly RecordedLaunch[], given: number, scratchBytes: readonly number[]): CommandList {
    const { uniformAlignment } = this.host;
    let byteLength = 0;
    const starts = recorded.map(({ launch }) => {
      const { uniformWindow } = (launch as PreparedKernel).program;
      const start = byteLength;
      byteLength += Math.ceil(uniformWindow / uniformAlignment) * uniformAlignment;
      return start;
    });
    const words = new Int32Array(byteLength / 4);
    const launches = recorded.map((each, at): Command => {
      for (const wish of (each.launch as PreparedKernel).wishes) wish.recorded();
      return { ...listed(each, words, starts[at]), words: null };
    });
    const scheduled = recorded.flatMap(({ launch }) => (launch as PreparedKernel).launches.map(scheduledLaunch));
    const scratch = scratchPlaces(scratchBytes);
    const list = new WebGpuCommandList(launches, given, scratch, words, this.#uniformsOf(words), scheduled);
    this.scratch.hold(scratch);
    this.#findScratch(list);
    return list;
  }

  change(given: CommandList, changed: ReadonlyMap<number, RecordedLaunch>, scratchBytes: readonly number[]): void {
    const list = given as WebGpuCommandList;
    for (const [at, each] of changed) {
      const words = new Int32Array((each.launch as PreparedKernel).program.uniformWindow / 4);
      list.launches[at] = { ...listed(each, words, 0), words };
    }
    this.scratch.release(list.scratch);
    list.scratch = scratchPlaces(scratchBytes);
    this.scratch.hold(list.scratch);
    this.#findScratch(list);
  }

  replay(listed: CommandList, given: readonly DeviceBuffer[], open: readonly (number | bigint)[]): void {
    const list = listed as WebGpuCommandList;
    const { bound } = list;
    for (let at = 0; at < list.given; at++) {
      const buffer = this.host.bufferOf(given[at]);
      if (buffer === bound[at]) continue;
      bound[at] = buffer;
      list.commands = null;
    }
    if (list.scratchGeneration !== this.scratch.generation || bound.some((buffer) => buffer!.state === 'failed')) {
      this.#findScratch(list);
    }
    if (list.uniforms.state === 'failed') {
      list.uniforms = this.#uniformsOf(list.words);
      for (const { recent } of list.launches) recent.length = 0;
      list.commands = null;
    }
    list.commands ??= list.launches.map((launch) => this.#commandOf(launch, list));
    const batch =
      open.length > 0 || list.launches.some(({ words }) => words)
        ? this.#enqueueOpen(list, list.commands, open)
        : this.host.work.enqueue(list.commands);
    for (const buffer of bound) buffer!.lastBatch = batch;
    list.uniforms.lastBatch = batch;
  }

  /** Launches with params of this replay take all of theirs along, each in its turn: others may have filled the batch. */
  #enqueueOpen(
    list: WebGpuCommandList,
    commands: readonly DispatchCommand[],
    numbers: readonly (number | bigint)[],
  ): number {
    let batch = 0;
    list.launches.forEach(({ open, offsets, program, words: changed }, at) => {
      if (open.length === 0 && !changed) {
        batch = this.host.work.enqueue([commands[at]]);
        return;
      }
      const start = offsets[0] / 4;
      const own = changed ?? list.words.subarray(start, start + program.uniformWindow / 4);
      batch = this.host.work.enqueueWith(commands[at], ({ uniforms: { words, floats } }, to) => {
        words.set(own, to);
        for (const { param, number } of open) program.uniforms.put(param, numbers[number], words, floats, to);
      }).id;
    });
    return batch;
  }

  forget(listed: CommandList): void {
    const { uniforms, scratch } = listed as WebGpuCommandList;
    this.host.uniformPool.give(uniforms);
    this.scratch.release(scratch);
  }

  #findScratch(list: WebGpuCommandList): void {
    list.scratch.forEach((place, at) => (list.bound[list.given + at] = this.scratch.at(place)));
    list.scratchGeneration = this.scratch.generation;
    list.commands = null;
  }

  /** A uniform buffer with these words. What is enqueued already may read the old words of one that was given up. */
  #uniformsOf(words: Int32Array<ArrayBuffer>): PooledBuffer {
    const buffer = this.host.uniformPool.take(Math.max(words.byteLength, 4), this.host.work.submittedBatch);
    const write = (): void => this.host.work.queue.writeBuffer(buffer.gpu, 0, words);
    if (words.length > 0) this.host.uniformPool.whenMade(buffer, words.byteLength, write);
    return buffer;
  }

  #commandOf(launch: Command, list: WebGpuCommandList): DispatchCommand {
    const { program, places, offsets, x, y, words, open, recent } = launch;
    const { bound } = list;
    for (let at = 0; at < recent.length; at++) {
      const known = recent[at];
      if (!known.buffers.every((buffer, binding) => buffer === bound[places[binding]])) continue;
      if (at > 0) recent.unshift(...recent.splice(at, 1));
      return known.command;
    }
    const buffers = places.map((place) => bound[place]!);
    const uniforms = open.length > 0 || words ? this.host.work.batchUniforms : list.uniforms;
    const command = commandOf(program, uniforms, buffers, x, y, offsets);
    recent.unshift({ buffers, command });
    if (recent.length > rememberedSets) recent.pop();
    return command;
  }
}

/** Has a device record work, if it does not yet. */
export function recordOn(device: WebGpuDevice): void {
  device.recorder ??= new CommandLists(device.host);
}

/** A launch as one of a list, its params written to `words`, from byte `start` on. */
function listed({ launch, places }: RecordedLaunch, words: Int32Array<ArrayBuffer>, start: number): Command {
  const { program, params, x, y } = launch as PreparedKernel;
  void program.compile();
  program.uniforms.write(params, words, new Float32Array(words.buffer), start / 4);
  const offsets = program.uniformWindow > 0 ? [start] : [];
  const open = params.flatMap(({ open: number }, param) => (number ? { param, number: number.index } : []));
  return { program, places, offsets, x, y, words, open, recent: [] };
}
