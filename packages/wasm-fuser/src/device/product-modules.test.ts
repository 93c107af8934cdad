import { afterEach, expect, it, vi } from 'vitest';
import { compileVectors } from '../engine-features.ts';
import { LinearMemory } from '../linear-memory.ts';
import type { ThreadPool } from '../threads/thread-pool.ts';
import { ProductModules } from './product-modules.ts';

const NativeModule = WebAssembly.Module;
const compiled: number[] = [];

afterEach(() => {
  vi.restoreAllMocks();
  compiled.length = 0;
});

function countModules(): void {
  vi.spyOn(WebAssembly, 'Module').mockImplementation(function (bytes) {
    compiled.push(bytes.byteLength);
    return new NativeModule(bytes);
  });
}

it('a module is compiled when its functions are first asked for, and once', () => {
  countModules();
  const registered: number[] = [];
  const threads = { register: (bytes: Uint8Array) => registered.push(bytes.length) } as unknown as ThreadPool;
  const products = new ProductModules(new LinearMemory(), threads, false);
  expect(compiled).toEqual([]);
  expect(Object.keys(products.packing().functions)).toEqual(['pack']);
  expect(products.packing()).toBe(products.packing());
  expect(compiled).toHaveLength(1);
  expect([products.packed().module, products.images().module, products.doubles().module]).toEqual([2, 3, 4]);
  expect(Object.keys(products.images().functions)).toEqual(['multiplyImage']);
  expect(registered).toEqual(compiled);
});

it('whether there are vectors takes a few bytes to find out', () => {
  countModules();
  compileVectors();
  expect(compiled).toHaveLength(1);
  expect(compiled[0]).toBeLessThan(200);
});
