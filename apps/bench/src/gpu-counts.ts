/** What a library asked of WebGPU. */
export interface GpuCounts {
  dispatches: number;
  /** Calls of `GPUQueue.submit`. */
  submits: number;
  passes: number;
  /** Calls that bring data to the GPU: `writeBuffer`, `writeTexture`, and buffers that are mapped when they are made. */
  uploads: number;
  uploadedBytes: number;
  readbacks: number;
  shaderModules: number;
  pipelines: number;
  bindGroups: number;
  buffers: number;
  bufferBytes: number;
}

export const noCounts: Readonly<GpuCounts> = {
  dispatches: 0,
  submits: 0,
  passes: 0,
  uploads: 0,
  uploadedBytes: 0,
  readbacks: 0,
  shaderModules: 0,
  pipelines: 0,
  bindGroups: 0,
  buffers: 0,
  bufferBytes: 0,
};

export function addCounts(a: GpuCounts, b: GpuCounts): GpuCounts {
  const names = Object.keys(noCounts) as (keyof GpuCounts)[];
  return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as unknown as GpuCounts;
}

type Method = (this: unknown, ...args: never[]) => unknown;

/**
 * Counts calls of WebGPU by standing in front of its prototypes, so that every library in this realm is counted in the same way. To be
 * made before a library keeps any of the functions.
 */
export class GpuCounter {
  #counts: GpuCounts = { ...noCounts };

  constructor(scope: object = globalThis) {
    const count = (name: keyof GpuCounts) => (): void => void this.#counts[name]++;
    const classes = scope as Readonly<Record<string, { readonly prototype: object } | undefined>>;
    const before = (className: string, method: string, note: (...args: never[]) => void): void => {
      const prototype = classes[className]?.prototype as Record<string, Method> | undefined;
      const original = prototype?.[method];
      if (!original) return;
      prototype[method] = function (...args) {
        note(...args);
        return original.apply(this, args);
      };
    };
    before('GPUComputePassEncoder', 'dispatchWorkgroups', count('dispatches'));
    before('GPUComputePassEncoder', 'dispatchWorkgroupsIndirect', count('dispatches'));
    before('GPUCommandEncoder', 'beginComputePass', count('passes'));
    before('GPUQueue', 'submit', count('submits'));
    before('GPUQueue', 'writeBuffer', (_buffer, _offset, data: BufferSource, from?: number, size?: number) =>
      this.#upload(sizeOf(data, from, size)),
    );
    before('GPUQueue', 'writeTexture', (_target, data: BufferSource) => this.#upload(data.byteLength));
    before('GPUBuffer', 'mapAsync', (mode: number) => void (this.#counts.readbacks += mode === 1 ? 1 : 0));
    before('GPUDevice', 'createShaderModule', count('shaderModules'));
    before('GPUDevice', 'createComputePipeline', count('pipelines'));
    before('GPUDevice', 'createComputePipelineAsync', count('pipelines'));
    before('GPUDevice', 'createBindGroup', count('bindGroups'));
    before('GPUDevice', 'createBuffer', ({ size, mappedAtCreation }: GPUBufferDescriptor) => {
      this.#counts.buffers++;
      this.#counts.bufferBytes += size;
      if (mappedAtCreation) this.#upload(size);
    });
  }

  /** What was counted since the last call. */
  take(): GpuCounts {
    const counts = this.#counts;
    this.#counts = { ...noCounts };
    return counts;
  }

  #upload(bytes: number): void {
    this.#counts.uploads++;
    this.#counts.uploadedBytes += bytes;
  }
}

/** Bytes of what `writeBuffer` takes: its offset and size count elements where a typed array is given. */
function sizeOf(data: BufferSource, from = 0, size?: number): number {
  const unit = 'BYTES_PER_ELEMENT' in data ? (data as Uint8Array).BYTES_PER_ELEMENT : 1;
  return (size ?? data.byteLength / unit - from) * unit;
}
