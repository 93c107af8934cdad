import { WasmDevice } from '../device/wasm-device.ts';

export { WasmDevice };

/** The host as a device; null where the engine has no WebAssembly with vectors, or a page's policy forbids to compile it. */
export function openWasmDevice(): WasmDevice | null {
  try {
    return new WasmDevice();
  } catch {
    return null;
  }
}
