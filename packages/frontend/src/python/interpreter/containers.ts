import { AnyType } from '@cresset/ir';
import { Dict, List, Tuple, type DictKey, type IValue } from '@cresset/tensor';
import { isEqual, lookUp, PythonError } from '../python-arithmetic.ts';
import { pythonRepr, type PythonValue } from '../python-value.ts';

/** Python's containers, which hold whatever it has, in the classes of the runtime's. */

export function listOf(items: Iterable<PythonValue>): List {
  return new List(AnyType.get(), [...items] as IValue[]);
}

export function tupleOf(items: Iterable<PythonValue>): Tuple {
  return new Tuple([...items] as IValue[]);
}

export function dictOf(entries: Iterable<readonly [PythonValue, PythonValue]>): Dict {
  const dict = new Dict(AnyType.get(), AnyType.get());
  for (const [key, value] of entries) setItem(dict, key, value);
  return dict;
}

/** The items of a list or tuple. */
export function itemsIn(sequence: List | Tuple): readonly PythonValue[] {
  return sequence.items;
}

export function entriesOf(dict: Dict): readonly (readonly [PythonValue, PythonValue])[] {
  return [...dict.entries];
}

export function getItem(dict: Dict, key: PythonValue): PythonValue | undefined {
  return lookUp(dict, key);
}

/** Throws a PythonError for a key that can change. */
export function setItem(dict: Dict, key: PythonValue, value: PythonValue): void {
  if (key instanceof List || key instanceof Dict) {
    throw new PythonError(`unhashable type: '${key instanceof List ? 'list' : 'dict'}'`);
  }
  dict.entries.set(storedKey(dict, key), value as IValue);
}

/** Removes an entry and gives its value; throws a PythonError where there is none. */
export function deleteItem(dict: Dict, key: PythonValue): PythonValue {
  const value = getItem(dict, key);
  if (value === undefined) throw new PythonError(pythonRepr(key), 'KeyError', [key]);
  dict.entries.delete(storedKey(dict, key));
  return value;
}

function storedKey(dict: Dict, key: PythonValue): DictKey {
  if (dict.entries.has(key as DictKey)) return key as DictKey;
  for (const known of dict.entries.keys()) if (isEqual(known, key)) return known;
  return key as DictKey;
}
