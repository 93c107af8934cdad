import { CressetError, type EnumType } from '@cresset/ir';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerTestOperators } from '../operators-fixture.ts';
import { declareScript, script } from '../script.ts';

beforeAll(registerTestOperators);

/** The arguments of `f`, as its schema prints them. */
const argumentsOf = (source: string): string =>
  /\((.*)\) ->/.exec(String(script(source).findFunction('__torch__.f')!.schema))![1]!;

/** The default that an expression gives a parameter of a type. */
const defaultOf = (type: string, expression: string): string =>
  argumentsOf(`def f(x: ${type} = ${expression}):\n  return x`).split('=')[1]!;

function failure(source: string): string {
  try {
    script(source);
  } catch (error) {
    expect(error).toBeInstanceOf(CressetError);
    return (error as CressetError).message.trim().split('\n')[0]!.replace(/:$/, '');
  }
  throw new Error('it compiles');
}

/** The message of a program that does not compile, which has to be one of ours. */
function outcome(source: string): string {
  try {
    return String(script(source).findFunction('__torch__.f')!.schema);
  } catch (error) {
    expect(error).toBeInstanceOf(CressetError);
    return (error as CressetError).message;
  }
}

describe('a chain of any length ends in an error, if it is too long', () => {
  const long = (link: string): string => link.repeat(20_000);

  it.each([
    ['subscripts', `2${long('[0]')}`],
    ['attributes', `"a"${long('.upper')}`],
    ['calls', `abs${long('(1)')}`],
    ['sums', `1${long(' + 1')}`],
    ['conditions', `1${long(' and 1')}`],
    ['comparisons', `1${long(' < 1')}`],
    ['alternatives', `1${long(' if 1 else 1')}`],
    ['attributes of a name', `math${long('.pi')}`],
    ['unions', `int${long(' | int')}`],
  ])('of %s', (_, expression) => {
    const programs = [
      `import math\ndef f(x: int = ${expression}):\n  return x`,
      `import math\nN = ${expression}\ndef f():\n  return N`,
      `class Color(Enum):\n  RED = ${expression}\ndef f() -> int:\n  return Color.RED.value`,
      `def f(x: ${expression}):\n  return x`,
      `class P(NamedTuple):\n  x: int = ${expression}\ndef f():\n  return P().x`,
      `class A:\n  x: ${expression}\n  def __init__(self):\n    self.x = 1\ndef f():\n  return A().x`,
    ];
    for (const program of programs) expect(typeof outcome(program)).toBe('string');
  });
});

describe('default values are what Python computes', () => {
  it.each([
    ['int', '7 // 2', '3'],
    ['int', '-7 // 2', '-4'],
    ['int', '-7 % 3', '2'],
    ['int', '7 % -3', '-2'],
    ['int', '2 ** 10', '1024'],
    ['float', '2 ** -1', '0.5'],
    ['float', '7 / 2', '3.5'],
    ['float', '-7.5 % 2', '0.5'],
    ['int', '5 & 3 | 8 ^ 1', '9'],
    ['int', '1 << 40', '1099511627776'],
    ['int', '~5', '-6'],
    ['int', '(1, 2)[0]', '1'],
    ['int', '[1, 2, 3][-1]', '3'],
    ['int', '{"a": 4}["a"]', '4'],
    ['int', '3 if "b" in "abc" else 4', '3'],
    ['int', 'max(1, len("abc"), sum([1, 1]))', '3'],
    ['int', 'int(3.7) + round(2.5) + abs(-1)', '6'],
    ['str', '"a" + "b" * 2', '"abb"'],
    ['str', '"abcd"[::-2]', '"db"'],
    ['bool', '1 < 2 < 3 and not 0', 'True'],
    ['float', 'abs(3 + 4j)', '5.'],
    ['complex', '(1 + 2j) * 2 / 1j', '4.-2.j'],
    ['complex', '1j ** 2', '-1.+0.j'],
    // What pybind11 converts on the way.
    ['float', '1', '1.'],
    ['Optional[float]', 'True', '1.'],
    ['bool', '2.5', 'True'],
    ['List[int]', '(1, 2)', '[1, 2]'],
    ['Tuple[int, float]', '(1, 2)', '(1, 2.)'],
  ])('%s = %s', (type, expression, text) => {
    expect(defaultOf(type, expression)).toBe(text);
  });

  it('sees what the file assigned before', () => {
    const file = 'N = 3\nN += 1\nA, B = N, (N, 5)\nN = "later"\n';
    expect(argumentsOf(`${file}def f(a: int = A * 2, b: int = B[1], c: str = N):\n  return a`)).toBe(
      'int a=8, int b=5, str c="later"',
    );
  });

  it('refuses what is of another type or can change', () => {
    expect(failure('def f(x: int = "a"):\n  return x')).toBe('Expected a default value of type int on parameter "x".');
    expect(failure('def f(x: Union[int, str] = 1.5):\n  return x')).toBe(
      'Expected a default value of type Union[int, str] on parameter "x".',
    );
    expect(failure('def f(x=3):\n  return x')).toBe(
      'Expected a default value of type Tensor (inferred) on parameter "x".Because "x" was not annotated with an explicit type it ' +
        "is assumed to be type 'Tensor'.",
    );
    expect(failure('L = [1]\ndef f(x: List[int] = L):\n  return x')).toContain('Mutable default parameters');
    expect(failure('def f(x: int = 1 // 0):\n  return x')).toBe('integer division or modulo by zero');
    expect(failure('def f(x: int = 9 ** 9 ** 9):\n  return x')).toContain('bits');
  });
});

describe('names of a file', () => {
  it('computes the members of enums', () => {
    const unit = script('BASE = 3\nclass A(Enum):\n  X = 1 << 0\n  Y = BASE << 1\ndef f():\n  return A.Y.value');
    expect((unit.getType('__torch__.A') as EnumType).members).toEqual([
      ['X', 1n],
      ['Y', 6n],
    ]);
  });

  it('takes members of an enum one after the other, and each value once', () => {
    const unit = script(
      'class A(Enum):\n  X = auto()\n  Y = 5\n  Z = X + Y\n  W = 5\n  V = enum.auto()\ndef f(a: A):\n  return a.name',
    );
    expect((unit.getType('__torch__.A') as EnumType).members).toEqual([
      ['X', 1n],
      ['Y', 5n],
      ['Z', 6n],
      ['V', 7n],
    ]);
    const refused = (body: string): string => failure(`class A(Enum):\n  ${body}\ndef f(a: A):\n  return a.name`);
    expect(refused('X = True')).toContain("Cannot create Enum with value type 'bool', only int, float and string are");
    expect(refused('X = (1, 2)')).toContain("Cannot create Enum with value type 'Any'");
    expect(refused('pass')).toContain('No enum values defined for');
    expect(refused('X = 1\n  Y = "a"')).toContain('Could not unify type list since element 1 of type');
  });

  it.each([
    ['3', 'int'],
    ['(1, "a")', 'tuple'],
    ['{1: 2}', 'dict'],
    ['torch.float32', 'dtype'],
    ['torch.channels_last', 'memory_format'],
  ])('are no values in functions: %s', (value, type) => {
    expect(failure(`N = ${value}\ndef f():\n  return N`)).toBe(
      `python value of type '${type}' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider ` +
        'passing it in as an argument or use a local variable instead.',
    );
  });

  it('may be those of functions, types and members of enums', () => {
    const { functions } = declareScript(
      'class E(Enum):\n  A = 1\nONE = E.A\nPair = Tuple[int, E]\ndef g(x: int):\n  return x\nh = g\n' +
        'def f(x: Pair) -> Pair:\n  return h(x[0]), ONE',
    );
    expect(String(functions.at(-1)!.schema)).toBe('f((int, Enum<__torch__.E>) x) -> ((int, Enum<__torch__.E>))');
  });
});
