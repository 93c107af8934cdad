import {
  openSource,
  readModule,
  type LoadedModule,
  type TransferOptions,
  type TransferProgress,
} from '@cresset/archive';
import { applyJitOptions, compilerServices, CressetError, jitOptions } from '@cresset/ir';
import type { ScriptObject } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import type { DeviceTensors } from '../device-tensors/device-tensors.ts';
import { initializeRuntime } from '../initialize.ts';
import { InterruptedError } from '../interpreter/script-error.ts';
import { collectModules, HostedModel, type ModelOutput, type ModelPlace } from './hosted-model.ts';
import {
  transferList,
  type Answer,
  type CallRequest,
  type CallResult,
  type CheckpointRequest,
  type DeviceChoice,
  type DeviceReport,
  type FromHost,
  type LoadRequest,
  type Notice,
  type PartRequest,
  type Port,
  type PreloadRequest,
  type QueryRequest,
  type Request,
  type StateDictRequest,
} from './wire/protocol.ts';
import type { PartLoader } from './part-loader.ts';
import { ProgramParts } from './program-parts.ts';
import type { RuntimeServices } from '../services.ts';
import { handlerOf, PART_OF_REQUEST } from './request-handlers.ts';
import { oversizedWeight, type NarrowStorages } from './weights/weight-sizes.ts';
import { expectedWork } from './device-choice.ts';
import { toWireError } from './wire/wire-error.ts';
import { tensorToWire } from './wire/wire-value.ts';

/** What a host cannot make itself. */
export interface HostEnvironment {
  /** Opens the GPU. Rejects with a CressetError that says why there is none. */
  openDevice(): Promise<ComputeDevice>;
  /** Makes a device of the host; null where it cannot be one, as under a policy that forbids to compile WebAssembly. */
  openHost?(): Promise<ComputeDevice | null>;
  /** Where the parts of the library come from that a program may need; without it, there is what was registered before. */
  readonly parts?: PartLoader;
}

/** So long the memory of a model that is gone is kept for the next one, in milliseconds. */
const REST_MS = 4000;

/** Progress is reported this often at most, in milliseconds: a page redraws no faster. */
const PROGRESS_INTERVAL_MS = 30;

export type AnswerBody = Answer extends infer Each ? (Each extends Answer ? Omit<Each, 'id'> : never) : never;

/** Carries what a failed call came to until then to its answer. */
class FailedCall {
  constructor(
    readonly error: unknown,
    readonly result: CallResult,
  ) {}
}

/**
 * The end of the protocol that owns models and runs programs: in a worker, or in the page or Node over `inProcessPorts`.
 *
 * Calls of one model wait for each other, in the order in which they came; models do not wait for each other, and an error of one
 * is nobody else's.
 */
export class WorkerHost {
  readonly models = new Map<number, HostedModel>();
  /** Tensors of the page that stayed where they were made; null until a call leaves some. */
  deviceTensors: DeviceTensors | null = null;
  readonly #port: Port<Request, FromHost>;
  readonly #environment: HostEnvironment;
  /** Where the words of programs go. */
  readonly output: ModelOutput = {
    print: (text) => this.send({ type: 'print', text }),
    warn: (text) => this.send({ type: 'warning', text }),
  };
  /** One a request that is under way. */
  readonly #aborts = new Map<number, AbortController>();
  /** Resolves when the request that came last begins. */
  #beginning: Promise<unknown> = Promise.resolve();
  #device: Promise<ComputeDevice> | null = null;
  #hostDevice: Promise<ComputeDevice | null> | undefined;
  #resting: ReturnType<typeof setTimeout> | null = null;

  /** @param device where the first program is to run, which is opened at once */
  constructor(port: Port<Request, FromHost>, environment: HostEnvironment, device: DeviceChoice | null = null) {
    this.#port = port;
    this.#environment = environment;
    // Whoever needs it hears why it cannot be opened.
    if (device) this.chooseDevice(device).catch(() => {});
    initializeRuntime();
  }

  /** Starts to answer requests, and says that it does. */
  listen(): void {
    this.#port.receive((request) => void this.#receive(request));
    this.send({ type: 'ready' });
  }

  async #receive(request: Request): Promise<void> {
    if (request.type === 'abort') {
      this.#aborts.get(request.id)?.abort();
      // It may have been answered meanwhile.
      this.deviceTensors?.abandon(request.id);
      return;
    }
    if (request.type === 'jit-options') return applyJitOptions(request.options);
    if (request.type === 'cresset:start') return;
    const { id } = request;
    const abort = new AbortController();
    this.#aborts.set(id, abort);
    let answer: Answer;
    try {
      await this.#ready(request);
      answer = { ...(await this.#answer(request, abort.signal)), id } as Answer;
    } catch (failure) {
      const call = failure instanceof FailedCall ? failure : null;
      const error = call ? call.error : failure;
      this.#forgetLostDevice(error);
      answer = { type: 'failed', id, error: toWireError(asAbort(error)), result: call?.result ?? null };
    } finally {
      this.#aborts.delete(id);
      if (abort.signal.aborted) this.deviceTensors?.abandon(id);
    }
    this.#port.send(answer, transferList(answer));
  }

  /**
   * Resolves when what answers a request is there. Requests begin in the order in which they came, whichever of them has to wait for that, and
   * programs take their turns in the order in which they begin.
   */
  #ready({ type }: Request): Promise<void> {
    const { parts } = this.#environment;
    const part = PART_OF_REQUEST[type as PartRequest['type']] as string | undefined;
    const ready = this.#beginning.then(async () => {
      if (jitOptions().executor) await parts?.need('executors');
      if (part) await parts?.need(part);
    });
    this.#beginning = ready.catch(() => undefined);
    return ready;
  }

  add(id: number, model: HostedModel): void {
    model.id = id;
    model.pageTensors = () => this.deviceTensors;
    this.models.set(id, model);
  }

  /** Says something without having been asked. */
  send(notice: Notice): void {
    this.#port.send(notice, transferList(notice));
  }

  #answer(
    request: Exclude<Request, { type: 'abort' | 'jit-options' | 'cresset:start' }>,
    signal: AbortSignal,
  ): Promise<AnswerBody> {
    switch (request.type) {
      case 'load':
        return this.#load(request, signal);
      case 'preload':
        return this.#preload(request, signal);
      case 'load-checkpoint':
        return this.#loadCheckpoint(request, signal);
      case 'load-state-dict':
        return this.#loadStateDict(request);
      case 'call':
        return this.#call(request, signal);
      case 'query':
        return this.#query(request);
      case 'dispose':
        return this.#dispose(request.model);
      default:
        return this.#answerOfPart(request, signal);
    }
  }

  async #answerOfPart(request: PartRequest, signal: AbortSignal): Promise<AnswerBody> {
    const part = PART_OF_REQUEST[request.type];
    const handler = handlerOf(request.type);
    if (!handler) throw new CressetError('PART_MISSING', `'${request.type}' is answered by the part '${part}'`);
    if ('model' in request) this.models.get(request.model)?.parts.note(part, `'${request.type}'`);
    return handler(request, this, signal);
  }

  /** The parts that one more program needs. */
  programParts(): ProgramParts {
    return new ProgramParts(this.#environment.parts ?? null);
  }

  async #load(request: LoadRequest, signal: AbortSignal): Promise<AnswerBody> {
    const start = performance.now();
    // The GPU is woken while the file travels.
    const opening = this.chooseDevice(request.device);
    opening.catch(() => {});
    const parts = this.programParts();
    const options: TransferOptions = {
      ...this.#transferOptions(request, signal),
      program: request.program,
      beforeCompiling: (contents) => parts.needForFile(contents),
      onPart: (name, reason) => parts.note(name, reason),
    };
    const source = await openSource(request.input, options);
    const opened = performance.now();
    const loaded = await readModule(source, options);
    const read = performance.now();
    const narrowing = request.weights === 'float16' ? await import('./weights/narrow-weights.ts') : null;
    const narrow = narrowing?.narrowableStorages(collectModules(loaded.module).values(), loaded.constants);
    const place = await this.#placeOf(loaded, await opening, request.device, narrow);
    const model = new HostedModel(loaded, await this.limited(place, request), this.output, parts);
    try {
      if (narrowing && place.device && !place.device.capabilities.host) {
        narrowing.narrowWeights(narrow!);
        parts.note('narrow-weights', "weights: 'float16'");
      }
      await model.prepare(signal);
      if (request.lazy === false && loaded.weights) {
        // The source tells how far the file has come; what stands between the weights is not transferred, and counts as done.
        await model.preload(signal);
        options.onProgress?.({ loaded: source.size, total: source.size });
      }
    } catch (error) {
      model.dispose();
      this.#trimLater();
      throw error;
    }
    this.add(request.model, model);
    const end = performance.now();
    model.timings = { total: end - start, download: opened - start, read: read - opened, device: end - read };
    return { type: 'loaded', summary: { ...model.summary(), timings: model.timings } };
  }

  async #preload({ id, model: number }: PreloadRequest, signal: AbortSignal): Promise<AnswerBody> {
    const model = this.model(number);
    return model.enqueue(async () => {
      await model.preload(signal, this.#progressReporter(id));
      return { type: 'done' } as const;
    });
  }

  async #loadCheckpoint(request: CheckpointRequest, signal: AbortSignal): Promise<AnswerBody> {
    const { readCheckpointFile } = await import('@cresset/archive/parts/checkpoint');
    const { tensors } = await readCheckpointFile(request.input, this.#transferOptions(request, signal));
    return {
      type: 'checkpoint',
      tensors: [...tensors].map(([name, tensor]) => [name, tensorToWire(tensor)]),
    };
  }

  async #loadStateDict(request: StateDictRequest): Promise<AnswerBody> {
    const model = this.model(request.model);
    return model.enqueue(
      async () => ({ type: 'state-dict-loaded', report: await model.loadStateDict(request) }) as const,
    );
  }

  #transferOptions({ id, cache = false }: LoadRequest | CheckpointRequest, signal: AbortSignal): TransferOptions {
    return { signal, cache, onProgress: this.#progressReporter(id), onWarning: (text) => this.output.warn(text) };
  }

  async #call(request: CallRequest, signal: AbortSignal): Promise<AnswerBody> {
    const model = this.model(request.model);
    return model.enqueue(async () => {
      if (request.outputs) (await this.#needDeviceTensors()).check(request.outputs);
      await model.parts.needForValues([...request.args, ...request.kwargs.map(([, value]) => value)]);
      const onProgress = request.tellsProgress ? this.#progressReporter(request.id) : undefined;
      const { error, ...result } = await model.call(request, signal, onProgress);
      if (error !== null) throw new FailedCall(error, result);
      return { type: 'called', result } as const;
    }, signal);
  }

  async #needDeviceTensors(): Promise<DeviceTensors> {
    await this.#environment.parts?.need('device-tensors');
    return (this.deviceTensors ??= compilerServices<RuntimeServices>().deviceTensors!(this.models));
  }

  async #query(request: QueryRequest): Promise<AnswerBody> {
    const model = this.model(request.model);
    // A question waits for the calls before it: it may read what they write.
    return model.enqueue(async () => {
      switch (request.about) {
        case 'explain':
          return { type: 'explained', explanation: await model.explain(request.module, request.method) } as const;
        case 'tensor':
          return { type: 'tensor', tensor: await model.tensor(request.module, request.name) } as const;
        case 'schema':
          return { type: 'text', text: model.schema(request.module, request.method) } as const;
        default:
          return { type: 'text', text: await model.graph(request.module, request.method, request.about) } as const;
      }
    });
  }

  async #dispose(id: number): Promise<AnswerBody> {
    const model = this.models.get(id);
    this.models.delete(id);
    await model?.enqueue(async () => model.dispose());
    this.#trimLater();
    return { type: 'done' };
  }

  #trimLater(): void {
    if (this.#resting !== null) return;
    // In an AudioWorklet there are no timers.
    if (typeof setTimeout === 'undefined') return void this.trim();
    const timer = setTimeout(() => {
      this.#resting = null;
      void this.trim();
    }, REST_MS);
    this.#resting = timer;
    // Node is not to wait for it; in a browser it is a number.
    if (typeof timer === 'object') timer.unref();
  }

  /**
   * Has devices give back what no work uses. A memory of WebAssembly never becomes smaller: where there is no model left, that goes as a whole, and the next
   * model has a new one.
   *
   * @param asking how many of the requests under way are for this
   */
  async trim(asking = 0): Promise<void> {
    const host = await this.#hostDevice;
    for (const device of await this.openedDevices()) device.trim();
    if (this.models.size > 0 || this.deviceTensors?.size) return;
    if (this.#aborts.size > asking) return this.#trimLater();
    this.#hostDevice = undefined;
    host?.dispose();
  }

  /** Ends what is under way, frees all models and gives the device back. */
  async close(): Promise<void> {
    for (const abort of this.#aborts.values()) abort.abort();
    await Promise.all([...this.models.keys()].map((id) => this.#dispose(id)));
    const devices = await this.openedDevices();
    this.#device = null;
    this.#hostDevice = undefined;
    if (this.#resting !== null) clearTimeout(this.#resting);
    for (const device of devices) device.dispose();
  }

  /** The GPU and the host, where they were opened. */
  async openedDevices(): Promise<ComputeDevice[]> {
    const opened = await Promise.all([this.#device?.catch(() => null), this.#hostDevice]);
    return opened.filter((device) => device != null);
  }

  /** A place with the limit that a request sets to memory there. */
  async limited(place: ModelPlace, { memoryLimit }: Pick<LoadRequest, 'memoryLimit'>): Promise<ModelPlace> {
    if (memoryLimit) await this.#environment.parts?.need('memory');
    return { ...place, memoryLimit };
  }

  /** Throws where there is none of that number. */
  model(id: number): HostedModel {
    const model = this.models.get(id);
    if (!model) throw new CressetError('MODEL_DISPOSED', 'this model was disposed of, or never loaded');
    return model;
  }

  async chooseDevice(choice: DeviceChoice): Promise<ModelPlace> {
    if (choice === 'cpu') return this.#onHost("device 'cpu' was asked for");
    try {
      const device = await (this.#device ??= this.#environment.openDevice());
      const { description } = device;
      const isSoftware = choice === 'auto' && device.capabilities.software;
      const host = isSoftware ? await this.#onHost(`the GPU is a software adapter (${description})`) : null;
      if (host?.device) return host;
      const found = isSoftware ? 'WebGPU is there, on a software adapter' : 'WebGPU is there';
      const reason = choice === 'webgpu' ? "device 'webgpu' was asked for" : found;
      return { device, report: { device: 'webgpu', description, reason } };
    } catch (error) {
      this.#device = null;
      if (choice === 'webgpu' || !(error instanceof CressetError)) throw error;
      return this.#onHost(`there is no GPU to compute on (${error.message})`);
    }
  }

  async #onHost(reason: string): Promise<ModelPlace> {
    // The first call asks for it, and hears why it is not there.
    this.#environment.parts?.need('host').catch(() => {});
    const isWanted = jitOptions().webAssembly !== false;
    const device = isWanted ? await (this.#hostDevice ??= this.#environment.openHost?.()) : null;
    return { device: device ?? null, report: cpuReport(reason, device?.description) };
  }

  /**
   * A model with a weight that the GPU cannot hold in one buffer runs on the host. Where the GPU was asked for, those operators do that use the weight.
   */
  async #placeOf(
    loaded: LoadedModule,
    place: ModelPlace,
    choice: DeviceChoice,
    narrow?: NarrowStorages,
  ): Promise<ModelPlace> {
    const modules = collectModules(loaded.module);
    const complaint = place.device && oversizedWeight(modules, place.device, narrow);
    if (!complaint) return choice === 'auto' ? this.#fasterPlace(modules, place) : place;
    if (place.device!.capabilities.host) return { device: null, report: cpuReport(complaint) };
    if (choice === 'auto') return this.#placeOf(loaded, await this.#onHost(complaint), choice);
    const { report } = place;
    return {
      ...place,
      report: { ...report, reason: `${report.reason}, but ${complaint}: what uses it runs on the host` },
    };
  }

  /** The host, where WebAssembly will have answered before a GPU could. */
  async #fasterPlace(modules: ReadonlyMap<string, ScriptObject>, place: ModelPlace): Promise<ModelPlace> {
    const { device, report } = place;
    if (!device || device.capabilities.host || device.capabilities.software) return place;
    const { multiplications, isSmall } = expectedWork(modules);
    const work = `a call is expected to do some ${Number((multiplications / 1e6).toPrecision(2))} million multiplications`;
    const host = isSmall ? await this.#onHost(`${work}, fewer than pay for a GPU's answer`) : null;
    if (host?.device && !oversizedWeight(modules, host.device)) return host;
    return { ...place, report: { ...report, reason: `${report.reason}, and ${work}` } };
  }

  /** The next model that is loaded gets a new device; those on the lost one go on saying that it is lost. */
  #forgetLostDevice(error: unknown): void {
    for (let each = error; each instanceof Error; each = each.cause) {
      if (each instanceof CressetError && each.code === 'DEVICE_LOST') this.#device = null;
    }
  }

  #progressReporter(id: number): (progress: TransferProgress) => void {
    let last = -Infinity;
    let loaded = 0;
    return (progress) => {
      const now = performance.now();
      const isEnd = progress.loaded === progress.total;
      if (progress.loaded < loaded || (!isEnd && now - last < PROGRESS_INTERVAL_MS)) return;
      // The end is reported once, however often the source says so.
      if (isEnd && loaded === progress.loaded && last !== -Infinity) return;
      last = now;
      ({ loaded } = progress);
      this.send({ type: 'progress', id, progress });
    };
  }
}

function cpuReport(reason: string, description = 'host'): DeviceReport {
  return { device: 'cpu', description, reason };
}

/** However a run was ended, who aborted it sees the web's name for that. */
function asAbort(error: unknown): unknown {
  if (!(error instanceof InterruptedError) || error.code !== 'ABORTED') return error;
  const abort = new CressetError('ABORTED', error.message, { cause: error });
  abort.name = 'AbortError';
  return abort;
}
