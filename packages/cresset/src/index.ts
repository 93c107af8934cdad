import { checkOptions } from '@cresset/ir';
import { toWireError, type OperatorOutcome, type RunOperatorNotice, type WorkerClient } from '@cresset/runtime';
import { AuthoredModule, DEFINE_RULES, type DefineOptions } from './page/authored-module.ts';
import type { Availability } from './page/availability.ts';
import {
  CompilationUnit as Unit,
  openProgram,
  PROGRAM_RULES,
  type ProgramOptions,
  type ScriptFunction,
} from './page/compilation-unit.ts';
import type { OperatorImplementation } from './page/custom-operator.ts';
import { outsideFunctions, type OutsideFunction } from './page/outside-functions.ts';
import { engineFiles } from './page/placing/engine-files.ts';
import type { FreezeOptions } from './page/freeze.ts';
import type { EstimateOptions, ModelEstimate } from './page/estimate.ts';
import { Library, type CheckpointOptions, type LoadOptions, type MemoryReport } from './page/library.ts';
import type { ModelInput } from './page/values/model-input.ts';
import { withMethods, type ModelMethod, type ScriptModule } from './page/script-module.ts';
import type { Tensor } from './page/values/tensor.ts';
import type { TraceOptions } from './page/trace.ts';
import type { TraceableFunction } from './tracing/recording.ts';
import type { TraceableModule } from './tracing/traced-module.ts';

export * from './public-names.ts';
export { provideEngine } from './page/placing/placement.ts';

const library = new Library(engineFiles, {
  runOperator,
  started: (client) => {
    // What is wrong with one of them was told when it was registered.
    for (const operator of outsideFunctions.values()) void sendOperator(operator, client).catch(() => undefined);
  },
});

/**
 * Loads a TorchScript `.pt` as PyTorch wrote it (torch.jit.load), in a worker and on the GPU where there are such. What the program needs
 * of the library beside the engine is fetched too; {@link ScriptModule.parts} tells what that was.
 *
 * Rejects with a {@link CressetError}: codes starting with `DOWNLOAD_` for transfers, `ZIP_`, `PICKLE_` and `ARCHIVE_` for damaged
 * files, `FILE_` for files of another kind (the message says which kind and what to do), `PART_MISSING` for a part of the library that is
 * not where it should be, `ABORTED` for an abort.
 *
 * @typeParam Method names of methods beside `forward` that are called as properties: `load<'encode'>(…)`.
 */
export function load<Method extends string = never>(
  input: ModelInput,
  options: LoadOptions = {},
): Promise<ScriptModule & Readonly<Record<Method, ModelMethod>>> {
  return library.load(input, options) as Promise<ScriptModule & Readonly<Record<Method, ModelMethod>>>;
}

/**
 * Reads a file of `torch.save` (torch.load), zip or the older format, to tensors by name: those of a state dict, or of whatever else
 * holds tensors, with names joined by dots (`model.fc.weight`, `optimizer.state.0.exp_avg`). Nothing that the file names is run.
 *
 * Rejects with a {@link CressetError} as {@link load} does; `FILE_IS_TORCHSCRIPT` for a program.
 */
export function loadCheckpoint(input: ModelInput, options: CheckpointOptions = {}): Promise<Map<string, Tensor>> {
  return library.loadCheckpoint(input, options);
}

/** Finds out whether there is a GPU to compute on, and if not, why. Calling it is not needed before {@link load}. */
export async function init(): Promise<Availability> {
  return (await import('./page/availability.ts')).findAvailability();
}

/** Memory that loaded models use. */
export function memory(): Promise<MemoryReport> {
  return library.memory();
}

/**
 * Gives back what is kept for runs to come, as far as no run under way uses it (torch.cuda.empty_cache): buffers of the GPU, and on the CPU, where no model is left,
 * the memory that programs compute in. That happens by itself some seconds after a model was disposed of, and half a minute after its last call.
 */
memory.trim = (): Promise<void> => library.trim();

/**
 * Tells what a model would take, before it is loaded: of a file over 32 MB only what stands beside the weights is read. What a run makes
 * comes on top and depends on the inputs.
 */
export async function estimate(input: ModelInput, options: EstimateOptions = {}): Promise<ModelEstimate> {
  return (await import('./page/estimate.ts')).estimateModel(library, input, options);
}

/** Functions and classes compiled from source (torch.jit.CompilationUnit). They are properties of it. */
export class CompilationUnit extends Unit {
  constructor(options: ProgramOptions = {}) {
    checkOptions('CompilationUnit', options, PROGRAM_RULES);
    super(library, options);
    // oxlint-disable-next-line no-constructor-return
    return withMethods(this);
  }
}

/**
 * Compiles the functions and classes of TorchScript source (torch.jit.script): `const { add } = await script(source)`. They see each
 * other in any order, and know `torch`, `math`, and `torch.nn.functional` as `F`. Classes that derive from `nn.Module` become modules.
 *
 * Rejects with PyTorch's error, which has the line of the source with a caret.
 *
 * @typeParam Name names of the functions, so that they can be called as properties: `script<'add'>(…)`.
 */
export async function script<Name extends string = never>(
  source: string,
  options: ProgramOptions & DefineOptions = {},
): Promise<CompilationUnit & Readonly<Record<Name, ScriptFunction>>> {
  checkOptions('script', options, { ...PROGRAM_RULES, ...DEFINE_RULES });
  const { filename, globals, ...programOptions } = options;
  const unit = new CompilationUnit(programOptions);
  try {
    await unit.define(source, { filename, globals });
  } catch (error) {
    await unit.dispose();
    throw error;
  }
  return unit as CompilationUnit & Readonly<Record<Name, ScriptFunction>>;
}

/**
 * Makes a program of a function, by running it on example inputs and recording what it does with their tensors (torch.jit.trace):
 *
 * ```ts
 * const model = await trace((x, y) => x.matmul(y).relu(), [tensor(a), tensor(b)]);
 * ```
 *
 * In the function, tensors have the methods of `torch.Tensor`, and {@link torch} is the module of that name. Sizes are tensors too, so that
 * shapes that follow from the input's are recorded; a number taken out of a tensor is a constant from then on, and a warning says so. JavaScript's
 * `if` and `for` are decided while tracing: only what was done is in the program. An object with a `forward` and tensors among its properties
 * becomes a module with parameters.
 *
 * One tensor, list or dict stands for the list of inputs. Functions, methods and modules that were compiled before are called as they are in it, and kept as
 * calls, with their control flow; the function is begun again where it first calls one.
 *
 * The result is a module whose `forward` it is, to be run and saved as any other. Rejects with `TRACE` for what cannot be recorded, and with
 * `TRACE_CHECK` where a second trace gives another program.
 */
export async function trace(
  program: TraceableFunction | TraceableModule,
  exampleInputs: unknown,
  options: TraceOptions = {},
): Promise<ScriptModule & Readonly<Record<never, ModelMethod>>> {
  const { traceProgram } = await import('./page/trace-program.ts');
  return traceProgram(library, program, exampleInputs, options);
}

/**
 * Traces several methods of a module, each with example inputs of its own (torch.jit.trace_module):
 * `traceModule(net, { forward: [x], encode: [x, n] })`. Of the `checkInputs` each is such an object. Otherwise as {@link trace}.
 *
 * @typeParam Method names of methods beside `forward` that are called as properties
 */
export async function traceModule<Method extends string = never>(
  module: object,
  inputs: Readonly<Record<string, unknown>>,
  options: TraceOptions = {},
): Promise<ScriptModule & Readonly<Record<Method, ModelMethod>>> {
  const { traceModuleMethods } = await import('./page/trace-program.ts');
  const traced = await traceModuleMethods(library, module as TraceableModule, inputs, options);
  return traced as ScriptModule & Readonly<Record<Method, ModelMethod>>;
}

/**
 * A frozen copy of a module in evaluation mode (torch.jit.freeze): attributes that no method writes to are constants of `forward`, all that it calls
 * is put in place, and what is not needed is gone; batch norm and arithmetic behind a convolution are in its weights. It is run and saved
 * as any other module, and has memory of its own. Hooks of the module itself are not taken along, as in PyTorch.
 *
 * Rejects with PyTorch's message (`FREEZE`) for a module in training, and for names in `preserve` that it has not.
 */
export async function freeze(
  model: ScriptModule,
  options: FreezeOptions = {},
): Promise<ScriptModule & Readonly<Record<never, ModelMethod>>> {
  return (await import('./page/freeze.ts')).freezeModule(library, model, options);
}

/** An empty module, to be put together by its `register…` methods and `define` (torch.jit.ScriptModule). */
export async function createModule<Method extends string = never>(
  className: string,
  options: ProgramOptions = {},
): Promise<AuthoredModule & Readonly<Record<Method, ModelMethod>>> {
  checkOptions('createModule', options, PROGRAM_RULES);
  const file = await openProgram(library, className, options);
  return withMethods(new AuthoredModule(file)) as AuthoredModule & Readonly<Record<Method, ModelMethod>>;
}

/**
 * Makes an operator known to programs that are loaded or compiled from now on, as `ops.my_ns.my_op` (torch.library.custom_op). Its
 * function stays on the page: a program in the worker waits while it runs. One of the same name takes the place of the one before.
 *
 * @param schema PyTorch's: `my_ns::my_op(Tensor x, float alpha=1.0) -> Tensor`
 *
 * Rejects with `IR_PARSE` for a malformed schema, `OPERATOR_NAME` for one in a namespace of PyTorch's, and with PyTorch's error for source
 * that does not compile.
 */
export function registerOperator(schema: string, implementation: OperatorImplementation): Promise<void> {
  const registering = addOperator(schema, implementation);
  library.loadAfter(registering);
  return registering;
}

async function addOperator(schema: string, implementation: OperatorImplementation): Promise<void> {
  const { CustomOperator } = await import('./page/custom-operator.ts');
  const operator = new CustomOperator(schema, implementation);
  const { name } = operator;
  const before = outsideFunctions.get(name);
  outsideFunctions.set(name, operator);
  try {
    await library.start();
    await Promise.all((await library.placements()).map(({ client }) => sendOperator(operator, client)));
  } catch (error) {
    if (before) outsideFunctions.set(name, before);
    else outsideFunctions.delete(name);
    throw error;
  }
}

/**
 * Says how the worker is started, where the library does not find it by itself or it is one's own:
 * `setWorker(() => new Worker('/engine.js', { type: 'module' }))`, with the package's `dist/engine.js`, or a module that imports `cresset/worker`.
 * Custom operators that such a one registers run there without a way over the page. Throws `WORKER_STARTED` where the worker runs already.
 */
export function setWorker(start: () => Worker): void {
  library.setWorker(start);
}

/**
 * Ends the worker and frees what all models hold; what is asked of them afterwards rejects with `SHUT_DOWN`. The next model
 * that is loaded starts a new worker.
 */
export function shutdown(): Promise<void> {
  return library.shutdown();
}

async function sendOperator({ registration }: OutsideFunction, client: WorkerClient): Promise<void> {
  if (registration) await client.request('done', { type: 'register-operator', ...registration });
}

function runOperator(notice: RunOperatorNotice, client: WorkerClient): void {
  void outsideFunctions
    .get(notice.operator)!
    .run(notice)
    .catch((error: unknown): OperatorOutcome => ({ error: toWireError(error) }))
    .then((outcome) => client.request('done', { type: 'operator-result', run: notice.run, outcome }));
}
