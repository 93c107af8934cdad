import type { Availability } from './availability.ts';
import { Library, type CheckpointOptions, type LoadOptions, type MemoryReport, type ModelInput } from './library.ts';
import { ScriptModule, type ModelMethod } from './script-module.ts';
import type { Tensor } from './tensor.ts';

export * from './public-names.ts';

// Bundlers look for exactly this form, with options they can read, to give the worker's file a place in what they build.
const library = new Library(
  () => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }),
  "new Worker('/path/to/worker.js', { type: 'module' })",
);

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
export function init(): Promise<Availability> {
  return library.init();
}

/** Memory that loaded models use. */
export function memory(): Promise<MemoryReport> {
  return library.memory();
}

/**
 * Says how the worker is started, where the library does not find it by itself: `setWorker(() => new Worker('/worker.js', { type: 'module' }))`,
 * with the package's `dist/worker.js` or a module that imports it. Throws `WORKER_STARTED` where the worker runs already.
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
