import { CompilationUnit, EnumType, IntType, parseSchema, StringType } from '@cresset/ir';
import { Complex, DeviceValue, Dict, EnumValue, List, Tuple, type IValue } from '@cresset/tensor';
import { describe, expect, test } from 'vitest';
import { scalarFunctionRows } from '../scalar-functions/rows.ts';
import { scalarRows } from './rows.ts';

/** Runs the row with exactly this overload. */
function run(overload: string, ...args: IValue[]): IValue {
  const row = [...scalarRows, ...scalarFunctionRows].find(({ schema }) => schema.startsWith(`${overload}(`));
  if (!row?.scalar) throw new Error(`no row ${overload}`);
  return row.scalar(...args);
}

const ints = (...values: bigint[]): List => new List(IntType.get(), values);

test('every schema parses and none stands twice', () => {
  const names = scalarRows.map(({ schema }) => {
    const { name, overloadName } = parseSchema(schema);
    return `${name}.${overloadName}`;
  });
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

describe('devices', () => {
  test.each([
    ['foo', 'Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, '],
    ['cuda:01', "Invalid device string: 'cuda:01'"],
    ['', 'Device string must not be empty'],
  ])('are no %s', (text, message) => expect(() => run('aten::device', text)).toThrow(message));
});

describe('parts of strings', () => {
  test('begin within them where their ends are looked at', () => {
    expect(run('aten::startswith', 'ab', 'b', 1n, -1n)).toBe(true);
    expect(run('aten::endswith', 'ab', '', 2n, -1n)).toBe(true);
    expect(() => run('aten::startswith', 'ab', 'b', 5n, -1n)).toThrow(
      'basic_string::substr: __pos (which is 5) > this->size() (which is 2)',
    );
  });
});

describe('integers', () => {
  test('wrap at 64 bits', () => {
    expect(run('aten::add.int', 2n ** 63n - 1n, 1n)).toBe(-(2n ** 63n));
    expect(run('aten::mul.int', 2n ** 62n, 4n)).toBe(0n);
  });
  test('divide and take remainders as Python does', () => {
    expect(run('aten::floordiv.int', -7n, 2n)).toBe(-4n);
    expect(run('aten::remainder.int', -7n, 3n)).toBe(2n);
    expect(run('aten::divmod.int', -7n, 2n)).toEqual(new Tuple([-4n, 1n]));
    expect(() => run('aten::floordiv.int', 1n, 0n)).toThrow('division by 0');
  });
  test('true division gives a float', () => expect(run('aten::div.int', 1n, 4n)).toBe(0.25));
  test('ranges have a length', () => {
    expect(run('aten::__range_length', 0n, 10n, 3n)).toBe(4n);
    expect(run('aten::__range_length', 10n, 0n, -3n)).toBe(4n);
    expect(run('aten::__range_length', 0n, 10n, -1n)).toBe(0n);
  });
});

describe('floats', () => {
  test('remainder has the sign of the divisor', () => expect(run('aten::remainder.float', -7.5, 2)).toBe(0.5));
  test('divmod by an infinity leaves what it divides', () => {
    const parts = (x: number): readonly unknown[] => (run('aten::divmod.float', x, Infinity) as Tuple).items;
    expect(parts(5)).toEqual([0, 5]);
    expect(parts(-5)).toEqual([NaN, Infinity]);
  });
  test('math.remainder rounds to the nearest multiple, ties to even', () => {
    expect(run('aten::mathremainder.float', -2.5, 2)).toBe(-0.5);
    expect(run('aten::mathremainder.float', 3, 2)).toBe(-1);
    expect(run('aten::mathremainder.float', 1, 2)).toBe(1);
  });
  test('round to even', () => expect(run('aten::round.float', -2.5)).toBe(-2));
  test('frexp and modf', () => {
    expect(run('aten::frexp', -2.5)).toEqual(new Tuple([-0.625, 2n]));
    expect(run('aten::modf', -2.5)).toEqual(new Tuple([-0.5, -2]));
  });
  test('int() truncates', () => expect(run('aten::Int.float', -2.5)).toBe(-2n));
});

test('a Scalar keeps its kind', () => {
  expect(run('aten::add', 1n, 2n)).toBe(3n);
  expect(run('aten::add', 1n, 2.5)).toBe(3.5);
  expect(run('aten::add', new Complex(0, 1), 2n)).toEqual(new Complex(2, 1));
});

describe('printing', () => {
  const text = (value: IValue): IValue => run('aten::str', value);
  test.each([
    [0.1, '0.10000000000000001'],
    [1e11, '100000000000.'],
    [1e-5, '1.0000000000000001e-05'],
    [1e20, '1e+20'],
    [123456.789, '123456.789'],
    [Infinity, 'inf'],
    [-1, '-1.'],
  ])('%d', (value, expected) => expect(text(value)).toBe(expected));
  test('containers', () => {
    expect(text(new Tuple([1n, 2, 'q']))).toBe('(1, 2., q)');
    expect(text(new Tuple([1n]))).toBe('(1,)');
    expect(text(new Complex(1, 2))).toBe('1.+2.j');
    expect(text(null)).toBe('None');
    expect(text(true)).toBe('True');
  });
  test('format', () => {
    expect(run('aten::format', '{} is {}', 'x', 2n)).toBe('x is 2');
    expect(() => run('aten::format', '{}{}', 1n)).toThrow('Too few arguments for format string: {}{}');
    expect(run('aten::percentFormat', '%s %d%%', new Tuple(['a', 3n]))).toBe('a 3%');
    expect(run('aten::percentFormat', '%E %F', new Tuple([1n, 2.5]))).toBe('1.000000E+00 2.500000');
    expect(run('aten::percentFormat', '%e %E %f %f', new Tuple([NaN, Infinity, -Infinity, 1e22]))).toBe(
      'nan INF -inf 10000000000000000000000.000000',
    );
  });
});

describe('strings', () => {
  test('split', () => {
    expect(run('aten::split.str', 'a,b c\nd,e', null, -1n)).toEqual(new List(StringType.get(), ['a,b', 'c', 'd,e']));
    expect(run('aten::split.str', ' a b  c', null, 1n)).toEqual(new List(StringType.get(), ['a', 'b', 'c']));
    // Each byte of U+2028 parts words: those of a hot drink among them.
    expect(run('aten::split.str', 'a\xe2\x98\x95b', null, -1n)).toEqual(new List(StringType.get(), ['a', '\x98\x95b']));
    expect(run('aten::splitlines', 'a\r\nb\n', false)).toEqual(new List(StringType.get(), ['a', '', 'b']));
    expect(run('aten::splitlines', 'a\r\nb', true)).toEqual(new List(StringType.get(), ['a', '\r', '', '\n', 'b']));
    expect(run('aten::rsplit', 'a,b,c', ',', 1n)).toEqual(new List(StringType.get(), ['a,b', 'c']));
  });
  test('cases', () => {
    expect(run('aten::title', 'abB\tbc')).toBe('Abb\tBc');
    expect(run('aten::swapcase', 'abB')).toBe('ABb');
    expect(run('aten::center', 'abc', 8n, '*')).toBe('**abc***');
    expect(run('aten::expandtabs', 'abB\tbc', 4n)).toBe('abB bc');
  });
  test('search', () => {
    expect(run('aten::find', 'abab', 'b', 2n, -1n)).toBe(3n);
    expect(run('aten::count', 'abab', 'b', 0n, -1n)).toBe(2n);
    expect(() => run('aten::index.str', 'ab', 'z', 0n, -1n)).toThrow('ValueError: substring not found');
  });
  test('hashes are those of libstdc++', () => {
    expect(run('aten::hash.generic', 1.5)).toBe(4982507072649106663n);
    expect(run('aten::hash.generic', 'a')).toBe(4993892634952068459n);
    expect(run('aten::hash.generic', new Tuple([1n, 2n]))).toBe(175247769363n);
    expect(run('aten::hash.generic', new Tuple([new Tuple([1n, 2n]), 'a']))).toBe(4993904173758451867n);
    expect(run('aten::hash.generic', DeviceValue.parse('cpu'))).toBe(255n);
    expect(run('aten::hash.generic', DeviceValue.parse('cuda:1'))).toBe(65537n);
    expect(() => run('aten::hash.generic', new Tuple(['a', new Tuple([ints(1n)])]))).toThrow(
      "unhashable type: 'List[int]'",
    );
    expect(() => run('aten::hash.generic', new Complex(0, 1))).toThrow("unhashable type: 'complex'");
  });
});

test('members of enums are equal by name, and the same only where they are one object', () => {
  const color = new EnumType('__torch__.Color', IntType.get(), [['RED', 1n]], new CompilationUnit());
  const [red, again] = [EnumValue.of(color, 'RED')!, EnumValue.of(color, 'RED')!];
  expect(run('aten::eq.enum', red, again)).toBe(true);
  expect(run('aten::ne.enum', red, again)).toBe(false);
  expect([run('aten::__is__', red, again), run('aten::__is__', red, red)]).toEqual([false, true]);
});

test('complex Scalars are refused by operators that look for an int', () => {
  const [one, two] = [new Complex(1, 2), new Complex(0, 2)];
  expect(run('aten::add', 1n, two)).toEqual(new Complex(1, 2));
  expect(run('aten::eq', 1n, two)).toBe(false);
  for (const overload of ['aten::div', 'aten::pow.Scalar_Scalar', 'aten::lt', 'aten::remainder', 'prim::max']) {
    expect(() => run(overload, one, 1n)).toThrow('expected int');
    expect(() => run(overload, 1.5, two)).toThrow('expected int');
  }
  expect(() => run('aten::floor.Scalar', one)).toThrow('expected int');
  expect([run('aten::__is__', one, one), run('aten::__is__', one, new Complex(1, 2))]).toEqual([true, false]);
});

test('the lesser and the greater are the first number only where it is so: NaN and zeros of two signs give the second', () => {
  for (const of of ['prim::min', 'prim::max']) {
    expect(run(`${of}.float`, NaN, 1)).toBe(1);
    expect(run(`${of}.float`, 1, NaN)).toBeNaN();
    expect(run(`${of}.int_float`, 3n, NaN)).toBeNaN();
    expect(run(`${of}.float_int`, NaN, 3n)).toBe(3);
    expect(run(`${of}.float`, 0, -0)).toBe(-0);
    expect(run(`${of}.float_int`, -0, 0n)).toBe(0);
  }
});

describe('numbers of texts', () => {
  test('are what C++ reads', () => {
    expect([' 7', '+5', '-0012'].map((text) => run('aten::Int.str', text))).toEqual([7n, 5n, -12n]);
    expect(['.5', '0x10', '-INF', '1e5'].map((text) => run('aten::Float.str', text))).toEqual([
      0.5,
      16,
      -Infinity,
      1e5,
    ]);
  });
  test.each([
    ['Int', 'abc', /^stoll$/],
    ['Int', '99999999999999999999', /^stoll$/],
    ['Int', '1.5', /^invalid literal for int\(\) with base 10: '1.5'$/],
    ['Float', '', /^stod$/],
    ['Float', '1e400', /^stod$/],
    ['Float', '1e-400', /^stod$/],
    ['Float', '1.5x', /^could not convert string to float: '1.5x'$/],
  ])('%s of %j', (type, text, message) => {
    expect(() => run(`aten::${type}.str`, text)).toThrow(message);
  });
  test('that no int holds are no floor', () => {
    expect(run('aten::floor.float', -9.5)).toBe(-10n);
    expect(() => run('aten::floor.float', Infinity)).toThrow('Cannot convert float inf to integer');
    expect(() => run('aten::ceil.float', 1e20)).toThrow('Cannot convert float 100000000000000000000.000000 to integer');
  });
  test('are filled with zeros from the left, signs too', () => {
    expect(run('aten::zfill', '-42', 6n)).toBe('000-42');
  });
});

describe('lists', () => {
  test('indices from the end, and out of range', () => {
    expect(run('aten::__getitem__.t', ints(1n, 2n), -1n)).toBe(2n);
    expect(() => run('aten::__getitem__.t', ints(1n), 5n)).toThrow('list index out of range');
    expect(() => run('aten::pop.t', ints(), -1n)).toThrow('pop from empty list');
  });
  test('insertion clamps', () => {
    const list = ints(1n, 3n);
    run('aten::insert.t', list, -10n, 5n);
    run('aten::insert.t', list, 100n, 7n);
    expect(list.items).toEqual([5n, 1n, 3n, 7n]);
  });
  test('slices', () => expect(run('aten::slice.t', ints(1n, 2n, 3n), null, null, 2n)).toEqual(ints(1n, 3n)));
  test('max of lists is lexicographic', () => {
    const larger = ints(2n);
    expect(run('prim::max.int_list', ints(1n, 5n), larger)).toBe(larger);
    expect(() => run('prim::max.self_int', ints())).toThrow('max() arg is an empty sequence');
  });
});

test('dicts keep the order of insertion and pop from the front', () => {
  const dict = new Dict(
    StringType.get(),
    IntType.get(),
    new Map([
      ['a', 1n],
      ['b', 2n],
    ] as const),
  );
  expect(run('aten::popitem.str', dict)).toEqual(new Tuple(['a', 1n]));
  expect(() => run('aten::__getitem__.Dict_str', dict, 'x')).toThrow('KeyError: x');
  expect(run('aten::get.default_str', dict, 'x', 9n)).toBe(9n);
});

test('popitem goes on from where it was, and comes to what is put in again', () => {
  const dict = new Dict(IntType.get(), IntType.get(), new Map([1n, 2n, 3n].map((key) => [key, key] as const)));
  const pop = (): IValue => (run('aten::popitem.int', dict) as Tuple).items[0];
  expect([pop(), pop()]).toEqual([1n, 2n]);
  run('aten::_set_item.int', dict, 1n, 1n);
  expect([pop(), pop()]).toEqual([3n, 1n]);
  expect(pop).toThrow('popitem(): dictionary is empty');
  run('aten::_set_item.int', dict, 5n, 5n);
  expect(pop()).toBe(5n);
});

test('the decimal logarithm of complex zero has no imaginary part', () => {
  expect(run('aten::log10.complex', new Complex(0, 0))).toEqual(new Complex(-Infinity, 0));
});

describe('lists times a number', () => {
  test.each<[list: bigint[], count: bigint, repeated: bigint[]]>([
    [[1n, 2n], 3n, [1n, 2n, 1n, 2n, 1n, 2n]],
    [[7n], 5n, [7n, 7n, 7n, 7n, 7n]],
    [[7n], 1n, [7n]],
    [[7n], 0n, []],
    [[7n], -1n, []],
    [[], 4n, []],
  ])('%s × %s', (list, count, repeated) => {
    const given = ints(...list);
    expect((run('aten::mul.left_t', given, count) as List).items).toEqual(repeated);
    expect(given.items).toEqual(list);
  });
});
