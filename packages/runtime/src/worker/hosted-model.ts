import type { LoadedModule, TransferProgress } from '@cresset/archive';
import { ClassType, compilerServices, CressetError, jitOptions, nested, type ScriptFunction } from '@cresset/ir';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { ScriptObject, Tensor, type IValue, type Storage } from '@cresset/tensor';
import type { Explanation } from '../explanation.ts';
import type { DeviceTensors } from '../device-tensors/device-tensors.ts';
import type { OperatorObserver } from '../run/execution.ts';
import { RunCounters } from '../run/run-counters.ts';
import { makeRunProfile, type RunProfile } from '../run/run-profile.ts';
import type { RuntimeServices } from '../services.ts';
import { forEachStorage } from '../memory/reachable-storages.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ScriptModule, type CallOptions } from '../script-module.ts';
import { giveUpCopies, UndecidedStorages } from '../memory/undecided-storages.ts';
import { bindArguments } from './argument-binding.ts';
import type {
  CallRequest,
  CallResult,
  DeviceReport,
  LoadTimings,
  ModelSummary,
  ModuleSummary,
  StateDictReport,
  StateDictRequest,
  TensorSummary,
  WireTensor,
  WireValue,
} from './wire/protocol.ts';
import type { ProgramParts } from './program-parts.ts';
import { reachableTensors, tensorFromWire, tensorToWire, toWire, WireReader } from './wire/wire-value.ts';

/** What a call came to: its value or its error, and what it took. */
export interface CallOutcome extends CallResult {
  readonly error: unknown;
}

/** Where a program's words go. */
export interface ModelOutput {
  print(text: string): void;
  warn(text: string): void;
}

/** What a host keeps of a program: a file that was loaded, or one that came to be here. */
export type HostedProgram = Omit<LoadedModule, 'debugTables' | 'weights' | 'constants'> & {
  readonly debugTables: Pick<LoadedModule['debugTables'], 'load'>;
  readonly weights?: LoadedModule['weights'];
};

/** What is called: a method with its object, or a function. */
export interface Callee {
  readonly fn: ScriptFunction;
  readonly receiver: ScriptObject | null;
}

/** Where a model runs. */
export interface ModelPlace {
  readonly device: ComputeDevice | null;
  readonly report: DeviceReport;
  /** Bytes that its tensors may take there; without it, any. The part `memory` has to be there for that. */
  readonly memoryLimit?: number | null | undefined;
}

/** A loaded model as its host keeps it. */
export class HostedModel {
  /** What requests call it by. */
  id = 0;
  /** Of a file: how long loading it took. */
  timings: LoadTimings | null = null;
  readonly runner: ScriptModule;
  /** Modules by path, the model itself under `''`. */
  readonly modules: Map<string, ScriptObject>;
  /** The program as it was loaded. */
  readonly loadedProgram: HostedProgram;
  readonly #device: ComputeDevice | null;
  readonly deviceReport: DeviceReport;
  /** Methods that were called, with their modules. */
  readonly #called = new Set<string>();
  readonly #temporaries = new UndecidedStorages();
  /** Objects whose tensors were not there when they could have been made ready. */
  #unprepared: ScriptObject[] = [];
  #queue: Promise<unknown> = Promise.resolve();
  /** What is kept for it beside what the program holds. */
  readonly keeps: (() => Iterable<Tensor>)[] = [];
  /** What else ends with it. */
  readonly ends: (() => void)[] = [];
  /** Tensors of the page that lie where it runs; null where there are none. */
  pageTensors: () => DeviceTensors | null = () => null;

  constructor(
    loaded: HostedProgram,
    { device, report, memoryLimit }: ModelPlace,
    output: ModelOutput,
    /** What the program needs of the library besides the engine. */
    readonly parts: ProgramParts,
  ) {
    this.loadedProgram = loaded;
    this.#device = device;
    const context = new RuntimeContext({
      device,
      memoryLimit: memoryLimit ?? null,
      print: (text) => output.print(text),
      warn: (text) => output.warn(text),
    });
    this.deviceReport = device ? { ...report, smallWork: context.limits.smallWork } : report;
    this.runner = new ScriptModule(loaded.module, loaded.unit, context, {
      loadDebugTables: () => loaded.debugTables.load(),
      weights: loaded.weights ?? null,
    });
    this.modules = collectModules(loaded.module);
  }

  /**
   * Runs what objects of the file need before they can be used: their `__setstate__`. Layers with packed weights are made ready, those
   * aside whose weights are read later, and where there are such layers, so is `forward`.
   */
  async prepare(signal: AbortSignal): Promise<void> {
    await this.runner.restore(this.loadedProgram.pendingStates, { signal });
    this.#unprepared = this.loadedProgram.pendingStates.flatMap(({ object }) =>
      this.#preparationOf(object) ? [object] : [],
    );
    if (this.#unprepared.length > 0) this.runner.prepare('forward');
    this.#prepareObjects();
  }

  #preparationOf(object: ScriptObject): (() => void) | undefined {
    return compilerServices<RuntimeServices>().preparationOf?.(object);
  }

  /** Makes those objects ready whose tensors are on the host. */
  #prepareObjects(): void {
    this.#unprepared = this.#unprepared.filter((object) => {
      if (!storagesOf([object]).every(({ isOnHost }) => isOnHost)) return true;
      this.#preparationOf(object)!();
      return false;
    });
  }

  /**
   * Reads the weights that nothing needed so far, each to where the model runs: to the device, without staying on the host, or to the
   * host. Rejects with a CressetError.
   */
  async preload(signal: AbortSignal, onProgress?: (progress: TransferProgress) => void): Promise<void> {
    const { module, weights } = this.loadedProgram;
    if (!weights) return;
    const { preloadWeights } = await import('./weights/preload.ts');
    this.parts.note('preload', 'weights that are read before they are needed');
    await preloadWeights(
      { weights, tensors: reachableTensors(module), packed: storagesOf(this.#unprepared), device: this.#device },
      signal,
      onProgress,
    );
    this.#prepareObjects();
    await this.#device?.flush();
  }

  /** Makes the author's source known: for messages, and for what is printed. */
  loadDebugTables(): Promise<void> {
    return this.loadedProgram.debugTables.load();
  }

  /** Resolves when everything that was asked for so far has ended. */
  get idle(): Promise<unknown> {
    return this.#queue;
  }

  /** Runs `work` when everything before it has ended. @param signal ends what is measured behind it */
  enqueue<Result>(work: () => Promise<Result>, signal: AbortSignal | null = null): Promise<Result> {
    const isTuned = jitOptions().autotune && this.#device?.fetchTuner;
    const turn = this.#queue.then(isTuned ? () => this.#tuned(work, signal) : work);
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  /** Does work; then schedules are measured of what it ran again and again. */
  async #tuned<Result>(work: () => Promise<Result>, signal: AbortSignal | null): Promise<Result> {
    this.parts.note('tuner', 'autotune');
    const tuner = await this.#device!.fetchTuner!();
    const result = await work();
    if (await tuner?.measure(this, signal)) this.runner.context.planner?.clear();
    return result;
  }

  async call(
    {
      id = 0,
      module,
      method,
      args,
      kwargs,
      spare,
      outputs,
    }: Omit<CallRequest, 'type' | 'id' | 'model'> & { id?: number },
    signal: AbortSignal,
    onProgress?: (progress: TransferProgress) => void,
    observer: OperatorObserver | null = null,
  ): Promise<CallOutcome> {
    await this.#expectRepetition(`${module}.${method}`);
    const start = performance.now();
    const before = this.#device ? { ...this.#device.counters } : null;
    const reader = this.reader();
    const tensors = this.pageTensors();
    if (this.#device) this.#device.spare = [...(spare ?? [])];
    try {
      const callee = this.callee(module, method);
      const { fn, receiver } = callee;
      const { schema } = fn;
      const bound = bindArguments(fn, receiver ?? undefined, args, kwargs, (value, argument) =>
        reader.argument(value, argument, schema.name),
      );
      const inputs = receiver ? bound.slice(1) : bound;
      const made = new Set<Storage>();
      const toHost = outputs && ((value: IValue) => tensors!.partsAt('page', value, outputs));
      const options = { signal, resultToHost: toHost ?? true, onProgress: onProgress ?? null, observer, made };
      const result = await this.run(callee, inputs, options);
      const stay = outputs && tensors!.staying(result, outputs, id);
      const value = await this.toWire(result, schema.returns[0]?.type ?? null, made, stay);
      const written = await writtenArguments(reader);
      const spared = reader.spared(this.freeTemporaries([...inputs, result]));
      const profile = this.#profile(start, before);
      return { value, written, spared, error: null, profile, reshaped: tensors?.reshaped() };
    } catch (error) {
      // What it wrote before it failed is written, as in PyTorch; a lost device takes it along.
      const written = await writtenArguments(reader).catch(() => []);
      const profile = this.#profile(start, before);
      tensors?.abandon(id);
      return { value: null, written, spared: [], error, profile, reshaped: tensors?.reshaped() };
    } finally {
      if (this.#device) this.#device.spare = [];
    }
  }

  /** Runs a method, or a function, with its arguments but `self`. What asks for gradients comes with a part, which few programs need. */
  async run(
    callee: Callee,
    inputs: readonly IValue[],
    options: CallOptions,
    runner: ScriptModule = this.runner,
  ): Promise<IValue> {
    const { fn, receiver } = callee;
    const run = (changed: CallOptions): Promise<IValue> => {
      const all = { ...options, ...changed };
      return receiver ? runner.callOn(receiver, fn.name, inputs, all) : runner.callFunction(fn, inputs, all);
    };
    if (!this.parts.areNeeded('gradients')) return run({});
    const { callWithGradients } = await import('../autograd/recording/gradients-within.ts');
    return callWithGradients({ ...this, runner }, callee, options, run);
  }

  /** Fetches what the host is faster with, and kernels that few programs need. */
  async wantKernels(): Promise<void> {
    if (!this.#device || this.#device.capabilities.host) await this.parts.want('host', 'a call on the host');
    if (this.parts.areNeeded('quantized')) await this.#device?.fetchIntegerProducts?.();
    if (this.parts.areNeeded('fourier')) await this.#device?.fetchTransforms?.();
  }

  /** A method that is called once more may be called often: what records its runs on a device comes then. What the host is faster with comes at once. */
  async #expectRepetition(method: string): Promise<void> {
    await this.wantKernels();
    if (this.#device && this.#called.has(method)) {
      await this.wantPlans('a method that is called again');
      if (this.runner.lastRun?.hostSmall.length) await this.parts.want('host', 'small work that is done again');
    }
    this.#called.add(method);
  }

  /** Fetches what records runs on the device and replays them, as far as it can be had. */
  async wantPlans(reason: string): Promise<void> {
    await Promise.all([this.parts.want('plans', reason), this.#device?.fetchRecorder?.()]);
  }

  /** Makes values of messages; they may refer to the modules of this model. */
  reader(): WireReader {
    return new WireReader(
      ({ model, path }) => (model === this.id ? this.modules.get(path) : undefined),
      (id) => this.pageTensors()?.get(id),
    );
  }

  /** Throws where there is nothing of that name. */
  callee(module: string, method: string): Callee {
    const receiver = this.receiver(module);
    return { fn: this.runner.method(method, receiver), receiver };
  }

  /** Hooks may have put other tensors into the result than the program, so here the rest comes to the host. */
  async toWire(...[value, type, made, stay]: Parameters<typeof toWire>): Promise<WireValue> {
    const tensors = reachableTensors(value).filter((tensor) => !stay?.has(tensor));
    await Promise.all(tensors.map((tensor) => tensor.storage.toHost()));
    return toWire(value, type, made, stay);
  }

  /**
   * Device copies of arguments and results serve nobody once the answer is made, unless the model kept them. Only the copies are
   * given up: a result may be a constant of the program. Returns the storages whose copies that were.
   */
  freeTemporaries(values: readonly IValue[]): ReadonlySet<Storage> {
    const free = new Set<Storage>();
    if (!this.#device) return free;
    forEachStorage(values, (storage) => {
      if (this.isOfPage(storage)) this.#temporaries.delete(storage);
      else if (!storage.isDisposed) this.#temporaries.add(storage);
    });
    this.#temporaries.decide(
      this.modules.values(),
      () => undefined,
      (storage) => {
        free.add(storage);
        giveUpCopies(storage);
      },
    );
    return free;
  }

  /** Whether the page has a tensor over a storage, which frees it then. */
  protected isOfPage(storage: Storage): boolean {
    return this.pageTensors()?.holds(storage) ?? false;
  }

  /** The run's profile with the readback of its results. */
  #profile(start: number, before: ComputeDevice['counters'] | null): RunProfile {
    const run = this.runner.lastRun ?? makeRunProfile(0, new RunCounters(), null, null);
    const after = this.#device?.counters;
    const since = (name: 'readbacks' | 'readbackBytes' | 'submits'): number =>
      before && after ? after[name] - before[name] : run[name];
    return {
      ...run,
      milliseconds: performance.now() - start,
      submits: since('submits'),
      readbacks: since('readbacks'),
      readbackBytes: since('readbackBytes'),
      liveBytes: after?.liveBytes ?? 0,
    };
  }

  // ---- questions

  summary(): Omit<ModelSummary, 'timings'> {
    const modules = [...this.modules].map(([name, { type }]): ModuleSummary => ({
      name,
      className: type.qualifiedName,
      methods: type.methods.map((method) => method.name),
    }));
    return {
      device: this.deviceReport,
      formatVersion: this.loadedProgram.formatVersion,
      modules,
      tensors: this.#tensors(),
      extraFiles: [...this.loadedProgram.extraFiles],
      parts: this.parts.uses,
    };
  }

  schema(module: string, method: string): string {
    return this.callee(module, method).fn.schema.toString();
  }

  async graph(module: string, method: string, which: 'graph' | 'optimized-graph'): Promise<string> {
    await this.loadDebugTables();
    const { fn, receiver } = this.callee(module, method);
    const graph = which === 'graph' ? this.runner.graphOf(fn) : this.runner.optimizedGraphOf(fn, receiver);
    return graph.copy().toString();
  }

  async explain(module: string, method: string): Promise<Explanation> {
    const { explainFunction } = await import('../explanation.ts');
    const { fn, receiver } = this.callee(module, method);
    return { ...explainFunction(this.runner, fn, receiver), parts: this.parts.uses, place: this.deviceReport };
  }

  async tensor(module: string, name: string): Promise<WireTensor> {
    const path = module === '' ? name : `${module}.${name}`;
    const at = path.lastIndexOf('.');
    const owner = this.modules.get(path.slice(0, Math.max(at, 0)));
    const slot = owner?.type.findAttributeSlot(path.slice(at + 1));
    const value = slot === undefined ? null : owner!.slots[slot];
    if (!(value instanceof Tensor)) throw new CressetError('NO_PARAMETER', `there is no parameter or buffer '${name}'`);
    return (await this.toWire(value, null)) as WireTensor;
  }

  /** Copies tensors into the parameters and buffers of a module. */
  async loadStateDict({ module, tensors, strict }: StateDictRequest): Promise<StateDictReport> {
    const { loadStateDict } = await import('./weights/state-dict.ts');
    this.parts.note('state-dict', 'loadStateDict');
    this.receiver(module);
    const state = new Map(tensors.map(([name, tensor]) => [name, tensorFromWire(tensor)]));
    return loadStateDict(this.modules, module, state, strict);
  }

  dispose(): void {
    for (const end of this.ends) end();
    this.runner.dispose((storage) => this.isOfPage(storage));
  }

  receiver(path: string): ScriptObject {
    const object = this.modules.get(path);
    if (!object) throw new CressetError('NO_MODULE', `there is no module '${path}'`);
    return object;
  }

  #tensors(): TensorSummary[] {
    const found: TensorSummary[] = [];
    const met = new Map<Tensor, string>();
    for (const [path, { type, slots }] of this.modules) {
      type.attributes.forEach((attribute, slot) => {
        const { kind } = attribute;
        const value = slots[slot];
        if (kind === 'attribute' || !(value instanceof Tensor)) return;
        const { dtype, sizes, requiresGrad } = value;
        const name = path === '' ? attribute.name : `${path}.${attribute.name}`;
        const tied = met.get(value);
        if (tied === undefined) met.set(value, name);
        found.push({ name, dtype, shape: [...sizes], kind, requiresGrad, ...(tied !== undefined && { tied }) });
      });
    }
    return found;
  }
}

function storagesOf(objects: readonly ScriptObject[]): Storage[] {
  const storages: Storage[] = [];
  forEachStorage(objects, (storage) => storages.push(storage));
  return storages;
}

/** The arguments that a program wrote to, which are its caller's: in place means that the caller sees it. */
async function writtenArguments(reader: WireReader): Promise<CallResult['written']> {
  const written = reader.written().filter(({ key }) => key !== undefined);
  await Promise.all(written.map(({ tensor }) => tensor.storage.toHost()));
  return written.map(({ key, tensor }) => [key!, tensorToWire(tensor)]);
}

/** Modules that stand in many places have many paths; a file may not make more of them than this. */
const MAX_MODULES = 100_000;

/** A module and those below it, in the order of their attributes; one that stands in two places has two paths. */
export function collectModules(root: ScriptObject): Map<string, ScriptObject> {
  const found = new Map<string, ScriptObject>();
  const above = new Set<ScriptObject>();
  const visit = (object: ScriptObject, path: string): void => {
    found.set(path, object);
    above.add(object);
    object.type.attributes.forEach(({ name, type }, slot) => {
      const value = object.slots[slot];
      const isModule = value instanceof ScriptObject && (type instanceof ClassType ? type : value.type).isModule();
      if (!isModule || above.has(value) || found.size >= MAX_MODULES) return;
      nested(
        () => visit(value, path === '' ? name : `${path}.${name}`),
        () => new CressetError('MODULES_NESTED', 'the model has modules within modules without end'),
      );
    });
    above.delete(object);
  };
  visit(root, '');
  return found;
}
