import type { Availability } from './availability.ts';
import { Library, type LoadOptions, type MemoryReport, type ModelInput } from './library.ts';
import { ScriptModule, type ModelMethod } from './script-module.ts';

export * from './public-names.ts';

// Bundlers look for exactly this form, with options they can read, to give the worker's file a place in what they build.
const library = new Library(() => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }));

/**
 * Loads a TorchScript `.pt` as PyTorch wrote it (torch.jit.load), in a worker and on the GPU where there are such.
 *
 * Rejects with a {@link CressetError}: codes starting with `DOWNLOAD_` for transfers, `ZIP_`, `PICKLE_` and `ARCHIVE_` for damaged
 * files, `FILE_` for files of another kind (the message says which kind and what to do), `ABORTED` for an abort.
 *
 * @typeParam Method names of methods beside `forward` that are called as properties: `load<'encode'>(…)`.
 */
export function load<Method extends string = never>(
  input: ModelInput,
  options: LoadOptions = {},
): Promise<ScriptModule & Readonly<Record<Method, ModelMethod>>> {
  return library.load(input, options, ScriptModule) as Promise<ScriptModule & Readonly<Record<Method, ModelMethod>>>;
}

/** Finds out whether there is a GPU to compute on, and if not, why. Calling it is not needed before {@link load}. */
export function init(): Promise<Availability> {
  return library.init();
}

/** Memory that loaded models use. */
export function memory(): Promise<MemoryReport> {
  return library.memory();
}
