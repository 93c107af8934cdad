import type { Availability } from './availability.ts';
import { Library, type CheckpointOptions, type LoadOptions, type MemoryReport, type ModelInput } from './library.ts';
import { ScriptModule } from './script-module.ts';
import type { Tensor } from './tensor.ts';
import { scopePort, serve, WORKER_NAME } from './worker-start.ts';

// The classic script: on a page it is the global `cresset`; started as a worker by itself, it is the host.

export { CressetError, setJitLogSink, setJitOptions } from '@cresset/ir';
export { ScriptFailure as TorchScriptError } from '@cresset/runtime';
export { ScriptModule } from './script-module.ts';
export { cache } from './cache.ts';
export { Tensor, tensor } from './tensor.ts';
export { version } from './version.ts';

// Known only while the script itself runs.
const ownAddress =
  typeof document === 'undefined' ? null : ((document.currentScript as HTMLScriptElement | null)?.src ?? null);

const library = new Library(() => {
  if (!ownAddress) throw new Error('the script does not know its own address');
  return new Worker(ownAddress, { name: WORKER_NAME });
}, "new Worker('/path/to/cresset.global.js', { name: 'cresset' })");

/** See the ES module's `load`. */
export function load(input: ModelInput, options: LoadOptions = {}): Promise<ScriptModule> {
  return library.load(input, options, ScriptModule);
}

/** See the ES module's `loadCheckpoint`. */
export function loadCheckpoint(input: ModelInput, options: CheckpointOptions = {}): Promise<Map<string, Tensor>> {
  return library.loadCheckpoint(input, options);
}

/** See the ES module's `init`. */
export function init(): Promise<Availability> {
  return library.init();
}

/** See the ES module's `memory`. */
export function memory(): Promise<MemoryReport> {
  return library.memory();
}

/** See the ES module's `setWorker`; the worker is this script again, by the name `cresset`. */
export function setWorker(start: () => Worker): void {
  library.setWorker(start);
}

/** See the ES module's `shutdown`. */
export function shutdown(): Promise<void> {
  return library.shutdown();
}

if (typeof DedicatedWorkerGlobalScope !== 'undefined' && self instanceof DedicatedWorkerGlobalScope) {
  const scope = self as unknown as DedicatedWorkerGlobalScope;
  // A page's own worker may import this script for its own use.
  if (scope.name === WORKER_NAME) serve(scopePort(scope));
}
