import { readFileSync } from 'node:fs';
import { readModule } from '@cresset/archive';
import type { GraphFunction } from '@cresset/ir';
import { Tensor, type DeviceBuffer, type ScriptObject } from '@cresset/tensor';
import { beforeAll, expect, it } from 'vitest';
import { registerAllParts } from '../../all-parts.ts';
import { CountingDevice } from '../../counting-device-fixture.ts';
import { RuntimeContext } from '../../run/runtime-context.ts';
import { ScriptModule } from '../../script-module.ts';
import { CheckpointedCode } from './checkpointed-code.ts';
import { gradientsOf, recordedCall } from '../tape.ts';

const FILE = new URL('../../../../cresset/src/training/fixtures/transformer.pt', import.meta.url);

beforeAll(registerAllParts);

/** Adds up the bytes that are there. */
class WeighingDevice extends CountingDevice {
  live = 0;
  most = 0;

  override allocate(byteLength: number): DeviceBuffer {
    this.live += byteLength;
    this.most = Math.max(this.most, this.live);
    return super.allocate(byteLength);
  }

  override release({ byteLength }: DeviceBuffer): void {
    this.live -= byteLength;
  }
}

/** What a transformer of two blocks takes on a device, of which nothing is kept but the arguments of those at `paths`. */
async function weighed(paths: readonly ('0' | '1')[]): Promise<{ forward: number; most: number; after: number }> {
  const device = new WeighingDevice();
  const context = new RuntimeContext({ device, limits: { smallWork: 0 } });
  const { module, unit } = await readModule(readFileSync(FILE));
  const runner = new ScriptModule(module, unit, context);
  const parameters = tensorsOf(module);
  for (const tensor of parameters) {
    tensor.requiresGrad = true;
    tensor.storage.deviceBuffer(device, tensor.dtype);
  }
  const blocks = module.getAttribute('blocks') as ScriptObject;
  const codes = new CheckpointedCode(new Set(paths.map((path) => blocks.getAttribute(path) as ScriptObject)));
  const tokens = Tensor.fromArray(new BigInt64Array(64 * 8), [64, 8], 'int64');
  const before = device.live;
  const fn = runner.method('forward') as GraphFunction;
  const output = await recordedCall(context, (options) =>
    runner.callFunction(fn, [module, tokens], { ...options, ...(paths.length > 0 && { codes }) }),
  );
  const forward = device.live - before;
  device.most = device.live;
  const gradient = Tensor.fromArray(new Float32Array(64 * 8 * 20), [64, 8, 20], 'float32');
  const gradients = await gradientsOf(
    { outputs: [output as Tensor], gradients: [gradient], inputs: parameters, allowUnused: true },
    context,
  );
  const most = device.most - before;
  for (const each of gradients) each?.storage.dispose();
  (output as Tensor).storage.dispose();
  gradient.storage.dispose();
  tokens.storage.dispose();
  return { forward, most, after: device.live - before };
}

function tensorsOf(module: ScriptObject): Tensor[] {
  return module.slots.flatMap((value) =>
    value instanceof Tensor
      ? [value]
      : value !== null && typeof value === 'object'
        ? tensorsOf(value as ScriptObject)
        : [],
  );
}

it('keeps the arguments of a module and nothing else, and runs it again for its gradients', async () => {
  const [all, one, both] = [await weighed([]), await weighed(['0']), await weighed(['0', '1'])];
  // A block keeps some twenty times what it is called with.
  const block = all.forward - one.forward;
  expect(block).toBeGreaterThan(0.4 * all.forward);
  expect(all.forward - both.forward).toBe(2 * block);
  // While one of the two is there again, the other is not.
  expect(all.most - both.most).toBeGreaterThan(0.7 * block);
  // What was run again is given up with the walk backwards.
  expect(both.after).toBeLessThan(block / 100);
});
