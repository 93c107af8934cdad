// Gives tests in Node a `navigator.gpu`: Dawn from the npm package "webgpu", on llvmpipe where it is installed.
// DAWN_FLAGS="backend=null" checks shaders and API use on a machine without any Vulkan driver, but computes nothing.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
const gpu = create((process.env.DAWN_FLAGS ?? '').split(' ').filter(Boolean));
// Node 20 has no navigator, later versions have a read-only one.
Object.defineProperty(globalThis, 'navigator', {
  value: { gpu, hardwareConcurrency: 2, userAgent: 'node' },
  configurable: true,
});

// GPU_LIMITS=default: every device gets what all adapters have, no features and the guaranteed limits, whatever is asked for.
if (process.env.GPU_LIMITS === 'default') {
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = function withDefaultLimits(descriptor) {
    return requestDevice.call(this, { label: descriptor?.label });
  };
}

// GPU_SHADERS=FOLDER: every distinct shader that is compiled is written there, for scripts/check-shaders.mjs, but for those that are meant to be refused.
const folder = process.env.GPU_SHADERS;
if (folder) {
  mkdirSync(folder, { recursive: true });
  const { createShaderModule } = GPUDevice.prototype;
  GPUDevice.prototype.createShaderModule = function written(descriptor) {
    const { code } = descriptor;
    const name = createHash('sha256').update(code).digest('hex').slice(0, 16);
    if (!code.includes('// test::broken')) writeFileSync(join(folder, `${name}.wgsl`), code);
    return createShaderModule.call(this, descriptor);
  };
}
