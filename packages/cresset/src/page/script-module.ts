import { checkOptions, CressetError } from '@cresset/ir';
import type {
  CallProfile,
  DeviceReport,
  Explanation,
  InputExpectations,
  ModelMemoryReport,
  ModelSummary,
  ModuleSummary,
  PartUse,
  PassStep,
  RunProfile,
  StateDictReport,
  TensorSummary,
  VerificationReport,
  WireReference,
} from '@cresset/runtime';
import type * as Inspection from './inspection.ts';
import type { ProfileOptions, VerifyOptions } from './inspection.ts';
import type * as Training from '../training/training.ts';
import type * as State from './module-state.ts';
import type { SaveOptions, StateDictOptions } from './module-state.ts';
import type { CallOptions, LoadedFile } from './loaded-file.ts';
import type { GradOptions, Gradients, Trainer, TrainerOptions } from '../training/training.ts';
import { traceCall } from './trace.ts';
import type { TracedTensor } from '../tracing/traced-tensor.ts';
import type { Tensor } from './values/tensor.ts';
import { fromWire, inMessages, type Input, type Output } from './values/value.ts';

export type PreloadOptions = Pick<CallOptions, 'signal' | 'onProgress'>;

export interface GraphOptions {
  /** The graph as it runs, after fusion and the other passes, instead of as it was compiled. */
  readonly optimized?: boolean;
  /** The graph of one stage that an executor takes it through: `inlined`, `profiled`, `optimized` (see `setJitOptions`). */
  readonly stage?: string;
  /** Passes that are run on a copy of it, in this order, by the names of `torch._C._jit_pass_…`: `['inline', 'fuse_linear']`. */
  readonly passes?: readonly string[];
}

const inspection = (): Promise<typeof Inspection> => import('./inspection.ts');
const state = (): Promise<typeof State> => import('./module-state.ts');
const training = (): Promise<typeof Training> => import('../training/training.ts');

/** What is of the library alone goes by symbols: whatever a program calls its methods, they hide no member and none hides them. */
export const loadedFile: unique symbol = Symbol('loaded file');
/** As {@link loadedFile}; throws `MODEL_DISPOSED` where that was disposed of. */
export const openFile: unique symbol = Symbol('open file');

/** A call of a method of the model: `model.reset_states()`. */
export interface ModelMethod {
  (...inputs: Input[]): Promise<Output>;
  /** In a function that is being traced, the call is recorded. */
  (...inputs: (Input | TracedTensor)[]): TracedTensor;
}

/** Where a model runs: on which device, in which thread, and why. */
export interface ModelPlace extends DeviceReport {
  /** `page` only where no worker could be had. */
  readonly thread: 'worker' | 'page';
  readonly threadReason: string;
}

/**
 * A loaded program (torch.jit.ScriptModule). Its methods can be called as properties of their name (`model.encode(x)`), besides
 * {@link forward}; those whose names this class has, and `then`, by {@link call} or {@link method}. Calls that are made before an earlier one
 * has ended wait for it.
 */
export class ScriptModule {
  readonly #file: LoadedFile;
  readonly #path: string;

  /** Used by `load`. */
  constructor(file: LoadedFile, path = '') {
    this.#file = file;
    this.#path = path;
  }

  /** @internal */
  get [inMessages](): WireReference {
    return { kind: 'reference', model: this.#file.id, path: this.#path };
  }

  /** @internal */
  get [loadedFile](): LoadedFile {
    return this.#file;
  }

  /** Runs `forward`. Rejects with a CressetError; one of the program itself is a {@link TorchScriptError}. */
  forward(...inputs: Input[]): Promise<Output>;
  /** In a function that is being traced, the call is recorded. */
  forward(...inputs: (Input | TracedTensor)[]): TracedTensor;
  forward(...inputs: unknown[]): unknown {
    return this.method('forward')(...(inputs as Input[]));
  }

  /** Runs a method by name. Throws `ARGUMENT_COUNT`, `ARGUMENT_NAME`, `ARGUMENT_TYPE` where the arguments do not fit it. */
  async call(method: string, inputs: readonly Input[], options: CallOptions = {}): Promise<Output> {
    return this[openFile]().call(this.#path, method, inputs, options);
  }

  /** A method as a function, whatever its name; the same as the property of that name where this class has none. */
  method(name: string): ModelMethod {
    return ((...inputs: Input[]) =>
      traceCall(this.#file, this.#path, name, inputs) ?? this.call(name, inputs)) as ModelMethod;
  }

  /** The names of this module's methods. */
  methods(): readonly string[] {
    return this.#file.summary.modules.find(({ name }) => name === this.#path)?.methods ?? [];
  }

  /** A method's schema in PyTorch's text, with types and defaults of its parameters. */
  schema(method = 'forward'): Promise<string> {
    return this.#text({ type: 'query', about: 'schema', method });
  }

  /** A method's graph in PyTorch's text (ScriptModule.graph). Rejects with `NO_STAGE` or `NO_PASS` where there is none of a name. */
  async graph(method = 'forward', options: GraphOptions = {}): Promise<string> {
    checkOptions('graph', options, { optimized: 'boolean', stage: 'string', passes: 'array' });
    const { optimized, stage, passes } = options;
    if (stage || passes) return this.#text({ type: 'graph', method, options });
    return this.#text({ type: 'query', about: optimized ? 'optimized-graph' : 'graph', method });
  }

  /**
   * The instructions that PyTorch's interpreter has for a method, or for what `options` make of its graph: the graph, then one line an instruction, as PyTorch
   * prints its Code. Ours run other ones, over registers.
   */
  async bytecode(method = 'forward', options: GraphOptions = {}): Promise<string> {
    return this.#with(inspection(), (part, file) => part.bytecodeOf(file, this.#path, method, options));
  }

  /**
   * The Python text of a method, as PyTorch prints it (ScriptModule.code is that of `forward`); that of the whole class where no method
   * is named.
   */
  async code(method?: string): Promise<string> {
    return this.#text({ type: 'print-python', method: method ?? null });
  }

  /** Qualified name of this module's class. */
  get className(): string {
    return this[openFile]().summary.modules.find(({ name }) => name === this.#path)?.className ?? '';
  }

  /** This module and those below it, by path (`''`, `layer1`, `layer1.0`). */
  namedModules(): readonly ModuleSummary[] {
    const below = this.#path === '' ? '' : `${this.#path}.`;
    return this[openFile]()
      .summary.modules.filter(({ name }) => name === this.#path || name.startsWith(below))
      .map((each) => ({ ...each, name: each.name === this.#path ? '' : each.name.slice(below.length) }));
  }

  /** The module below this one at a path such as `layer1.0`. Throws `NO_MODULE` where there is none. */
  submodule(path: string): this {
    const full = this.#path === '' ? path : `${this.#path}.${path}`;
    if (!this[openFile]().summary.modules.some(({ name }) => name === full)) {
      throw new CressetError('NO_MODULE', `${this.className} has no module '${path}'`);
    }
    return withMethods(new (this.constructor as typeof ScriptModule)(this.#file, full)) as this;
  }

  /**
   * Names, shapes and dtypes of the parameters, those of modules below among them. What is tied has the name of its first place only. A frozen
   * model has none.
   */
  namedParameters(): readonly TensorSummary[] {
    return this.#tensors('parameter');
  }

  /** Names, shapes and dtypes of the buffers, each once as well. */
  namedBuffers(): readonly TensorSummary[] {
    return this.#tensors('buffer');
  }

  /** The elements of a parameter or buffer as they are now. */
  async parameter(name: string): Promise<Tensor> {
    const { id, placement } = this[openFile]();
    const request = { type: 'query', model: id, module: this.#path, about: 'tensor', name } as const;
    const { tensor } = await placement.client.request('tensor', request);
    return fromWire(tensor) as Tensor;
  }

  /** All parameters, by name. */
  parameters(): Promise<ReadonlyMap<string, Tensor>> {
    return this.#read(this.namedParameters());
  }

  /** All parameters and buffers, by name (torch.nn.Module.state_dict). */
  stateDict(): Promise<Map<string, Tensor>> {
    return this.#read(this.#tensors());
  }

  async #read(summaries: readonly TensorSummary[]): Promise<Map<string, Tensor>> {
    const tensors = await Promise.all(summaries.map(({ name }) => this.parameter(name)));
    return new Map(summaries.map(({ name }, index) => [name, tensors[index]]));
  }

  /**
   * Copies tensors into the parameters and buffers of this module and those below it, by name (torch.nn.Module.load_state_dict).
   * Rejects with a CressetError `STATE_DICT` that has PyTorch's message where sizes do not fit and, unless `strict` is false, where names
   * are missing or unexpected; then nothing is changed.
   */
  async loadStateDict(
    stateDict: ReadonlyMap<string, Tensor> | Readonly<Record<string, Tensor>>,
    options: StateDictOptions = {},
  ): Promise<StateDictReport> {
    return this.#with(state(), (part, file) => part.loadStateDict(file, this.#path, stateDict, options));
  }

  /** What a method was compiled to: its operators and where each runs, and the groups that became one kernel. */
  async explain(method = 'forward'): Promise<Explanation> {
    const { id, placement } = this[openFile]();
    const request = { type: 'query', model: id, module: this.#path, about: 'explain', method } as const;
    return (await placement.client.request('explained', request)).explanation;
  }

  /** What the last call did: time, dispatches, submits, uploads, readbacks, and which operators fell back to the host. */
  get lastRun(): RunProfile | null {
    return this.#file.lastProfile;
  }

  /** Where the model runs, and why there. */
  get place(): ModelPlace {
    const { placement, summary } = this[openFile]();
    return { ...summary.device, thread: placement.thread, threadReason: placement.reason };
  }

  /** Files that were saved with the model (`_extra_files`), by name. */
  get extraFiles(): ReadonlyMap<string, Uint8Array> {
    return new Map(this[openFile]().summary.extraFiles);
  }

  /**
   * Parts of the library that the program needs beside the engine, readers of rare files among them, and what needs each. They were fetched when
   * it was loaded, or for an earlier one; what is fetched later `explain()` tells too.
   */
  get parts(): readonly PartUse[] {
    return this[openFile]().summary.parts;
  }

  /** How long loading took, in milliseconds. */
  get loadTimings(): ModelSummary['timings'] {
    return this[openFile]().summary.timings;
  }

  /**
   * Writes this module, with those below it, as PyTorch writes it (torch.jit.save): `torch.jit.load` reads it, in Python and here. What
   * calls have changed in place is saved as it is now.
   */
  save(options?: SaveOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** As a Blob, for a download or a form. */
  save(options: SaveOptions & { readonly as: 'blob' }): Promise<Blob>;
  async save(options: SaveOptions & { readonly as?: 'blob' } = {}): Promise<Uint8Array | Blob> {
    return this.#with(state(), (part, file) => part.saveModule(file, this.#path, options));
  }

  /**
   * Runs a method on the host and lets the GPU, or without one the host's WebAssembly, do each of its operators with the same inputs. The report
   * names the operators whose results differ, in the order of running, with their lines in Python. Where none does, the method is called
   * three times as it is optimised, recorded and replayed, and three times with smaller inputs where it takes them, and compared with the program
   * as it was written; the report names the first node that comes out wrong. All of it is done to copies: the model and the inputs
   * stay as they are.
   */
  async verify(inputs: readonly Input[], options: VerifyOptions = {}): Promise<VerificationReport> {
    return this.#with(inspection(), (part, file) => part.verifyMethod(file, this.#path, inputs, options));
  }

  /**
   * Measures calls of a method: where their time goes, and what each kernel takes, with its lines of Python and its shader. The method
   * runs up to twelve times, each time with the inputs as they are given. Rejects as {@link call} does.
   */
  async profile(inputs: readonly Input[], options: ProfileOptions = {}): Promise<CallProfile> {
    return this.#with(inspection(), (part, file) => part.profileMethod(file, this.#path, inputs, options));
  }

  /** How a method's graph comes to be the one that runs: the graph as it was compiled, and after each pass that changed it. */
  async passes(method = 'forward'): Promise<readonly PassStep[]> {
    return this.#with(inspection(), (part, file) => part.passesOf(file, this.#path, method));
  }

  /**
   * What a method tells of its inputs, without running it: what its first convolution, linear layer or embedding wants of each, and what
   * its checks name. Null stands for what the program leaves open, or does not tell.
   */
  async expectedInputs(method = 'forward'): Promise<InputExpectations> {
    return this.#with(inspection(), (part, file) => part.expectedInputsOf(file, this.#path, method));
  }

  /** The value of an attribute, as it is now; of a module below this one by its path, `layer1.training`. */
  async attribute(name: string): Promise<Output> {
    return this.#with(state(), (part, file) => part.attributeOf(file, this.#path, name));
  }

  /** Gives an attribute, parameter or buffer another value, of its type. */
  async setAttribute(name: string, value: Input): Promise<void> {
    await this.#with(state(), (part, file) => part.setAttribute(file, this.#path, name, value));
  }

  /** Puts this module and those below it into training mode, or with `false` out of it (torch.nn.Module.train). */
  async train(mode = true): Promise<this> {
    const { id, placement } = this[openFile]();
    const request = { type: 'set-attribute', model: id, module: this.#path, name: 'training', value: mode } as const;
    await placement.client.request('done', { ...request, isForAll: true });
    return withMethods(this);
  }

  /** The same as `train(false)` (torch.nn.Module.eval). */
  eval(): Promise<this> {
    return this.train(false);
  }

  /**
   * Says whether the parameters of this module and of those below it are trained (torch.nn.Module.requires_grad_). `namedParameters()` tells which
   * are.
   */
  async requiresGrad_(requiresGrad = true): Promise<this> {
    await this.#with(training(), (part, file) => part.requireGrad(file, this.#path, requiresGrad));
    return withMethods(this);
  }

  /**
   * Calls a method and takes the gradients of its loss, or of what it gives, by the parameters that require one and by the inputs
   * (torch.autograd.grad). One tensor can stand for the list of inputs. Rejects as {@link call} does, and with PyTorch's errors.
   */
  async grad(inputs: Tensor | readonly Input[], options: GradOptions = {}): Promise<Gradients> {
    return this.#with(training(), (part, file) => part.takeGradients(file, this.#path, inputs, options));
  }

  /**
   * Starts to train this module: `await model.trainer({ optimizer: optim.AdamW({ lr: 1e-3 }), loss: 'cross_entropy' })`. {@link train} puts it into
   * training mode. What training takes of the library is fetched now.
   */
  async trainer(options: TrainerOptions): Promise<Trainer> {
    return this.#with(training(), (part, file) => part.openTrainer(file, this.#path, options));
  }

  /**
   * Reads the weights that no call needed so far, of a file over 32 MB: to the GPU, where the model runs there. Resolves at once where all
   * are there.
   */
  async preload(options: PreloadOptions = {}): Promise<void> {
    checkOptions('preload', options, { signal: 'signal', onProgress: 'function' });
    const { id, placement } = this[openFile]();
    await placement.client.request('done', { type: 'preload', model: id }, options);
  }

  /** What the tensors of the whole model take between calls, and their limit. */
  async memory(): Promise<ModelMemoryReport> {
    const { id, placement } = this[openFile]();
    return (await placement.client.request('model-memory', { type: 'model-memory', model: id })).report;
  }

  /**
   * Frees the model's memory, on the GPU too, when the calls that were made before have ended. Modules below it end with it. What is never disposed of is freed
   * some time after nothing refers to it any more.
   */
  dispose(): Promise<void> {
    return this.#file.dispose();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** @internal */
  [openFile](): LoadedFile {
    if (this.#file.disposed) throw new CressetError('MODEL_DISPOSED', 'this model was disposed of');
    return this.#file;
  }

  /** Asks with a part of the page, in the order of what is asked of models. */
  async #with<Part, Result>(
    part: Promise<Part>,
    ask: (part: Part, file: LoadedFile) => Promise<Result>,
  ): Promise<Result> {
    const file = this[openFile]();
    return file.placement.client.askWith(part, (ready) => ask(ready, file));
  }

  async #text(
    question:
      | { type: 'query'; about: 'graph' | 'optimized-graph' | 'schema'; method: string }
      | { type: 'print-python'; method: string | null }
      | { type: 'graph'; method: string; options: GraphOptions },
  ): Promise<string> {
    const { id, placement } = this[openFile]();
    return (await placement.client.request('text', { model: id, module: this.#path, ...question })).text;
  }

  #tensors(kind?: TensorSummary['kind']): readonly TensorSummary[] {
    const below = this.#path === '' ? '' : `${this.#path}.`;
    const met = new Set<string>();
    return this[openFile]()
      .summary.tensors.filter(({ kind: own, name, tied = name }) => {
        if ((kind && own !== kind) || !name.startsWith(below)) return false;
        // Only a state dict has what is tied in all its places.
        const isMet = met.has(tied);
        met.add(tied);
        return !kind || !isMet;
      })
      .map((each) => ({ ...each, name: each.name.slice(below.length) }));
  }
}

/**
 * An object whose methods are properties, those of the program whose names it has not itself: `profile` and `call` stay what this library
 * says, and the program's are called by {@link ScriptModule.call} or {@link ScriptModule.method}. `then` is none of them, as what has one
 * is a Promise to JavaScript.
 */
export function withMethods<Target extends { methods(): readonly string[]; method(name: string): unknown }>(
  object: Target,
): Target {
  const isMethod = (name: string | symbol): name is string =>
    typeof name === 'string' && name !== 'then' && object.methods().includes(name);
  return new Proxy(object, {
    get(target, name) {
      // Private fields are the target's own, so it has to be the receiver.
      const own: unknown = Reflect.get(target, name, target);
      if (own !== undefined) return typeof own === 'function' ? own.bind(target) : own;
      return isMethod(name) ? target.method(name) : undefined;
    },
    has: (target, name) => Reflect.has(target, name) || isMethod(name),
  });
}
