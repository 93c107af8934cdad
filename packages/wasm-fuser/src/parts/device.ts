import { jitOptions } from '@cresset/ir';
import { WasmDevice } from '../device/wasm-device.ts';
import { canShareMemory, usualThreads } from '../threads/shared-memory.ts';

export { WasmDevice };

/** The host as a device; null where the engine has no WebAssembly with vectors, or a page's policy forbids to compile it. */
export async function openWasmDevice(): Promise<WasmDevice | null> {
  const threads = canShareMemory() ? (jitOptions().numThreads ?? usualThreads()) : 1;
  try {
    // What is no number is one thread.
    if (!(threads > 1)) return new WasmDevice();
    const { ThreadPool } = await import('./threads.ts');
    return new WasmDevice((linear) => new ThreadPool(linear, threads));
  } catch {
    return null;
  }
}
