import { Tensor, type ScalarType } from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  cast,
  constant,
  exprTypeOf,
  param,
  reduce,
  select,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
  type Kernel,
  type ReduceFunction,
  type ComputeDevice,
} from '@cresset/tensorexpr';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { batchedProduct } from '../../../../test-setup/batched-product.ts';

/** Loop nests and contractions of every kind on a device, against loops in JavaScript. */
export function testNests(open: () => Promise<ComputeDevice>): void {
  let device: ComputeDevice;
  beforeAll(async () => {
    device = await open();
  });
  afterAll(() => device.dispose());

  let seed = 11;
  function random(): number {
    seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
    return (seed >>> 0) / 2 ** 31 - 1;
  }

  function filled(sizes: readonly number[], dtype: ScalarType = 'float32'): Tensor {
    const tensor = Tensor.empty(sizes, dtype);
    const elements = tensor.storageArrayForWriting();
    for (let at = 0; at < elements.length; at++) {
      const value = dtype === 'float32' ? random() : Math.round(random() * 20);
      if (elements instanceof BigInt64Array) elements[at] = BigInt(value);
      else elements[at] = value;
    }
    return tensor;
  }

  async function run(kernel: Kernel, ...outputs: Tensor[]): Promise<number[][]> {
    device.launch(kernel);
    await Promise.all(outputs.map((output) => output.storage.toHost()));
    return outputs.map((output) => Array.from(output.contiguousArray() as Float32Array, Number));
  }

  function expectClose(actual: readonly number[], expected: readonly number[], tolerance = 2e-5): void {
    expect(actual.length).toBe(expected.length);
    const wrong = actual.flatMap((value, at) => {
      const error = Math.abs(value - expected[at]) / (1 + Math.abs(expected[at]));
      return error <= tolerance || Object.is(value, expected[at]) ? [] : [`${at}: ${value}, not ${expected[at]}`];
    });
    expect(wrong.slice(0, 5)).toEqual([]);
  }

  function* indices(sizes: readonly number[]): Generator<number[]> {
    const total = sizes.reduce((a, b) => a * b, 1);
    for (let flat = 0; flat < total; flat++) {
      const index = new Array<number>(sizes.length);
      let rest = flat;
      for (let dim = sizes.length - 1; dim >= 0; dim--) {
        index[dim] = rest % sizes[dim];
        rest = Math.floor(rest / sizes[dim]);
      }
      yield index;
    }
  }

  function element(tensor: Tensor, index: readonly number[]): number {
    const at = index.reduce((offset, i, dim) => offset + i * tensor.strides[dim], tensor.storageOffset);
    return Number(tensor.storageArray()[at]);
  }

  /** The reference: reductions over `dims`, results in C order of what is left. */
  function reduced(x: Tensor, dims: readonly number[], fn: ReduceFunction): number[] {
    const kept = x.sizes.map((_, dim) => dim).filter((dim) => !dims.includes(dim));
    const results: number[] = [];
    for (const outer of indices(kept.map((dim) => x.sizes[dim]))) {
      const values: number[] = [];
      for (const inner of indices(dims.map((dim) => x.sizes[dim]))) {
        const index = x.sizes.map((_, dim) =>
          dims.includes(dim) ? inner[dims.indexOf(dim)] : outer[kept.indexOf(dim)],
        );
        values.push(element(x, index));
      }
      results.push(combine(fn, values));
    }
    return results;
  }

  function combine(fn: ReduceFunction, values: readonly number[]): number {
    const wins = (a: number, b: number, more: boolean): boolean =>
      !Number.isNaN(b) && (Number.isNaN(a) || (more ? a > b : a < b));
    switch (fn) {
      case 'sum':
        return values.reduce((a, b) => a + b, 0);
      case 'prod':
        return values.reduce((a, b) => a * b, 1);
      case 'max':
        return Math.max(...values, -Infinity);
      case 'min':
        return Math.min(...values, Infinity);
      case 'any':
        return values.some(Boolean) ? 1 : 0;
      case 'all':
        return values.every(Boolean) ? 1 : 0;
      default:
        return values.reduce((best, value, at) => (wins(value, values[best], fn === 'argmax') ? at : best), 0);
    }
  }

  function reduction(x: Tensor, dims: readonly number[], fn: ReduceFunction, dtype: ScalarType) {
    const view = new TensorView(x);
    const axes = view.axes();
    const kept = axes.filter((_, dim) => !dims.includes(dim));
    const over = dims.map((dim) => axes[dim]);
    const output = Tensor.empty(
      kept.map((_, at) => x.sizes[axes.indexOf(kept[at])]),
      dtype,
    );
    const target = new TensorView(output);
    const kernel: Kernel = {
      kind: 'nest',
      label: `aten::${fn}`,
      axes: kept,
      innerAxes: [],
      stores: [{ operand: target.operand, offset: target.offsetAt(kept), value: reduce(fn, over, view.at(axes)) }],
    };
    return { kernel, output };
  }

  describe('reductions', () => {
    const shapes: [number[], number[]][] = [
      [[7], [0]],
      [[5, 13], [1]],
      [[13, 5], [0]],
      [[3, 4, 5], [1]],
      [
        [3, 4, 5],
        [0, 2],
      ],
      [[2, 2053], [1]],
      [[1031, 2], [0]],
      [[70001], [0]],
      [
        [31, 997],
        [0, 1],
      ],
      [[4, 0], [1]],
      [
        [1, 1],
        [0, 1],
      ],
    ];
    test.each(shapes)('%j over %j', async (sizes, dims) => {
      const x = filled(sizes);
      for (const fn of ['sum', 'max', 'min'] as const) {
        const { kernel, output } = reduction(x, dims, fn, 'float32');
        expectClose((await run(kernel, output))[0], reduced(x, dims, fn), 1e-4);
      }
      if (sizes.includes(0)) return;
      for (const fn of ['argmax', 'argmin'] as const) {
        const { kernel, output } = reduction(x, dims, fn, 'int64');
        expect((await run(kernel, output))[0], fn).toEqual(reduced(x, dims, fn));
      }
    });

    test('of a permuted view', async () => {
      const x = filled([6, 7, 8]).asStrided([8, 6, 7], [1, 56, 8]);
      for (const dims of [[0], [1], [2], [0, 2], [0, 1, 2]]) {
        const { kernel, output } = reduction(x, dims, 'sum', 'float32');
        expectClose((await run(kernel, output))[0], reduced(x, dims, 'sum'));
      }
      const { kernel, output } = reduction(x, [1, 2], 'argmax', 'int64');
      expect((await run(kernel, output))[0]).toEqual(reduced(x, [1, 2], 'argmax'));
    });

    test.each(['int32', 'int64', 'bool'] as const)('of %s', async (dtype) => {
      for (const [sizes, dims] of [
        [[5, 13], [1]],
        [[3000], [0]],
      ] as [number[], number[]][]) {
        const x = filled(sizes, dtype);
        if (dtype === 'bool')
          (x.storageArrayForWriting() as Uint8Array).forEach((value, at, all) => (all[at] = value & 1));
        const functions: ReduceFunction[] =
          dtype === 'bool' ? ['any', 'all'] : ['sum', 'max', 'min', 'any', 'all', 'argmax'];
        for (const fn of functions) {
          const result = fn === 'argmax' ? 'int64' : fn === 'any' || fn === 'all' ? 'bool' : dtype;
          const { kernel, output } = reduction(x, dims, fn, result);
          expect((await run(kernel, output))[0], fn).toEqual(reduced(x, dims, fn));
        }
      }
    });

    test.each([[4], [5000]])('NaN wins, the first of equals wins: %i elements', async (count) => {
      const x = filled([count]);
      const elements = x.storageArrayForWriting() as Float32Array;
      elements[1] = 3;
      elements[count - 1] = 3;
      expect((await run(...launchable(reduction(x, [0], 'argmax', 'int64'))))[0]).toEqual([1]);
      const nans = x.storageArrayForWriting() as Float32Array;
      nans[count - 1] = NaN;
      nans[2] = NaN;
      for (const fn of ['argmax', 'argmin'] as const) {
        expect((await run(...launchable(reduction(x, [0], fn, 'int64'))))[0], fn).toEqual([2]);
      }
      for (const fn of ['max', 'min', 'sum'] as const) {
        expect((await run(...launchable(reduction(x, [0], fn, 'float32'))))[0], fn).toEqual([NaN]);
      }
    });

    test('a long sum keeps its digits', async () => {
      const x = Tensor.empty([1 << 20], 'float32');
      (x.storageArrayForWriting() as Float32Array).fill(0.1);
      const [[sum]] = await run(...launchable(reduction(x, [0], 'sum', 'float32')));
      expect(Math.abs(sum / ((1 << 20) * Math.fround(0.1)) - 1)).toBeLessThan(2e-6);
    });

    test('statistics of rows, with what is done to each element', async () => {
      for (const [rows, columns] of [
        [3, 7],
        [2, 1500],
        [600, 33],
        [1, 4096],
      ]) {
        const x = filled([rows, columns]);
        const scale = filled([columns]);
        const output = Tensor.empty([rows, columns], 'float32');
        const means = Tensor.empty([rows], 'float32');
        const [vx, vs, vo, vm] = [x, scale, output, means].map((tensor) => new TensorView(tensor));
        const [i, j] = vo.axes();
        const r = axis('r', vx.sizes[1]);
        const inverse = param('float', 1 / columns);
        const mean = binary('mul', reduce('sum', [r], vx.at([i, r])), inverse);
        const centred = binary('sub', vx.at([i, r]), mean);
        const variance = binary('mul', reduce('sum', [r], binary('mul', centred, centred)), inverse);
        const scaled = binary(
          'mul',
          binary('sub', vx.at([i, j]), mean),
          unary('rsqrt', binary('add', variance, param('float', 1e-5))),
        );
        const kernel: Kernel = {
          kind: 'nest',
          label: 'aten::layer_norm',
          axes: [i],
          innerAxes: [j],
          stores: [
            { operand: vo.operand, offset: vo.offsetAt([i, j]), value: binary('mul', scaled, vs.at([j])) },
            { operand: vm.operand, offset: vm.offsetAt([i]), value: mean },
          ],
        };
        const [normalised, averages] = await run(kernel, output, means);
        const expected: number[] = [];
        const expectedMeans: number[] = [];
        for (let row = 0; row < rows; row++) {
          const values = Array.from({ length: columns }, (_, column) => element(x, [row, column]));
          const average = combine('sum', values) / columns;
          const spread =
            combine(
              'sum',
              values.map((value) => (value - average) ** 2),
            ) / columns;
          expectedMeans.push(average);
          values.forEach((value, column) =>
            expected.push(((value - average) / Math.sqrt(spread + 1e-5)) * element(scale, [column])),
          );
        }
        expectClose(normalised, expected, 1e-4);
        expectClose(averages, expectedMeans);
      }
    });

    test('a reduction that depends on the inner axis', async () => {
      const [x, output] = [filled([4, 9]), Tensor.empty([4, 9], 'float32')];
      const [vx, vo] = [new TensorView(x), new TensorView(output)];
      const [i, j] = vo.axes();
      const r = axis('r', binary('add', vx.sizes[1], constant('i32', 0)));
      const upTo = select(binary('le', r, j), vx.at([i, r]), constant('float', 0));
      const kernel: Kernel = {
        kind: 'nest',
        label: 'aten::cumsum',
        axes: [i],
        innerAxes: [j],
        stores: [{ operand: vo.operand, offset: vo.offsetAt([i, j]), value: reduce('sum', [r], upTo) }],
      };
      const [sums] = await run(kernel, output);
      const expected: number[] = [];
      for (const [row, column] of indices([4, 9])) {
        expected.push(
          combine(
            'sum',
            Array.from({ length: column + 1 }, (_, at) => element(x, [row, at])),
          ),
        );
      }
      expectClose(sums, expected);
    });
  });

  function launchable({ kernel, output }: { kernel: Kernel; output: Tensor }): [Kernel, Tensor] {
    return [kernel, output];
  }

  describe('index arithmetic', () => {
    test('a flattened index taken apart again', async () => {
      const x = filled([3, 4, 5]).asStrided([5, 3, 4], [1, 20, 5]);
      const output = Tensor.empty([60], 'float32');
      const [vx, vo] = [new TensorView(x), new TensorView(output)];
      const [flat] = vo.axes();
      const four = param('i32', 4);
      const three = param('i32', 3);
      const row = binary('truncdiv', flat, four);
      const index = [binary('truncdiv', row, three), binary('fmod', row, three), binary('fmod', flat, four)];
      const [result] = await run(pointwise(vo, [flat], vx.at(index)), output);
      expect(result).toEqual([...indices([5, 3, 4])].map((at) => element(x, at)));
    });

    test.each([
      [131, 7, 3, 5],
      [5, 3, 7, 131],
      [2, 1, 65, 97],
      [3, 64, 64],
      [9001, 1],
      [1, 9001],
      // As long as stretches of threads are, or a little longer, before and behind.
      [17, 521],
      [33, 1025],
      [1025, 9],
      [4099, 2],
      [3, 4099],
      [5, 16, 127],
      [3, 65, 1, 47],
      [2, 17, 2049],
    ])('many points of axes that are not joined: %j', async (...sizes) => {
      const axes = sizes.map((size, at) => axis(`i${at}`, param('i32', size)));
      const order = sizes.map((_, at) => at).reverse();
      const x = filled(order.map((at) => sizes[at]));
      const from = new TensorView(
        x.asStrided(
          sizes,
          order.map((at) => x.strides[at]),
        ),
      );
      // The turned tensor, and along each axis what is the same for all others.
      for (const same of [null, ...sizes.keys()]) {
        const y = Tensor.empty(sizes, 'float32');
        const row = filled([same === null ? 1 : sizes[same]]);
        const to = new TensorView(y);
        const other = same === null ? cast('float', axes[0]) : new TensorView(row).at([axes[same]]);
        const stores = [{ operand: to.operand, offset: to.offsetAt(axes), value: binary('add', from.at(axes), other) }];
        const [actual] = await run({ kind: 'nest', label: 'turned', axes, innerAxes: [], stores }, y);
        const [elements, added] = [x, row].map((each) => each.contiguousArray() as Float32Array);
        const expected = Array.from(indices(sizes), (index) => {
          const place = index.reduce((sum, own, at) => sum + own * x.strides[order.indexOf(at)], 0);
          return Math.fround(elements[place] + (same === null ? index[0] : added[index[same]]));
        });
        expectClose(actual, expected);
      }
    });

    test('divisors that form no chain', async () => {
      const x = filled([100]);
      const output = Tensor.empty([60], 'float32');
      const [vx, vo] = [new TensorView(x), new TensorView(output)];
      const [flat] = vo.axes();
      const number = (value: number): Expr => param('i32', value);
      const at = binary('add', binary('remainder', flat, number(7)), binary('floordiv', flat, number(4)));
      const back = binary('sub', flat, binary('mul', binary('truncdiv', flat, number(9)), number(9)));
      const [result] = await run(pointwise(vo, [flat], binary('add', vx.at([at]), cast('float', back))), output);
      expectClose(
        result,
        Array.from({ length: 60 }, (_, i) => element(x, [(i % 7) + Math.floor(i / 4)]) + (i % 9)),
      );
    });

    test('a gather by an index of 64 bits', async () => {
      const table = filled([10, 6]);
      const index = Tensor.fromArray(BigInt64Array.of(3n, -1n, 9n), [3], 'int64');
      const output = Tensor.empty([3, 6], 'float32');
      const [vt, vi, vo] = [table, index, output].map((tensor) => new TensorView(tensor));
      const [i, j] = vo.axes();
      const raw = vi.at([i]);
      const wrapped = select(binary('lt', raw, constant('i64', 0n)), binary('add', raw, param('i64', 10n)), raw);
      const [result] = await run(pointwise(vo, [i, j], vt.at([cast('i32', wrapped), j])), output);
      expect(result).toEqual(
        [3, 9, 9].flatMap((row) => [...indices([6])].map(([column]) => element(table, [row, column]))),
      );
    });

    test('padding that is there, and padding that is not', async () => {
      const x = filled([5, 6]);
      for (const padding of [0, 2]) {
        const output = Tensor.empty([5 + padding, 6 + padding], 'float32');
        const [vx, vo] = [new TensorView(x), new TensorView(output)];
        const [i, j] = vo.axes();
        const shift = (index: Expr): Expr => binary('sub', index, param('i32', padding));
        const inside = (index: Expr, size: Expr): Expr =>
          binary('and', binary('ge', index, constant('i32', 0)), binary('lt', index, size));
        const [y, z] = [shift(i), shift(j)];
        const value = select(
          binary('and', inside(y, vx.sizes[0]), inside(z, vx.sizes[1])),
          vx.at([y, z]),
          constant('float', -1),
        );
        const [result] = await run(pointwise(vo, [i, j], value), output);
        const expected = [...indices(output.sizes)].map(([row, column]) =>
          row < padding || column < padding ? -1 : element(x, [row - padding, column - padding]),
        );
        expect(result).toEqual(expected);
      }
    });
  });

  function pointwise(target: TensorView, axes: readonly AxisExpr[], value: Expr): Kernel {
    const offset = target.offsetAt(axes);
    return { kind: 'nest', label: 'test', axes, innerAxes: [], stores: [{ operand: target.operand, offset, value }] };
  }

  describe('contractions', () => {
    /** `[b, m, k] · [b, k, n]` through any strides, with a bias of the columns and a relu behind it. */
    async function product(left: Tensor, right: Tensor): Promise<void> {
      const [b, m, k] = left.sizes;
      const n = right.sizes[2];
      const bias = filled([n]);
      const output = Tensor.empty([b, m, n], 'float32');
      const [vl, vr, vb, vo] = [left, right, bias, output].map((tensor) => new TensorView(tensor));
      // A node of the sum alone that is used twice, and one that mentions a column.
      const squashed = unary('tanh', accumulator);
      const value = (j: AxisExpr): Expr =>
        binary(
          'add',
          binary('mul', squashed, squashed),
          binary('max', binary('add', accumulator, vb.at([j])), constant('float', 0)),
        );
      const [result] = await run(
        batchedProduct(vl, vr, vo, ([, , j]) => value(j)),
        output,
      );
      const expected = [...indices([b, m, n])].map(([batch, row, column]) => {
        let sum = 0;
        for (let step = 0; step < k; step++)
          sum += element(left, [batch, row, step]) * element(right, [batch, step, column]);
        return Math.tanh(sum) ** 2 + Math.max(sum + element(bias, [column]), 0);
      });
      expectClose(result, expected, 1e-4);
    }

    test.each([
      [1, 1, 1, 1],
      [1, 17, 31, 13],
      [3, 5, 7, 11],
      [2, 9, 64, 33],
      [1, 1, 300, 257],
      [1, 257, 1, 40],
      [1, 64, 512, 8],
      [300, 3, 3, 3],
      [2, 4, 4, 0],
    ])('%i times %i by %i over %i', async (b, m, n, k) => {
      await product(filled([b, m, k]), filled([b, k, n]));
      // Both sides transposed.
      await product(
        filled([b, k, m]).asStrided([b, m, k], [k * m, 1, m]),
        filled([b, n, k]).asStrided([b, k, n], [n * k, 1, k]),
      );
    });

    test('more tiles than one dimension of the grid holds', async () => {
      await product(filled([66000, 1, 2]), filled([66000, 2, 1]));
    });

    test.each([
      [3, 8, 9, 3, 1, 1, 1, 1],
      [4, 8, 11, 3, 2, 1, 1, 2],
      [2, 5, 8, 2, 1, 0, 1, 1],
      [3, 6, 13, 3, 1, 2, 2, 3],
      [5, 4, 7, 1, 1, 0, 1, 1],
      [1, 4, 20, 5, 3, 4, 1, 1],
    ])(
      'a convolution: %i to %i channels, %i², kernel %i, stride %i, padding %i, dilation %i, %i groups',
      async (...shape) => {
        const [cin, cout, size, taps, stride, padding, dilation, groups] = shape;
        if (cin % groups || cout % groups) return;
        const outSize = Math.floor((size + 2 * padding - dilation * (taps - 1) - 1) / stride) + 1;
        const [x, w] = [filled([2, cin, size, size]), filled([cout, cin / groups, taps, taps])];
        const output = Tensor.empty([2, cout, outSize, outSize], 'float32');
        const [vx, vw, vo] = [x, w, output].map((tensor) => new TensorView(tensor));
        const number = (value: number): Expr => param('i32', value);
        const batch = axis('b', number(2));
        const g = axis('g', number(groups));
        const m = axis('m', number(cout / groups));
        const n = axis('n', number(outSize * outSize));
        const k = axis('k', number((cin / groups) * taps * taps));
        const channel = binary('truncdiv', k, number(taps * taps));
        const ky = binary('fmod', binary('truncdiv', k, number(taps)), number(taps));
        const kx = binary('fmod', k, number(taps));
        const [oy, ox] = [binary('truncdiv', n, number(outSize)), binary('fmod', n, number(outSize))];
        const place = (o: Expr, tap: Expr): Expr =>
          binary(
            'sub',
            binary('add', binary('mul', o, number(stride)), binary('mul', tap, number(dilation))),
            number(padding),
          );
        const [iy, ix] = [place(oy, ky), place(ox, kx)];
        const inside = (index: Expr): Expr =>
          binary('and', binary('ge', index, constant('i32', 0)), binary('lt', index, number(size)));
        const filter = binary('add', binary('mul', g, number(cout / groups)), m);
        const source = binary('add', binary('mul', g, number(cin / groups)), channel);
        const [result] = await run(
          {
            kind: 'contraction',
            label: 'aten::conv2d',
            batch: [batch, g],
            m,
            n,
            k,
            left: vw.at([filter, channel, ky, kx]),
            right: select(binary('and', inside(iy), inside(ix)), vx.at([batch, source, iy, ix]), constant('float', 0)),
            stores: [{ operand: vo.operand, offset: vo.offsetAt([batch, filter, oy, ox]), value: accumulator }],
          },
          output,
        );
        const expected = [...indices(output.sizes)].map(([b, out, row, column]) => {
          const group = Math.floor(out / (cout / groups));
          let sum = 0;
          for (const [c, dy, dx] of indices([cin / groups, taps, taps])) {
            const [y, z] = [row * stride + dy * dilation - padding, column * stride + dx * dilation - padding];
            if (y < 0 || z < 0 || y >= size || z >= size) continue;
            sum += element(w, [out, c, dy, dx]) * element(x, [b, group * (cin / groups) + c, y, z]);
          }
          return sum;
        });
        expectClose(result, expected, 1e-4);
      },
    );
  });

  test('narrow results of wide work', async () => {
    const x = filled([33], 'int64');
    const output = Tensor.empty([33], 'uint8');
    const [vx, vo] = [new TensorView(x), new TensorView(output)];
    const [i] = vo.axes();
    const value = cast(exprTypeOf('uint8'), binary('mul', vx.at([i]), constant('i64', 1000003n)));
    const [result] = await run(pointwise(vo, [i], value), output);
    expect(result).toEqual(
      [...indices([33])].map((at) => Number(BigInt.asUintN(8, BigInt(element(x, at)) * 1000003n))),
    );
  });
}
