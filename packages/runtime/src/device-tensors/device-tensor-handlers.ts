import { CressetError } from '@cresset/ir';
import type { RequestHandlers } from '../worker/request-handlers.ts';
import { toWire } from '../worker/wire/wire-value.ts';
import type { WireTensor } from '../worker/wire/protocol.ts';

/** How the page comes by the elements of tensors that stayed, and gives such tensors up. */
export const deviceTensorHandlers: RequestHandlers = {
  async 'device-tensor'({ tensor: id }, host) {
    const tensor = host.deviceTensors?.get(id);
    if (!tensor) throw new CressetError('TENSOR_DISPOSED', 'this tensor was disposed of');
    const { storage } = tensor;
    // A copy that is made for the message alone goes with it.
    const made = new Set(storage.isOnHost ? [] : [storage]);
    await storage.toHost();
    return { type: 'tensor', tensor: toWire(tensor, null, made) as WireTensor };
  },

  async 'release-tensors'({ tensors }, host) {
    // Calls that were made before may have been given them.
    await Promise.all(Array.from(host.models.values(), ({ idle }) => idle));
    host.deviceTensors?.release(tensors);
    return { type: 'done' };
  },
};
