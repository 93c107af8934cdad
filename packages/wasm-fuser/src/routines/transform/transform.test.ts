import { Storage, Tensor, type ScalarType } from '@cresset/tensor';
import type { Transform } from '@cresset/tensorexpr';
import { expect, it } from 'vitest';
import { WasmDevice } from '../../device/wasm-device.ts';
import { keptTableBytes } from './transform-tables.ts';

type Values = Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

/** The definition, in double precision. */
function naive(re: number[], im: number[], inverse: boolean): { re: number[]; im: number[] } {
  const count = re.length;
  const cos = re.map((_, at) => Math.cos((2 * Math.PI * at) / count));
  const sin = re.map((_, at) => (inverse ? 1 : -1) * Math.sin((2 * Math.PI * at) / count));
  const part = (k: number, isImaginary: boolean): number =>
    re.reduce((sum, x, j) => {
      const [c, s] = [cos[(j * k) % count], sin[(j * k) % count]];
      return sum + (isImaginary ? x * s + im[j] * c : x * c - im[j] * s);
    }, 0);
  return { re: re.map((_, k) => part(k, false)), im: re.map((_, k) => part(k, true)) };
}

const draw = (at: number): number => Math.sin(at * 12.9898 + 1) * 2;

async function lines(
  device: WasmDevice,
  { form, inverse, length, dtype }: Pick<Transform, 'form' | 'inverse' | 'length'> & { dtype: ScalarType },
  outer: number,
  inner: number,
  isTransposed: boolean,
): Promise<void> {
  const half = Math.floor(length / 2) + 1;
  const [from, to] = [form === 'real' ? half : length, form === 'half spectrum' ? half : length];
  const [parts, toParts] = [form === 'half spectrum' ? 1 : 2, form === 'real' ? 1 : 2];
  const view = (tensor: Tensor, count: number, width: number): Tensor =>
    tensor.asStrided(
      [outer, inner, count],
      isTransposed ? [inner * count * width, width, inner * width] : [inner * count * width, count * width, width],
    );
  const Floats = dtype === 'float64' ? Float64Array : Float32Array;
  const given = new Floats(outer * inner * from * parts);
  for (let at = 0; at < given.length; at++) given[at] = draw(at);
  const source = Tensor.fromArray(given, [given.length], dtype);
  const size = outer * inner * to * toParts;
  const target = new Tensor(Storage.onDevice(device, dtype, size), dtype, [size], [1]);
  device.launchRoutine({
    kind: 'transform',
    label: 'aten::fft',
    form,
    length,
    inverse,
    scale: 0.5,
    source: { numbers: view(source, from, parts), isComplex: parts === 2 },
    target: { numbers: view(target, to, toParts), isComplex: toParts === 2 },
  });
  await target.storage.toHost();
  const found = target.storageArray() as Values;
  const at = (line: number, element: number, count: number): number => {
    const [o, i] = [Math.floor(line / inner), line % inner];
    return o * inner * count + (isTransposed ? element * inner + i : i * count + element);
  };
  const error = (dtype === 'float64' ? 1e-14 : 5e-6) * Math.sqrt(length) * Math.max(1, Math.log2(length));
  let worst = 0;
  for (let line = 0; line < outer * inner; line++) {
    const re = Array.from(
      { length },
      (_, k) => given[parts * at(line, form === 'real' && k >= half ? length - k : k, from)],
    );
    const im = Array.from({ length }, (_, k) => {
      if (parts === 1) return 0;
      if (form !== 'real') return given[2 * at(line, k, from) + 1];
      if (k === 0 || 2 * k === length) return 0;
      return k < half ? given[2 * at(line, k, from) + 1] : -given[2 * at(line, length - k, from) + 1];
    });
    const expected = naive(re, im, inverse);
    for (let k = 0; k < to; k++) {
      const place = toParts * at(line, k, to);
      worst = Math.max(worst, Math.abs(found[place] - expected.re[k] / 2));
      if (toParts === 2) worst = Math.max(worst, Math.abs(found[place + 1] - expected.im[k] / 2));
    }
  }
  expect(worst, `${form} ${length} ${dtype} ${inverse} ${outer} ${inner} ${isTransposed}`).toBeLessThan(error);
}

it.each(['complex', 'half spectrum', 'real'] as const)('transforms lines of any length (%s)', async (form) => {
  const device = new WasmDevice();
  await device.fetchTransforms();
  const lengths = [...Array.from({ length: 70 }, (_, at) => at + 1), 96, 100, 113, 127, 128, 254, 343, 512];
  for (const length of lengths) {
    for (const dtype of ['float32', 'float64'] as const) {
      const inverse = length % 2 === (dtype === 'float32' ? 0 : 1) ? length % 3 === 0 : length % 3 !== 0;
      await lines(device, { form, inverse, length, dtype }, 1, 1, false);
      await lines(device, { form, inverse: !inverse, length, dtype }, 2, 5, length % 4 < 2);
      if (length <= 70) await lines(device, { form, inverse, length, dtype }, 1, 4, length % 4 >= 2);
    }
  }
  expect(keptTableBytes()).toBeLessThanOrEqual(8 << 20);
  device.dispose();
});
