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
    'f(float a=-25000000000., float b=1e+19, complex c=0.-30000000000.j, int d=9) -> foo.x[]',
    'f(Tensor($0! -> )[] a, Tensor(*|a) b, __torch__.torch.classes.a.B? c) -> SymBool',
  ])('print as they are read: %s', (text) => {
    const written = text
      .replace('($0! -> )', '!')
      .replace('*|a', 'a|*')
      .replace('0.-30000000000.j', '-3e10j')
      .replace('=9', '=complex');
    expect(String(parseSchema(written))).toBe(text);
  });

  test('tell what programs see of a type from what is written', () => {
    const [dtype, sizes] = parseSchema('f(ScalarType? dtype=None, SymInt[2] sizes=1) -> ()').arguments;
    expect([dtype.type.str(), dtype.realType.str()]).toEqual(['int?', 'ScalarType?']);
    expect(dtype.defaultValue).toBeNull();
    expect([sizes.type.str(), sizes.realType.str(), sizes.N]).toEqual(['int[]', 'SymInt[]', 2]);
    expect(sizes.defaultValue).toEqual([1n, 1n]);
    expect(parseSchema('f(int[1.5] sizes) -> ()').arguments[0].N).toBe(1);
  });

  test('keep ints and floats apart in defaults', () => {
    const values = parseSchema(
      'f(Scalar a=1, Scalar b=1.0, float c=1, int d=-2, bool e=True, complex z=2j, Scalar x=1E5, complex y=15) -> ()',
    ).arguments;
    expect(values.map((argument) => argument.defaultValue)).toEqual([
      1n,
      1,
      1,
      -2n,
      true,
      new Complex(0, 2),
      1n,
      new Complex(0, 1),
    ]);
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
    ['foo(int a="x) -> int', "expected a valid token but found '\"' here"],
    ['foo(int a; int b) -> int', "expected a valid token but found ';' here"],
    ['foo(int a==1) -> int', "expected ) but found 'eq' here"],
    ['foo(int %a) -> int', "expected ident but found '%' here"],
    ['foo(int NoneType) -> int', "expected ident but found 'NoneType' here"],
    ['foo', 'only the operator name was given'],
    ['foo.bar.baz(int a) -> int', "expected eof but found '.' here"],
    ['foo.default(int a) -> int', 'default is not a legal overload name for aten operators'],
    ['foo.__x(int a) -> int', '__x is not a legal overload name for aten operators'],
    ['foo(str a=x) -> str', 'invalid numeric default value'],
    ['foo(str[] a=["x"]) -> str', 'lists are only supported for float, int and complex types'],
    ['foo(Tensor[] a=[]) -> str', 'lists are only supported for float, int and complex types'],
    ['foo(int[] a=None) -> str', "expected [ but found 'None' here"],
    ['foo(int[] a=x) -> str', "expected None but found 'ident' here"],
    ['foo(int[2]? a=[1, 2]) -> str', "expected number but found '[' here"],
    ['foo(SymBool a=True) -> int', 'unexpected type, file a bug report:'],
    ['foo(Dimname a) -> int', 'unknown type specifier'],
    ['foo(List(int) a) -> int', 'unknown type specifier'],
    ['foo(Dict[str, int] a) -> int', "expected ( but found '[' here"],
    ['foo(Layout.x a) -> int', 'unknown type specifier'],
    ['foo(__torch__.Foo a) -> int', 'Expected classes namespace but got Foo'],
    ['foo(__torch__.torch.classes.a b) -> int', "expected . but found 'ident' here"],
    ['foo(Tensor(*|a) x) -> int', "expected ) but found 'ident' here"],
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
