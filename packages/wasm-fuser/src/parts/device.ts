import { jitOptions } from '@cresset/ir';
import { WasmDevice } from '../device/wasm-device.ts';
import { canShareMemory, usualThreads } from '../threads/shared-memory.ts';

export { WasmDevice };

/** The host as a device; null where the engine has no WebAssembly with vectors, or a page's policy forbids to compile it. */
export async function openWasmDevice(): Promise<WasmDevice | null> {
  const threads = canShareMemory() ? (jitOptions().numThreads ?? usualThreads()) : 1;
  try {
    // What is no number is one thread.
    return (threads > 1 ? await openWithThreads(threads) : null) ?? new WasmDevice();
  } catch {
    return null;
  }
}

/** Null where the engine has not the addresses that a shared memory takes, all of which it wants at once. */
async function openWithThreads(threads: number): Promise<WasmDevice | null> {
  const { ThreadPool } = await import('./threads.ts');
  try {
    return new WasmDevice((linear) => new ThreadPool(linear, threads));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
