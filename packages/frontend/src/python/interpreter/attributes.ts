import { Complex } from '@cresset/ir';
import { DeviceValue, Dict, EnumValue, Tensor, Tuple } from '@cresset/tensor';
import { PythonError } from '../python-arithmetic.ts';
import { pythonTypeName, TorchCode, type PythonValue } from '../python-value.ts';
import { dictOf, getItem, listOf, tupleOf } from './containers.ts';
import { containerMethod } from './container-methods.ts';
import {
  BoundMethod,
  MethodWrapper,
  NativeFunction,
  PythonClass,
  PythonFunction,
  PythonObject,
  PythonSlice,
  QualifiedName,
  SuperProxy,
} from './entities.ts';
import type { Interpreter } from './interpreter.ts';
import { setModuleAttribute } from './module-objects.ts';
import { textMethod } from './text-methods.ts';

/** What a value has under a name; undefined where it has none. */
export function findAttribute(python: Interpreter, value: PythonValue, name: string): PythonValue | undefined {
  if (value instanceof PythonObject) return attributeOfObject(python, value, name);
  if (value instanceof PythonClass) return attributeOfClass(python, value, name);
  if (value instanceof SuperProxy) return attributeOfSuper(python, value, name);
  if (value instanceof QualifiedName) return python.torch.attribute(value.path, name);
  if (value instanceof PythonFunction) return attributeOfFunction(value, name);
  if (value instanceof BoundMethod) {
    if (name === '__self__') return value.self;
    return name === '__func__' ? value.fn : findAttribute(python, value.fn, name);
  }
  if (value instanceof MethodWrapper) return attributeOfWrapper(value, name);
  if (value instanceof NativeFunction) return value.name === name ? undefined : nameOf(value.name, name);
  if (value instanceof Tensor) return python.tensors.attribute(value, name);
  if (name === '__class__') return python.typeOf(value);
  if (typeof value === 'string') return textMethod(python, value, name);
  const plain = attributeOfPlain(value, name);
  return plain === undefined ? containerMethod(python, value, name) : plain;
}

function attributeOfPlain(value: PythonValue, name: string): PythonValue | undefined {
  if (value instanceof EnumValue) return name === 'name' ? value.name : name === 'value' ? value.value : undefined;
  if (value instanceof Complex) return name === 'real' ? value.re : name === 'imag' ? value.im : undefined;
  if (value instanceof DeviceValue) {
    if (name === 'type') return value.type;
    return name === 'index' ? (value.index === null ? null : BigInt(value.index)) : undefined;
  }
  if (value instanceof Tuple) {
    const fields = value.type?.fieldNames;
    if (name === '_fields' && fields) return tupleOf(fields);
    return value.items[fields?.indexOf(name) ?? -1];
  }
  if (value instanceof PythonSlice) {
    return name === 'start' ? value.start : name === 'stop' ? value.stop : name === 'step' ? value.step : undefined;
  }
  if (value instanceof TorchCode && name === 'is_floating_point') {
    // Element types 5 to 7 and from 15 on are floats of some width.
    return new NativeFunction(name, () => (value.code >= 5n && value.code <= 7n) || value.code >= 15n);
  }
  return undefined;
}

function attributeOfObject(python: Interpreter, object: PythonObject, name: string): PythonValue | undefined {
  const member = object.type.find(name);
  if (member instanceof MethodWrapper && member.kind === 'property') return python.call(member.fn, [object]);
  const own = object.attributes.get(name);
  if (own !== undefined) return own;
  if (name === '__dict__') return dictOf(object.attributes);
  if (name === '__class__') return object.type;
  if (member instanceof MethodWrapper && member.kind === 'cached_property') {
    const value = python.call(member.fn, [object]);
    object.attributes.set(name, value);
    return value;
  }
  if (member !== undefined) return bound(member, object, object.type);
  for (const kind of ['_parameters', '_buffers', '_modules']) {
    const registered = object.attributes.get(kind);
    const value = registered instanceof Dict ? getItem(registered, name) : undefined;
    if (value !== undefined) return value;
  }
  const fallback = object.type.find('__getattr__');
  return fallback === undefined ? undefined : python.call(fallback, [object, name]);
}

/** A function as an attribute of an object or class. */
function bound(member: PythonValue, self: PythonValue, type: PythonClass): PythonValue {
  if (member instanceof MethodWrapper) {
    if (member.kind === 'staticmethod') return member.fn;
    return member.kind === 'classmethod' ? new BoundMethod(type, member.fn) : member;
  }
  return member instanceof PythonFunction || member instanceof NativeFunction ? new BoundMethod(self, member) : member;
}

function attributeOfClass(python: Interpreter, type: PythonClass, name: string): PythonValue | undefined {
  switch (name) {
    case '__name__':
    case '__qualname__':
      return type.name;
    case '__mro__':
      return tupleOf(type.mro);
    case '__bases__':
      return tupleOf(type.bases);
    case '__dict__':
      return dictOf(type.members);
    case '__doc__':
      return null;
    case '__module__':
      return type.definition?.scope.module ?? 'builtins';
    case '__annotations__':
      return dictOf([...type.annotations.keys()].map((key) => [key, null] as const));
  }
  const native = type.nativePart('getAttribute')?.(name);
  if (native !== undefined) return native;
  const member = type.find(name);
  if (member instanceof MethodWrapper && (member.kind === 'staticmethod' || member.kind === 'classmethod')) {
    return bound(member, type, type);
  }
  return member === undefined ? python.object.members.get(name) : member;
}

function attributeOfSuper(python: Interpreter, { after, self }: SuperProxy, name: string): PythonValue | undefined {
  const type = self instanceof PythonClass ? self : (python.typeOf(self) as PythonClass);
  const place = type.mro.indexOf(after);
  const owner = type.mro.slice(place + 1).find((each) => each.members.has(name));
  const member = owner?.members.get(name);
  if (member === undefined) return undefined;
  if (member instanceof MethodWrapper && member.kind === 'property') return python.call(member.fn, [self]);
  // Of a class, a function is not bound; `__new__` never is.
  if (self instanceof PythonClass && !(member instanceof MethodWrapper)) return member;
  return name === '__new__' ? member : bound(member, self, type);
}

function attributeOfFunction(fn: PythonFunction, name: string): PythonValue | undefined {
  switch (name) {
    case '__module__':
      return fn.scope.module;
    case '__doc__':
      return null;
    case '__defaults__':
      return tupleOf(fn.defaults.values());
    default:
      return fn.attributes.has(name) ? fn.attributes.get(name) : nameOf(fn.name, name);
  }
}

function nameOf(text: string, name: string): PythonValue | undefined {
  return name === '__name__' || name === '__qualname__' ? text : undefined;
}

function attributeOfWrapper(wrapper: MethodWrapper, name: string): PythonValue | undefined {
  if (name === '__func__' || name === 'fget') return wrapper.fn;
  if (name !== 'setter' && name !== 'getter' && name !== 'deleter') return undefined;
  return new NativeFunction(name, ([fn]) =>
    name === 'setter' ? new MethodWrapper(wrapper.kind, wrapper.fn, fn) : wrapper,
  );
}

/** `value.name = given` */
export function setAttribute(python: Interpreter, value: PythonValue, name: string, given: PythonValue): void {
  if (value instanceof PythonObject) {
    const setter = value.type.find('__setattr__');
    const isOwn = setter instanceof NativeFunction && setter !== python.object.members.get('__setattr__');
    if (setter instanceof PythonFunction || isOwn) python.call(setter, [value, name, given]);
    else setOwnAttribute(python, value, name, given);
  } else if (value instanceof PythonClass) {
    value.members.set(name, given);
  } else if (value instanceof PythonFunction) {
    value.attributes.set(name, given);
  } else if (value instanceof BoundMethod) {
    setAttribute(python, value.fn, name, given);
  } else if (value instanceof Tensor) {
    python.tensors.setAttribute(value, name, given);
  } else {
    throw new PythonError(`'${pythonTypeName(value)}' object has no attribute '${name}'`, 'AttributeError');
  }
}

/** What `object.__setattr__` and that of modules do. */
export function setOwnAttribute(python: Interpreter, object: PythonObject, name: string, given: PythonValue): void {
  const { attributes } = object;
  const member = object.type.find(name);
  if (member instanceof MethodWrapper && member.kind === 'property') {
    if (member.setter === undefined) {
      throw new PythonError(`property '${name}' of '${object.type.name}' object has no setter`, 'AttributeError');
    }
    python.call(member.setter, [object, given]);
  } else if (name === '__class__' && given instanceof PythonClass) {
    object.type = given;
  } else if (python.isModule(object)) {
    setModuleAttribute(python, object, name, given);
  } else {
    attributes.set(name, given);
  }
}

/** `del value.name` */
export function deleteAttribute(value: PythonValue, name: string): void {
  if (value instanceof PythonObject) {
    if (value.attributes.delete(name)) return;
    for (const kind of ['_parameters', '_buffers', '_modules']) {
      const registered = value.attributes.get(kind);
      if (registered instanceof Dict && registered.entries.delete(name)) return;
    }
  }
  if (value instanceof PythonClass && value.members.delete(name)) return;
  throw new PythonError(`'${pythonTypeName(value)}' object has no attribute '${name}'`, 'AttributeError');
}

/** `dir(value)`, of objects and classes. */
export function namesIn(value: PythonValue): PythonValue {
  const names = new Set<string>();
  const type: PythonValue = value instanceof PythonObject ? value.type : value;
  for (const each of type instanceof PythonClass ? type.mro : [])
    for (const name of each.members.keys()) names.add(name);
  if (value instanceof PythonObject) {
    for (const name of value.attributes.keys()) names.add(name);
    for (const kind of ['_parameters', '_buffers', '_modules']) {
      const registered = value.attributes.get(kind);
      if (registered instanceof Dict) for (const key of registered.entries.keys()) names.add(String(key));
    }
  }
  return listOf([...names].sort());
}
