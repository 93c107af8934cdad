import { checkOptions } from '@cresset/ir';
import type { InputExpectations, VerificationReport } from '@cresset/runtime';
import { ARGUMENT_RULES, ScriptModule, withMethods, type ArgumentOptions } from '../script-module.ts';
import { fromWire, WireArguments, type Input, type Output } from '../value.ts';

export interface SaveOptions {
  /** Files to be saved with the model (`_extra_files` of torch.jit.save), by name. */
  readonly extraFiles?: Readonly<Record<string, string | Uint8Array>>;
}

export interface VerifyOptions extends ArgumentOptions {
  /** The method to run; `forward` by default. */
  readonly method?: string;
  /** How far numbers may be apart, `absolute + relative * |host's|`; by default what each dtype gives rise to expect. */
  readonly tolerance?: { readonly relative: number; readonly absolute: number };
}

/**
 * A program in the full edition (torch.jit.ScriptModule): it can be saved, printed and verified besides what the core's can.
 */
export class FullScriptModule extends ScriptModule {
  /**
   * Writes this module, with those below it, as PyTorch writes it (torch.jit.save): `torch.jit.load` reads it, in Python and here. What
   * calls have changed in place is saved as it is now.
   */
  save(options?: SaveOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** As a Blob, for a download or a form. */
  save(options: SaveOptions & { readonly as: 'blob' }): Promise<Blob>;
  async save(options: SaveOptions & { readonly as?: 'blob' } = {}): Promise<Uint8Array | Blob> {
    checkOptions('save', options, { extraFiles: 'object', as: ['blob'] });
    const { extraFiles = {}, as } = options;
    const { id, placement } = this.openFile();
    const { bytes } = await placement.client.request('saved', {
      type: 'save',
      model: id,
      module: this.path,
      extraFiles: Object.entries(extraFiles),
    });
    return as === 'blob' ? new Blob([bytes], { type: 'application/octet-stream' }) : new Uint8Array(bytes);
  }

  /**
   * The Python text of a method, as PyTorch prints it (ScriptModule.code is that of `forward`); that of the whole class where no method
   * is named.
   */
  override async code(method?: string): Promise<string> {
    const { id, placement } = this.openFile();
    const request = { type: 'print-python', model: id, module: this.path, method: method ?? null } as const;
    return (await placement.client.request('text', request)).text;
  }

  /**
   * Runs a method on the host and lets the GPU do each of its operators with the same inputs. The report names the operators whose
   * results differ, in the order of running, with their lines in Python. Rejects where there is no GPU.
   */
  async verify(inputs: readonly Input[], options: VerifyOptions = {}): Promise<VerificationReport> {
    checkOptions('verify', options, { ...ARGUMENT_RULES, method: 'string', tolerance: 'object' });
    const { id, placement } = this.openFile();
    const values = new WireArguments();
    const request = {
      type: 'verify',
      model: id,
      module: this.path,
      method: options.method ?? 'forward',
      args: inputs.map((input) => values.value(input)),
      kwargs: values.named(options.kwargs),
      tolerance: options.tolerance ?? null,
    } as const;
    const { signal } = options;
    return (await placement.client.request('verified', request, signal ? { signal } : {})).report;
  }

  /**
   * What a method tells of its inputs, without running it: what its first convolution, linear layer or embedding wants of each, and what
   * its checks name. Null stands for what the program leaves open, or does not tell.
   */
  async expectedInputs(method = 'forward'): Promise<InputExpectations> {
    const { id, placement } = this.openFile();
    const request = { type: 'expected-inputs', model: id, module: this.path, method } as const;
    return (await placement.client.request('expected-inputs', request)).expectations;
  }

  /** The value of an attribute, as it is now; of a module below this one by its path, `layer1.training`. */
  async attribute(name: string): Promise<Output> {
    const { id, placement } = this.openFile();
    const request = { type: 'get-attribute', model: id, ...this.#ownerOf(name) } as const;
    return fromWire((await placement.client.request('attribute', request)).value);
  }

  /** Gives an attribute, parameter or buffer another value, of its type. */
  async setAttribute(name: string, value: Input): Promise<void> {
    const { id, placement } = this.openFile();
    const wire = new WireArguments().value(value);
    const request = { type: 'set-attribute', model: id, ...this.#ownerOf(name), value: wire, isForAll: false } as const;
    await placement.client.request('done', request);
  }

  /** Puts this module and those below it into training mode, or with `false` out of it (torch.nn.Module.train). */
  async train(mode = true): Promise<this> {
    const { id, placement } = this.openFile();
    const request = { type: 'set-attribute', model: id, module: this.path, name: 'training', value: mode } as const;
    await placement.client.request('done', { ...request, isForAll: true });
    return withMethods(this);
  }

  /** The same as `train(false)` (torch.nn.Module.eval). */
  eval(): Promise<this> {
    return this.train(false);
  }

  #ownerOf(name: string): { readonly module: string; readonly name: string } {
    const at = name.lastIndexOf('.');
    const module = [this.path, name.slice(0, Math.max(at, 0))].filter((part) => part !== '').join('.');
    return { module, name: name.slice(at + 1) };
  }
}
