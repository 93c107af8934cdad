import { Tensor, type Dict } from '@cresset/tensor';
import { PythonError } from '../python-arithmetic.ts';
import { pythonTypeName, type PythonValue } from '../python-value.ts';
import { dictOf, setItem } from './containers.ts';
import { PythonSet, type PythonObject } from './entities.ts';
import type { Interpreter } from './interpreter.ts';

/** What a module keeps by name, and hooks by number. */
const DICTS = [
  '_parameters',
  '_buffers',
  '_modules',
  '_forward_hooks',
  '_forward_pre_hooks',
  '_backward_hooks',
  '_state_dict_hooks',
  '_state_dict_pre_hooks',
  '_load_state_dict_pre_hooks',
  '_load_state_dict_post_hooks',
];

/** Tensors that are parameters of modules, as `nn.Parameter` made them. */
const parameters = new WeakSet<Tensor>();

/** Makes a parameter of a tensor: another of the same elements. */
export function makeParameter(data: Tensor, requiresGrad: boolean): Tensor {
  const { sizes, strides, storageOffset } = data;
  const parameter = data.asStrided(sizes, strides, storageOffset);
  parameter.requiresGrad = requiresGrad;
  parameters.add(parameter);
  return parameter;
}

export function isParameter(value: PythonValue | undefined): value is Tensor {
  return value instanceof Tensor && parameters.has(value);
}

/** Tensors of layers that do not know their sizes yet (PyTorch: UninitializedParameter, UninitializedBuffer). */
const uninitialized = new WeakSet<Tensor>();

/** Makes one such of a tensor without elements. @param requiresGrad of a parameter; undefined for a buffer */
export function makeUninitialized(data: Tensor, requiresGrad?: boolean): Tensor {
  const made = requiresGrad === undefined ? data : makeParameter(data, requiresGrad);
  uninitialized.add(made);
  return made;
}

export function isUninitialized(value: PythonValue): value is Tensor {
  return value instanceof Tensor && uninitialized.has(value);
}

/** Gives it elements. */
export function materialize(tensor: Tensor, data: Tensor): void {
  setData(tensor, data);
  uninitialized.delete(tensor);
}

/** Makes a tensor another one, for all who hold it. */
export function setData(tensor: Tensor, { storage, dtype, sizes, strides, storageOffset }: Tensor): void {
  Object.assign(tensor, { storage, dtype, sizes, strides, storageOffset });
}

/** Tensors that become buffers of the modules which they are given to (PyTorch: Buffer), with whether a state dict has them. */
const buffers = new WeakMap<Tensor, boolean>();

export function makeBuffer(data: Tensor, persistent: boolean): Tensor {
  const { sizes, strides, storageOffset } = data;
  const buffer = data.asStrided(sizes, strides, storageOffset);
  buffers.set(buffer, persistent);
  return buffer;
}

/** What a module has under `_parameters`, `_buffers` or `_modules`. */
export function registered(module: PythonObject, kind: '_parameters' | '_buffers' | '_modules'): Dict {
  return module.attributes.get(kind) as Dict;
}

/** `Module.__init__` */
export function initializeModule(module: PythonObject): void {
  module.attributes.set('training', true);
  module.attributes.set('_non_persistent_buffers_set', new PythonSet([]));
  for (const kind of DICTS) module.attributes.set(kind, dictOf([]));
}

/** What every module has for itself: none of it is an attribute of the program. */
export const MODULE_INTERNALS: ReadonlySet<string> = new Set(['training', '_non_persistent_buffers_set', ...DICTS]);

/** PyTorch: Module.__setattr__. */
export function setModuleAttribute(python: Interpreter, module: PythonObject, name: string, value: PythonValue): void {
  if (!module.attributes.has('_parameters')) {
    if (isParameter(value)) throw tooEarly('parameters');
    if (python.isModule(value)) throw tooEarly('module');
    module.attributes.set(name, value);
    return;
  }
  const [ownParameters, ownBuffers, ownModules] = [
    registered(module, '_parameters'),
    registered(module, '_buffers'),
    registered(module, '_modules'),
  ];
  const forget = (...dicts: readonly Dict[]): void => {
    module.attributes.delete(name);
    for (const dict of dicts) dict.entries.delete(name);
  };
  if (isParameter(value)) {
    forget(ownBuffers, ownModules);
    setItem(ownParameters, name, value);
  } else if (ownParameters.entries.has(name)) {
    if (value !== null) throw cannotAssign(value, `parameter '${name}'`, 'torch.nn.Parameter');
    setItem(ownParameters, name, null);
  } else if (python.isModule(value)) {
    forget(ownBuffers, ownParameters);
    setItem(ownModules, name, value);
  } else if (ownModules.entries.has(name)) {
    if (value !== null) throw cannotAssign(value, `child module '${name}'`, 'torch.nn.Module');
    setItem(ownModules, name, null);
  } else if (value instanceof Tensor && buffers.has(value)) {
    forget();
    setItem(ownBuffers, name, value);
    if (!buffers.get(value)) (module.attributes.get('_non_persistent_buffers_set') as PythonSet).items.push(name);
  } else if (ownBuffers.entries.has(name)) {
    if (value !== null && !(value instanceof Tensor)) {
      throw cannotAssign(value, `buffer '${name}'`, 'torch.Tensor');
    }
    setItem(ownBuffers, name, value);
  } else {
    module.attributes.set(name, value);
  }
}

function tooEarly(what: string): PythonError {
  return new PythonError(`cannot assign ${what} before Module.__init__() call`, 'AttributeError');
}

function cannotAssign(value: PythonValue, what: string, expected: string): PythonError {
  const type = value instanceof Tensor ? 'torch.FloatTensor' : pythonTypeName(value);
  return new PythonError(`cannot assign '${type}' as ${what} (${expected} or None expected)`);
}
