import { registerAllParts } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { ThreadPool } from '@cresset/wasm-fuser/parts/threads';
import { expect, test, vi } from 'vitest';
import { threadedDevice } from '../../../../../test-setup/threaded-device.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

registerAllParts();

/** A layer over 12 steps of sequences with 40 features. */
const layers = {
  lstm: { gates: 4, call: 'torch.lstm(x, [h, h], [w, u], False, 1, 0.0, False, False, False)[0]' },
  gru: { gates: 3, call: 'torch.gru(x, h, [w, u], False, 1, 0.0, False, False, False)[0]' },
};

test.each([
  ['lstm', 5, 5],
  ['gru', 2, 2],
  // Steps wait for each other.
  ['lstm', 1, 0],
] as const)('threads share the sequences of a layer: %s, %d of them', async (kind, sequences, shared) => {
  const { gates, call } = layers[kind];
  const source = `def f(x: Tensor, h: Tensor, w: Tensor, u: Tensor):\n    return ${call}\n`;
  const args = [
    tensorOf([12, sequences, 40]),
    tensorOf([1, sequences, 40], 2),
    tensorOf([40 * gates, 40], 3),
    tensorOf([40 * gates, 40], 4),
  ];
  const numbers = async (device: WasmDevice): Promise<Float32Array> => {
    const functions = new PythonFunctions(source, { device, limits: { smallWork: -1 } });
    let last = new Float32Array();
    for (let time = 0; time < 3; time++)
      last = Float32Array.from(((await functions.call('f', args)) as Tensor).contiguousArray() as Float32Array);
    return last;
  };
  const wanted = await numbers(new WasmDevice());
  const run = vi.spyOn(ThreadPool.prototype, 'run');
  const device = await threadedDevice(3);
  expect(await numbers(device)).toEqual(wanted);
  // Steps from and to, and sequences from and to, behind the block.
  const ofSequences = run.mock.calls
    .map(([tasks]) => tasks.map(([{ name, args: given }]) => (name === 'run' && given.length === 5 ? given : [])))
    .filter(([first]) => first.length > 0);
  const stretches = new Set(ofSequences.map((tasks) => tasks.map((given) => given.slice(3).join()).join(' ')));
  expect([...stretches]).toEqual(
    shared === 0 ? [] : [Array.from({ length: shared }, (_, at) => `${at},${at + 1}`).join(' ')],
  );
  vi.restoreAllMocks();
  device.dispose();
});
