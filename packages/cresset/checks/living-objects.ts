import { collectGarbage } from '../../../test-setup/collect-garbage.ts';

/** Objects that were made and not collected yet. */
class Living<Made extends object> {
  #references: WeakRef<Made>[] = [];

  add(made: Made): Made {
    this.#references.push(new WeakRef(made));
    return made;
  }

  get all(): Made[] {
    const living = this.#references.flatMap((reference) => reference.deref() ?? []);
    this.#references = living.map((each) => new WeakRef(each));
    return living;
  }
}

/** What the engine holds of WebAssembly and of a GPU, seen from outside it: by what is made and not collected, or not destroyed. */
export class LivingObjects {
  readonly #instances = new Living<WebAssembly.Instance>();
  readonly #memories = new Living<WebAssembly.Memory>();
  readonly #pipelines = new Living<GPUComputePipeline>();
  /** Of buffers that were not destroyed. */
  #bufferBytes = 0;

  /** Begins to look; once in a process. */
  constructor() {
    const [instances, memories, pipelines] = [this.#instances, this.#memories, this.#pipelines];
    WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
      construct: (target, args) => instances.add(Reflect.construct(target, args) as WebAssembly.Instance),
    });
    WebAssembly.Memory = new Proxy(WebAssembly.Memory, {
      construct: (target, args) => memories.add(Reflect.construct(target, args) as WebAssembly.Memory),
    });
    if (typeof GPUDevice === 'undefined') return;
    const { createComputePipelineAsync, createBuffer } = GPUDevice.prototype;
    GPUDevice.prototype.createComputePipelineAsync = async function made(descriptor) {
      return pipelines.add(await createComputePipelineAsync.call(this, descriptor));
    };
    const count = (bytes: number): void => void (this.#bufferBytes += bytes);
    GPUDevice.prototype.createBuffer = function made(descriptor) {
      const buffer = createBuffer.call(this, descriptor);
      const destroy = buffer.destroy.bind(buffer);
      let { size } = descriptor;
      count(size);
      buffer.destroy = () => {
        count(-size);
        size = 0;
        return destroy();
      };
      return buffer;
    };
  }

  /** What there is when all that nobody has was collected. */
  async count(): Promise<Readonly<Record<'modules' | 'pipelines' | 'wasmBytes' | 'gpuBytes' | 'heapBytes', number>>> {
    // What is finalised may let go of more.
    for (let round = 0; round < 3; round++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      collectGarbage();
    }
    const { heapUsed, external } = process.memoryUsage();
    return {
      modules: this.#instances.all.length,
      pipelines: this.#pipelines.all.length,
      wasmBytes: this.#memories.all.reduce((sum, { buffer }) => sum + buffer.byteLength, 0),
      gpuBytes: this.#bufferBytes,
      heapBytes: heapUsed + external,
    };
  }
}
