import { CressetError } from '@cresset/ir';
import { KernelCache, type Binding, type KernelSignature, type Launch, type Schedule } from '@cresset/tensorexpr';
import type { ShaderText, UniformLayout } from '@cresset/webgpu-fuser';

/** A kernel's shader on this device; it is compiled when somebody is about to run it. */
export interface Program {
  readonly label: string;
  /** Of the kernels in it. */
  readonly schedules: readonly Schedule[];
  /** The shader's text, as far as it is there: whole when it is compiled. */
  code: string;
  readonly uniforms: UniformLayout;
  /** What is bound of the uniform buffer, bytes: as much for every program of a layout; 0 without uniforms. */
  readonly uniformWindow: number;
  /** The bindings after that, one for each buffer that a launch is given or several, as of `Binding.windows`. */
  readonly bindings: readonly Pick<Binding, 'stored' | 'windows'>[];
  readonly bindGroupLayout: GPUBindGroupLayout;
  /** What bind groups for this program are keyed by, beside their buffers. */
  readonly layoutKey: string;
  /** Null until it is compiled. */
  pipeline: GPUComputePipeline | null;
  /** When its compilation began and ended, by `performance.now()`. */
  begin: number;
  end: number;
  /** Compiles it in the background, once; rejects with a CressetError where the shader does not compile. */
  compile(): Promise<void>;
}

/** Pipelines kept for whoever asks for them again, beside those in use; twice as many at most. */
const keptPrograms = 256;

/** Knows shaders by their structure, and compiles each once. */
export class PipelineCache {
  readonly #device: GPUDevice;
  readonly #programs = new KernelCache<Program>(keptPrograms);
  readonly #layouts = new Map<string, { group: GPUBindGroupLayout; pipeline: GPUPipelineLayout }>();

  /** @param began told of each shader that begins to be compiled */
  constructor(
    device: GPUDevice,
    private readonly began: () => void,
  ) {
    this.#device = device;
  }

  /** Those that were compiled, or are being compiled, and are still there. */
  get programs(): Program[] {
    return this.#programs.values.filter(({ begin }) => !Number.isNaN(begin));
  }

  /** @param write gives the shader; again once all functions are there that it calls */
  find(
    key: string,
    label: string,
    launches: readonly Launch[],
    signature: KernelSignature,
    write: () => ShaderText,
  ): Program {
    const known = this.#programs.find(key);
    if (known) return known;
    const schedules = launches.map(({ schedule }) => schedule);
    const program = this.#make(label, schedules, signature, write);
    this.#programs.add(key, program);
    return program;
  }

  #make(label: string, schedules: readonly Schedule[], signature: KernelSignature, write: () => ShaderText): Program {
    const { code, uniforms, missing } = write();
    // A shader outlives the tensors that it was written for: whoever has it must not have those.
    let rest = missing ? write : null;
    const { bindings } = signature;
    const accesses = bindings.map(({ stored, windows }) => (stored ? 'w' : 'r').repeat(windows?.count ?? 1));
    const uniformWindow = windowOf(uniforms.byteLength);
    // What buffers a group has does not tell how many windows there are of each.
    const layoutKey = `${accesses.join(bindings.some(({ windows }) => windows) ? '.' : '')}${uniformWindow}`;
    const { group, pipeline: layout } = this.#layout(layoutKey, accesses.join(''), uniformWindow);
    let compiled: Promise<void> | null = null;
    const program: Program = {
      label,
      schedules,
      code,
      uniforms,
      uniformWindow,
      bindings: bindings.map(({ stored, windows }) => (windows ? { stored, windows } : { stored })),
      bindGroupLayout: group,
      layoutKey,
      pipeline: null,
      begin: NaN,
      end: NaN,
      compile: () => {
        if (compiled) return compiled;
        compiled = rest ? complete(rest) : this.#build(program, layout);
        rest = null;
        // Whoever submits work with this program awaits it; until then a failure is nobody's.
        compiled.catch(() => {});
        program.begin = performance.now();
        this.began();
        return compiled;
      },
    };
    const complete = async (writeAgain: () => ShaderText): Promise<void> => {
      let text = writeAgain();
      for (; text.missing; text = writeAgain()) await text.missing();
      program.code = text.code;
      await this.#build(program, layout);
    };
    return program;
  }

  async #build(program: Program, layout: GPUPipelineLayout): Promise<void> {
    const { label, code } = program;
    // The module's own error says the same as the pipeline's, which is the one that is reported.
    this.#device.pushErrorScope('validation');
    const module = this.#device.createShaderModule({ label, code });
    this.#device.popErrorScope().catch(() => {});
    const compute = { module, entryPoint: 'main' };
    try {
      program.pipeline = await this.#device.createComputePipelineAsync({ label, layout, compute });
      program.end = performance.now();
    } catch (error) {
      throw await compilationError(label, code, module, error);
    }
  }

  #layout(key: string, accesses: string, uniformWindow: number) {
    let layout = this.#layouts.get(key);
    if (!layout) {
      const types: GPUBufferBindingLayout[] = [...accesses].map((access) => ({
        type: access === 'w' ? 'storage' : 'read-only-storage',
      }));
      if (uniformWindow > 0) {
        types.unshift({ type: 'uniform', hasDynamicOffset: true, minBindingSize: uniformWindow });
      }
      const group = this.#device.createBindGroupLayout({
        entries: types.map((buffer, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer })),
      });
      layout = { group, pipeline: this.#device.createPipelineLayout({ bindGroupLayouts: [group] }) };
      this.#layouts.set(key, layout);
    }
    return layout;
  }
}

/**
 * Programs of one layout are bound to uniforms of one size, whatever their own: wgpu holds a bind group's size to the needs of
 * a program that was set before it.
 */
function windowOf(uniformBytes: number): number {
  return uniformBytes === 0 ? 0 : Math.max(256, 2 ** Math.ceil(Math.log2(uniformBytes)));
}

async function compilationError(label: string, code: string, module: GPUShaderModule, cause: unknown) {
  let details = cause instanceof Error ? cause.message : String(cause);
  try {
    const { messages } = await module.getCompilationInfo();
    const lines = messages
      .filter((message) => message.type === 'error')
      .map((message) => `${message.lineNum}:${message.linePos} ${message.message}`);
    if (lines.length > 0) details = lines.join('\n');
  } catch {
    // A lost device has no compilation info; the pipeline's own message has to do.
  }
  return new CressetError('SHADER_COMPILATION', `the shader of ${label} did not compile:\n${details}\n\n${code}`, {
    cause,
  });
}
