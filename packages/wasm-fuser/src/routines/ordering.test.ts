import { Storage, Tensor } from '@cresset/tensor';
import type { OrderWay } from '@cresset/tensorexpr';
import { expect, it } from 'vitest';
import { ModuleBuilder } from '../module.ts';
import { moduleText } from '../text/module-text.ts';
import { defineOrdering } from './ordering.ts';
import { WasmDevice } from '../device/wasm-device.ts';

it.each([4, 8] as const)('is told as text, with keys of %i bytes', (keyBytes) => {
  const module = new ModuleBuilder();
  defineOrdering(module, keyBytes);
  const text = moduleText(module.bytes());
  expect(text).toContain('memory.fill');
  expect(text).toContain(keyBytes === 4 ? 'i32.lt_u' : 'i64.lt_u');
});

/** What all ways find is tested where operators are run, in cresset/src/models/launches/sorting.test.ts. */

it.each<{ way: OrderWay; count: number }>([
  { way: 'stable', count: 1 << 21 },
  { way: 'heap', count: 100 },
  { way: 'select', count: 1 << 20 },
  { way: 'select and sort', count: 1 << 20 },
  { way: 'quickselect', count: 1 },
])('a long line stops about every million elements ($way)', async ({ way, count }) => {
  const device = new WasmDevice();
  const length = 1 << 21;
  const elements = Float32Array.from({ length }, (_, at) => Math.sin(at));
  const keys = Tensor.fromArray(elements, [1, length], 'float32');
  const places = new Tensor(Storage.onDevice(device, 'int32', count), 'int32', [1, count], [count, 1]);
  let stops = 0;
  const run = device.launches.run.bind(device.launches);
  device.launches.run = function* (...args) {
    for (const stop of run(...args)) {
      stops++;
      yield stop;
    }
  };
  device.launchRoutine({ kind: 'ordering', label: 'aten::sort', keys, places, first: 0, descending: false, way });
  await device.flush();
  // A pass goes over all of it; filling is one, and so is what a selection does before it has halved the range.
  const passes = { stable: 5, heap: 1, select: 2, 'select and sort': 6, quickselect: 2 }[way];
  expect(stops).toBeGreaterThanOrEqual(2 * passes - 1);
  device.dispose();
});
