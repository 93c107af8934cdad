import { Tensor } from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  constant,
  param,
  select,
  TensorView,
  type Contraction,
  type Expr,
} from '@cresset/tensorexpr';
import { describe, expect, test } from 'vitest';
import type { PreparedContraction } from './programs.ts';
import { WasmDevice } from './wasm-device.ts';

interface Setting {
  readonly groups?: number;
  readonly channels: number;
  readonly filters: number;
  readonly size: readonly [number, number];
  readonly kernel: readonly [number, number];
  readonly stride?: number;
  readonly padding: number;
  readonly dilation?: number;
}

const add = (x: Expr, y: Expr): Expr => binary('add', x, y);
const index = (value: number): Expr => constant('i32', value);
const number = (value: number): Expr => param('i32', value);
/** Small whole numbers, whose products and sums are exact in single precision. */
const value = (at: number): number => ((at * 37) % 17) - 8;

const filled = (sizes: readonly number[], shift = 0): Tensor => {
  const count = sizes.reduce((product, size) => product * size, 1);
  return Tensor.fromArray(
    Float32Array.from({ length: count }, (_, at) => value(at + shift)),
    sizes,
    'float32',
  );
};

const positions = (size: number, taps: number, { stride = 1, padding, dilation = 1 }: Setting): number =>
  Math.floor((size + 2 * padding - dilation * (taps - 1) - 1) / stride) + 1;

/** A convolution as its lowering describes it, and what comes of it. */
function convolution(setting: Setting): { kernel: Contraction; out: Tensor; expected: number[] } {
  const { groups = 1, channels, filters, size, kernel, stride = 1, padding, dilation = 1 } = setting;
  const [height, width] = size.map((own, dim) => positions(own, kernel[dim], setting));
  const input = filled([groups, channels, ...size]);
  const weight = filled([groups, filters, channels, ...kernel], 5);
  const out = Tensor.empty([groups, filters, height, width], 'float32');
  const [x, w, y] = [input, weight, out].map((tensor) => new TensorView(tensor));
  const [g, m] = [axis('g', number(groups)), axis('m', number(filters))];
  const n = axis('n', number(height * width));
  const k = axis('k', number(channels * kernel[0] * kernel[1]));
  const at = [binary('truncdiv', n, number(width)), binary('fmod', n, number(width))];
  const above = binary('truncdiv', k, index(kernel[1]));
  const taps = [binary('fmod', above, index(kernel[0])), binary('fmod', k, index(kernel[1]))];
  const channel = binary('truncdiv', above, index(kernel[0]));
  const places = at.map((position, dim) => {
    const place = add(binary('mul', position, index(stride)), binary('mul', taps[dim], index(dilation)));
    return binary('sub', place, number(padding));
  });
  const isInside = places
    .flatMap((place, dim) => [binary('ge', place, index(0)), binary('lt', place, number(size[dim]))])
    .reduce((one, other) => binary('and', one, other));
  const element = x.at([g, channel, ...places]);
  const expected: number[] = [];
  const [inputs, weights] = [input, weight].map((tensor) => tensor.contiguousArray() as Float32Array);
  for (let flat = 0; flat < out.numel; flat++) {
    const [column, row] = [flat % width, Math.floor(flat / width) % height];
    const [filter, group] = [Math.floor(flat / width / height) % filters, Math.floor(flat / width / height / filters)];
    let sum = 0;
    for (let at = 0; at < channels * kernel[0] * kernel[1]; at++) {
      const [dx, dy] = [at % kernel[1], Math.floor(at / kernel[1]) % kernel[0]];
      const [iy, ix] = [row * stride + dy * dilation - padding, column * stride + dx * dilation - padding];
      if (iy < 0 || ix < 0 || iy >= size[0] || ix >= size[1]) continue;
      const plane = group * channels + Math.floor(at / kernel[1] / kernel[0]);
      const tap = (group * filters + filter) * channels * kernel[0] * kernel[1] + at;
      sum += inputs[(plane * size[0] + iy) * size[1] + ix] * weights[tap];
    }
    expected.push(sum + group);
  }
  return {
    kernel: {
      kind: 'contraction',
      label: 'convolution',
      batch: [g],
      m,
      n,
      k,
      left: w.at([g, m, channel, ...taps]),
      right: padding === 0 ? element : select(isInside, element, constant('float', 0)),
      stores: [
        {
          operand: y.operand,
          offset: y.offsetAt([g, m, ...at]),
          value: binary('add', accumulator, { kind: 'cast', type: 'float', x: g }),
        },
      ],
    },
    out,
    expected,
  };
}

const settings: Record<string, Setting> = {
  'of three by three': { channels: 5, filters: 7, size: [9, 16], kernel: [3, 3], padding: 1 },
  'whose lines are no multiple of four': { channels: 3, filters: 13, size: [6, 7], kernel: [5, 3], padding: 2 },
  'of every other window': { channels: 4, filters: 6, size: [15, 21], kernel: [7, 7], stride: 2, padding: 3 },
  'of every third window, of fewer taps': {
    channels: 2,
    filters: 4,
    size: [16, 16],
    kernel: [2, 2],
    stride: 3,
    padding: 1,
  },
  'of taps that are apart': { channels: 3, filters: 4, size: [12, 11], kernel: [3, 3], padding: 2, dilation: 2 },
  'of one filter a group': { groups: 19, channels: 1, filters: 1, size: [7, 7], kernel: [5, 5], padding: 2 },
  'without a border': { channels: 5, filters: 7, size: [9, 18], kernel: [3, 3], padding: 0 },
  'without a border, of every other window': {
    channels: 4,
    filters: 6,
    size: [15, 21],
    kernel: [7, 5],
    stride: 2,
    padding: 0,
  },
  'without a border, of taps that are apart': {
    channels: 3,
    filters: 4,
    size: [12, 13],
    kernel: [3, 3],
    padding: 0,
    dilation: 2,
  },
  'without a border, of one line': { channels: 3, filters: 4, size: [1, 40], kernel: [1, 5], padding: 0 },
  'without a border, of one column of taps': { channels: 6, filters: 4, size: [12, 8], kernel: [5, 1], padding: 0 },
  'without a border, of one filter a group': {
    groups: 19,
    channels: 1,
    filters: 1,
    size: [9, 9],
    kernel: [5, 5],
    padding: 0,
  },
  'in bands of lines': { groups: 2, channels: 40, filters: 14, size: [90, 90], kernel: [3, 3], padding: 1 },
};

describe('a convolution', () => {
  test.each(Object.entries(settings))('%s goes over an image', async (_, setting) => {
    const device = new WasmDevice();
    const { kernel, out, expected } = convolution(setting);
    expect((device.prepare(kernel) as PreparedContraction).image).not.toBeNull();
    device.launch(kernel);
    await out.storage.toHost();
    expect(Array.from(out.contiguousArray() as Float32Array)).toEqual(expected);
  });

  test('in bands works out no more of its image than fits the cache', () => {
    const { kernel } = convolution(settings['in bands of lines']);
    const { image } = new WasmDevice().prepare(kernel) as PreparedContraction;
    expect(image!.bandLines).toBeLessThan(90);
    expect(image!.imageBytes).toBeLessThanOrEqual(1 << 20);
  });

  test.each([
    ['without a border, whose lines leave lanes to many rows, has its windows packed', { padding: 0, filters: 60 }],
    ['of single elements packs them', { padding: 0, kernel: [1, 1] as const }],
    ['of short lines has its windows packed', { padding: 1, size: [9, 4] as const }],
  ])('%s', async (_, other) => {
    const device = new WasmDevice();
    const setting = { channels: 5, filters: 7, size: [9, 9], kernel: [3, 3], ...other } as const;
    const { kernel, out, expected } = convolution(setting);
    expect((device.prepare(kernel) as PreparedContraction).image).toBeNull();
    device.launch(kernel);
    await out.storage.toHost();
    expect(Array.from(out.contiguousArray() as Float32Array)).toEqual(expected);
  });

  test('of few windows works each of them out once', async () => {
    const device = new WasmDevice();
    const setting = { channels: 9, filters: 8, size: [3, 4], kernel: [3, 3], padding: 0 } as const;
    const { kernel, out, expected } = convolution(setting);
    expect(device.prepare(kernel)).toMatchObject({ kind: 'contraction', n: 2, image: null });
    device.launch(kernel);
    await out.storage.toHost();
    expect(Array.from(out.contiguousArray() as Float32Array)).toEqual(expected);
  });
});
