import { describe, expect, test } from 'vitest';
import { Complex, CressetError, parseOperatorName, parseSchema } from '../index.ts';

describe('schemas', () => {
  test.each([
    'aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor',
    'aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)',
    'aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]',
    'aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False) -> Tensor',
    'aten::dict.Dict_str(Dict(str, t)(a) self) -> Dict(str, t)',
    'aten::to.dtype(Tensor(a) self, ScalarType dtype, MemoryFormat? memory_format=None) -> Tensor(a)',
    'aten::min_max(Tensor self) -> (Tensor min, Tensor max)',
    'prim::Print(...) -> ()',
    'prim::unpack(Any x) -> ...',
    'f(str s="a\\"b\\n", float e=1.5, float i=0.) -> ((int, str))',
  ])('print as they are read: %s', (text) => {
    expect(String(parseSchema(text))).toBe(text);
  });

  test('tell what programs see of a type from what is written', () => {
    const [dtype, sizes] = parseSchema('f(ScalarType? dtype=None, SymInt[2] sizes=1) -> ()').arguments;
    expect([dtype.type.str(), dtype.realType.str()]).toEqual(['int?', 'ScalarType?']);
    expect(dtype.defaultValue).toBeNull();
    expect([sizes.type.str(), sizes.realType.str(), sizes.N]).toEqual(['int[]', 'SymInt[]', 2]);
    expect(sizes.defaultValue).toEqual([1n, 1n]);
  });

  test('keep ints and floats apart in defaults', () => {
    const values = parseSchema(
      'f(Scalar a=1, Scalar b=1.0, float c=1, int d=-2, bool e=True, complex z=2j) -> ()',
    ).arguments;
    expect(values.map((argument) => argument.defaultValue)).toEqual([1n, 1, 1, -2n, true, new Complex(0, 2)]);
  });

  test('know aliases', () => {
    const schema = parseSchema(
      'f(Tensor(a! -> a|b) x, Tensor(*) y, Tensor! z, Tensor(c!)[] l, *, Tensor(d!) out) -> Tensor(a)',
    );
    const [x, y, z, l, out] = schema.arguments;
    expect([...x.aliasInfo!.beforeSets, ...x.aliasInfo!.afterSets]).toEqual(['a', 'a', 'b']);
    expect(y.aliasInfo!.isWildcardBefore).toBe(true);
    expect(z.isWrite).toBe(true);
    expect(l.isWrite).toBe(true);
    expect(l.aliasInfo!.containedTypes[0].beforeSet).toBe('c');
    expect([out.isOut, x.isOut]).toEqual([true, false]);
    expect(schema.isMutable).toBe(true);
  });

  test.each([
    ['foo(Tensor a) - Tensor', "expected arrow but found '-' here"],
    ['foo(Tensor a', "expected ) but found 'eof' here"],
    ['foo(Nonsense a) -> int', 'unknown type specifier'],
    ['foo(..., int a) -> int', '... must be the last element of the argument list'],
    ['foo(int a="x) -> int', 'unexpected character'],
    ['foo', 'only the operator name was given'],
    ['foo(int a=1, int b) -> int', 'Non-default positional argument follows default argument'],
  ])('refuse %s', (text, reason) => {
    expect(() => parseSchema(text)).toThrow(CressetError);
    expect(() => parseSchema(text)).toThrow(reason);
  });

  test('have names with overloads', () => {
    expect(parseOperatorName('aten::add.Tensor')).toEqual({ name: 'aten::add', overloadName: 'Tensor' });
    expect(parseSchema('aten::add.Tensor(Tensor x) -> ()').operatorName).toBe('aten::add.Tensor');
  });
});
