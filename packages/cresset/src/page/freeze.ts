import { checkOptions, CressetError } from '@cresset/ir';
import type { Library } from './library.ts';
import { LoadedFile } from './loaded-file.ts';
import { openFile, ScriptModule, withMethods } from './script-module.ts';
import { inMessages } from './values/value.ts';

export interface FreezeOptions {
  /** Attributes and methods to be kept beside `forward` and what it writes to, those of modules below with dots (`preserved_attrs`). */
  readonly preserve?: readonly string[];
  /** `false` leaves out what rounds otherwise: batch norm and arithmetic in the weights of the layer before (`optimize_numerics`). */
  readonly optimizeNumerics?: boolean;
}

/** Asks for a frozen copy of a module, where the module is. */
export async function freezeModule(
  library: Library,
  model: ScriptModule,
  options: FreezeOptions,
): Promise<ScriptModule> {
  if (!(model instanceof ScriptModule))
    throw new CressetError('ARGUMENT', 'freeze takes a module that was loaded or made here');
  checkOptions('freeze', options, { preserve: 'array', optimizeNumerics: 'boolean' });
  const { preserve = [], optimizeNumerics = true } = options;
  const { placement } = model[openFile]();
  const { model: id, path } = model[inMessages];
  const frozen = library.nextModel();
  const request = { type: 'freeze', model: id, module: path, frozen, preserved: preserve, optimizeNumerics } as const;
  const { summary } = await placement.client.request('loaded', request);
  return withMethods(new ScriptModule(new LoadedFile(placement, frozen, summary)));
}
