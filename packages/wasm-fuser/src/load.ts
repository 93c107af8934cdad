import type { LinearMemory } from './linear-memory.ts';
import { ModuleBuilder } from './module.ts';
import type { Definition } from './products.ts';

/** The functions of a module over a memory. Throws WebAssembly.CompileError where a page's policy forbids to compile. */
export function functionsOf<Functions>(bytes: Uint8Array<ArrayBuffer>, { memory }: LinearMemory): Functions {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { memory } });
  return exports as Functions;
}

/** A module of what the definitions define. */
export function moduleBytes(
  definitions: readonly Definition[],
  isRelaxed: boolean,
  isShared: boolean,
): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder([], isShared);
  for (const define of definitions) define(module, isRelaxed);
  return module.bytes();
}
