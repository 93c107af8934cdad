import { checkOptions, CressetError } from '@cresset/ir';
import type { StateDictReport, WireTensor } from '@cresset/runtime';
import type { LoadedFile } from './loaded-file.ts';
import { Tensor } from './values/tensor.ts';
import { fromWire, WireArguments, type Input, type Output } from './values/value.ts';

export interface StateDictOptions {
  /** `false` leaves out what does not fit by name, and the report says what that was. Sizes have to fit in any case. */
  readonly strict?: boolean;
  /** Takes only names that begin so, without it: `'model.'` for a checkpoint that holds more than the model. */
  readonly prefix?: string;
}

export interface SaveOptions {
  /** Files to be saved with the model (`_extra_files` of torch.jit.save), by name. */
  readonly extraFiles?: Readonly<Record<string, string | Uint8Array>>;
}

/** Sends tensors to be copied into the parameters and buffers of a module. */
export async function loadStateDict(
  file: LoadedFile,
  module: string,
  stateDict: ReadonlyMap<string, Tensor> | Readonly<Record<string, Tensor>>,
  options: StateDictOptions,
): Promise<StateDictReport> {
  checkOptions('loadStateDict', options, { strict: 'boolean', prefix: 'string' });
  const { strict = true, prefix = '' } = options;
  const { id, placement } = file;
  if (typeof stateDict !== 'object' || stateDict === null) {
    throw new CressetError('ARGUMENT', 'loadStateDict takes tensors by name, in a Map or an object');
  }
  const named = stateDict instanceof Map ? [...stateDict] : Object.entries(stateDict);
  const tensors = (named as [string, Tensor][])
    .filter(([name]) => name.startsWith(prefix))
    .map(([name, tensor]): readonly [string, WireTensor] => {
      if (!(tensor instanceof Tensor))
        throw new CressetError('ARGUMENT', `what loadStateDict is given as '${name}' is no tensor`);
      const { data, dtype, shape, quantizer } = tensor;
      const copy = data.slice().buffer as ArrayBuffer;
      return [name.slice(prefix.length), { kind: 'tensor', dtype, shape, data: copy, ...(quantizer && { quantizer }) }];
    });
  const request = { type: 'load-state-dict', model: id, module, tensors, strict } as const;
  return (await placement.client.request('state-dict-loaded', request)).report;
}

/**
 * See `ScriptModule.save`.
 *
 * @param functionName of a unit's functions, the one that is written as a module instead
 */
export async function saveModule(
  file: LoadedFile,
  module: string,
  options: SaveOptions & { readonly as?: 'blob' },
  functionName: string | null = null,
): Promise<Uint8Array<ArrayBuffer> | Blob> {
  checkOptions('save', options, { extraFiles: 'object', as: ['blob'] });
  const { extraFiles = {}, as } = options;
  const { id, placement } = file;
  const { bytes } = await placement.client.request('saved', {
    type: 'save',
    model: id,
    module,
    function: functionName,
    extraFiles: Object.entries(extraFiles),
  });
  return as === 'blob' ? new Blob([bytes], { type: 'application/octet-stream' }) : new Uint8Array(bytes);
}

/** See `ScriptModule.attribute`. */
export async function attributeOf({ id, placement }: LoadedFile, module: string, name: string): Promise<Output> {
  const request = { type: 'get-attribute', model: id, ...ownerOf(module, name) } as const;
  return fromWire((await placement.client.request('attribute', request)).value);
}

/** See `ScriptModule.setAttribute`. */
export async function setAttribute(
  { id, placement }: LoadedFile,
  module: string,
  name: string,
  value: Input,
): Promise<void> {
  const wire = new WireArguments().value(value);
  const request = { type: 'set-attribute', model: id, ...ownerOf(module, name), value: wire, isForAll: false } as const;
  await placement.client.request('done', request);
}

/** The module that has an attribute, which may stand below. */
function ownerOf(path: string, name: string): { readonly module: string; readonly name: string } {
  const at = name.lastIndexOf('.');
  const module = [path, name.slice(0, Math.max(at, 0))].filter((part) => part !== '').join('.');
  return { module, name: name.slice(at + 1) };
}
