import { f32x4, v128 } from './code.ts';
import { ModuleBuilder } from './module.ts';

/** A module that multiplies and adds four numbers, in one instruction or in two. */
function vectorModule(isRelaxed: boolean): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  module.define(null, 1, (_, address) =>
    v128.store(address.get, f32x4.multiplyAdd(v128.zero, v128.zero, v128.zero, isRelaxed)),
  );
  return module.bytes();
}

/** Whether the engine multiplies and adds in one instruction (relaxed SIMD). */
export function hasRelaxedSimd(): boolean {
  return WebAssembly.validate(vectorModule(true));
}

/** A module with an instruction of 128 bits. Throws where an engine has no WebAssembly with vectors, or a page's policy forbids to compile it. */
export function compileVectors(): WebAssembly.Module {
  return new WebAssembly.Module(vectorModule(false));
}
