import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { threadedDevice } from '../../../../../test-setup/threaded-device.ts';
import { PythonFunctions } from '../python-functions-fixture.ts';

/** Functions of Python text on the host's device, with one thread and with several; whatever is small goes there too. */
export async function onHostDevices(source: string): Promise<PythonFunctions[]> {
  const devices = [new WasmDevice(), await threadedDevice(3)];
  return devices.map((device) => new PythonFunctions(source, { device, limits: { smallWork: -1 } }));
}
