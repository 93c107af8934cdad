import { checkOptions, CressetError, type OptionRules } from '@cresset/ir';
import type { Explanation, VerificationReport } from '@cresset/runtime';
import { PLACE_RULES, type LoadOptions, type Library } from './library.ts';
import { ARGUMENT_RULES, LoadedFile, type ArgumentOptions, type CallOptions } from './loaded-file.ts';
import type { VerifyOptions } from './inspection.ts';
import { loadedFile, openFile, ScriptModule, withMethods, type GraphOptions } from './script-module.ts';
import type { TracedTensor } from '../tracing/traced-tensor.ts';
import type * as State from './module-state.ts';
import type { SaveOptions } from './module-state.ts';
import { memberKey } from './global-values.ts';
import { inMessages, WireArguments, type Input, type Output } from './values/value.ts';
import { defineIn, type DefineOptions } from './authored-module.ts';

export interface ProgramOptions {
  /** See {@link LoadOptions.device}. */
  readonly device?: LoadOptions['device'];
  /** See {@link LoadOptions.worker}. */
  readonly worker?: boolean;
  /** See {@link LoadOptions.memoryLimit}. */
  readonly memoryLimit?: number;
  /** A unit whose functions and classes the source may use by their names. */
  readonly uses?: CompilationUnit;
}

/** What {@link ProgramOptions} can be. */
export const PROGRAM_RULES = { ...PLACE_RULES, uses: 'object' } as const satisfies OptionRules;

/** A compiled function (torch.jit.ScriptFunction): it is called as one. */
export interface ScriptFunction {
  (...inputs: Input[]): Promise<Output>;
  /** In a function that is being traced, the call is recorded. */
  (...inputs: (Input | TracedTensor)[]): TracedTensor;
  /** Calls it with arguments by name, or with an AbortSignal. */
  run(inputs: readonly Input[], options?: CallOptions): Promise<Output>;
  schema(): Promise<string>;
  graph(options?: GraphOptions): Promise<string>;
  /** See {@link ScriptModule.bytecode}. */
  bytecode(options?: GraphOptions): Promise<string>;
  /** Its Python text, as PyTorch prints it. */
  code(): Promise<string>;
  explain(): Promise<Explanation>;
  /** Writes it as a module whose `forward` it is (ScriptFunction.save). */
  save(options?: SaveOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** See {@link ScriptModule.verify}. */
  verify(inputs: readonly Input[], options?: Omit<VerifyOptions, 'method'>): Promise<VerificationReport>;
}

/** A compiled class: calling it makes an object, whose methods run in the worker. */
export type ScriptClass = (...inputs: Input[]) => Promise<ScriptObject>;

/** An object of a compiled class, or a module that one made. */
export class ScriptObject extends ScriptModule {
  #isReleased = false;

  /** Frees what it holds and no other does; the functions and classes stay. Modules below it end with it. */
  override async dispose(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const { disposed, placement } = this[loadedFile];
    if (disposed) return;
    const { model, path } = this[inMessages];
    await placement.client.request('done', { type: 'release', model, path });
  }
}

/**
 * Functions and classes compiled from source (torch.jit.CompilationUnit). They are properties of it: `await unit.add(1, 2)` calls a
 * function, `const counter = await unit.Counter(0)` makes an object.
 */
export class CompilationUnit {
  readonly #library: Library;
  readonly #options: ProgramOptions;
  #opening: Promise<LoadedFile> | null = null;
  #file: LoadedFile | null = null;

  /** @internal */
  constructor(library: Library, options: ProgramOptions = {}) {
    this.#library = library;
    this.#options = options;
  }

  /**
   * Compiles source and adds what it defines; it may use what is there already. Rejects with PyTorch's error, with the line and a caret,
   * where something does not compile; then nothing is added.
   */
  async define(source: string, options: DefineOptions = {}): Promise<this> {
    await defineIn(await this[openFile](), source, options);
    return withMethods(this);
  }

  /** Names of the functions. */
  get functions(): readonly string[] {
    return this.#file?.summary.functions ?? [];
  }

  /** Names of the classes. */
  get classes(): readonly string[] {
    return this.#file?.summary.classes ?? [];
  }

  /** A function by its name, whatever that is; the same as the property of that name where this class has none. */
  function(name: string): ScriptFunction {
    if (!this.functions.includes(name)) {
      throw new CressetError('METHOD_NOT_FOUND', `'CompilationUnit' has no attribute '${name}'`);
    }
    const file = this.#file!;
    const functions = new ScriptModule(file);
    const fn: ScriptFunction = Object.assign(functions.method(name), {
      [memberKey]: { file, name },
      run: (inputs: readonly Input[], options?: CallOptions) => functions.call(name, inputs, options),
      schema: () => functions.schema(name),
      graph: (options?: GraphOptions) => functions.graph(name, options),
      bytecode: (options?: GraphOptions) => functions.bytecode(name, options),
      code: () => functions.code(name),
      explain: () => functions.explain(name),
      save: async (options?: SaveOptions) => saveFunction(functions[openFile](), name, options),
      verify: (inputs: readonly Input[], options?: Omit<VerifyOptions, 'method'>) =>
        functions.verify(inputs, { ...options, method: name }),
    });
    return Object.defineProperty(fn, 'name', { value: name });
  }

  /** Makes an object of a class; the same as calling the property of that name. */
  async construct(
    className: string,
    inputs: readonly Input[] = [],
    options: ArgumentOptions = {},
  ): Promise<ScriptObject> {
    checkOptions(`construct '${className}'`, options, ARGUMENT_RULES);
    const file = await this[openFile]();
    const values = new WireArguments();
    const request = {
      type: 'construct',
      model: file.id,
      className,
      args: inputs.map((input) => values.value(input)),
      kwargs: values.named(options.kwargs),
    } as const;
    const { signal } = options;
    const { path, summary } = await file.placement.client.request('constructed', request, signal ? { signal } : {});
    file.summary = summary;
    return withMethods(new ScriptObject(file, path));
  }

  /** Names that are properties besides those of this class. */
  methods(): readonly string[] {
    return [...this.functions, ...this.classes];
  }

  /** A function or a class. */
  method(name: string): ScriptFunction | ScriptClass {
    if (this.functions.includes(name)) return this.function(name);
    const make: ScriptClass = (...inputs) => this.construct(name, inputs);
    return Object.assign(make, { [memberKey]: { file: this.#file!, name } });
  }

  /** Frees what its functions and objects hold. */
  async dispose(): Promise<void> {
    await (await this.#opening)?.dispose();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** @internal */
  [openFile](): Promise<LoadedFile> {
    return (this.#opening ??= openProgram(this.#library, null, this.#options).then((file) => (this.#file = file)));
  }
}

async function saveFunction(
  file: LoadedFile,
  name: string,
  options: SaveOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const state: Promise<typeof State> = import('./module-state.ts');
  const saved = file.placement.client.askWith(state, ({ saveModule }) => saveModule(file, '', options, name));
  return saved as Promise<Uint8Array<ArrayBuffer>>;
}

/** Makes an empty program: a module of a class where it is given a name. */
export async function openProgram(
  library: Library,
  className: string | null,
  { device = 'auto', worker = true, uses, memoryLimit }: ProgramOptions,
): Promise<LoadedFile> {
  const placement = await library.placement(worker, device);
  const used = uses && (await uses[openFile]());
  if (used && used.placement !== placement) {
    throw new CressetError('ARGUMENT', 'a program uses only what runs in its own thread: give both the same `worker`');
  }
  const model = library.nextModel();
  const request = { type: 'create', model, device, className, uses: used?.id ?? null, memoryLimit } as const;
  const { summary } = await placement.client.request('loaded', request);
  const file = new LoadedFile(placement, model, summary);
  if (used) file.used.push(used);
  return file;
}
