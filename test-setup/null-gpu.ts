import type { DeviceCapabilities } from '@cresset/tensorexpr';
import { plainGpu, softwareGpu } from './plain-gpu.ts';
import { recordOn } from '../packages/webgpu/src/launches/command-lists.ts';
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
  /** Whether there is no memory for the buffer of this number, counted from 0; word of it comes later. */
  fails: (index: number) => boolean = () => false;
  /** How often work was given a buffer that is not there, or not there any more. */
  misuses = 0;
  #lose: (info: GPUDeviceLostInfo) => void = () => {};

  /** Has the device lost, with all that it was doing. */
  lose(): void {
    this.#lose({ reason: 'unknown', message: 'for this test' } as GPUDeviceLostInfo);
  }

  /** A device of the library's on it, with capabilities in the place of those that many GPUs have. */
  open(other: Partial<DeviceCapabilities> = {}): WebGpuDevice {
    const capabilities = {
      ...(other.software ? softwareGpu : plainGpu),
      maxStorageBuffers: 10,
      maxBindingBytes: limits.maxStorageBufferBindingSize,
      ...other,
    };
    const device = new WebGpuDevice(this.#device(), 'null', capabilities, false);
    recordOn(device);
    return device;
  }

  #device(): GPUDevice {
    const { calls } = this;
    const nothing = (): void => undefined;
    const gone = new WeakSet<GPUBuffer>();
    const use = (buffer: GPUBuffer): void => void (this.misuses += gone.has(buffer) ? 1 : 0);
    const scopes: (GPUError | null)[] = [];
    let isLost = false;
    const later = <Value>(value: Value): Promise<Value> =>
      isLost ? Promise.reject(new Error('the device is lost')) : Promise.resolve(value);
    const lost = new Promise<GPUDeviceLostInfo>((resolve) => {
      this.#lose = (info) => {
        isLost = true;
        resolve(info);
      };
    });
    const pass = {
      setPipeline: nothing,
      setBindGroup: (_index: number, group: GPUBindGroup | null) => void (this.misuses += group ? 0 : 1),
      dispatchWorkgroups: () => void calls.dispatches++,
      end: nothing,
    };
    const encoder = {
      beginComputePass: () => {
        calls.passes++;
        return pass;
      },
      copyBufferToBuffer: (source: GPUBuffer, _from: number, target: GPUBuffer) => {
        use(source);
        use(target);
      },
      finish: () => ({}),
    };
    const device = {
      limits,
      features: new Set<string>(),
      lost,
      queue: {
        writeBuffer: (buffer: GPUBuffer, _offset: number, data: ArrayBuffer | ArrayBufferView) => {
          calls.writes++;
          use(buffer);
          this.lastWritten = ArrayBuffer.isView(data) ? data.buffer : data;
        },
        submit: () => void calls.submits++,
        onSubmittedWorkDone: () => later(undefined),
      },
      createBuffer: ({ size }: GPUBufferDescriptor) => {
        const isThere = !this.fails(calls.buffers++);
        // Made once, so that what a readback takes is the library's.
        let mapped: ArrayBuffer | null = null;
        const buffer = {
          size,
          mapState: 'unmapped',
          mapAsync: () => later(undefined),
          getMappedRange: () => (mapped ??= new ArrayBuffer(size)),
          unmap: nothing,
          destroy: () => void gone.add(buffer),
        } as unknown as GPUBuffer;
        if (!isThere) {
          gone.add(buffer);
          scopes[scopes.length - 1] ??= { message: 'no memory for this test' };
        }
        return buffer;
      },
      createShaderModule: () => {
        calls.modules++;
        return {};
      },
      createBindGroupLayout: () => ({}),
      createPipelineLayout: () => ({}),
      createComputePipelineAsync: () => Promise.resolve({}),
      createBindGroup: ({ entries }: GPUBindGroupDescriptor) => {
        calls.bindGroups++;
        for (const { resource } of entries) use((resource as GPUBufferBinding).buffer);
        return new NullBindGroup();
      },
      createCommandEncoder: () => encoder,
      pushErrorScope: () => void scopes.push(null),
      popErrorScope: () => later(scopes.pop() ?? null),
      destroy: nothing,
    };
    return device as unknown as GPUDevice;
  }
}
