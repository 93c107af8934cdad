import { checkOptions } from '@cresset/ir';
import type { TraceableFunction } from '../tracing/recording.ts';
import type { TraceableModule } from '../tracing/traced-module.ts';
import { PLACE_RULES, type Library } from './library.ts';
import { engineHere } from './placing/placement.ts';
import type { ScriptModule } from './script-module.ts';
import { TensorList } from './values/tensor-list.ts';
import { withTorch, type TraceOptions } from './trace.ts';
import type { Input } from './values/value.ts';

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
    ...PLACE_RULES,
    argumentNames: 'array',
    checkTrace: 'boolean',
    checkTolerance: 'number',
    strict: 'boolean',
    warn: 'function',
  });
  const engine = await engineHere(library.files);
  await engine.loadAllParts();
  const { outputDifference, recordChecked, traceFile } = await engine.loadPart('tracing');
  const recorded = recordChecked(program, exampleInputs, options, withTorch);
  const { device, worker, memoryLimit } = options;
  const model = await library.load(await traceFile(recorded), {
    ...(device === undefined ? {} : { device }),
    ...(worker === undefined ? {} : { worker }),
    ...(memoryLimit === undefined ? {} : { memoryLimit }),
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
