import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { threadedDevice } from '../../../test-setup/threaded-device.ts';
import type { RunnerSettings } from './runner-settings.ts';

/** The host's device, with threads where these were asked for. */
export async function openHostDevice({ device }: RunnerSettings): Promise<WasmDevice> {
  return device === 'webassembly-threads' ? threadedDevice() : new WasmDevice();
}
