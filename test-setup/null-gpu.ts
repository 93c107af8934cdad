import { WebGpuDevice } from '../packages/webgpu/src/webgpu-device.ts';

/** Calls of the WebGPU API, as a browser would see them. */
export interface GpuCalls {
  buffers: number;
  bindGroups: number;
  modules: number;
  writes: number;
  submits: number;
  passes: number;
  dispatches: number;
}

// What the library knows of WebGPU beside the objects it is given.
Object.assign(globalThis, {
  GPUBufferUsage: {
    MAP_READ: 1,
    MAP_WRITE: 2,
    COPY_SRC: 4,
    COPY_DST: 8,
    INDEX: 16,
    VERTEX: 32,
    UNIFORM: 64,
    STORAGE: 128,
    INDIRECT: 256,
    QUERY_RESOLVE: 512,
  },
  GPUMapMode: { READ: 1, WRITE: 2 },
  GPUShaderStage: { VERTEX: 1, FRAGMENT: 2, COMPUTE: 4 },
});

const limits = {
  maxBufferSize: 2 ** 30,
  maxStorageBufferBindingSize: 2 ** 30,
  minUniformBufferOffsetAlignment: 256,
};

/** A class of its own, so that those alive can be counted. */
export class NullBindGroup {}

/** A GPU that takes all work and does none of it: what is left is the library's own time, and calls to count. */
export class NullGpu {
  readonly calls: GpuCalls = {
    buffers: 0,
    bindGroups: 0,
    modules: 0,
    writes: 0,
    submits: 0,
    passes: 0,
    dispatches: 0,
  };
  /** Where the last write took its bytes from. */
  lastWritten: ArrayBufferLike | null = null;

  /** A device of the library's on it. */
  open(): WebGpuDevice {
    const capabilities = {
      f16: false,
      subgroupSize: 0,
      immediates: false,
      software: false,
      maxWorkgroupSize: 256,
      maxWorkgroupStorage: 16384,
      maxStorageBuffers: 10,
      maxBindingBytes: limits.maxStorageBufferBindingSize,
      maxWorkgroupsPerDimension: 65535,
    };
    return new WebGpuDevice(this.#device(), 'null', capabilities, false);
  }

  #device(): GPUDevice {
    const { calls } = this;
    const nothing = (): void => undefined;
    const pass = {
      setPipeline: nothing,
      setBindGroup: nothing,
      dispatchWorkgroups: () => void calls.dispatches++,
      end: nothing,
    };
    const encoder = {
      beginComputePass: () => {
        calls.passes++;
        return pass;
      },
      copyBufferToBuffer: nothing,
      finish: () => ({}),
    };
    const device = {
      limits,
      features: new Set<string>(),
      lost: new Promise(nothing),
      queue: {
        writeBuffer: (_buffer: GPUBuffer, _offset: number, data: ArrayBuffer | ArrayBufferView) => {
          calls.writes++;
          this.lastWritten = ArrayBuffer.isView(data) ? data.buffer : data;
        },
        submit: () => void calls.submits++,
        onSubmittedWorkDone: () => Promise.resolve(),
      },
      createBuffer: ({ size }: GPUBufferDescriptor) => {
        calls.buffers++;
        // Made once, so that what a readback takes is the library's.
        let mapped: ArrayBuffer | null = null;
        return {
          size,
          mapState: 'unmapped',
          mapAsync: () => Promise.resolve(),
          getMappedRange: () => (mapped ??= new ArrayBuffer(size)),
          unmap: nothing,
          destroy: nothing,
        };
      },
      createShaderModule: () => {
        calls.modules++;
        return {};
      },
      createBindGroupLayout: () => ({}),
      createPipelineLayout: () => ({}),
      createComputePipelineAsync: () => Promise.resolve({}),
      createBindGroup: () => {
        calls.bindGroups++;
        return new NullBindGroup();
      },
      createCommandEncoder: () => encoder,
      pushErrorScope: nothing,
      popErrorScope: () => Promise.resolve(null),
      destroy: nothing,
    };
    return device as unknown as GPUDevice;
  }
}
