import { checkOptions, CressetError } from '@cresset/ir';
import { DEVICE_RULES, type Library, type LoadOptions } from './library.ts';
import { engineHere } from './placement.ts';
import type { ScriptModule } from './script-module.ts';
import type { TraceableFunction } from '../tracing/recording.ts';
import type { TraceableModule } from '../tracing/traced-module.ts';
import type { TracedTorch } from '../tracing/traced-tensor.ts';
import { TensorList } from './tensor-list.ts';
import type { Input } from './value.ts';

export interface TraceOptions extends Pick<LoadOptions, 'device' | 'worker'> {
  /** Names of the parameters; by default those that the function has in its source. */
  readonly argumentNames?: readonly string[];
  /**
   * Traces a second time with equal inputs and compares: the graphs, and what the traced program gives with what the function gave. A
   * function that is not the same each time is an error, other results a warning. On by default.
   */
  readonly checkTrace?: boolean;
  /** How far results may be apart, relative and absolute; 1e-5 by default. */
  readonly checkTolerance?: number;
  /** `false` allows dicts among the results, and lists without a warning. */
  readonly strict?: boolean;
  /** Shows a warning; on the console by default. */
  readonly warn?: (message: string) => void;
}

/**
 * Records what a function or module does on example inputs and loads it. It runs in this thread, where its function is, so the engine
 * comes here too.
 */
export async function traceProgram(
  library: Library,
  program: TraceableFunction | TraceableModule,
  exampleInputs: readonly unknown[],
  options: TraceOptions,
): Promise<ScriptModule> {
  checkOptions('trace', options, {
    ...DEVICE_RULES,
    worker: 'boolean',
    argumentNames: 'array',
    checkTrace: 'boolean',
    checkTolerance: 'number',
    strict: 'boolean',
    warn: 'function',
  });
  const engine = await engineHere(library.files);
  engine.usePartAddresses(library.files.partAddresses());
  await engine.loadAllParts();
  const { outputDifference, recordChecked, traceFile } = await engine.loadPart('tracing');
  const recorded = recordChecked(program, exampleInputs, options, withTorch);
  const { device, worker } = options;
  const model = await library.load(await traceFile(recorded), {
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

/** An example input as a loaded module takes it. */
function pageInput(input: unknown): Input {
  return (input instanceof TensorList ? input.items.map(pageInput) : input) as Input;
}

let activeTorch: TracedTorch | null = null;

/** Makes {@link torch} what a trace gives, while `body` runs. */
export function withTorch<T>(module: TracedTorch, body: () => T): T {
  if (activeTorch) throw new CressetError('TRACE', "Tracing can't be nested");
  activeTorch = module;
  try {
    return body();
  } finally {
    activeTorch = null;
  }
}

/**
 * The module `torch` in a program that is being traced: `torch.cat([x, y], 1)`, `torch.linalg.inv(x)`. Its functions are the registered
 * operators, under PyTorch's names. Outside of a trace there is nothing in it.
 */
export const torch: TracedTorch = new Proxy({} as TracedTorch, {
  get(_target, name) {
    if (!activeTorch) {
      throw new CressetError('TRACE', `torch.${String(name)} can be used in a function that is being traced only`);
    }
    return Reflect.get(activeTorch, name) as unknown;
  },
});
