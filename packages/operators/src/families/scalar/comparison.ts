import {
  Complex,
  Dict,
  EnumValue,
  List,
  symEq,
  symGe,
  symGt,
  symLe,
  symLt,
  symMax,
  symMin,
  symNe,
  symSame,
  Tuple,
  type IValue,
  type SymInt,
} from '@cresset/tensor';
import type { OperatorRow } from '../../table/row.ts';
import { binaryNumbers, type BinaryNumbers, requireReal } from './numbers.ts';

/** Comparisons of numbers, strings, lists and other values. Strings compare by bytes, which byte strings do by nature. */

type Ordering = (a: bigint | number | string, b: bigint | number | string) => boolean;

const orderings: Record<string, Ordering> = {
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

const orderingsOfSizes = { lt: symLt, le: symLe, gt: symGt, ge: symGe };

const boolResult = { int: 'bool', float: 'bool', complex: 'bool', scalar: 'bool' };

function orderingRows(name: keyof typeof orderingsOfSizes): OperatorRow[] {
  const compare = orderings[name];
  return [
    ...binaryNumbers(name, { int: compare, float: compare, sizes: orderingsOfSizes[name], returns: boolResult }),
    {
      schema: `aten::${name}.str(str a, str b) -> bool`,
      scalar: (a, b) => compare(a as string, b as string),
    },
  ];
}

/** Whether two values of one type are equal, as `==` on lists and dicts sees their elements; tensors by identity. */
export function valuesEqual(a: IValue, b: IValue): boolean {
  if (a === b) return true;
  // Of a long list every element comes here.
  if (typeof a !== 'object' || typeof b !== 'object') return false;
  if (a instanceof Complex && b instanceof Complex) return a.re === b.re && a.im === b.im;
  if (a instanceof EnumValue && b instanceof EnumValue) return a.equals(b);
  if (a instanceof List && b instanceof List) return sequencesEqual(a.items, b.items);
  if (a instanceof Tuple && b instanceof Tuple) return sequencesEqual(a.items, b.items);
  if (a instanceof Dict && b instanceof Dict) {
    if (a.entries.size !== b.entries.size) return false;
    for (const [key, value] of a.entries) {
      const other = b.entries.get(b.storedKey(key));
      if (other === undefined || !valuesEqual(value, other)) return false;
    }
    return true;
  }
  return false;
}

function sequencesEqual(a: readonly IValue[], b: readonly IValue[]): boolean {
  return a.length === b.length && a.every((item, at) => valuesEqual(item, b[at]));
}

const equalNumbers = (negate: boolean): BinaryNumbers => ({
  int: (a, b) => (a === b) !== negate,
  sizes: negate ? symNe : symEq,
  float: (a, b) => (a === b) !== negate,
  complex: (a, b) => (a.re === b.re && a.im === b.im) !== negate,
  complexOverloads: ['complex', 'float_complex', 'complex_float'],
  returns: boolResult,
});

/** A list of whole numbers, or what such a list is worked out of. */
type SizeList = List | readonly SymInt[];

const sizesOf = (list: SizeList): readonly SymInt[] => (list instanceof List ? list.items.map(Number) : list);

function equalityRows(name: string, negate: boolean): OperatorRow[] {
  const row = (overload: string, type: string): OperatorRow => ({
    schema: `aten::${name}.${overload}(${type} a, ${type} b) -> bool`,
    scalar: (a, b) => valuesEqual(a, b) !== negate,
  });
  return [
    ...binaryNumbers(name, equalNumbers(negate)),
    row('bool', 'bool'),
    row('str', 'str'),
    row('device', 'Device'),
    row('enum', 'AnyEnumType'),
    { ...row('int_list', 'int[]'), sizes: (a: SizeList, b: SizeList) => symSame(sizesOf(a), sizesOf(b)) !== negate },
    row('float_list', 'float[]'),
    row('bool_list', 'bool[]'),
    row('str_list', 'str[]'),
  ];
}

function extremum(name: 'max' | 'min'): OperatorRow[] {
  const better: (a: bigint | number, b: bigint | number) => boolean = name === 'max' ? orderings.gt : orderings.lt;
  // The second where neither is better: NaN is no worse than anything, and zeros are equal.
  const pick = (a: bigint | number, b: bigint | number): bigint | number => (better(a, b) ? a : b);
  const mixed = (a: IValue, b: IValue): IValue => pick(requireReal(a), requireReal(b));
  const row = (overload: string, left: string, right: string, result: string, mix: boolean): OperatorRow => ({
    schema: `prim::${name}${overload}(${left} a, ${right} b) -> ${result}`,
    scalar: mix ? mixed : (a, b) => pick(a as number, b as number),
  });
  return [
    { ...row('.int', 'int', 'int', 'int', false), sizes: name === 'max' ? symMax : symMin },
    row('.float', 'float', 'float', 'float', false),
    row('.int_float', 'int', 'float', 'float', true),
    row('.float_int', 'float', 'int', 'float', true),
    {
      schema: `prim::${name}(Scalar a, Scalar b) -> Scalar`,
      scalar: (a, b) => (typeof a === 'bigint' && typeof b === 'bigint' ? pick(a, b) : mixed(a, b)),
    },
  ];
}

export const comparisonRows: readonly OperatorRow[] = [
  ...equalityRows('eq', false),
  ...equalityRows('ne', true),
  ...orderingRows('lt'),
  ...orderingRows('gt'),
  ...orderingRows('le'),
  ...orderingRows('ge'),
  ...extremum('max'),
  ...extremum('min'),
  // Strings have no identity here; those of PyTorch are the same where they are one value of the program.
  { schema: 'aten::__is__(t1 self, t2 obj) -> bool', scalar: (a, b) => a === b },
  { schema: 'aten::__isnot__(t1 self, t2 obj) -> bool', scalar: (a, b) => a !== b },
  { schema: 'aten::__not__(bool self) -> bool', scalar: (a) => !a },
];
