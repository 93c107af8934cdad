export { hasRelaxedSimd } from './engine-features.ts';
export { LinearMemory } from './linear-memory.ts';
