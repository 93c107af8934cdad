export { hasRelaxedSimd } from './engine-features.ts';
export { LinearMemory } from './linear-memory.ts';
export { loadProducts } from './load.ts';
export { type ProductFunctions } from './products.ts';
