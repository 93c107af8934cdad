import { readFileSync } from 'node:fs';
import {
  inProcessPorts,
  registerAllParts,
  WorkerClient,
  WorkerHost,
  type FromHost,
  type Request,
  type WireTensor,
} from '@cresset/runtime';
import { expect, test } from 'vitest';
import { NullGpu } from '../../../../../test-setup/null-gpu.ts';

const digits = readFileSync(new URL('../../../../../apps/playground/public/models/digits.pt', import.meta.url));

registerAllParts();

/** A vertical stroke, a picture that the model takes. */
function picture(): WireTensor {
  const ink = new Float32Array(28 * 28);
  for (let row = 5; row < 22; row++) ink[row * 28 + 14] = 1;
  return { kind: 'tensor', dtype: 'float32', shape: [1, 1, 28, 28], data: ink.buffer };
}

test('what records comes with the second call, which compiles what launches become together; from then on no shader is made', async () => {
  const gpu = new NullGpu();
  const device = gpu.open({ software: true });
  // As in what is published, where it is fetched.
  device.recorder = null;
  const [clientPort, hostPort] = inProcessPorts<Request, FromHost>();
  new WorkerHost(hostPort, { openDevice: () => Promise.resolve(device) }).listen();
  const client = new WorkerClient(clientPort);
  await client.request('loaded', { type: 'load', model: 1, input: new Uint8Array(digits).buffer, device: 'webgpu' });
  const counts: object[] = [];
  for (let call = 0; call < 4; call++) {
    const { modules } = gpu.calls;
    const request = { type: 'call', model: 1, module: '', method: 'forward', args: [picture()], kwargs: [] } as const;
    const { result } = await client.request('called', request);
    const { dispatches, replayed, shaders, submits } = result.profile;
    counts.push({ modules: gpu.calls.modules - modules, shaders, dispatches, replayed, submits });
  }
  const launched = { dispatches: 9, replayed: 0, submits: 1 };
  const replayed = { modules: 0, shaders: 0, dispatches: 7, replayed: 7, submits: 1 };
  expect(counts).toEqual([
    { modules: 7, shaders: 7, ...launched },
    // The mean, the product and the softmax are one kernel from then on.
    { modules: 1, shaders: 1, ...launched },
    replayed,
    replayed,
  ]);
});
