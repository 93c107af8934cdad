import { contiguousStrides, Storage, Tensor } from '@cresset/tensor';
import { expect, test } from 'vitest';
import { axis, binary, constant, param } from '../expressions/builders.ts';
import type { Expr } from '../expressions/expr.ts';
import { TensorView } from '../expressions/operand.ts';
import type { LoopNest } from './kernel.ts';
import { normalise } from './normalise.ts';
import { signatureOf } from './signature.ts';

const vector = (length = 4): TensorView =>
  new TensorView(Tensor.fromArray(new Float32Array(length), [length], 'float32'));

/** `out = x + value`. */
function plus(value: Expr, x = vector(), out = vector()): LoopNest {
  const i = axis('i', param('i32', out.tensor.numel));
  const stores = [{ operand: out.operand, offset: out.offsetAt([i]), value: binary('add', x.at([i]), value) }];
  return { kind: 'nest', label: 'test::plus', axes: [i], innerAxes: [], stores };
}

const keyOf = (...kernels: readonly LoopNest[]): string => signatureOf(...kernels).key;

test('kernels that differ in params and tensors alone have one key', () => {
  const key = keyOf(plus(param('float', 2)));
  expect(keyOf(plus(param('float', 3), vector(9), vector(9)))).toBe(key);
  const same = vector();
  expect(keyOf(plus(param('float', 2), same, same))).not.toBe(key);
  expect(keyOf(plus(constant('float', 2)))).not.toBe(key);
});

test('numbers for which a hash of 64 bits was the same have keys of their own', () => {
  const [first, second] = [1.0000003094701102, 72922488338.07747];
  expect(keyOf(plus(constant('float', first)))).not.toBe(keyOf(plus(constant('float', second))));
});

test('what has more elements, or points, than 32 bits count is refused, whichever of them a kernel is of', () => {
  const most = 2 ** 31 - 1;
  const bytes = (count: number, sizes: readonly number[], offset = 0): TensorView =>
    new TensorView(new Tensor(Storage.planned('uint8', count), 'uint8', sizes, contiguousStrides(sizes), offset));
  const refusal = expect.objectContaining({ code: 'DEVICE_BUFFER_TOO_LARGE' });
  expect(() => keyOf(plus(param('i32', 2), bytes(most, [4])))).not.toThrow();
  // Of a view too, wherever it begins.
  expect(() => keyOf(plus(param('i32', 2), bytes(most + 1, [4], most - 4)))).toThrow(refusal);
  expect(() => keyOf(plus(param('float', 2), vector(), bytes(most + 1, [4])))).toThrow(refusal);
  // Floats have fewer elements in as many bytes.
  const floats = new Tensor(Storage.planned('float32', 2 ** 30), 'float32', [4], [1]);
  expect(() => keyOf(plus(param('float', 2), new TensorView(floats)))).not.toThrow();
  const axes = [2 ** 16, 2 ** 15].map((extent, at) => axis(`i${at}`, param('i32', extent)));
  const scattered = { ...plus(param('float', 2)), axes };
  expect(() => signatureOf(normalise(scattered))).toThrow(refusal);
});

test('one kernel with two stores is no two kernels, and a long one has a key as well', () => {
  const nest = plus(param('float', 2));
  expect(keyOf({ ...nest, stores: [nest.stores[0], nest.stores[0]] })).not.toBe(keyOf(nest, nest));
  let [sum, other]: Expr[] = [param('float', 1), param('float', 1)];
  for (let term = 0; term < 3000; term++) {
    sum = binary('add', sum, constant('float', term));
    other = binary('add', other, constant('float', term === 1500 ? 0.5 : term));
  }
  expect(keyOf(plus(sum))).toBe(keyOf(plus(sum)));
  expect(keyOf(plus(sum))).not.toBe(keyOf(plus(other)));
});
