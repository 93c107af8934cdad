import { Tensor } from '@cresset/tensor';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { finish } from '../kernels/loops/pieces.ts';
import { wasmProducts } from './products.ts';
import { Workspace } from './workspace.ts';

const value = (at: number): number => Math.fround(((at * 37) % 101) / 50 - 1);

/** A tensor of these sizes and strides over numbers that nothing else has. */
function tensorOf(sizes: readonly number[], strides: readonly number[], offset = 0, shift = 0): Tensor {
  const last = sizes.reduce((end, size, dim) => end + (size - 1) * strides[dim], offset);
  const numbers = Float32Array.from({ length: last + 1 }, (_, at) => value(at + shift));
  return Tensor.fromArray(numbers, [numbers.length], 'float32').asStrided(sizes, strides, offset);
}

const empty = (...sizes: number[]): Tensor => Tensor.empty(sizes, 'float32');
const element = (tensor: Tensor, index: readonly number[]): number =>
  tensor.storageArray()[index.reduce((at, i, dim) => at + i * tensor.strides[dim], tensor.storageOffset)] as number;

function expectProduct(
  out: Tensor,
  left: Tensor,
  right: Tensor,
  finished: (sum: number, index: number[]) => number = (sum) => sum,
): void {
  const [m, n] = out.sizes.slice(-2);
  const k = left.sizes[left.dim - 1];
  for (let batch = 0; batch < (out.dim > 2 ? out.sizes[0] : 1); batch++) {
    const front = out.dim > 2 ? [batch] : [];
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let at = 0; at < k; at++) sum += element(left, [...front, i, at]) * element(right, [...front, at, j]);
        const index = [...front, i, j];
        const expected = finished(sum, index);
        const found = element(out, index);
        if (!(Math.abs(found - expected) <= 1e-4 * Math.max(1, Math.abs(expected)))) {
          expect.fail(`at ${index.join(', ')}: ${found} instead of ${expected}`);
        }
      }
    }
  }
}

describe('products in WebAssembly', () => {
  const workspace = new Workspace();
  const multiply = wasmProducts(() => workspace);
  const run = (...args: Parameters<typeof multiply>): void => {
    const pieces = multiply(...args);
    if (!pieces) expect.fail('the product was left to others');
    finish(pieces);
  };

  it.each([
    [64, 64, 64],
    [65, 33, 17],
    [5, 1025, 7],
    [1025, 5, 7],
    [31, 300, 1],
    [128, 3, 513],
    [7, 11, 5003],
  ])('multiplies %i × %i over %i, however its operands lie', (m, n, k) => {
    const lefts = [tensorOf([m, k], [k, 1]), tensorOf([m, k], [1, m]), tensorOf([m, k], [2 * k + 1, 2], 3)];
    const rights = [tensorOf([k, n], [n, 1], 0, 7), tensorOf([k, n], [1, k], 1, 9), tensorOf([k, n], [3, 3 * k], 2)];
    const outs = [empty(m, n), empty(n, m).asStrided([m, n], [1, m]), empty(m, 2 * n).asStrided([m, n], [2 * n, 2], 1)];
    lefts.forEach((left, at) => {
      run(left, rights[at], outs[at], undefined);
      expectProduct(outs[at], left, rights[at]);
    });
  });

  it.each([
    ['a row', [0, 1], 1n, 1n],
    ['a column', [1, 0], 1n, 1],
    ['one number', [0, 0], 1, 1n],
    ['a matrix', [50, 1], 1n, 1n],
    ['a transposed matrix', [1, 40], 1n, 1n],
    ['a scaled matrix', [50, 1], 0.5, -2],
    ['nothing', [50, 1], 0n, 3],
  ])('adds %s', (_, strides, beta, alpha) => {
    const [left, right] = [tensorOf([40, 30], [30, 1]), tensorOf([30, 50], [50, 1])];
    const self = tensorOf([40, 50], strides as number[], 1, 5);
    const out = empty(40, 50);
    run(left, right, out, { self, beta: beta as bigint, alpha: alpha as bigint });
    const added = (index: number[]): number => (Number(beta) === 0 ? 0 : Number(beta) * element(self, index));
    expectProduct(out, left, right, (sum, index) => added(index) + Number(alpha) * sum);
  });

  it('takes batches, and matrices that are the same in all of a batch', () => {
    const left = tensorOf([6, 20, 30], [600, 30, 1]);
    for (const stride of [0, 300]) {
      const right = tensorOf([6, 30, 10], [stride, 10, 1]);
      const out = empty(6, 20, 10);
      run(left, right, out, undefined);
      expectProduct(out, left, right);
    }
  });

  it('takes a result with several dimensions, or none, for rows or for columns', () => {
    const [left, right] = [tensorOf([40, 30], [30, 1]), tensorOf([30, 50], [50, 1])];
    for (const sizes of [
      [5, 8, 50],
      [5, 8, 10, 5],
      [40, 5, 10],
    ]) {
      const out = empty(...sizes);
      run(left, right, out, undefined);
      expectProduct(out.asStrided([40, 50], [50, 1]), left, right);
    }
    const row = left.asStrided([1, 30], [30, 1]);
    for (const sizes of [[400], [20, 20]]) {
      const wide = tensorOf([30, 400], [400, 1]);
      const out = empty(...sizes);
      expect(multiply(row, wide, out, undefined)).toBeNull();
      run(row, wide, out, undefined);
      expectProduct(out.asStrided([1, 400], [400, 1]), row, wide);
    }
    // A result that lies apart cannot be seen as a matrix.
    const apart = empty(5, 16, 50).asStrided([5, 8, 50], [800, 50, 1]);
    expect(multiply(left, right, apart, undefined)).toBeNull();
  });

  it('keeps what comes a second time, until somebody writes to it', () => {
    const own = new Workspace();
    const multiply = wasmProducts(() => own);
    const weight = tensorOf([64, 200], [200, 1]);
    const right = weight.asStrided([200, 64], [1, 200]);
    const left = tensorOf([1, 200], [200, 1]);
    const [rows, out] = [tensorOf([9, 200], [200, 1]), empty(9, 64)];
    const vector = empty(1, 64);
    // A single row is not worth packing for.
    expect(multiply(left, right, vector, undefined)).toBeNull();
    expect(own.kept.byteLength).toBe(0);
    finish(multiply(left, right, vector, undefined)!);
    expect(own.kept.byteLength).toBe(4 * 64 * 200);
    expectProduct(vector, left, right);
    finish(multiply(rows, right, out, undefined)!);
    expectProduct(out, rows, right);
    expect(own.kept.byteLength).toBe(4 * 64 * 200);
    weight.storageArrayForWriting()[5] = 9;
    expect(multiply(left, right, vector, undefined)).toBeNull();
    expect(own.kept.byteLength).toBe(0);
    finish(multiply(rows, right, out, undefined)!);
    expectProduct(out, rows, right);
  });

  it('goes on where it was after others had a turn, and leaves nothing behind where it is given up', () => {
    const [m, n, k] = [2100, 256, 256];
    const left = tensorOf([m, k], [k, 1]);
    const rights = [3, 11, 19].map((shift) => tensorOf([k, n], [n, 1], 0, shift));
    const outs = rights.map(() => empty(m, n));
    const [first, second, dropped] = rights.map((right, at) => multiply(left, right, outs[at], undefined)!);
    let turns = 0;
    for (let open = true; open; turns++) {
      const steps = [first.next(), second.next()];
      if (turns === 0) dropped.next();
      open = steps.some(({ done }) => !done);
    }
    expect(turns).toBeGreaterThan(1);
    for (const at of [0, 1]) {
      for (const row of [0, 1023, 1024, 2099]) {
        const line = (tensor: Tensor, width: number): Tensor => tensor.asStrided([1, width], [width, 1], row * width);
        expectProduct(line(outs[at], n), line(left, k), rights[at]);
      }
    }
  });

  it('has infinities, NaN and zeros where they belong', () => {
    const numbers = new Float32Array(40 * 40).fill(-0);
    const left = Tensor.fromArray(numbers, [40, 40], 'float32');
    numbers.set([Infinity, 0, 0], 40);
    numbers.set([NaN], 80);
    numbers.set([3e38, 3e38], 120);
    const right = Tensor.fromArray(new Float32Array(40 * 40).fill(2), [40, 40], 'float32');
    (right.storageArray() as Float32Array)[1] = 0;
    const out = empty(40, 40);
    run(left, right, out, undefined);
    const rows = [0, 1, 2, 3].map((row) => [element(out, [row, 0]), element(out, [row, 1])]);
    expect(rows).toEqual([
      [0, 0],
      [Infinity, NaN],
      [NaN, NaN],
      [Infinity, Infinity],
    ]);
  });

  it('leaves to others what it has no kernel for, what is small, and what is written where it is read', () => {
    const [left, right, out] = [tensorOf([40, 40], [40, 1]), tensorOf([40, 40], [40, 1]), empty(40, 40)];
    const double = Tensor.empty([40, 40], 'float64');
    expect(multiply(left, right, double, undefined)).toBeNull();
    expect(multiply(double, double, double, undefined)).toBeNull();
    expect(multiply(left, right, left, undefined)).toBeNull();
    expect(multiply(left, right, out, { self: out, beta: 1n, alpha: 1n })).toBeNull();
    expect(multiply(tensorOf([4, 4], [4, 1]), tensorOf([4, 4], [4, 1]), empty(4, 4), undefined)).toBeNull();
    expect(multiply(empty(40, 0), empty(0, 40), out, undefined)).toBeNull();
    expect(wasmProducts(() => null)(left, right, out, undefined)).toBeNull();
  });
});

describe('where a policy forbids to compile WebAssembly', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  it('there is no workspace, and products are left to others', async () => {
    vi.resetModules();
    const { Memory, validate, Instance, CompileError } = WebAssembly;
    const refused = class {
      constructor() {
        throw new CompileError('Wasm code generation disallowed by embedder');
      }
    };
    vi.stubGlobal('WebAssembly', { Memory, validate, Instance, Module: refused });
    const fresh = await import('./products.ts');
    const multiply = fresh.wasmProducts();
    const square = tensorOf([40, 40], [40, 1]);
    expect(multiply(square, square, empty(40, 40), undefined)).toBeNull();
    vi.stubGlobal('WebAssembly', undefined);
    vi.resetModules();
    const without = await import('./products.ts');
    expect(without.wasmProducts()(square, square, empty(40, 40), undefined)).toBeNull();
  });
});
