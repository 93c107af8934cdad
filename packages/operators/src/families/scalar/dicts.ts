import { StringType, TensorType, TupleType, type Type } from '@cresset/ir';
import { Dict, List, Tuple, type DictKey, type IValue } from '@cresset/tensor';
import { OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { formatValue } from './value-format.ts';

/** Operators on dicts (register_prim_ops.cpp). Order is that of insertion. */

const entries = (value: IValue): Map<DictKey, IValue> => (value as Dict).entries;

function keyError(key: IValue): OperatorError {
  return new OperatorError(`KeyError: ${formatValue(key)}`);
}

function getOrThrow(dict: IValue, key: IValue): IValue {
  const value = entries(dict).get((dict as Dict).storedKey(key));
  if (value === undefined) throw keyError(key);
  return value;
}

function popOr(dict: IValue, key: IValue, missing: () => IValue): IValue {
  const stored = (dict as Dict).storedKey(key);
  const value = entries(dict).get(stored);
  if (value === undefined) return missing();
  entries(dict).delete(stored);
  return value;
}

const fronts = new WeakMap<object, MapIterator<[DictKey, IValue]>>();

/** Engines go through the holes that deleted entries leave: an iterator that stays in front goes through each of them once. */
function firstEntry(map: Map<DictKey, IValue>): IteratorResult<[DictKey, IValue]> {
  const first = fronts.get(map)?.next();
  if (first && !first.done) return first;
  const front = map.entries();
  fronts.set(map, front);
  return front.next();
}

function copyOf(dict: IValue): Dict {
  const { keyType, valueType } = dict as Dict;
  return new Dict(keyType, valueType, new Map(entries(dict)));
}

function pairTypes(list: List): readonly [Type, Type] {
  const [key, value] = (list.elementType as TupleType).elements;
  return [key, value];
}

/** The overloads for one key type; PyTorch names those that take a dict alone `Dict_str`. */
function rowsFor(key: string): OperatorRow[] {
  const dict = `Dict(${key}, t)`;
  return [
    { schema: `aten::len.Dict_${key}(${dict} self) -> int`, scalar: (self) => BigInt(entries(self).size) },
    {
      schema: `aten::keys.${key}(${dict} self) -> ${key}[](*)`,
      scalar: (self) => new List((self as Dict).keyType, [...entries(self).keys()]),
    },
    {
      schema: `aten::values.${key}(${dict} self) -> t[](*)`,
      scalar: (self) => new List((self as Dict).valueType, [...entries(self).values()]),
    },
    {
      schema: `aten::__getitem__.Dict_${key}(${dict} self, ${key} key) -> t(*)`,
      scalar: getOrThrow,
    },
    {
      schema: `aten::get.${key}(${dict} self, ${key} key) -> t(*)?`,
      scalar: (self, wanted) => entries(self).get((self as Dict).storedKey(wanted)) ?? null,
    },
    {
      schema: `aten::get.default_${key}(${dict} self, ${key} key, t default_value) -> t(*)`,
      scalar: (self, wanted, otherwise) => entries(self).get((self as Dict).storedKey(wanted)) ?? otherwise,
    },
    {
      schema: `aten::setdefault.${key}(${dict}(a!) self, ${key}(b -> *) key, t(c -> *) default_value) -> t(*)`,
      scalar: (self, wanted, otherwise) => {
        const stored = (self as Dict).storedKey(wanted);
        const known = entries(self).get(stored);
        if (known !== undefined) return known;
        entries(self).set(stored, otherwise);
        return otherwise;
      },
    },
    {
      schema: `aten::Delete.Dict_${key}(${dict}(a!) self, ${key} key) -> ()`,
      scalar: (self, wanted) => {
        if (!entries(self).delete((self as Dict).storedKey(wanted))) throw keyError(wanted);
        return null;
      },
    },
    {
      schema: `aten::pop.Dict_${key}(${dict}(a!) self, ${key} key) -> t(*)`,
      scalar: (self, wanted) =>
        popOr(self, wanted, () => {
          throw keyError(wanted);
        }),
    },
    {
      schema: `aten::pop.Dict_default_${key}(${dict}(a!) self, ${key} key, t default_value) -> t(*)`,
      scalar: (self, wanted, otherwise) => popOr(self, wanted, () => otherwise),
    },
    {
      schema: `aten::popitem.${key}(${dict}(a!) self) -> ((${key}, t))`,
      scalar: (self) => {
        const first = firstEntry(entries(self));
        if (first.done) throw new OperatorError('popitem(): dictionary is empty');
        entries(self).delete(first.value[0]);
        return new Tuple(first.value);
      },
    },
    {
      schema: `aten::clear.${key}(${dict}(a!) self) -> ()`,
      scalar: (self) => {
        entries(self).clear();
        return null;
      },
    },
    {
      schema: `aten::update.${key}(${dict}(a!) self, ${dict}(a!) to_add) -> ()`,
      scalar: (self, added) => {
        for (const [name, value] of entries(added)) entries(self).set((self as Dict).storedKey(name), value);
        return null;
      },
    },
    {
      schema: `aten::items.${key}(${dict} self) -> ((${key}, t)[])`,
      scalar: (self) => {
        const { keyType, valueType } = self as Dict;
        return new List(
          new TupleType([keyType, valueType]),
          [...entries(self)].map((pair) => new Tuple(pair)),
        );
      },
    },
    { schema: `aten::copy.Dict_${key}(${dict}(a) self) -> ${dict}`, scalar: copyOf },
    {
      schema: `aten::__contains__.${key}(${dict} dict, ${key} key) -> bool`,
      scalar: (dict_, wanted) => entries(dict_).has((dict_ as Dict).storedKey(wanted)),
    },
    {
      schema: `aten::_set_item.${key}(${dict}(a!) l, ${key}(b -> *) idx, t(c -> *) v) -> ()`,
      scalar: (self, wanted, value) => {
        entries(self).set((self as Dict).storedKey(wanted), value);
        return null;
      },
    },
    {
      schema: `aten::dict.${key}((${key}, tVal)[] inputs) -> Dict(${key}, tVal)`,
      scalar: (inputs) => {
        const made = new Dict(...pairTypes(inputs as List));
        for (const pair of (inputs as List).items) {
          const [name, value] = (pair as Tuple).items;
          made.entries.set(made.storedKey(name), value);
        }
        return made;
      },
    },
    { schema: `aten::dict.Dict_${key}(${dict}(a) self) -> ${dict}`, scalar: copyOf },
  ];
}

export const dictRows: readonly OperatorRow[] = [
  ...['str', 'int', 'bool', 'float', 'complex', 'Tensor'].flatMap(rowsFor),
  {
    schema: 'aten::dict() -> Dict(str, Tensor)',
    scalar: () => new Dict(StringType.get(), TensorType.get()),
  },
];
