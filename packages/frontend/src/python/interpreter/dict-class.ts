import { Dict } from '@cresset/tensor';
import type { PythonValue } from '../python-value.ts';
import { deleteItem, dictOf } from './containers.ts';
import { NativeFunction, type Keywords, type PythonClass, type PythonObject } from './entities.ts';
import type { Interpreter } from './interpreter.ts';

/** What objects hold whose classes derive from `dict`. */
const contents = new WeakMap<PythonObject, Dict>();

function dictWithin(self: PythonValue | undefined): Dict {
  if (self instanceof Dict) return self;
  const object = self as PythonObject;
  let dict = contents.get(object);
  if (dict === undefined) contents.set(object, (dict = dictOf([])));
  return dict;
}

/** The methods of dicts, for classes that derive from theirs. */
export function addDictMembers(python: Interpreter, { members }: PythonClass): void {
  const add = (
    name: string,
    call: (dict: Dict, args: readonly PythonValue[], kwargs: Keywords) => PythonValue,
  ): unknown =>
    members.set(name, new NativeFunction(name, ([self, ...args], kwargs) => call(dictWithin(self), args, kwargs)));
  for (const name of 'keys values items get pop setdefault update clear __contains__ __iter__ __len__'.split(' ')) {
    add(name, (dict, args, kwargs) => python.call(python.getAttribute(dict, name), args, kwargs));
  }
  add('__init__', (dict, [given], kwargs) => {
    for (const from of [given === undefined ? dictOf([]) : python.mapping(given), dictOf(kwargs)]) {
      for (const [key, value] of from.entries) dict.entries.set(key, value);
    }
    return null;
  });
  add('__getitem__', (dict, [key]) => python.getItem(dict, key!));
  add('__setitem__', (dict, [key, value]) => {
    python.setItem(dict, key!, value!);
    return null;
  });
  add('__delitem__', (dict, [key]) => {
    deleteItem(dict, key!);
    return null;
  });
  add('__repr__', (dict) => python.repr(dict));
}
