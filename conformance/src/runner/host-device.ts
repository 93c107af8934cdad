import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { threadedDevice } from '../../../test-setup/threaded-device.ts';
import type { RunnerSettings } from './runner-settings.ts';

/**
 * The host's device: `cpu` is what a page has that asks for the CPU, with one thread; the others have threads, or instructions that multiply and add,
 * whatever the engine would take by itself, and `webassembly` neither. Null where TypeScript computes, or a GPU.
 */
export async function openHostDevice(settings: Pick<RunnerSettings, 'device'>): Promise<WasmDevice | null> {
  const device = await open(settings);
  await device?.fetchIntegerProducts();
  await device?.fetchTransforms();
  return device;
}

function open({ device }: Pick<RunnerSettings, 'device'>): WasmDevice | Promise<WasmDevice> | null {
  if (device === 'typescript' || device === 'webgpu') return null;
  if (device === 'cpu') return new WasmDevice();
  if (device === 'webassembly-threads') return threadedDevice();
  return new WasmDevice(null, device === 'webassembly-relaxed');
}
