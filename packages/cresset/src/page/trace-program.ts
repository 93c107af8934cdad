import { checkOptions, CressetError, writeJitWarning } from '@cresset/ir';
import type { MethodInputs, TraceableFunction } from '../tracing/recording.ts';
import type { TraceableModule } from '../tracing/traced-module.ts';
import { PLACE_RULES, type Library } from './library.ts';
import { engineHere } from './placing/placement.ts';
import { loadedFile, ScriptModule } from './script-module.ts';
import { Tensor } from './values/tensor.ts';
import { TensorList } from './values/tensor-list.ts';
import { withTrace, type TraceOptions } from './trace.ts';
import { inMessages, type Input } from './values/value.ts';

type Program = TraceableFunction | TraceableModule;

/** Traces a function, or a module's `forward`. */
export async function traceProgram(
  library: Library,
  program: Program,
  exampleInputs: unknown,
  options: TraceOptions,
): Promise<ScriptModule> {
  if (program instanceof ScriptModule) {
    warner(options)('The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.');
    return program;
  }
  const checkInputs = options.checkInputs?.map((each) => ({ forward: inputsOf(each) }));
  return traceMethods(library, program, { forward: inputsOf(exampleInputs) }, checkInputs, options);
}

/** Traces methods of a module, each with inputs of its own. */
export function traceModuleMethods(
  library: Library,
  module: TraceableModule,
  inputs: Readonly<Record<string, unknown>>,
  options: TraceOptions,
): Promise<ScriptModule> {
  const all = (given: unknown): MethodInputs => {
    if (typeof given !== 'object' || given === null || Array.isArray(given) || given instanceof Tensor) {
      throw new CressetError('ARGUMENT', 'expected a dictionary of (method_name, input) pairs');
    }
    return Object.fromEntries(Object.entries(given).map(([name, each]) => [name, inputsOf(each)]));
  };
  return traceMethods(library, module, all(inputs), options.checkInputs?.map(all), options);
}

/** One tensor, list or dict stands for the list of inputs. */
function inputsOf(given: unknown): readonly unknown[] {
  return Array.isArray(given) ? (given as readonly unknown[]) : [given];
}

function warner({ warn }: TraceOptions): (message: string) => void {
  return warn ?? ((message) => writeJitWarning(`TracerWarning: ${message}`));
}

/**
 * Records what a function or module does on example inputs and loads it. It runs in this thread, where its function is, so the engine
 * comes here too; and so do programs that it calls.
 */
async function traceMethods(
  library: Library,
  program: Program,
  inputs: MethodInputs,
  checkInputs: readonly MethodInputs[] = [inputs],
  options: TraceOptions,
): Promise<ScriptModule> {
  checkOptions('trace', options, {
    ...PLACE_RULES,
    argumentNames: 'array',
    checkTrace: 'boolean',
    checkInputs: 'array',
    checkTolerance: 'number',
    strict: 'boolean',
    forceOutplace: 'boolean',
    warn: 'function',
  });
  const engine = await engineHere(library.files);
  await engine.loadAllParts();
  const { checkTrace, ScriptedCallees, traceFile, TraceRecorder } = await engine.loadPart('tracing');
  const callees = new ScriptedCallees();
  for (const module of scriptedWithin(program)) {
    const { path } = module[inMessages];
    await callees.fetch({ file: module[loadedFile], module: path, name: 'forward' });
  }
  const recorder = new TraceRecorder(program, { ...options, warn: warner(options) }, withTrace, callees);
  const recorded = await callees.whole(() => recorder.record(inputs));
  const { device, worker, memoryLimit } = options;
  const model = await library.load(await traceFile(recorded), {
    ...(device === undefined ? {} : { device }),
    ...(worker === undefined ? {} : { worker }),
    ...(memoryLimit === undefined ? {} : { memoryLimit }),
  });
  if (!(options.checkTrace ?? true)) return model;
  try {
    const run = (method: string, given: readonly unknown[]): Promise<unknown> =>
      model.call(method, given.map(pageInput));
    const tolerance = options.checkTolerance ?? 1e-5;
    await callees.whole(() => checkTrace(recorder, recorded, checkInputs, tolerance, run as never));
  } catch (error) {
    await model.dispose();
    throw error;
  }
  return model;
}

/** Modules that were compiled before, among what is traced. */
function scriptedWithin(program: unknown, seen = new Set<unknown>()): ScriptModule[] {
  if (typeof program !== 'object' || program === null || seen.has(program) || program instanceof Tensor) return [];
  seen.add(program);
  if (program instanceof ScriptModule) return [program];
  const isModule = Array.isArray(program) || typeof (program as { forward?: unknown }).forward === 'function';
  return isModule ? Object.values(program).flatMap((each) => scriptedWithin(each, seen)) : [];
}

/** An example input as a loaded module takes it. */
function pageInput(input: unknown): Input {
  return (input instanceof TensorList ? input.items.map(pageInput) : input) as Input;
}
