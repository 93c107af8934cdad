import { hasRelaxedSimd } from './engine-features.ts';
import type { LinearMemory } from './linear-memory.ts';
import { ModuleBuilder } from './module.ts';
import {
  defineDoubleProducts,
  defineProducts,
  type DoubleProductFunctions,
  type ProductFunctions,
} from './products.ts';

/**
 * The functions of products over a memory.
 * @param isRelaxed whether products and sums are rounded once; only where the engine has that
 * @throws WebAssembly.CompileError where a page's policy forbids to compile
 */
export function loadProducts(memory: LinearMemory, isRelaxed = hasRelaxedSimd()): ProductFunctions {
  return functionsOf(productBytes(isRelaxed, memory.isShared), memory);
}

/** As `loadProducts`, of double precision, which few programs need. */
export function loadDoubleProducts(memory: LinearMemory, isRelaxed: boolean): DoubleProductFunctions {
  return functionsOf(doubleProductBytes(isRelaxed, memory.isShared), memory);
}

function functionsOf<Functions>(bytes: Uint8Array<ArrayBuffer>, { memory }: LinearMemory): Functions {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { memory } });
  return exports as Functions;
}

/** The module of `loadProducts`. */
export function productBytes(isRelaxed: boolean, isShared: boolean): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder([], isShared);
  defineProducts(module, isRelaxed);
  return module.bytes();
}

/** The module of `loadDoubleProducts`. */
export function doubleProductBytes(isRelaxed: boolean, isShared: boolean): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder([], isShared);
  defineDoubleProducts(module, isRelaxed);
  return module.bytes();
}
