import { hasRelaxedSimd } from './engine-features.ts';
import type { LinearMemory } from './linear-memory.ts';
import { ModuleBuilder } from './module.ts';
import { defineProducts, type ProductFunctions } from './products.ts';

/**
 * The functions of products over a memory.
 * @param isRelaxed whether products and sums are rounded once; only where the engine has that
 * @throws WebAssembly.CompileError where a page's policy forbids to compile
 */
export function loadProducts({ memory }: LinearMemory, isRelaxed = hasRelaxedSimd()): ProductFunctions {
  const module = new ModuleBuilder();
  defineProducts(module, isRelaxed);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.bytes()), { host: { memory } });
  return exports as unknown as ProductFunctions;
}
