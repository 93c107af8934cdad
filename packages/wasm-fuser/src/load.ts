import { hasRelaxedSimd } from './engine-features.ts';
import type { LinearMemory } from './linear-memory.ts';
import { ModuleBuilder } from './module.ts';
import { defineProducts, type ProductFunctions } from './products.ts';

/**
 * The functions of products over a memory.
 * @param isRelaxed whether products and sums are rounded once; only where the engine has that
 * @throws WebAssembly.CompileError where a page's policy forbids to compile
 */
export function loadProducts({ memory, isShared }: LinearMemory, isRelaxed = hasRelaxedSimd()): ProductFunctions {
  const bytes = productBytes(isRelaxed, isShared);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { memory } });
  return exports as unknown as ProductFunctions;
}

/** The module of `loadProducts`. */
export function productBytes(isRelaxed: boolean, isShared: boolean): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder([], isShared);
  defineProducts(module, isRelaxed);
  return module.bytes();
}
