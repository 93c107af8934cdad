import { extendServices } from '@cresset/ir';
import { deviceTensorHandlers } from '../device-tensors/device-tensor-handlers.ts';
import { DeviceTensors } from '../device-tensors/device-tensors.ts';
import type { RuntimeServices } from '../services.ts';
import { registerRequestHandlers } from '../worker/request-handlers.ts';

/** Results of calls that stay where they were made. */
export function register(): void {
  extendServices<RuntimeServices>({ deviceTensors: (models) => new DeviceTensors(models) });
  registerRequestHandlers(deviceTensorHandlers);
}
