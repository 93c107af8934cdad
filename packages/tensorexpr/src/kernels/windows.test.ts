import { Storage } from '@cresset/tensor';
import { expect, test } from 'vitest';
import { bindingsFor, largestBuffer, windowBytes, windowsOf } from './windows.ts';

const limits = { maxBindingBytes: 1000, maxBufferBytes: 10_000, maxStorageBuffers: 8 };

test('windows begin at multiples of 256 bytes, and a buffer of one binding is one', () => {
  expect(windowBytes(limits)).toBe(768);
  expect([1, 1000, 1001, 1536, 1537].map((bytes) => windowsOf(bytes, limits))).toEqual([1, 1, 2, 2, 3]);
});

test('the largest buffer leaves bindings for the rest of a kernel, and is no larger than buffers are', () => {
  expect(largestBuffer(limits)).toBe(5 * 768);
  expect(largestBuffer({ ...limits, maxBufferBytes: 2000 })).toBe(2000);
  expect(largestBuffer({ maxBindingBytes: 1000, maxStorageBuffers: 8 })).toBe(1000);
});

test('storages are counted by their windows, narrow ones by what they take on the device', () => {
  const [small, large, narrow] = [100, 500, 500].map((count) => Storage.zeros('float32', count));
  narrow.narrow(() => true);
  expect(bindingsFor([small, large, narrow], limits)).toBe(1 + 3 + 1);
});
