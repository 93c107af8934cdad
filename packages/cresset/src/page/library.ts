import { checkOptions, CressetError, type OptionRules } from '@cresset/ir';
import type { DeviceChoice, OutputPlaces } from '@cresset/runtime';
import { LoadedFile } from './loaded-file.ts';
import { wireInput, type ModelInput } from './values/model-input.ts';
import type { Tensor } from './values/tensor.ts';
import { fromWire } from './values/value.ts';
import { ScriptModule, withMethods } from './script-module.ts';
import type { EngineFiles } from './placing/engine-files.ts';
import {
  startInPage,
  startInWorker,
  type Placement,
  type PlacementListener,
  type StartWorker,
} from './placing/placement.ts';

export interface LoadOptions {
  /**
   * Where to compute. `auto` (the default) takes the GPU where there is one that is no software, for models with enough to do; others run on the
   * CPU. `model.place` says which and why. `webgpu` rejects where there is no GPU.
   */
  readonly device?: 'auto' | 'webgpu' | 'cpu';
  /** Another name for `device`, as `torch.jit.load` has `map_location`; `device` counts where both are given. */
  readonly mapLocation?: 'auto' | 'webgpu' | 'cpu';
  /** `false` runs the program in this thread, which it keeps busy. By default it runs in a worker that all models share. */
  readonly worker?: boolean;
  /**
   * Keeps what comes from an address for later visits, in the origin private file system. The server is asked each time whether it is
   * still the same file; where it cannot be reached, what was kept serves. See {@link cache}.
   */
  readonly cache?: boolean;
  /**
   * `false` reads all weights before it resolves. By default those of a file over 32 MB are read when a method first needs them, or by
   * {@link ScriptModule.preload}.
   */
  readonly lazy?: boolean;
  /**
   * How weights of float32 lie on a GPU. With `float16` parameters and constants of 4096 bytes or more take half the memory, and half the upload: each
   * number is rounded to the nearest float16 (by at most 2^-11 of itself, or 2^-25 where it is below 2^-14), and kernels compute with it in float32. A
   * weight with a finite number beyond 65504 stays float32, and so does one that is written to, from then on. `parameter()`, `stateDict()` and `save()` give the
   * rounded numbers as float32. Without effect on the CPU. The default is `float32`.
   */
  readonly weights?: 'float32' | 'float16';
  /** Where tensors of results are, where a call does not say (see {@link CallOptions.outputs}). The default is `page`. */
  readonly outputs?: OutputPlaces;
  /** Which program of a `.pt2` that has several (torch.export.pt2_archive.package_pt2); without it, the only one, or `model`. */
  readonly program?: string;
  /**
   * Bytes that the tensors of the model and of its run may take together, on the host and on the GPU. A call that would go beyond rejects with
   * `MEMORY_LIMIT`, the bytes and the line of the program; the next one begins anew.
   */
  readonly memoryLimit?: number;
  /** Ends loading; it rejects at once with an error of name `AbortError`. */
  readonly signal?: AbortSignal;
  /**
   * Bytes of the file read so far and in total; `loaded` never falls, and `total` is null where the server does not say. What is read of a
   * large file later, when a method needs it, is told too.
   */
  readonly onProgress?: (progress: { readonly loaded: number; readonly total: number | null }) => void;
}

export type CheckpointOptions = Pick<LoadOptions, 'worker' | 'cache' | 'signal' | 'onProgress'>;

const TRANSFER_RULES = {
  worker: 'boolean',
  cache: 'boolean',
  signal: 'signal',
  onProgress: 'function',
} as const satisfies OptionRules;

/** What the options that choose a device can be. */
export const DEVICE_RULES = { device: ['auto', 'webgpu', 'cpu'] } as const satisfies OptionRules;

/** What the options can be that say how weights lie. */
export const PRECISION_RULES = { weights: ['float32', 'float16'] } as const satisfies OptionRules;

/** What the options of a program can be, wherever it comes from. */
export const PLACE_RULES = {
  ...DEVICE_RULES,
  worker: 'boolean',
  memoryLimit: 'positive',
} as const satisfies OptionRules;

/** Memory in use. */
export interface MemoryReport {
  /** Models that were loaded and not disposed of. */
  readonly models: number;
  /** Results that stayed where they were made and were not disposed of ({@link DeviceTensor}). */
  readonly tensors: number;
  /** Bytes on the GPU: weights, and what runs hold. */
  readonly deviceBytes: number;
  /** Bytes that are kept on the GPU beside them, for runs to come. */
  readonly pooledBytes: number;
  /** The most bytes that were held on the GPU at one time, in use or kept. */
  readonly peakBytes: number;
}

/** The library on one page: it starts its worker when the first model is loaded, and all models share that. */
export class Library {
  readonly files: EngineFiles;
  /** How the page starts the worker itself, where it does. */
  #startWorker: StartWorker | null = null;
  readonly #listener: PlacementListener;
  #inWorker: Promise<Placement> | null = null;
  #inPage: Promise<Placement> | null = null;
  #loadsAfter: Promise<unknown> | null = null;
  /** Other copies of the library count from elsewhere: a module of theirs that is given to one of ours is not taken for another. */
  #nextModel = Math.floor(Math.random() * 2 ** 48);

  constructor(files: EngineFiles, listener: PlacementListener) {
    this.files = files;
    this.#listener = listener;
  }

  async load(input: ModelInput, options: LoadOptions): Promise<ScriptModule> {
    checkOptions('load', options, {
      ...PLACE_RULES,
      ...TRANSFER_RULES,
      ...PRECISION_RULES,
      mapLocation: DEVICE_RULES.device,
      lazy: 'boolean',
      program: 'string',
      outputs: 'any',
    });
    const {
      mapLocation = 'auto',
      device = mapLocation,
      cache = false,
      lazy = true,
      weights = 'float32',
      memoryLimit,
      program,
    } = options;
    const placement = await this.placement(options.worker ?? true, device);
    const model = this.nextModel();
    const request = {
      type: 'load',
      model,
      input: wireInput(input),
      device,
      cache,
      lazy,
      weights,
      memoryLimit,
      program,
    } as const;
    const { id, summary } = await placement.client.request('loaded', request, transferOptions(options));
    return withMethods(new ScriptModule(new LoadedFile(placement, model, summary, id, options.outputs)));
  }

  async loadCheckpoint(input: ModelInput, options: CheckpointOptions): Promise<Map<string, Tensor>> {
    checkOptions('loadCheckpoint', options, TRANSFER_RULES);
    const placement = await this.placement(options.worker ?? true);
    const request = { type: 'load-checkpoint', input: wireInput(input), cache: options.cache ?? false } as const;
    const { tensors } = await placement.client.request('checkpoint', request, transferOptions(options));
    return new Map(tensors.map(([name, tensor]) => [name, fromWire(tensor) as Tensor]));
  }

  async memory(): Promise<MemoryReport> {
    const reports = await Promise.all(
      (await this.placements()).map(async ({ client }) => (await client.request('memory', { type: 'memory' })).report),
    );
    const sum = (of: (report: MemoryReport) => number): number => reports.reduce((total, each) => total + of(each), 0);
    return {
      models: sum(({ models }) => models),
      tensors: sum(({ tensors }) => tensors),
      deviceBytes: sum(({ deviceBytes }) => deviceBytes),
      pooledBytes: sum(({ pooledBytes }) => pooledBytes),
      peakBytes: sum(({ peakBytes }) => peakBytes),
    };
  }

  /** Has what is kept for work to come given back, wherever programs run. */
  async trim(): Promise<void> {
    const placements = await this.placements();
    await Promise.all(placements.map(({ client }) => client.request('done', { type: 'trim' })));
  }

  /** Starts the worker another way; throws where it has been started. */
  setWorker(startWorker: StartWorker): void {
    if (this.#inWorker) {
      throw new CressetError(
        'WORKER_STARTED',
        'the worker has been started already: call setWorker before the first model is loaded, or after shutdown()',
      );
    }
    this.#startWorker = startWorker;
  }

  /** Ends the worker, and frees what all models hold; the next one that is loaded starts it again. */
  async shutdown(): Promise<void> {
    const placements = this.placements();
    this.#inPage = null;
    this.#inWorker = null;
    await Promise.all((await placements).map((each) => each.end()));
  }

  /** Where programs run so far. */
  async placements(): Promise<Placement[]> {
    return (await Promise.all([this.#inPage, this.#inWorker])).filter((each) => each !== null);
  }

  /** A number for a program that no other has. */
  nextModel(): number {
    return this.#nextModel++;
  }

  /**
   * Where programs run, in a worker or in this thread.
   *
   * @param device what the first of them is to run on, where that is known: it is opened at once
   */
  async placement(worker: boolean, device: DeviceChoice | null = null): Promise<Placement> {
    await this.#loadsAfter;
    return this.start(worker, device);
  }

  /** Has what is loaded from now on wait for something. */
  loadAfter(work: Promise<unknown>): void {
    this.#loadsAfter = Promise.allSettled([this.#loadsAfter, work]);
  }

  /** As {@link placement}, at once. */
  start(worker = true, device: DeviceChoice | null = null): Promise<Placement> {
    if (!worker) return (this.#inPage ??= this.#startInPage(device));
    return (this.#inWorker ??= this.#startInWorker(device));
  }

  // What failed to start is tried again the next time.

  #startInPage(device: DeviceChoice | null): Promise<Placement> {
    const starting = startInPage('that was asked for', this.files, this.#listener, device);
    starting.catch(() => (this.#inPage = null));
    return starting;
  }

  #startInWorker(device: DeviceChoice | null): Promise<Placement> {
    // The next model that is loaded has another worker.
    const forget = (): void => {
      if (this.#inWorker === starting) this.#inWorker = null;
    };
    const listener = { ...this.#listener, ended: forget };
    const starting = startInWorker(this.#startWorker, this.files, listener, device);
    starting.catch(forget);
    return starting;
  }
}

function transferOptions({ signal, onProgress }: LoadOptions): Pick<LoadOptions, 'signal' | 'onProgress'> {
  return { ...(signal ? { signal } : {}), ...(onProgress ? { onProgress } : {}) };
}
