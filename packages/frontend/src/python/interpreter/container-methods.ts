import { Dict, List, Tuple } from '@cresset/tensor';
import { isEqual, PythonError } from '../python-arithmetic.ts';
import { pythonRepr, type PythonValue } from '../python-value.ts';
import { deleteItem, dictOf, entriesOf, getItem, itemsIn, listOf, setItem, tupleOf } from './containers.ts';
import { NativeFunction, PythonIterator, PythonSet, type Keywords } from './entities.ts';
import type { Interpreter } from './interpreter.ts';
import { addToSet, itemOf, lengthOf, setItemOf } from './operations.ts';

type Method<Self> = (self: Self, args: readonly PythonValue[], python: Interpreter, kwargs: Keywords) => PythonValue;

/** What every container has. */
const ALL: Readonly<Record<string, Method<PythonValue>>> = {
  __len__: (self, _args, python) => lengthOf(python, self),
  __getitem__: (self, [key], python) => itemOf(python, self, key!),
  __contains__: (self, [item], python) => python.binary('in', item!, self),
  __iter__: (self, _args, python) => new PythonIterator(python.iterate(self)[Symbol.iterator]()),
};

const LIST: Readonly<Record<string, Method<List>>> = {
  append: (self, [item]) => changed(() => values(self).push(item!)),
  extend: (self, [more], python) => changed(() => values(self).push(...python.iterate(more!))),
  insert: (self, [at, item]) => changed(() => values(self).splice(Number(at), 0, item!)),
  pop: (self, [at = -1n]) => {
    const place = Number(at) < 0 ? Number(at) + self.items.length : Number(at);
    if (self.items.length === 0) throw new PythonError('pop from empty list', 'IndexError');
    if (place < 0 || place >= self.items.length) throw new PythonError('pop index out of range', 'IndexError');
    return values(self).splice(place, 1)[0]!;
  },
  remove: (self, [item]) => changed(() => values(self).splice(placeOf(self, item!), 1)),
  clear: (self) => changed(() => values(self).splice(0)),
  reverse: (self) => changed(() => values(self).reverse()),
  copy: (self) => listOf(itemsIn(self)),
  sort: (self, _args, python, kwargs) =>
    changed(() => values(self).splice(0, self.items.length, ...python.sorted(itemsIn(self), kwargs))),
  __setitem__: (self, [key, item], python) => changed(() => setItemOf(python, self, key!, item!)),
  __delitem__: (self, [key], python) =>
    changed(() => values(self).splice(placeOf(self, itemOf(python, self, key!)), 1)),
};

const SEQUENCE: Readonly<Record<string, Method<List | Tuple>>> = {
  index: (self, [item]) => BigInt(placeOf(self, item!)),
  count: (self, [item]) => BigInt(itemsIn(self).filter((each) => isEqual(each, item!)).length),
  numel: (self) => itemsIn(self).reduce<bigint>((product, size) => product * (size as bigint), 1n),
  _asdict: (self) => dictOf(fieldsOf(self).map((name, at) => [name, itemsIn(self)[at]!] as const)),
  _replace: (self, _args, _python, kwargs) => {
    const items = fieldsOf(self).map((name, at) => kwargs.get(name) ?? itemsIn(self)[at]!);
    return new Tuple(items as Tuple['items'], (self as Tuple).type);
  },
};

function fieldsOf(tuple: List | Tuple): readonly string[] {
  return (tuple instanceof Tuple ? tuple.type?.fieldNames : undefined) ?? [];
}

const DICT: Readonly<Record<string, Method<Dict>>> = {
  keys: (self) => listOf(self.entries.keys()),
  values: (self) => listOf(self.entries.values()),
  items: (self) => listOf(entriesOf(self).map(tupleOf)),
  get: (self, [key, otherwise = null]) => {
    const known = getItem(self, key!);
    return known === undefined ? otherwise : known;
  },
  pop: (self, [key, otherwise]) =>
    otherwise !== undefined && getItem(self, key!) === undefined ? otherwise : deleteItem(self, key!),
  popitem: (self) => {
    const last = entriesOf(self).at(-1);
    if (last === undefined) throw new PythonError('popitem(): dictionary is empty', 'KeyError');
    deleteItem(self, last[0]);
    return tupleOf(last);
  },
  setdefault: (self, [key, otherwise = null]) => {
    const known = getItem(self, key!);
    if (known === undefined) setItem(self, key!, otherwise);
    return known === undefined ? otherwise : known;
  },
  update: (self, [other], python, kwargs) =>
    changed(() => {
      if (other !== undefined) for (const [key, value] of entriesOf(python.mapping(other))) setItem(self, key, value);
      for (const [key, value] of kwargs) setItem(self, key, value);
    }),
  clear: (self) => changed(() => self.entries.clear()),
  copy: (self) => dictOf(entriesOf(self)),
  move_to_end: (self, [key]) => changed(() => setItem(self, key!, deleteItem(self, key!))),
  __setitem__: (self, [key, value]) => changed(() => setItem(self, key!, value!)),
  __delitem__: (self, [key]) => changed(() => deleteItem(self, key!)),
};

const SET: Readonly<Record<string, Method<PythonSet>>> = {
  add: (self, [item]) => changed(() => addToSet(self.items, item!)),
  discard: (self, [item]) => changed(() => removeFrom(self, item!)),
  remove: (self, [item]) => {
    if (!removeFrom(self, item!)) throw new PythonError(pythonRepr(item!), 'KeyError', [item!]);
    return null;
  },
  update: (self, [more], python) =>
    changed(() => [...python.iterate(more!)].reduce<PythonValue[]>(addToSet, self.items)),
  union: (self, [other], python) => new PythonSet([...python.iterate(other!)].reduce(addToSet, [...self.items])),
  intersection: (self, [other], python) => python.binary('&', self, new PythonSet([...python.iterate(other!)])),
  difference: (self, [other], python) => python.binary('-', self, new PythonSet([...python.iterate(other!)])),
  issubset: (self, [other], python) => python.binary('<=', self, new PythonSet([...python.iterate(other!)])),
  copy: (self) => new PythonSet([...self.items]),
};

const ITERATOR: Readonly<Record<string, Method<PythonIterator>>> = {
  __iter__: (self) => self,
  __next__: (self) => {
    const { done, value } = self.iterator.next();
    if (done) throw new PythonError('', 'StopIteration');
    return value;
  },
};

/** A method of a container; undefined where it has none of that name. */
export function containerMethod(python: Interpreter, self: PythonValue, name: string): PythonValue | undefined {
  const methods = methodsOf(self);
  const method = methods?.find((each) => Object.hasOwn(each, name))?.[name];
  return method && new NativeFunction(name, (args, kwargs) => method(self, args, python, kwargs));
}

function methodsOf(self: PythonValue): readonly Readonly<Record<string, Method<PythonValue>>>[] | undefined {
  type Methods = Readonly<Record<string, Method<PythonValue>>>;
  if (self instanceof List) return [LIST as Methods, SEQUENCE as Methods, ALL];
  if (self instanceof Tuple) return [SEQUENCE as Methods, ALL];
  if (self instanceof Dict) return [DICT as Methods, ALL];
  if (self instanceof PythonSet) return [SET as Methods, ALL];
  return self instanceof PythonIterator ? [ITERATOR as Methods] : undefined;
}

function values(list: List): PythonValue[] {
  return list.items as PythonValue[];
}

/** Such methods give None. */
function changed(change: () => unknown): null {
  change();
  return null;
}

function placeOf(sequence: List | Tuple, item: PythonValue): number {
  const at = itemsIn(sequence).findIndex((each) => each === item || isEqual(each, item));
  if (at === -1) throw new PythonError(`${pythonRepr(item)} is not in list`, 'ValueError');
  return at;
}

function removeFrom(set: PythonSet, item: PythonValue): boolean {
  const at = set.items.findIndex((each) => each === item || isEqual(each, item));
  if (at !== -1) set.items.splice(at, 1);
  return at !== -1;
}
