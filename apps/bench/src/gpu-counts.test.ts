import { expect, test } from 'vitest';
import { GpuCounter } from './gpu-counts.ts';

/** Classes as WebGPU has them, which do nothing. */
function webGpu() {
  const classWith = (...methods: string[]) =>
    class {
      static {
        for (const method of methods) Object.assign(this.prototype, { [method]: () => method });
      }
    } as unknown as new () => Record<string, (...args: unknown[]) => unknown>;
  return {
    GPUQueue: classWith('submit', 'writeBuffer', 'writeTexture'),
    GPUBuffer: classWith('mapAsync'),
    GPUDevice: classWith('createBuffer', 'createShaderModule', 'createComputePipeline', 'createBindGroup'),
    GPUComputePassEncoder: classWith('dispatchWorkgroups'),
  };
}

test('what is asked of WebGPU is counted and done', () => {
  const scope = webGpu();
  const counter = new GpuCounter(scope);
  const queue = new scope.GPUQueue();
  const device = new scope.GPUDevice();
  expect(queue['submit']([])).toBe('submit');
  new scope.GPUComputePassEncoder()['dispatchWorkgroups'](1);
  device['createShaderModule']({});
  device['createBuffer']({ size: 64 });
  expect(counter.take()).toMatchObject({ submits: 1, dispatches: 1, shaderModules: 1, buffers: 1, bufferBytes: 64 });
  expect(counter.take()).toMatchObject({ submits: 0, dispatches: 0, shaderModules: 0, buffers: 0, bufferBytes: 0 });
});

test('an upload is as long as what is written of its data', () => {
  const scope = webGpu();
  const counter = new GpuCounter(scope);
  const queue = new scope.GPUQueue();
  const uploaded = (...args: unknown[]): number => {
    queue['writeBuffer']({}, 0, ...args);
    return counter.take().uploadedBytes;
  };
  expect(uploaded(new Float32Array(8))).toBe(32);
  // Offset and size are elements of a typed array, and bytes of a buffer.
  expect(uploaded(new Float32Array(8), 2)).toBe(24);
  expect(uploaded(new Float32Array(8), 2, 3)).toBe(12);
  expect(uploaded(new ArrayBuffer(32), 4, 8)).toBe(8);
});

test('a buffer that is mapped when it is made is an upload, and only reading maps are readbacks', () => {
  const scope = webGpu();
  const counter = new GpuCounter(scope);
  new scope.GPUDevice()['createBuffer']({ size: 16, mappedAtCreation: true });
  new scope.GPUBuffer()['mapAsync'](1);
  new scope.GPUBuffer()['mapAsync'](2);
  expect(counter.take()).toMatchObject({ uploads: 1, uploadedBytes: 16, readbacks: 1 });
});
