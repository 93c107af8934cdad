import { checkOptions } from '@cresset/ir';
import { fullHandlers, initializeFullRuntime, type RunOperatorNotice, type WorkerClient } from '@cresset/runtime';
import type { Availability } from './availability.ts';
import { AuthoredModule, DEFINE_RULES } from './full/authored-module.ts';
import {
  CompilationUnit as Unit,
  openProgram,
  PROGRAM_RULES,
  type ProgramOptions,
  type ScriptFunction,
} from './full/compilation-unit.ts';
import { estimateModel, type EstimateOptions, type ModelEstimate } from './full/estimate.ts';
import { FullScriptModule } from './full/full-module.ts';
import { CustomOperator, type OperatorImplementation } from './full/operator-implementation.ts';
import {
  outputDifference,
  pageInput,
  recordChecked,
  traceFile,
  type TraceableFunction,
  type TraceOptions,
} from './full/trace.ts';
import type { TraceableModule } from './full/traced-module.ts';
import {
  DEVICE_RULES,
  Library,
  type CheckpointOptions,
  type LoadOptions,
  type MemoryReport,
  type ModelInput,
} from './library.ts';
import { withMethods, type ModelMethod } from './script-module.ts';
import type { Tensor } from './tensor.ts';

/**
 * The full edition: what `cresset` has, with operators that few models use (linear algebra, special functions, losses), and with what
 * makes programs: source to be compiled, modules to be put together, saving, custom operators.
 */
export * from './public-names.ts';
export { FullScriptModule as ScriptModule, type SaveOptions, type VerifyOptions } from './full/full-module.ts';
export {
  AuthoredModule,
  moduleDict,
  moduleList,
  sequential,
  type DefineOptions,
  type ModuleContainer,
  type ParameterOptions,
  type Submodule,
} from './full/authored-module.ts';
export type { EstimateOptions, ModelEstimate } from './full/estimate.ts';
export type { ProgramOptions, ScriptClass, ScriptFunction, ScriptObject } from './full/compilation-unit.ts';
export { torch, type TraceableFunction, type TraceOptions } from './full/trace.ts';
export type { TraceableModule } from './full/traced-module.ts';
export { TensorList, type TracedTensor, type TracedTorch, type TraceIndex } from './full/traced-tensor.ts';
export type { OperatorImplementation, OperatorShape } from './full/operator-implementation.ts';
export type {
  InputExpectation,
  InputExpectations,
  ScalarForm,
  VerificationDifference,
  VerificationReport,
} from '@cresset/runtime';

const operators = new Map<string, CustomOperator>();

// Bundlers look for exactly this form, with options they can read, to give the worker's file a place in what they build.
const library = new Library(
  () => new Worker(new URL('./worker-full.ts', import.meta.url), { type: 'module' }),
  "new Worker('/path/to/worker-full.js', { type: 'module' })",
  {
    prepare: initializeFullRuntime,
    handlers: fullHandlers,
    runOperator,
    started: (client) => {
      // What is wrong with one of them was told when it was registered.
      for (const operator of operators.values()) void sendOperator(operator, client).catch(() => undefined);
    },
  },
);

/** See `load` of the core edition. */
export function load<Method extends string = never>(
  input: ModelInput,
  options: LoadOptions = {},
): Promise<FullScriptModule & Readonly<Record<Method, ModelMethod>>> {
  return library.load(input, options, FullScriptModule) as Promise<
    FullScriptModule & Readonly<Record<Method, ModelMethod>>
  >;
}

/** See `loadCheckpoint` of the core edition. */
export function loadCheckpoint(input: ModelInput, options: CheckpointOptions = {}): Promise<Map<string, Tensor>> {
  return library.loadCheckpoint(input, options);
}

/** See `init` of the core edition. */
export function init(): Promise<Availability> {
  return library.init();
}

/** See `memory` of the core edition. */
export function memory(): Promise<MemoryReport> {
  return library.memory();
}

/**
 * Tells what a model would take, before it is loaded: of a file over 32 MB only what stands beside the weights is read. What a run makes
 * comes on top and depends on the inputs.
 */
export function estimate(input: ModelInput, options: EstimateOptions = {}): Promise<ModelEstimate> {
  return estimateModel(library, input, options);
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
  options: ProgramOptions & { readonly filename?: string } = {},
): Promise<CompilationUnit & Readonly<Record<Name, ScriptFunction>>> {
  checkOptions('script', options, { ...PROGRAM_RULES, ...DEFINE_RULES });
  const { filename, ...programOptions } = options;
  const unit = new CompilationUnit(programOptions);
  try {
    await unit.define(source, filename === undefined ? {} : { filename });
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
 * The result is a module whose `forward` it is, to be run and saved as any other. Rejects with `TRACE` for what cannot be recorded, and with
 * `TRACE_CHECK` where a second trace gives another program.
 */
export async function trace(
  program: TraceableFunction | TraceableModule,
  exampleInputs: readonly unknown[],
  options: TraceOptions = {},
): Promise<FullScriptModule & Readonly<Record<never, ModelMethod>>> {
  checkOptions('trace', options, {
    ...DEVICE_RULES,
    worker: 'boolean',
    argumentNames: 'array',
    checkTrace: 'boolean',
    checkTolerance: 'number',
    strict: 'boolean',
    warn: 'function',
  });
  const recorded = recordChecked(program, exampleInputs, options);
  const { device, worker } = options;
  const model = await load(await traceFile(recorded), {
    ...(device === undefined ? {} : { device }),
    ...(worker === undefined ? {} : { worker }),
  });
  if (options.checkTrace ?? true) {
    const outputs = await model.call('forward', exampleInputs.map(pageInput));
    const difference = outputDifference(outputs, recorded.outputs, options.checkTolerance ?? 1e-5);
    if (difference !== null) (options.warn ?? ((message) => console.warn(`TracerWarning: ${message}`)))(difference);
  }
  return model;
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
export async function registerOperator(schema: string, implementation: OperatorImplementation): Promise<void> {
  const operator = new CustomOperator(schema, implementation);
  const before = operators.get(operator.name);
  operators.set(operator.name, operator);
  try {
    await library.placement(true);
    await Promise.all((await library.placements()).map(({ client }) => sendOperator(operator, client)));
  } catch (error) {
    if (before) operators.set(operator.name, before);
    else operators.delete(operator.name);
    throw error;
  }
}

/**
 * Says how the worker is started, where the library does not find it by itself or it is one's own: a module that imports `cresset/worker-full`.
 * Custom operators that such a one registers run there without a way over the page. Throws `WORKER_STARTED` where the worker runs already.
 */
export function setWorker(start: () => Worker): void {
  library.setWorker(start);
}

/**
 * Ends the worker and frees what all models hold; what is asked of them afterwards rejects with `SHUT_DOWN`. A program outside of a browser
 * (Deno) does not end before. The next model that is loaded starts a new worker.
 */
export function shutdown(): Promise<void> {
  return library.shutdown();
}

function sendOperator(operator: CustomOperator, client: WorkerClient): Promise<unknown> {
  return client.request('done', { type: 'register-operator', ...operator.registration });
}

function runOperator({ run, operator, args }: RunOperatorNotice, client: WorkerClient): void {
  void operators
    .get(operator)!
    .run(args)
    .then((outcome) => client.request('done', { type: 'operator-result', run, outcome }));
}
