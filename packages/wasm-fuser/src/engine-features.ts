import { f32x4, v128 } from './code.ts';
import { ModuleBuilder } from './module.ts';

/** Whether the engine multiplies and adds in one instruction (relaxed SIMD). */
export function hasRelaxedSimd(): boolean {
  const module = new ModuleBuilder();
  module.define(null, 1, (_, address) =>
    v128.store(address.get, f32x4.multiplyAdd(v128.zero, v128.zero, v128.zero, true)),
  );
  return WebAssembly.validate(module.bytes());
}
