import { FloatType } from '@cresset/ir';
import { List, Tensor, Tuple } from '@cresset/tensor';
import { describe, expect, test } from 'vitest';
import { difference, type Tolerance } from './compare.ts';
import type { JsonIValue } from '../cases/case.ts';
import { decodeIValue } from '../cases/ivalue-json.ts';
import { report } from '../runner/report.ts';
import { withCanonicalNames } from '../cases/graph-text.ts';

const tolerance: Tolerance = { rtol: 1e-3, atol: 1e-6, shapeOnly: false };
const noFiles = (path: string): Promise<Uint8Array> => Promise.reject(new Error(`no file ${path}`));
const base64 = (array: ArrayBufferView): string =>
  btoa(String.fromCharCode(...new Uint8Array(array.buffer, array.byteOffset, array.byteLength)));

const floats = (values: number[], shape = [values.length]): JsonIValue => ({
  tensor: { dtype: 'float32', shape, data: base64(Float32Array.from(values)) },
});

describe('difference', () => {
  const tensor = (values: number[], shape = [values.length]): Tensor =>
    Tensor.fromArray(Float32Array.from(values), shape, 'float32');

  test('of equal and of close tensors is none', async () => {
    expect(
      await difference(tensor([1, NaN, Infinity]), floats([1.0001, NaN, Infinity]), tolerance, noFiles),
    ).toBeNull();
  });
  test('sees a value off, an infinity of the other sign and another shape', async () => {
    expect(await difference(tensor([1.01]), floats([1]), tolerance, noFiles)).toBe(
      'output: wrong values (float32), 1.0099999904632568 instead of 1 at 0',
    );
    expect(await difference(tensor([-Infinity]), floats([Infinity]), tolerance, noFiles)).toMatch('wrong values');
    expect(await difference(tensor([1, 2]), floats([1, 2], [2, 1]), tolerance, noFiles)).toBe('output: wrong shape');
  });
  test('tells an int from a float', async () => {
    expect(await difference(1n, { float: 1 }, tolerance, noFiles)).toBe('output: expected float, got int');
    expect(await difference(1, { int: '1' }, tolerance, noFiles)).toBe('output: expected int, got float');
  });
  test('looks into containers', async () => {
    const got = new Tuple([1n, new List(FloatType.get(), [1, 2])]);
    const want = (last: number): JsonIValue => ({
      tuple: [{ int: '1' }, { list: [{ float: 1 }, { float: last }], elem: 'float' }],
    });
    expect(await difference(got, want(2), tolerance, noFiles)).toBeNull();
    expect(await difference(got, want(3), tolerance, noFiles)).toBe('output element element: wrong float');
  });
});

test('a strided tensor lists its elements in C order', async () => {
  const json = {
    tensor: { dtype: 'float32', shape: [2, 2], strides: [1, 2], data: base64(Float32Array.of(1, 2, 3, 4)) },
  };
  const tensor = (await decodeIValue(json, noFiles)) as Tensor;
  expect([...tensor.storageArray()]).toEqual([1, 3, 2, 4]);
  expect([...tensor.contiguousArray()]).toEqual([1, 2, 3, 4]);
});

test('graph texts are compared up to the names of values', () => {
  expect(withCanonicalNames('%x.1 : int = f(%y)\n%2 = g(%x.1)')).toBe(
    withCanonicalNames('%a : int = f(%b)\n%c = g(%a)'),
  );
  expect(withCanonicalNames('%a = f(%b)')).not.toBe(withCanonicalNames('%a = f(%a)'));
});

test('the report counts suites, reasons and closes with the total', () => {
  const text = report([
    { id: 'a', suite: 's', passed: true },
    { id: 'b', suite: 's', passed: false, reason: 'r', hostFallbacks: { 'aten::sort': 2 } },
  ]);
  expect(text).toMatch(/^s +2 +1 +1$/m);
  expect(text).toMatch(/^ +1 {2}r {2}\(b\)$/m);
  expect(text).toContain('aten::sort 2');
  expect(text.split('\n').at(-1)).toBe('TOTAL: 2 cases, 1 passed, 1 failed');
});
