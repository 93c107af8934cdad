import type { DeviceMemoryUse } from '@cresset/tensorexpr';
import type { RequestHandlers } from '../worker/request-handlers.ts';
import { bytesOf } from './counted-memory.ts';
import { forEachStorage } from './reachable-storages.ts';

/** How questions about memory are answered. */
export const memoryHandlers: RequestHandlers = {
  async memory(_request, host) {
    const uses = (await host.openedDevices()).map((device) => device.memory());
    const sum = (of: (use: DeviceMemoryUse) => number): number => uses.reduce((bytes, use) => bytes + of(use), 0);
    const [live, pooled, peak] = [sum((use) => use.live), sum((use) => use.pooled), sum((use) => use.peak)];
    const tensors = host.deviceTensors?.size ?? 0;
    const report = { models: host.models.size, tensors, deviceBytes: live, pooledBytes: pooled, peakBytes: peak };
    return { type: 'memory', report };
  },

  async trim(_request, host) {
    await host.trim(1);
    return { type: 'done' };
  },

  async 'model-memory'({ model: id }, host) {
    const model = host.model(id);
    return model.enqueue(async () => {
      const storages = new Set(model.runner.storages());
      forEachStorage(
        model.keeps.flatMap((kept) => [...kept()]),
        (storage) => storages.add(storage),
      );
      const { budget } = model.runner.context;
      const report = { heldBytes: bytesOf(storages), limitBytes: budget?.limit ?? null };
      return { type: 'model-memory', report } as const;
    });
  },
};
