import { Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, describe, expect, it } from 'vitest';
import { fixedGenerator, loweringOn } from '../../operator-fixture.ts';
import { runOnDevice, runOnHost } from '../../dispatch/invoke.ts';
import { registerAllOperators } from '../../register-all.ts';
import { findRow } from '../../table/register.ts';

beforeAll(registerAllOperators);

const host = { gradEnabled: false, print: () => undefined, warn: () => undefined, generator: fixedGenerator };
const image = Tensor.fromArray(
  Float32Array.from({ length: 20 }, (_, at) => at / 7),
  [1, 1, 4, 5],
  'float32',
);
const places = [NaN, Infinity, -Infinity, 0.3, -1.4];
const grid = Tensor.fromArray(Float32Array.from(places.flatMap((place) => [place, 0.3])), [1, 1, 5, 2], 'float32');

/** What PyTorch gives: by interpolation mode, by padding mode, with and without aligned corners. */
const expected = [
  [
    [[NaN, NaN, NaN, 1.8929, 0], [NaN, NaN, NaN, 1.7643, 0.2786]],
    [[1.5, 2.0714, 1.5, 1.8929, 1.5], [1.3929, 1.9643, 1.3929, 1.7643, 1.3929]],
    [[1.5, 1.5, 1.5, 1.8929, 1.5714], [1.3929, 1.3929, 1.3929, 1.7643, 1.5071]],
  ],
  [
    [[0, 0, 0, 1.8571, 0], [0, 0, 0, 1.8571, 0]],
    [[1.4286, 2, 1.4286, 1.8571, 1.4286], [1.4286, 2, 1.4286, 1.8571, 1.4286]],
    [[1.4286, 1.4286, 1.4286, 1.8571, 1.4286], [1.4286, 1.4286, 1.4286, 1.8571, 1.5714]],
  ],
  [
    [[NaN, NaN, NaN, 1.9338, -0.1448], [NaN, NaN, NaN, 1.7456, 0.239]],
    [[NaN, NaN, NaN, 1.9167, 1.5305], [NaN, NaN, NaN, 1.7456, 1.3742]],
    [[NaN, NaN, NaN, 1.9167, 1.5886], [NaN, NaN, NaN, 1.7456, 1.4782]],
  ],
] as const; // prettier-ignore

describe.each([
  ['JavaScript', () => null],
  ['WebAssembly', () => new WasmDevice()],
])('samples at places that are no places, in %s', (_, open) => {
  const cases = expected.flatMap((paddings, mode) =>
    paddings.flatMap((corners, padding) => corners.map((wanted, align) => ({ mode, padding, align, wanted }))),
  );
  it.each(cases)('mode $mode, padding $padding, corners $align', async ({ mode, padding, align, wanted }) => {
    const row = findRow('aten::grid_sampler', '')!;
    const args = [image, grid, BigInt(mode), BigInt(padding), align === 1];
    const device = open();
    const [result] = (
      device ? await runOnDevice(row, args, loweringOn(device)) : runOnHost(row, args, host)
    ) as Tensor[];
    await result.storage.toHost();
    const found = Array.from(result.contiguousArray() as Float32Array);
    wanted.forEach((value, at) => {
      if (Number.isNaN(value)) expect(found[at]).toBeNaN();
      else expect(found[at]).toBeCloseTo(value, 4);
    });
  });
});
