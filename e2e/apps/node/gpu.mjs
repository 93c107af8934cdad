// Gives Node WebGPU, which it does not have of its own: node --import ./gpu.mjs main.mjs
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
const gpu = create([]);
// Later versions of Node have a `navigator` that can only be read.
Object.defineProperty(globalThis, 'navigator', { value: { gpu, userAgent: 'node' }, configurable: true });
