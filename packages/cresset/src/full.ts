import { registerAllOperators } from '@cresset/operators';
import type { Availability } from './availability.ts';
import { Library, type LoadOptions, type MemoryReport, type ModelInput } from './library.ts';
import { ScriptModule, type ModelMethod } from './script-module.ts';

/**
 * The full edition: the same functions as `cresset`, with operators that few models use (linear algebra, special functions, losses).
 */
export * from './public-names.ts';

// Bundlers look for exactly this form, with options they can read, to give the worker's file a place in what they build.
const library = new Library(() => new Worker(new URL('./worker-full.ts', import.meta.url), { type: 'module' }), {
  prepare: registerAllOperators,
  handlers: {},
  runOperator: () => undefined,
});

/** See `load` of the core edition. */
export function load<Method extends string = never>(
  input: ModelInput,
  options: LoadOptions = {},
): Promise<ScriptModule & Readonly<Record<Method, ModelMethod>>> {
  return library.load(input, options, ScriptModule) as Promise<ScriptModule & Readonly<Record<Method, ModelMethod>>>;
}

/** See `init` of the core edition. */
export function init(): Promise<Availability> {
  return library.init();
}

/** See `memory` of the core edition. */
export function memory(): Promise<MemoryReport> {
  return library.memory();
}
