import { BoolType, Complex, FloatType, IntType, StringType, TensorType, type Type } from '@cresset/ir';
import { List, Tensor, type IValue } from '@cresset/tensor';
import { broadcastAll } from '../../kernels/broadcast.ts';
import { OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { valuesEqual } from './comparison.ts';
import { slicePositions } from './strings.ts';
import { wrap } from './int64.ts';
import { formatValue } from './value-format.ts';

/** Operators on lists (register_prim_ops.cpp, register_ops_utils.cpp). */

const asList = (value: IValue): List => value as List;
const items = (value: IValue): IValue[] => (value as List).items;

function normalizeIndex(index: bigint, length: number): number {
  const at = index < 0n ? index + BigInt(length) : index;
  if (at < 0n || at >= BigInt(length)) throw new OperatorError('list index out of range', 'IndexError');
  return Number(at);
}

function pop(list: List, index: bigint): IValue {
  if (list.items.length === 0) throw new OperatorError('pop from empty list', 'IndexError');
  return list.items.splice(normalizeIndex(index, list.items.length), 1)[0];
}

/** Where an insertion at `index` goes: past either end it goes to that end. */
function insertionPoint(index: bigint, length: number): number {
  const at = index < 0n ? index + BigInt(length) : index;
  if (at < 0n) return 0;
  return at > BigInt(length) ? length : Number(at);
}

function slice(list: List, start: IValue, end: IValue, step: bigint): List {
  const positions = slicePositions(start, end, step, list.items.length);
  return new List(
    list.elementType,
    positions.map((at) => list.items[at]),
  );
}

/** Half a gigabyte in any engine. */
const MAX_REPEATED = 1 << 26;

function repeat({ items: elements }: List, count: bigint): IValue[] {
  const length = elements.length === 0 || count <= 0n ? 0 : elements.length * Number(count);
  if (length > MAX_REPEATED) throw new OperatorError(`a list of ${length} elements is more than there is memory for`);
  if (length === 0) return [];
  // Memory is copied many times as fast as elements are appended.
  let repeated = elements.slice(0, length);
  while (repeated.length * 2 <= length) repeated = repeated.concat(repeated);
  return repeated.concat(repeated.slice(0, length - repeated.length));
}

/** An argument for each element would be more than an engine takes. */
function extend(list: IValue, added: IValue): void {
  for (const item of items(added).slice()) items(list).push(item);
}

/** The place of an equal element; tensors are equal where their comparison has one element, and that is true. */
function indexOf(list: List, element: IValue): number {
  return list.items.findIndex((item) => elementsEqual(item, element));
}

function elementsEqual(a: IValue, b: IValue): boolean {
  if (!(a instanceof Tensor && b instanceof Tensor)) return valuesEqual(a, b);
  if (broadcastAll([a.sizes, b.sizes]).some((size) => size !== 1)) throw ambiguousTruth();
  return a.contiguousArray()[0] === b.contiguousArray()[0];
}

const ambiguousTruth = (): OperatorError =>
  new OperatorError('Boolean value of Tensor with more than one value is ambiguous');

function numberOf(value: IValue): number | bigint | string {
  if (value instanceof Tensor) {
    if (value.numel !== 1) {
      throw ambiguousTruth();
    }
    return value.contiguousArray()[0];
  }
  return typeof value === 'boolean' ? Number(value) : (value as number | bigint | string);
}

const ascending = (a: IValue, b: IValue): number => {
  const [left, right] = [numberOf(a), numberOf(b)];
  return left < right ? -1 : left > right ? 1 : 0;
};

function sortInPlace(list: List, reverse: boolean): null {
  // Reversed comparison rather than a reversed result, so that equal elements keep their order.
  list.items.sort(reverse ? (a, b) => ascending(b, a) : ascending);
  return null;
}

const elementTypes: readonly (readonly [name: string, type: Type])[] = [
  ['int', IntType.get()],
  ['float', FloatType.get()],
  ['bool', BoolType.get()],
  ['str', StringType.get()],
  ['Tensor', TensorType.get()],
];

function perElement(rows: (name: string, type: Type) => OperatorRow[], only?: readonly string[]): OperatorRow[] {
  return elementTypes.filter(([name]) => !only || only.includes(name)).flatMap(([name, type]) => rows(name, type));
}

const readsTensors = (name: string): { readonly readsElements?: true } =>
  name === 'Tensor' ? { readsElements: true } : {};

function extremum(name: 'max' | 'min'): OperatorRow[] {
  const wins = (a: IValue, b: IValue): boolean => (name === 'max' ? ascending(a, b) > 0 : ascending(a, b) < 0);
  return ['int', 'float', 'bool'].flatMap((type): OperatorRow[] => [
    {
      schema: `prim::${name}.${type}_list(${type}[] l, ${type}[] r) -> ${type}[]`,
      scalar: (l, r) => {
        const at = items(l).findIndex(
          (item, position) => position >= items(r).length || ascending(item, items(r)[position]) !== 0,
        );
        // Lexicographic: the first difference decides, then the length.
        const leftFirst =
          at < 0
            ? items(l).length < items(r).length
            : at >= items(r).length
              ? false
              : ascending(items(l)[at], items(r)[at]) < 0;
        return leftFirst === (name === 'min') ? l : r;
      },
    },
    {
      schema: `prim::${name}.self_${type}(${type}[] self) -> ${type}`,
      scalar: (self) => {
        if (items(self).length === 0) throw new OperatorError(`${name}() arg is an empty sequence`, 'ValueError');
        return items(self).reduce((best, item) => (wins(item, best) ? item : best));
      },
    },
  ]);
}

function sum(values: readonly IValue[], zero: IValue): IValue {
  return values.reduce((total, value) => {
    if (typeof zero === 'bigint') return wrap((total as bigint) + BigInt(value as bigint | boolean));
    return (total as number) + (value as number);
  }, zero);
}

export const listRows: readonly OperatorRow[] = [
  { schema: 'aten::len.t(t[] a) -> int', scalar: (a) => BigInt(items(a).length) },
  { schema: 'aten::len.any(Any[] a) -> int', scalar: (a) => BigInt(items(a).length) },
  { schema: 'aten::list.t(t[] l) -> t[]', scalar: (l) => new List(asList(l).elementType, [...items(l)]) },
  {
    schema: 'aten::copy.t(t[](a) self) -> t[]',
    scalar: (self) => new List(asList(self).elementType, [...items(self)]),
  },
  {
    schema: 'aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)',
    scalar: (self, element) => {
      items(self).push(element);
      return self;
    },
  },
  {
    schema: 'aten::extend.t(t[](a!) self, t[] other) -> ()',
    scalar: (self, other) => {
      extend(self, other);
      return null;
    },
  },
  {
    schema: 'aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()',
    scalar: (self, index, element) => {
      items(self).splice(insertionPoint(index as bigint, items(self).length), 0, element);
      return null;
    },
  },
  {
    schema: 'aten::pop.t(t[](a!) self, int idx=-1) -> t(*)',
    scalar: (self, index) => pop(asList(self), index as bigint),
  },
  {
    schema: 'aten::clear.t(t[](a!) self) -> ()',
    scalar: (self) => {
      items(self).length = 0;
      return null;
    },
  },
  {
    schema: 'aten::reverse.t(t[](a!) self) -> ()',
    scalar: (self) => {
      items(self).reverse();
      return null;
    },
  },
  {
    schema: 'aten::Delete.t(t[](a!) self, int idx) -> ()',
    scalar: (self, index) => {
      if (items(self).length === 0) throw new OperatorError('pop index out of range', 'IndexError');
      items(self).splice(normalizeIndex(index as bigint, items(self).length), 1);
      return null;
    },
  },
  {
    schema: 'aten::__getitem__.t(t[](a) list, int idx) -> t(*)',
    scalar: (list, index) => items(list)[normalizeIndex(index as bigint, items(list).length)],
  },
  {
    schema: 'aten::select.t(t[](a) list, int idx) -> t(*)',
    scalar: (list, index) => items(list)[normalizeIndex(index as bigint, items(list).length)],
  },
  {
    schema: 'aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)',
    scalar: (list, index, element) => {
      items(list)[normalizeIndex(index as bigint, items(list).length)] = element;
      return list;
    },
  },
  {
    schema: 'aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]',
    scalar: (list, start, end, step) => slice(asList(list), start, end, step as bigint),
  },
  {
    schema: 'aten::add.t(t[] a, t[] b) -> t[]',
    scalar: (a, b) => new List(asList(a).elementType, [...items(a), ...items(b)]),
  },
  {
    schema: 'aten::add_.t(t[](a!) self, t[] b) -> t[]',
    scalar: (self, b) => {
      extend(self, b);
      return self;
    },
  },
  {
    schema: 'aten::mul.left_t(t[] l, int n) -> t[]',
    scalar: (list, count) => new List(asList(list).elementType, repeat(asList(list), count as bigint)),
  },
  {
    schema: 'aten::mul.right_(int n, t[] l) -> t[]',
    scalar: (count, list) => new List(asList(list).elementType, repeat(asList(list), count as bigint)),
  },
  {
    schema: 'aten::mul_.t(t[](a!) l, int n) -> t[](a!)',
    scalar: (list, count) => {
      const repeated = repeat(asList(list), count as bigint);
      items(list).length = 0;
      for (const item of repeated) items(list).push(item);
      return list;
    },
  },
  ...perElement((name) => [
    {
      schema: `aten::count.${name}(${name}[] self, ${name} el) -> int`,
      ...readsTensors(name),
      scalar: (self, element) => BigInt(items(self).filter((item) => elementsEqual(item, element)).length),
    },
    {
      schema: `aten::index.list_${name}(${name}[] self, ${name} el) -> int`,
      ...readsTensors(name),
      scalar: (self, element) => {
        const at = indexOf(asList(self), element);
        if (at < 0) throw new OperatorError(`'${formatValue(element)}' is not in list`, 'ValueError');
        return BigInt(at);
      },
    },
    {
      schema: `aten::remove.${name}(${name}[](a!) self, ${name} el) -> ()`,
      ...readsTensors(name),
      scalar: (self, element) => {
        const at = indexOf(asList(self), element);
        if (at < 0) throw new OperatorError('list.remove(x): x not in list', 'ValueError');
        items(self).splice(at, 1);
        return null;
      },
    },
    {
      schema: `aten::sort.${name}(${name}[](a!) self, bool reverse=False) -> ()`,
      ...readsTensors(name),
      scalar: (self, reverse) => sortInPlace(asList(self), reverse as boolean),
    },
    {
      schema: `aten::sorted.${name}(${name}[](a) input) -> ${name}[]`,
      ...readsTensors(name),
      scalar: (list) => {
        const sorted = new List(asList(list).elementType, [...items(list)]);
        sortInPlace(sorted, false);
        return sorted;
      },
    },
  ]),
  ...perElement(
    (name) => [
      {
        schema: `aten::__contains__.${name}_list(${name}[] l, ${name} item) -> bool`,
        scalar: (list, item) => indexOf(asList(list), item) >= 0,
      },
    ],
    ['int', 'float', 'str'],
  ),
  ...perElement(
    (name) => [{ schema: `aten::any.${name}(${name}[] self) -> bool`, scalar: (self) => items(self).some(isTruthy) }],
    ['int', 'float', 'bool', 'str'],
  ),
  ...perElement(
    (name) => [
      { schema: `aten::all.${name}(${name}[] self) -> bool`, scalar: (self) => items(self).every(isTruthy) },
      {
        schema: `aten::sum.${name}(${name}[] self) -> ${name === 'float' ? 'float' : 'int'}`,
        scalar: (self) => sum(items(self), name === 'float' ? 0 : 0n),
      },
    ],
    ['int', 'float', 'bool'],
  ),
  {
    schema: 'aten::sum.complex(complex[] self) -> complex',
    scalar: (self) => {
      const list = items(self);
      const total = (list as Complex[]).reduce((a, b) => new Complex(a.re + b.re, a.im + b.im), new Complex(0, 0));
      // PyTorch takes the elements out of the list and leaves zeros there.
      list.forEach((_, at) => (list[at] = new Complex(0, 0)));
      return total;
    },
  },
  ...(['eq', 'ne'] as const).map((name): OperatorRow => ({
    schema: `aten::${name}.Tensor_list(Tensor[] a, Tensor[] b) -> bool`,
    readsElements: true,
    scalar: (a, b) => {
      const isEqual =
        items(a).length === items(b).length && items(a).every((item, at) => elementsEqual(item, items(b)[at]));
      return isEqual === (name === 'eq');
    },
  })),
  ...extremum('max'),
  ...extremum('min'),
  {
    schema: 'prim::rangelist(int n) -> int[]',
    scalar: (n) =>
      new List(
        IntType.get(),
        Array.from({ length: Number(n) }, (_, at) => BigInt(at)),
      ),
  },
];

function isTruthy(value: IValue): boolean {
  return Boolean(value);
}
