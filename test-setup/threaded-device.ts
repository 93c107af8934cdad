import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { ThreadPool } from '@cresset/wasm-fuser/parts/threads';

/** The host's device with two threads that help, when they have begun; they are given whatever can be shared, however little it is. */
export async function threadedDevice(): Promise<WasmDevice> {
  let pool: ThreadPool;
  const device = new WasmDevice((linear) => (pool = new ThreadPool(linear, 3, 0)));
  while (pool!.ready < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  return device;
}
