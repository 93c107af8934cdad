import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { ThreadPool } from '@cresset/wasm-fuser/parts/threads';

/**
 * The host's device with threads that have begun to help.
 *
 * @param size how many threads there are, the one that asks among them
 * @param grain how much of what is usually worth it is shared with them: all that can be, unless given
 */
export async function threadedDevice(size = 3, grain = 0): Promise<WasmDevice> {
  let pool: ThreadPool;
  const device = new WasmDevice((linear) => (pool = new ThreadPool(linear, size, grain)));
  while (pool!.ready < size - 1) await new Promise((resolve) => setTimeout(resolve, 1));
  return device;
}
