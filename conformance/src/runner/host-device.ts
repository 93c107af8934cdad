import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { threadedDevice } from '../../../test-setup/threaded-device.ts';
import type { RunnerSettings } from './runner-settings.ts';

/**
 * The host's device, with threads where these were asked for, and with instructions that multiply and add where those were, whatever the engine
 * would take by itself: `webassembly` is without either.
 */
export async function openHostDevice({ device }: RunnerSettings): Promise<WasmDevice> {
  if (device === 'webassembly-threads') return threadedDevice();
  return new WasmDevice(null, device === 'webassembly-relaxed');
}
