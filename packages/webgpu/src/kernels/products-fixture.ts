import { Tensor } from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  constant,
  param,
  reduce,
  select,
  TensorView,
  unary,
  type ComputeDevice,
  type Expr,
  type Kernel,
} from '@cresset/tensorexpr';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { batchedProduct } from '../../../../test-setup/batched-product.ts';

/** Sides of a product as they lie in memory, by the order of their dimensions there. */
export const layouts = ['mk,kn', 'mk,nk', 'km,kn', 'km,nk'] as const;

const sizes: readonly (readonly [batch: number, m: number, n: number, k: number])[] = [
  [64, 128, 128, 8],
  [256, 64, 64, 5],
  [1, 64, 64, 64],
  [1, 128, 160, 96],
  [3, 65, 31, 17],
  [1, 1, 1, 1],
  [1, 1, 1025, 65],
  [1, 1025, 1, 65],
  [2, 3, 97, 300],
  [2, 97, 3, 300],
  [1, 40, 68, 1],
  [1, 16, 16, 1025],
  [1, 1, 260, 1024],
  [1, 8, 130, 256],
  [1, 300, 5, 129],
  [1, 12, 200, 64],
  [1, 12, 12, 100],
  [1, 1025, 36, 20],
  [1, 20, 24, 0],
  [1, 0, 24, 20],
];

let seed = 5;
function random(): number {
  seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
  return (seed >>> 0) / 2 ** 31 - 1;
}

export function filled(shape: readonly number[]): Tensor {
  const tensor = Tensor.empty(shape, 'float32');
  const elements = tensor.storageArrayForWriting() as Float32Array;
  for (let at = 0; at < elements.length; at++) elements[at] = random();
  return tensor;
}

/** A tensor of three dimensions whose last two lie the other way round in memory, or that is a part of a larger one. */
export function laid(batch: number, rows: number, columns: number, isTurned: boolean, gap: number): Tensor {
  const [height, width] = isTurned ? [columns, rows] : [rows, columns];
  const whole = filled([batch, height + gap, width + gap]);
  const stride = width + gap;
  const strides = isTurned ? [1, stride] : [stride, 1];
  return whole.asStrided([batch, rows, columns], [(height + gap) * stride, ...strides], gap);
}

export const at = (tensor: Tensor, ...index: number[]): number =>
  (tensor.storageArray() as Float32Array)[
    index.reduce((sum, i, dim) => sum + i * tensor.strides[dim], tensor.storageOffset)
  ];

/** How far numbers are from those expected, as parts of these. */
export function worst(actual: Float32Array, expected: (index: number) => number): number {
  let error = 0;
  for (let index = 0; index < actual.length; index++) {
    const wanted = expected(index);
    const own = Math.abs(actual[index] - wanted) / (1 + Math.abs(wanted));
    if (!(own <= error)) error = own;
  }
  return error;
}

/** Products of all sizes and strides, and what is scheduled as they are, on a device. @param part every so many of the sizes */
export function testProducts(open: () => Promise<ComputeDevice>, part = 1): void {
  let device: ComputeDevice;
  beforeAll(async () => {
    device = await open();
  });
  afterAll(() => device.dispose());

  async function run(kernel: Kernel, output: Tensor): Promise<Float32Array> {
    device.launch(kernel);
    await output.storage.toHost();
    return output.contiguousArray() as Float32Array;
  }

  // The largest tiles take a software adapter long to compile: two layouts of each.
  const cases = sizes.flatMap((size, row) =>
    layouts
      .map((layout, column) => [size, layout, [0, 1, 4][(row + column) % 3]] as const)
      .filter((_, column) => (size[0] < 64 || column % 2 === row) && (row + column) % part === 0),
  );

  test.each(cases)('%j, %s, %i elements between rows', async ([batch, m, n, k], layout, gap) => {
    const [a, b] = [laid(batch, m, k, layout.startsWith('km'), gap), laid(batch, k, n, layout.endsWith('nk'), gap)];
    const output = Tensor.empty([batch, m, n], 'float32');
    const [left, right, out] = [a, b, output].map((tensor) => new TensorView(tensor));
    const value = binary('add', accumulator, param('float', 0.5));
    const result = await run(
      batchedProduct(left, right, out, () => value),
      output,
    );
    const error = worst(result, (index) => {
      const [of, row, column] = [Math.floor(index / (m * n)), Math.floor(index / n) % m, index % n];
      let sum = 0.5;
      for (let step = 0; step < k; step++) sum += at(a, of, row, step) * at(b, of, step, column);
      return sum;
    });
    // A software adapter's thread adds up a sum step by step.
    expect(error).toBeLessThan(Math.max(1e-5, k * 4e-8));
  });

  test.each([1, 2, 7])('a nest with one sum, of %i vectors and a matrix that lies either way', async (batch) => {
    for (const isTurned of [false, true]) {
      for (const [n, k] of [
        [65, 36],
        [128, 1025],
        [260, 64],
      ]) {
        const [a, b] = [filled([batch, k]), laid(1, k, n, isTurned, 0)];
        const output = Tensor.empty([batch, n], 'float32');
        const [va, vb, out] = [a, b, output].map((tensor) => new TensorView(tensor));
        const [i, j] = out.axes();
        const s = axis('k', va.sizes[1]);
        const sum = reduce('sum', [s], binary('mul', va.at([i, s]), vb.at([constant('i32', 0), s, j])));
        const value = binary('sub', sum, constant('float', 2));
        const stores = [{ operand: out.operand, offset: out.offsetAt([i, j]), value }];
        const result = await run({ kind: 'nest', label: 'aten::mv', axes: [i, j], innerAxes: [], stores }, output);
        const error = worst(result, (index) => {
          const [row, column] = [Math.floor(index / n), index % n];
          let total = -2;
          for (let step = 0; step < k; step++) total += at(a, row, step) * at(b, 0, step, column);
          return total;
        });
        expect(error).toBeLessThan(1e-5);
      }
    }
  });

  test.each([0, 1])('sums of a matrix over dimension %i', async (dim) => {
    const sizes = [70, 129];
    const x = filled(sizes);
    const output = Tensor.empty([sizes[1 - dim]], 'float32');
    const [view, out] = [x, output].map((tensor) => new TensorView(tensor));
    const axes = view.axes();
    const value = reduce('sum', [axes[dim]], view.at(axes));
    const stores = [{ operand: out.operand, offset: out.offsetAt([axes[1 - dim]]), value }];
    const kernel: Kernel = { kind: 'nest', label: 'aten::sum', axes: [axes[1 - dim]], innerAxes: [], stores };
    const error = worst(await run(kernel, output), (index) => {
      let total = 0;
      for (let step = 0; step < sizes[dim]; step++) total += dim === 0 ? at(x, step, index) : at(x, index, step);
      return total;
    });
    expect(error).toBeLessThan(Math.max(1e-5, sizes[dim] * 4e-8));
  });

  test.each([68, 3])(
    'statistics of each of %i rows before it, an activation and a residual of its own input after it',
    async (height) => {
      const size = 68;
      const [x, w] = [filled([height, size]), filled([size, size])];
      const output = Tensor.empty([height, size], 'float32');
      const [vx, vw, out] = [x, w, output].map((tensor) => new TensorView(tensor));
      const [i, j] = out.axes('mn');
      const [s, r] = [axis('k', vx.sizes[1]), axis('r', vx.sizes[1])];
      const inverse = constant('float', 1 / size);
      const mean = binary('mul', reduce('sum', [r], vx.at([i, r])), inverse);
      const difference = binary('sub', vx.at([i, r]), mean);
      const variance = binary('mul', reduce('sum', [r], binary('mul', difference, difference)), inverse);
      const scale = unary('rsqrt', binary('add', variance, constant('float', 1e-5)));
      const value = binary('add', binary('max', accumulator, constant('float', 0)), vx.at([i, j]));
      const result = await run(
        {
          kind: 'contraction',
          label: 'aten::linear',
          batch: [],
          m: i,
          n: j,
          k: s,
          left: binary('mul', binary('sub', vx.at([i, s]), mean), scale),
          right: vw.at([j, s]),
          stores: [{ operand: out.operand, offset: out.offsetAt([i, j]), value }],
        },
        output,
      );
      const rows = Array.from({ length: height }, (_, row) => {
        const values = Array.from({ length: size }, (__, column) => at(x, row, column));
        const average = values.reduce((sum, each) => sum + each, 0) / size;
        const spread = values.reduce((sum, each) => sum + (each - average) ** 2, 0) / size;
        return values.map((each) => (each - average) / Math.sqrt(spread + 1e-5));
      });
      const error = worst(result, (index) => {
        const [row, column] = [Math.floor(index / size), index % size];
        const sum = rows[row].reduce((total, each, step) => total + each * at(w, column, step), 0);
        return Math.max(sum, 0) + at(x, row, column);
      });
      expect(error).toBeLessThan(1e-4);
    },
  );

  test.each([
    [16, 20, 9, 3, 1],
    [3, 33, 17, 5, 2],
    [8, 3, 12, 3, 1],
  ])(
    'a convolution of %i to %i channels, %i pixels wide, of %i by %i',
    async (cin, cout, width, kernelSize, stride) => {
      const padding = kernelSize >> 1;
      const outWidth = Math.floor((width + 2 * padding - kernelSize) / stride) + 1;
      const [x, w] = [filled([cin, width, width]), filled([cout, cin, kernelSize, kernelSize])];
      const output = Tensor.empty([cout, outWidth, outWidth], 'float32');
      const [vx, vw, out] = [x, w, output].map((tensor) => new TensorView(tensor));
      const number = (each: number): Expr => param('i32', each);
      const [m, n] = [axis('m', number(cout)), axis('n', number(outWidth * outWidth))];
      const area = kernelSize * kernelSize;
      const k = axis('k', number(cin * area));
      const [divide, modulo] = (['truncdiv', 'fmod'] as const).map(
        (fn) =>
          (a: Expr, b: number): Expr =>
            binary(fn, a, number(b)),
      );
      const [oy, ox] = [divide(n, outWidth), modulo(n, outWidth)];
      const [channel, ky, kx] = [divide(k, area), divide(modulo(k, area), kernelSize), modulo(k, kernelSize)];
      const position = (o: Expr, tap: Expr): Expr =>
        binary('add', binary('sub', binary('mul', o, number(stride)), number(padding)), tap);
      const [iy, ix] = [position(oy, ky), position(ox, kx)];
      const inside = (each: Expr): Expr =>
        binary('and', binary('ge', each, constant('i32', 0)), binary('lt', each, number(width)));
      const result = await run(
        {
          kind: 'contraction',
          label: 'aten::conv2d',
          batch: [],
          m,
          n,
          k,
          left: vw.at([m, channel, ky, kx]),
          right: select(binary('and', inside(iy), inside(ix)), vx.at([channel, iy, ix]), constant('float', 0)),
          stores: [{ operand: out.operand, offset: out.offsetAt([m, oy, ox]), value: accumulator }],
        },
        output,
      );
      const error = worst(result, (index) => {
        const [to, y0, x0] = [
          Math.floor(index / outWidth ** 2),
          Math.floor(index / outWidth) % outWidth,
          index % outWidth,
        ];
        let sum = 0;
        for (let from = 0; from < cin; from++)
          for (let dy = 0; dy < kernelSize; dy++)
            for (let dx = 0; dx < kernelSize; dx++) {
              const [row, column] = [y0 * stride - padding + dy, x0 * stride - padding + dx];
              const isInside = row >= 0 && row < width && column >= 0 && column < width;
              if (isInside) sum += at(w, to, from, dy, dx) * at(x, from, row, column);
            }
        return sum;
      });
      expect(error).toBeLessThan(1e-5);
    },
  );
}
