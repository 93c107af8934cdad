import { DependencyTable, PythonPrint, readModule, writeModule } from '@cresset/archive';
import { declareScript } from '@cresset/frontend';
import {
  ClassType,
  type CompilationUnit,
  CressetError,
  type GraphFunction,
  FunctionType,
  type Type,
} from '@cresset/ir';
import { canonicalize } from '@cresset/passes';
import {
  bindArguments,
  registerAllParts,
  RuntimeContext,
  ScriptModule,
  type CallOptions,
  type RuntimeContextOptions,
} from '@cresset/runtime';
import {
  asksForGradients,
  gradientsOf,
  recordedCall,
  recordedCopies,
  requiresGrad,
} from '@cresset/runtime/parts/autograd';
import { ScriptObject, Tensor, type HostArray, type IValue } from '@cresset/tensor';
import type { FileReader, ProgramCase } from './case.ts';
import { argumentFromPython } from './python-argument.ts';
import { floatsIn, tensorsIn, withReplaced } from '../checks/tensors-within.ts';

/** What was asked of the results of a call. */
export interface WeightedGradients {
  /** What the call gave. */
  readonly output: IValue;
  /** For each result whether it requires a gradient. */
  readonly required: readonly boolean[];
  readonly gradients: readonly (Tensor | null)[];
}

/** A case's program, ready to be called. */
export interface Program {
  call(entry: string, inputs: readonly IValue[], kwargs: ReadonlyMap<string, IValue>): Promise<IValue>;
  /** The gradients of `leaves`, which are among the inputs, given one of each tensor that a call returns; those of tensors that require none are not used. */
  gradients(
    entry: string,
    inputs: readonly IValue[],
    leaves: readonly Tensor[],
    gradients: readonly Tensor[],
  ): Promise<readonly (Tensor | null)[]>;
  /**
   * The gradients of `leaves`, which are among the inputs, of the sum of all floats that a call returns, each times its weight, as far as
   * results require gradients; none where none does. The program is given copies to write to.
   *
   * @param weightsOf the weights of the tensor of floats of that number
   */
  weightedGradients(
    entry: string,
    inputs: readonly IValue[],
    kwargs: ReadonlyMap<string, IValue>,
    leaves: readonly Tensor[],
    weightsOf: (output: number, of: Tensor) => HostArray,
  ): Promise<WeightedGradients>;
  /** The canonical text of a method's or function's graph, as compiled. */
  graph(entry: string): string;
  /** PyTorch's printed Python of it. */
  code(entry: string): string;
  /** Parameters, buffers and constants by their names with dots. */
  tensors(): ReadonlyMap<string, Tensor>;
  /** What was saved beside the program. */
  extraFiles(): ReadonlyMap<string, Uint8Array>;
  /** The module as a file (torch.jit.save). */
  save(name: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Operators that ran on the host for want of a kernel, with counts, over all calls so far. */
  hostFallbacks(): ReadonlyMap<string, number>;
  /** Why the device did not take them. */
  fallbackReasons(): ReadonlyMap<string, string>;
  dispose(): void;
}

/** Loads or compiles the program of a case, with all that its entry needs. */
export async function openProgram(
  json: ProgramCase,
  options: Pick<RuntimeContextOptions, 'device' | 'limits'>,
  readFile: FileReader,
): Promise<Program> {
  registerAllParts();
  const context = new RuntimeContext({ ...options, print: () => undefined, warn: () => undefined });
  const program = json.file === undefined ? compileSource(json, context) : await loadFile(json, context, readFile);
  // Compiling is lazy; an error in it has to come up here, where cases expect it.
  program.prepare(json.entry ?? 'forward');
  return program;
}

/** What is done with a module of a file before it is run. */
export type Preparation = (module: ScriptObject, unit: CompilationUnit) => ScriptObject;

/** Loads the module of a file, and what `prepare` makes of it. */
export async function openFile(
  file: string,
  options: Pick<RuntimeContextOptions, 'device' | 'limits'>,
  readFile: FileReader,
  prepare: Preparation,
): Promise<Program> {
  registerAllParts();
  const context = new RuntimeContext({ ...options, print: () => undefined, warn: () => undefined });
  return loadFile({ file }, context, readFile, prepare);
}

async function loadFile(
  { file, program }: Pick<ProgramCase, 'file' | 'program'>,
  context: RuntimeContext,
  readFile: FileReader,
  prepare: Preparation = (module) => module,
): Promise<OpenProgram> {
  const {
    module: loaded,
    unit,
    pendingStates,
    debugTables,
    extraFiles,
  } = await readModule(await readFile(file!), { program });
  const loadDebugTables = (): Promise<void> => debugTables.load();
  const module = prepare(loaded, unit);
  const runner = new ScriptModule(module, unit, context, { loadDebugTables });
  await runner.restore(pendingStates);
  return new OpenProgram(runner, (name) => runner.method(name) as GraphFunction, module, loadDebugTables, extraFiles);
}

function compileSource({ source }: ProgramCase, context: RuntimeContext): OpenProgram {
  // The cases were made from files of that name.
  const { unit } = declareScript(source ?? '', { filename: '<source>', module: 'program' });
  const object = new ScriptObject(new ClassType('__torch__.Functions'));
  const runner = new ScriptModule(object, unit, context);
  const functionOf = (name: string): GraphFunction => {
    const fn = unit.findFunction(`__torch__.${name}`);
    if (!fn) throw new CressetError('METHOD_NOT_FOUND', `there is no function '${name}'`);
    return fn;
  };
  return new OpenProgram(runner, functionOf, null);
}

class OpenProgram implements Program {
  readonly #fallbacks = new Map<string, number>();
  readonly #reasons = new Map<string, string>();

  constructor(
    private readonly runner: ScriptModule,
    private readonly functionOf: (name: string) => GraphFunction,
    private readonly self: ScriptObject | null,
    private readonly loadDebugTables = (): Promise<void> => Promise.resolve(),
    private readonly files: ReadonlyMap<string, Uint8Array> = new Map(),
  ) {}

  tensors(): ReadonlyMap<string, Tensor> {
    const found = new Map<string, Tensor>();
    const visit = (object: ScriptObject, path: string): void =>
      object.type.attributes.forEach(({ name }, slot) => {
        const value = object.slots[slot];
        const own = path === '' ? name : `${path}.${name}`;
        if (value instanceof Tensor) found.set(own, value);
        else if (value instanceof ScriptObject) visit(value, own);
      });
    if (this.self) visit(this.self, '');
    return found;
  }

  extraFiles(): ReadonlyMap<string, Uint8Array> {
    return this.files;
  }

  prepare(entry: string): void {
    this.functionOf(entry).ensureDefined();
  }

  async call(entry: string, inputs: readonly IValue[], kwargs: ReadonlyMap<string, IValue>): Promise<IValue> {
    const fn = this.functionOf(entry);
    const args = this.#bind(fn, inputs, kwargs);
    // As a page calls them: results come along.
    const run = (how: Pick<CallOptions, 'observer' | 'codes'>): Promise<IValue> => {
      const options = { resultToHost: true, ...how };
      // A method is called as from Python: with the hooks that stand around it.
      return this.self
        ? this.runner.callOn(this.self, entry, args.slice(1), options)
        : this.runner.callFunction(fn, args, options);
    };
    try {
      return await (asksForGradients(fn) ? recordedCall(this.runner.context, run) : run({}));
    } finally {
      for (const [operator, count] of this.runner.lastRun?.hostFallback ?? []) {
        this.#fallbacks.set(operator, (this.#fallbacks.get(operator) ?? 0) + count);
      }
      for (const [operator, reason] of this.runner.lastRun?.fallbackReasons ?? []) this.#reasons.set(operator, reason);
    }
  }

  #bind(fn: GraphFunction, inputs: readonly IValue[], kwargs: ReadonlyMap<string, IValue>): IValue[] {
    return bindArguments(fn, this.self ?? undefined, inputs, kwargs, (value, argument, position) =>
      argumentFromPython(value, argument, position, fn.schema),
    );
  }

  async gradients(
    entry: string,
    inputs: readonly IValue[],
    leaves: readonly Tensor[],
    gradients: readonly Tensor[],
  ): Promise<readonly (Tensor | null)[]> {
    const { context } = this.runner;
    const fn = this.functionOf(entry);
    const args = this.#bind(fn, inputs, new Map());
    for (const leaf of leaves) leaf.requiresGrad = true;
    const result = await recordedCall(context, (options) =>
      this.self
        ? this.runner.callOn(this.self, entry, args.slice(1), options)
        : this.runner.callFunction(fn, args, { ...options, resultToHost: true }),
    );
    const roots = tensorsIn(result)
      .map((output, at) => ({ output, gradient: gradients[at] }))
      .filter(({ output }) => requiresGrad(output));
    const task = {
      outputs: roots.map(({ output }) => output),
      gradients: roots.map(({ gradient }) => gradient),
      inputs: leaves,
      allowUnused: true,
    };
    return gradientsOf(task, context);
  }

  async weightedGradients(
    entry: string,
    inputs: readonly IValue[],
    kwargs: ReadonlyMap<string, IValue>,
    leaves: readonly Tensor[],
    weightsOf: (output: number, of: Tensor) => HostArray,
  ): Promise<WeightedGradients> {
    const { context } = this.runner;
    for (const leaf of leaves) leaf.requiresGrad = true;
    const copies = await recordedCopies(leaves, context);
    const given = (value: IValue): IValue => withReplaced(value, (tensor) => copies.get(tensor) ?? tensor);
    const fn = this.functionOf(entry);
    const named = new Map([...kwargs].map(([name, value]) => [name, given(value)]));
    const args = this.#bind(fn, inputs.map(given), named);
    const result = await recordedCall(context, (options) =>
      this.runner.callFunction(fn, args, { ...options, resultToHost: true }),
    );
    const wanted = floatsIn(result).map((output, at) => ({
      output,
      gradient: Tensor.fromArray(weightsOf(at, output), output.sizes, output.dtype),
    }));
    const required = wanted.map(({ output }) => requiresGrad(output));
    const roots = wanted.filter((_, at) => required[at]);
    if (roots.length === 0) return { output: result, required, gradients: leaves.map(() => null) };
    const outputs = roots.map(({ output }) => output);
    const gradients = roots.map(({ gradient }) => gradient);
    const found = await gradientsOf({ outputs, gradients, inputs: leaves, allowUnused: true }, context);
    await Promise.all(found.map((gradient) => gradient?.storage.toHost()));
    return { output: result, required, gradients: found };
  }

  graph(entry: string): string {
    return canonicalize(this.functionOf(entry).graph).toString();
  }

  code(entry: string): string {
    // The cases' source was defined in a CompilationUnit, whose functions have no namespace in PyTorch.
    const typePrinter = (type: Type): string | undefined =>
      type instanceof FunctionType && !this.self
        ? type.function.qualifiedName.replace(/^__torch__\.(\w+)$/, '$1')
        : undefined;
    const printer = new PythonPrint([], new DependencyTable(), { typePrinter });
    const fn = this.functionOf(entry);
    if (this.self) printer.printMethod(fn);
    else printer.printFunction(fn);
    return printer.toString();
  }

  save(name: string): Promise<Uint8Array<ArrayBuffer>> {
    return writeModule(this.runner.object, {
      name,
      callMethod: (object, method) => this.runner.callOn(object, method, []),
      loadDebugTables: this.loadDebugTables,
    });
  }

  hostFallbacks(): ReadonlyMap<string, number> {
    return this.#fallbacks;
  }

  fallbackReasons(): ReadonlyMap<string, string> {
    return this.#reasons;
  }

  dispose(): void {
    this.runner.dispose();
  }
}
