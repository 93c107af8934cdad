import { expect, test } from 'vitest';
import { countUp, f32x4, i32, v128 } from './code.ts';
import { ModuleBuilder } from './module.ts';

/** Where a module has some bytes. */
const placesOf = (wanted: readonly number[], bytes: Uint8Array): number[] =>
  [...bytes.keys()].filter((at) => wanted.every((byte, next) => bytes[at + next] === byte));

test('a vector that is known is made once in a function, before its loops', () => {
  const module = new ModuleBuilder();
  module.define('run', 2, (body, address, end) => {
    const at = body.integer();
    const place = i32.add(address.get, i32.shl(at.get, 4));
    const value = f32x4.add(f32x4.mul(v128.load(place), f32x4.const(3)), f32x4.const(0.5));
    return countUp(at, i32.const(0), end.get, 1, v128.store(place, f32x4.mul(value, f32x4.const(3))));
  });
  const bytes = module.bytes();
  const constants = placesOf([0xfd, 12], bytes);
  const [loop] = placesOf([0x03, 0x40], bytes);
  expect(constants).toHaveLength(2);
  expect(loop).toBeGreaterThan(constants[1]);
  const memory = new WebAssembly.Memory({ initial: 1 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { memory } });
  const floats = new Float32Array(memory.buffer, 64, 8);
  floats.set([0, 1, 2, 3, 4, 5, 6, 7]);
  (exports.run as (address: number, end: number) => void)(64, 2);
  expect([...floats]).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((x) => (x * 3 + 0.5) * 3));
});
