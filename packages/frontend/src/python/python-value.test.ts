import { AnyType, IntType, ListType, parseSchema, type Type } from '@cresset/ir';
import { Complex, Dict, List, Tuple, type IValue } from '@cresset/tensor';
import { expect, it } from 'vitest';
import { castToType, pythonRepr } from './python-value.ts';

const typeOf = (text: string): Type => parseSchema(`f(${text} x) -> ()`).arguments[0]!.type;
const list = (...items: IValue[]): List => new List(AnyType.get(), items);
const dict = (...entries: [string, IValue][]): Dict => new Dict(AnyType.get(), AnyType.get(), new Map(entries));

it('converts what Python and pybind11 convert', () => {
  expect(castToType(true, typeOf('int'))).toBe(1n);
  expect(castToType(2n, typeOf('float?'))).toBe(2);
  expect(castToType(2n, typeOf('bool'))).toBe(true);
  expect(castToType(1.5, typeOf('complex'))).toEqual(new Complex(1.5, 0));
  expect(castToType(new Tuple([1n, true]), typeOf('int[]'))).toEqual(new List(IntType.get(), [1n, 1n]));
  expect(castToType(3n, typeOf('int[]'), 2)).toEqual(new List(IntType.get(), [3n, 3n]));
  expect(castToType(list(1n, 'a'), typeOf('(int, str)'))).toEqual(new Tuple([1n, 'a']));
});

it('gives a value of a Union or Any the type that its items have', () => {
  const union = typeOf('Union(int[], Dict(str, int))');
  expect((castToType(list(1n), union) as List).elementType).toBe(IntType.get());
  expect((castToType(list(list(1n)), typeOf('Any')) as List).elementType).toEqual(new ListType(IntType.get()));
});

it.each([
  ['int', 1.5, "<class 'float'>"],
  ['int[]', list(1n, 'a'), "<class 'list'>"],
  ['str[]', list(1n), "<class 'int'>"],
  ['Tensor', 'a', 'Unable to cast a to Tensor'],
  ['(int, str)', new Tuple([1n]), 'Object (1,) had a different number of elements than type Tuple[int, str]'],
  [
    'Union(int[], Dict(str, int))',
    list('a'),
    'Expected a member of Union[List[int], Dict[str, int]] but instead found type List[str]',
  ],
  ['Union(int[], Dict(str, int))', dict(['a', 'b']), 'instead found type Dict[str, str]'],
  ['Any', list(1n, 'a'), 'List inputs to traced functions must have consistent element type. Found int and str'],
  ['Any', list(), 'List trace inputs must have elements'],
  ['Dict(str, int)', 3n, "TypeError: 'int' object is not iterable"],
] as const)('refuses as %s: %s', (type, value, message) => {
  expect(() => castToType(value, typeOf(type))).toThrow(message);
});

it('prints values as Python does', () => {
  expect(pythonRepr(list(1.5, 1e20, 1e-5, 3, new Complex(0, 1), new Complex(1, -2)))).toBe(
    '[1.5, 1e+20, 1e-05, 3.0, 1j, (1-2j)]',
  );
  expect(pythonRepr(new Tuple([dict(['a', null]), true]))).toBe("({'a': None}, True)");
});
