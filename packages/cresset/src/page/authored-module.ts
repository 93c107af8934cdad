import { checkOptions, CressetError, type OptionRules } from '@cresset/ir';
import type { Registration, WireModule } from '@cresset/runtime';
import type { Globals } from './global-values.ts';
import type { LoadedFile } from './loaded-file.ts';
import { loadedFile, openFile, ScriptModule, withMethods } from './script-module.ts';
import type { Tensor } from './values/tensor.ts';
import { inMessages, WireArguments, type Input } from './values/value.ts';

/** Modules by name, in one that is gone through when a program is compiled. */
export interface ModuleContainer {
  readonly container: 'ModuleList' | 'ModuleDict' | 'Sequential';
  readonly modules: readonly (readonly [name: string, module: Submodule])[];
}

/** What can stand below a module. */
export type Submodule = ScriptModule | ModuleContainer;

/** Modules in a list (torch.nn.ModuleList): `for layer in self.layers`, `self.layers[0]`. */
export function moduleList(modules: readonly Submodule[]): ModuleContainer {
  return { container: 'ModuleList', modules: numbered(modules) };
}

/** Modules by name (torch.nn.ModuleDict): `for name, block in self.blocks.items()`, `self.blocks['first']`. */
export function moduleDict(modules: Readonly<Record<string, Submodule>>): ModuleContainer {
  return { container: 'ModuleDict', modules: Object.entries(modules) };
}

/** Modules that are called one after the other (torch.nn.Sequential). */
export function sequential(modules: readonly Submodule[]): ModuleContainer {
  return { container: 'Sequential', modules: numbered(modules) };
}

function numbered(modules: readonly Submodule[]): ModuleContainer['modules'] {
  return modules.map((module, index) => [String(index), module] as const);
}

export interface ParameterOptions {
  /** Whether it is to be trained, which a file says of it; true by default. */
  readonly requiresGrad?: boolean;
}

export interface DefineOptions {
  /** How messages call the source. */
  readonly filename?: string;
  /** Names that the source may use besides its own, with what they mean. */
  readonly globals?: Globals;
}

/** What {@link DefineOptions} can be. */
export const DEFINE_RULES = { filename: 'string', globals: 'object' } as const satisfies OptionRules;

/**
 * A module that is put together here (torch.jit.ScriptModule): what it has is registered, then its methods are compiled from source,
 * which finds all that as attributes of `self`. It is called, printed and saved as a loaded one.
 *
 * Everything is done in the order of the calls. What fails, rejects and changes nothing; errors are PyTorch's.
 */
export class AuthoredModule extends ScriptModule {
  /** Gives it a parameter (register_parameter). Its elements are copied. */
  async registerParameter(name: string, value: Tensor, options: ParameterOptions = {}): Promise<this> {
    checkOptions('registerParameter', options, { requiresGrad: 'boolean' });
    const { requiresGrad = true } = options;
    return this.#register(name, (values) => ({ kind: 'parameter', value: values.tensor(value), requiresGrad }));
  }

  /** Gives it a buffer (register_buffer): a tensor that is no parameter. */
  registerBuffer(name: string, value: Tensor): Promise<this> {
    return this.#register(name, (values) => ({ kind: 'buffer', value: values.tensor(value) }));
  }

  /** Gives it an attribute of a type in TorchScript's spelling, `Dict[str, int]` (register_attribute). Methods may change it. */
  registerAttribute(name: string, type: string, value: Input): Promise<this> {
    return this.#register(name, (values) => ({ kind: 'attribute', type, value: values.value(value) }));
  }

  /**
   * Gives it a constant (`__constants__`, `Final`): a number, text, boolean, or list or tuple of such. Without a type a number is a float
   * and a bigint an int.
   */
  registerConstant(name: string, value: Input, type?: string): Promise<this> {
    return this.#register(name, (values) => ({ kind: 'constant', type: type ?? null, value: values.value(value) }));
  }

  /**
   * Gives it a module (register_module), that may be registered in others too: they share it. It lives as long as the program it came
   * from does.
   */
  registerModule(name: string, module: Submodule): Promise<this> {
    const { used } = this[loadedFile];
    return this.#register(name, () => ({ kind: 'module', module: moduleToWire(module, used) }));
  }

  /** Compiles methods from source (ScriptModule.define). They see each other and those that were defined before. */
  async define(source: string, options: DefineOptions = {}): Promise<this> {
    await defineIn(this[openFile](), source, options);
    return withMethods(this);
  }

  async #register(name: string, describe: (values: WireArguments) => Registration): Promise<this> {
    const file = this[openFile]();
    const request = { type: 'register', model: file.id, name, registration: describe(new WireArguments()) } as const;
    file.summary = (await file.placement.client.request('loaded', request)).summary;
    return withMethods(this);
  }
}

/** @param used gets the programs that the modules came from */
function moduleToWire(module: Submodule, used: LoadedFile[]): WireModule {
  if (module instanceof ScriptModule) {
    const { model, path } = module[inMessages];
    used.push(module[loadedFile]);
    return { kind: 'module', model, path };
  }
  if (typeof module !== 'object' || module === null || !('container' in module)) {
    throw new CressetError(
      'ARGUMENT',
      'a module is one that was loaded or made here, or moduleList, moduleDict or sequential of such',
    );
  }
  return {
    kind: module.container,
    modules: module.modules.map(([name, each]) => [name, moduleToWire(each, used)] as const),
  };
}

/** Compiles source into a program, with the names that it is given. */
export async function defineIn(file: LoadedFile, source: string, options: DefineOptions): Promise<void> {
  checkOptions('define', options, DEFINE_RULES);
  const { filename = null, globals } = options;
  const given = globals ? await (await import('./globals.ts')).wireGlobals(globals, file) : [];
  const request = { type: 'define', model: file.id, source, filename, globals: given } as const;
  file.summary = (await file.placement.client.request('loaded', request)).summary;
}
