import { registerAllParts } from '@cresset/runtime';
import { Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, describe, expect, it } from 'vitest';
import { PythonFunctions } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);

const image = Tensor.fromArray(
  Float32Array.from({ length: 20 }, (_, at) => at / 7),
  [1, 1, 4, 5],
  'float32',
);
const places = [NaN, Infinity, -Infinity, 0.3, -1.4];
const grid = Tensor.fromArray(Float32Array.from(places.flatMap((place) => [place, 0.3])), [1, 1, 5, 2], 'float32');
const SOURCE = `
def sample(x: Tensor, grid: Tensor, mode: int, padding: int, corners: bool):
    return torch.grid_sampler(x, grid, mode, padding, corners)
`;

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
    const device = open();
    const functions = new PythonFunctions(SOURCE, { device, limits: { smallWork: -1 } });
    const args = [image, grid, BigInt(mode), BigInt(padding), align === 1];
    const result = (await functions.call('sample', args)) as Tensor;
    if (device) expect(device.counters.dispatches).toBeGreaterThan(0);
    const found = Array.from(result.contiguousArray() as Float32Array);
    wanted.forEach((value, at) => {
      if (Number.isNaN(value)) expect(found[at]).toBeNaN();
      else expect(found[at]).toBeCloseTo(value, 4);
    });
  });
});
