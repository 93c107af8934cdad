import { checkOptions, CressetError, type OptionRules } from '@cresset/ir';
import type {
  CallProfile,
  CallResult,
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
  WireTensor,
} from '@cresset/runtime';
import type { Tensor } from './tensor.ts';
import { fromWire, inMessages, WireArguments, type Input, type Output } from './value.ts';
import type { Placement } from './placement.ts';

/** What is given to a run beside its positional arguments. */
export interface ArgumentOptions {
  /** Arguments by name, after the positional ones. */
  readonly kwargs?: Readonly<Record<string, Input>>;
  /** Ends the call at the next instruction; it rejects at once with an error of name `AbortError`. */
  readonly signal?: AbortSignal;
}

export interface CallOptions extends ArgumentOptions {
  /** Told how many bytes were read of the weights that this call needs, where they are not there yet: of a file over 32 MB. */
  readonly onProgress?: (progress: { readonly loaded: number; readonly total: number | null }) => void;
}

export type PreloadOptions = Pick<CallOptions, 'signal' | 'onProgress'>;

/** What {@link ArgumentOptions} can be. */
export const ARGUMENT_RULES = { kwargs: 'object', signal: 'signal' } as const satisfies OptionRules;

export interface GraphOptions {
  /** The graph as it runs, after fusion and the other passes, instead of as it was compiled. */
  readonly optimized?: boolean;
  /** The graph of one stage that an executor takes it through: `inlined`, `profiled`, `optimized` (see `setJitOptions`). */
  readonly stage?: string;
  /** Passes that are run on a copy of it, in this order, by the names of `torch._C._jit_pass_…`: `['inline', 'fuse_linear']`. */
  readonly passes?: readonly string[];
}

export interface StateDictOptions {
  /** `false` leaves out what does not fit by name, and the report says what that was. Sizes have to fit in any case. */
  readonly strict?: boolean;
  /** Takes only names that begin so, without it: `'model.'` for a checkpoint that holds more than the model. */
  readonly prefix?: string;
}

export interface SaveOptions {
  /** Files to be saved with the model (`_extra_files` of torch.jit.save), by name. */
  readonly extraFiles?: Readonly<Record<string, string | Uint8Array>>;
}

export interface VerifyOptions extends ArgumentOptions {
  /** The method to run; `forward` by default. */
  readonly method?: string;
  /** How far numbers may be apart, `absolute + relative * |host's|`; by default what each dtype gives rise to expect. */
  readonly tolerance?: { readonly relative: number; readonly absolute: number };
}

export interface ProfileOptions extends ArgumentOptions {
  /** The method to run; `forward` by default. */
  readonly method?: string;
}

/** A call of a method of the model: `model.reset_states()`. */
export type ModelMethod = (...inputs: Input[]) => Promise<Output>;

/** Where a model runs: on which device, in which thread, and why. */
export interface ModelPlace extends DeviceReport {
  /** `page` only where no worker could be had. */
  readonly thread: 'worker' | 'page';
  readonly threadReason: string;
}

/** What modules of one loaded file share. */
export class LoadedFile {
  disposed = false;
  lastProfile: RunProfile | null = null;

  constructor(
    readonly placement: Placement,
    readonly id: number,
    public summary: ModelSummary,
    /** Of the request that loaded it. */
    readonly request: number | null = null,
  ) {}

  async call(module: string, method: string, inputs: readonly Input[], options: CallOptions = {}): Promise<Output> {
    checkOptions(`call '${method}'`, options, { ...ARGUMENT_RULES, onProgress: 'function' });
    if (!Array.isArray(inputs))
      throw new CressetError('ARGUMENT', `the inputs of call '${method}' have to be an array`);
    const { kwargs: named, signal, onProgress } = options;
    const values = new WireArguments();
    const args = inputs.map((input) => values.value(input));
    const kwargs = values.named(named);
    const tellsProgress = onProgress !== undefined;
    const request = { type: 'call', model: this.id, module, method, args, kwargs, tellsProgress } as const;
    const note = ({ profile, written }: CallResult): void => {
      this.lastProfile = profile;
      values.update(written);
    };
    const requestOptions = { onFailedCall: note, ...(signal && { signal }), ...(onProgress && { onProgress }) };
    const { result } = await this.placement.client.request('called', request, requestOptions);
    note(result);
    return fromWire(result.value);
  }
}

/**
 * A loaded program (torch.jit.ScriptModule). Its methods can be called as properties of their name (`model.encode(x)`), besides
 * {@link forward}; calls that are made before an earlier one has ended wait for it.
 */
export class ScriptModule {
  /** @internal */
  protected readonly file: LoadedFile;
  /** @internal */
  protected readonly path: string;

  /** Used by `load`. */
  constructor(file: LoadedFile, path = '') {
    this.file = file;
    this.path = path;
  }

  /** @internal */
  get [inMessages](): WireReference {
    return { kind: 'reference', model: this.file.id, path: this.path };
  }

  /** Runs `forward`. Rejects with a CressetError; one of the program itself is a {@link TorchScriptError}. */
  forward(...inputs: Input[]): Promise<Output> {
    return this.call('forward', inputs);
  }

  /** Runs a method by name. Throws `ARGUMENT_COUNT`, `ARGUMENT_NAME`, `ARGUMENT_TYPE` where the arguments do not fit it. */
  async call(method: string, inputs: readonly Input[], options: CallOptions = {}): Promise<Output> {
    return this.openFile().call(this.path, method, inputs, options);
  }

  /** A method as a function; the same as the property of that name. */
  method(name: string): ModelMethod {
    return (...inputs) => this.call(name, inputs);
  }

  /** The names of this module's methods. */
  methods(): readonly string[] {
    return this.file.summary.modules.find(({ name }) => name === this.path)?.methods ?? [];
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
   * The Python text of a method, as PyTorch prints it (ScriptModule.code is that of `forward`); that of the whole class where no method
   * is named.
   */
  async code(method?: string): Promise<string> {
    return this.#text({ type: 'print-python', method: method ?? null });
  }

  /** Qualified name of this module's class. */
  get className(): string {
    return this.openFile().summary.modules.find(({ name }) => name === this.path)?.className ?? '';
  }

  /** This module and those below it, by path (`''`, `layer1`, `layer1.0`). */
  namedModules(): readonly ModuleSummary[] {
    const below = this.path === '' ? '' : `${this.path}.`;
    return this.openFile()
      .summary.modules.filter(({ name }) => name === this.path || name.startsWith(below))
      .map((each) => ({ ...each, name: each.name === this.path ? '' : each.name.slice(below.length) }));
  }

  /** The module below this one at a path such as `layer1.0`. Throws `NO_MODULE` where there is none. */
  submodule(path: string): this {
    const full = this.path === '' ? path : `${this.path}.${path}`;
    if (!this.openFile().summary.modules.some(({ name }) => name === full)) {
      throw new CressetError('NO_MODULE', `${this.className} has no module '${path}'`);
    }
    return withMethods(new (this.constructor as typeof ScriptModule)(this.file, full)) as this;
  }

  /** Names, shapes and dtypes of the parameters, those of modules below among them. A frozen model has none. */
  namedParameters(): readonly TensorSummary[] {
    return this.#tensors('parameter');
  }

  /** Names, shapes and dtypes of the buffers. */
  namedBuffers(): readonly TensorSummary[] {
    return this.#tensors('buffer');
  }

  /** The elements of a parameter or buffer as they are now. */
  async parameter(name: string): Promise<Tensor> {
    const { id, placement } = this.openFile();
    const request = { type: 'query', model: id, module: this.path, about: 'tensor', name } as const;
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
    checkOptions('loadStateDict', options, { strict: 'boolean', prefix: 'string' });
    const { strict = true, prefix = '' } = options;
    const { id, placement } = this.openFile();
    const named = stateDict instanceof Map ? [...stateDict] : Object.entries(stateDict);
    const tensors = (named as [string, Tensor][])
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, { data, dtype, shape, quantizer }]): readonly [string, WireTensor] => [
        name.slice(prefix.length),
        { kind: 'tensor', dtype, shape, data: data.slice().buffer as ArrayBuffer, ...(quantizer && { quantizer }) },
      ]);
    const request = { type: 'load-state-dict', model: id, module: this.path, tensors, strict } as const;
    return (await placement.client.request('state-dict-loaded', request)).report;
  }

  /** What a method was compiled to: its operators and where each runs, and the groups that became one kernel. */
  async explain(method = 'forward'): Promise<Explanation> {
    const { id, placement } = this.openFile();
    const request = { type: 'query', model: id, module: this.path, about: 'explain', method } as const;
    return (await placement.client.request('explained', request)).explanation;
  }

  /** What the last call did: time, dispatches, submits, uploads, readbacks, and which operators fell back to the host. */
  get lastRun(): RunProfile | null {
    return this.file.lastProfile;
  }

  /** Where the model runs, and why there. */
  get place(): ModelPlace {
    const { placement, summary } = this.openFile();
    return { ...summary.device, thread: placement.thread, threadReason: placement.reason };
  }

  /** Files that were saved with the model (`_extra_files`), by name. */
  get extraFiles(): ReadonlyMap<string, Uint8Array> {
    return new Map(this.openFile().summary.extraFiles);
  }

  /**
   * Parts of the library that the program needs beside the engine, readers of rare files among them, and what needs each. They were fetched when
   * it was loaded, or for an earlier one; what is fetched later `explain()` tells too.
   */
  get parts(): readonly PartUse[] {
    return this.openFile().summary.parts;
  }

  /** How long loading took, in milliseconds. */
  get loadTimings(): ModelSummary['timings'] {
    return this.openFile().summary.timings;
  }

  /**
   * Writes this module, with those below it, as PyTorch writes it (torch.jit.save): `torch.jit.load` reads it, in Python and here. What
   * calls have changed in place is saved as it is now.
   */
  save(options?: SaveOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** As a Blob, for a download or a form. */
  save(options: SaveOptions & { readonly as: 'blob' }): Promise<Blob>;
  async save(options: SaveOptions & { readonly as?: 'blob' } = {}): Promise<Uint8Array | Blob> {
    checkOptions('save', options, { extraFiles: 'object', as: ['blob'] });
    const { extraFiles = {}, as } = options;
    const { id, placement } = this.openFile();
    const { bytes } = await placement.client.request('saved', {
      type: 'save',
      model: id,
      module: this.path,
      extraFiles: Object.entries(extraFiles),
    });
    return as === 'blob' ? new Blob([bytes], { type: 'application/octet-stream' }) : new Uint8Array(bytes);
  }

  /**
   * Runs a method on the host and lets the GPU do each of its operators with the same inputs. The report names the operators whose
   * results differ, in the order of running, with their lines in Python. Rejects where there is no GPU.
   */
  async verify(inputs: readonly Input[], options: VerifyOptions = {}): Promise<VerificationReport> {
    checkOptions('verify', options, { ...ARGUMENT_RULES, method: 'string', tolerance: 'object' });
    const { id, placement } = this.openFile();
    const values = new WireArguments();
    const request = {
      type: 'verify',
      model: id,
      module: this.path,
      method: options.method ?? 'forward',
      args: inputs.map((input) => values.value(input)),
      kwargs: values.named(options.kwargs),
      tolerance: options.tolerance ?? null,
    } as const;
    const { signal } = options;
    return (await placement.client.request('verified', request, signal ? { signal } : {})).report;
  }

  /**
   * Measures calls of a method: where their time goes, and what each kernel takes, with its lines of Python and its shader. The method
   * runs up to twelve times, each time with the inputs as they are given. Rejects as {@link call} does.
   */
  async profile(inputs: readonly Input[], options: ProfileOptions = {}): Promise<CallProfile> {
    checkOptions('profile', options, { ...ARGUMENT_RULES, method: 'string' });
    const { id, placement } = this.openFile();
    const values = new WireArguments();
    const request = {
      type: 'profile',
      model: id,
      module: this.path,
      method: options.method ?? 'forward',
      args: inputs.map((input) => values.value(input)),
      kwargs: values.named(options.kwargs),
    } as const;
    const { signal } = options;
    return (await placement.client.request('profiled', request, signal ? { signal } : {})).profile;
  }

  /** How a method's graph comes to be the one that runs: the graph as it was compiled, and after each pass that changed it. */
  async passes(method = 'forward'): Promise<readonly PassStep[]> {
    const { id, placement } = this.openFile();
    const request = { type: 'passes', model: id, module: this.path, method } as const;
    return (await placement.client.request('passes', request)).steps;
  }

  /**
   * What a method tells of its inputs, without running it: what its first convolution, linear layer or embedding wants of each, and what
   * its checks name. Null stands for what the program leaves open, or does not tell.
   */
  async expectedInputs(method = 'forward'): Promise<InputExpectations> {
    const { id, placement } = this.openFile();
    const request = { type: 'expected-inputs', model: id, module: this.path, method } as const;
    return (await placement.client.request('expected-inputs', request)).expectations;
  }

  /** The value of an attribute, as it is now; of a module below this one by its path, `layer1.training`. */
  async attribute(name: string): Promise<Output> {
    const { id, placement } = this.openFile();
    const request = { type: 'get-attribute', model: id, ...this.#ownerOf(name) } as const;
    return fromWire((await placement.client.request('attribute', request)).value);
  }

  /** Gives an attribute, parameter or buffer another value, of its type. */
  async setAttribute(name: string, value: Input): Promise<void> {
    const { id, placement } = this.openFile();
    const wire = new WireArguments().value(value);
    const request = { type: 'set-attribute', model: id, ...this.#ownerOf(name), value: wire, isForAll: false } as const;
    await placement.client.request('done', request);
  }

  /** Puts this module and those below it into training mode, or with `false` out of it (torch.nn.Module.train). */
  async train(mode = true): Promise<this> {
    const { id, placement } = this.openFile();
    const request = { type: 'set-attribute', model: id, module: this.path, name: 'training', value: mode } as const;
    await placement.client.request('done', { ...request, isForAll: true });
    return withMethods(this);
  }

  /** The same as `train(false)` (torch.nn.Module.eval). */
  eval(): Promise<this> {
    return this.train(false);
  }

  /**
   * Reads the weights that no call needed so far, of a file over 32 MB: to the GPU, where the model runs there. Resolves at once where all
   * are there.
   */
  async preload(options: PreloadOptions = {}): Promise<void> {
    checkOptions('preload', options, { signal: 'signal', onProgress: 'function' });
    const { id, placement } = this.openFile();
    await placement.client.request('done', { type: 'preload', model: id }, options);
  }

  /** What the tensors of the whole model take between calls, and their limit. */
  async memory(): Promise<ModelMemoryReport> {
    const { id, placement } = this.openFile();
    return (await placement.client.request('model-memory', { type: 'model-memory', model: id })).report;
  }

  /** Frees the model's memory, on the GPU too. Modules below it end with it. */
  async dispose(): Promise<void> {
    if (this.file.disposed) return;
    this.file.disposed = true;
    const { id, placement, request } = this.file;
    if (request !== null) placement.client.endProgress(request);
    await placement.client.request('done', { type: 'dispose', model: id });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** @internal */
  openFile(): LoadedFile {
    if (this.file.disposed) throw new CressetError('MODEL_DISPOSED', 'this model was disposed of');
    return this.file;
  }

  #ownerOf(name: string): { readonly module: string; readonly name: string } {
    const at = name.lastIndexOf('.');
    const module = [this.path, name.slice(0, Math.max(at, 0))].filter((part) => part !== '').join('.');
    return { module, name: name.slice(at + 1) };
  }

  async #text(
    question:
      | { type: 'query'; about: 'graph' | 'optimized-graph' | 'schema'; method: string }
      | { type: 'print-python'; method: string | null }
      | { type: 'graph'; method: string; options: GraphOptions },
  ): Promise<string> {
    const { id, placement } = this.openFile();
    return (await placement.client.request('text', { model: id, module: this.path, ...question })).text;
  }

  #tensors(kind?: TensorSummary['kind']): readonly TensorSummary[] {
    const below = this.path === '' ? '' : `${this.path}.`;
    return this.openFile()
      .summary.tensors.filter((each) => (!kind || each.kind === kind) && each.name.startsWith(below))
      .map((each) => ({ ...each, name: each.name.slice(below.length) }));
  }
}

/**
 * An object whose methods are properties, those of the program that it has not itself. `then` is none of them, as what has one is
 * a Promise to JavaScript.
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
