import { Complex, Source } from '@cresset/ir';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Parser, parseProgram } from './parser.ts';
import { parsePythonFile } from './python-parser.ts';
import type { Dialect } from './string-literal.ts';
import type { Expr, Stmt } from './tree.ts';

/** Writes a tree with all brackets. */
function show(expr: Expr): string {
  switch (expr.kind) {
    case 'var':
      return expr.name.name;
    case 'const':
      return expr.value instanceof Complex
        ? `${expr.value.im}j`
        : `${expr.value}${typeof expr.value === 'number' ? 'f' : ''}`;
    case 'string':
      return JSON.stringify(expr.text);
    case 'none':
      return 'None';
    case 'bool':
      return String(expr.value);
    case 'dots':
      return '...';
    case 'unary':
      return `(${expr.op} ${show(expr.operand)})`;
    case 'binary':
      return `(${show(expr.lhs)} ${expr.op} ${show(expr.rhs)})`;
    case 'ternary':
      return `(${show(expr.trueExpr)} if ${show(expr.cond)} else ${show(expr.falseExpr)})`;
    case 'list':
      return `[${expr.inputs.map(show).join(', ')}]`;
    case 'tuple':
      return `<${expr.inputs.map(show).join(', ')}>`;
    case 'dict':
      return `{${expr.keys.map((key, index) => `${show(key)}: ${show(expr.values[index]!)}`).join(', ')}}`;
    case 'list-comp':
      return `[${show(expr.elt)} for ${show(expr.target)} in ${show(expr.iter)}]`;
    case 'dict-comp':
      return `{${show(expr.key)}: ${show(expr.value)} for ${show(expr.target)} in ${show(expr.iter)}}`;
    case 'apply': {
      const kwargs = expr.attributes.map(({ name, value }) => `${name.name}=${show(value)}`);
      return `${show(expr.callee)}(${[...expr.inputs.map(show), ...kwargs].join(', ')})`;
    }
    case 'select':
      return `${show(expr.value)}.${expr.selector.name}`;
    case 'subscript':
      return `${show(expr.value)}[${expr.subscripts.map(show).join(', ')}]`;
    case 'slice':
      return [expr.start, expr.end, expr.step].map((bound) => (bound === undefined ? '' : show(bound))).join(':');
    case 'starred':
      return `*${show(expr.expr)}`;
    case 'python':
      return `<${expr.form.kind}>`;
    default:
      return expr satisfies never;
  }
}

function parse(text: string, dialect: Dialect = 'python'): string {
  return show(new Parser(new Source(text), dialect).parseSingleExpression());
}

function statements(body: string): readonly Stmt[] {
  const [def] = parseProgram(new Source(`def f(x):\n${body.replaceAll(/^/gm, '  ')}\n`), 'python');
  return def!.kind === 'def' ? def!.statements : [];
}

describe('expressions', () => {
  it.each([
    ['a + b * c', '(a + (b * c))'],
    ['a - b - c', '((a - b) - c)'],
    ['-a ** -b', '(- (a ** (- b)))'],
    ['2 ** 3 ** 4', '(2 ** (3 ** 4))'],
    ['a or b and not c', '(a or (b and (not c)))'],
    ['not a == b', '(not (a == b))'],
    ['a < b <= c', '((a < b) and (b <= c))'],
    ['a is not None', '(a is not None)'],
    ['a not in b', '(not (a in b))'],
    ['~a + b', '((~ a) + b)'],
    ['a if b else c if d else e', '(a if b else (c if d else e))'],
    ['a & b | c ^ d', '((a & b) | (c ^ d))'],
    ['a // b % c @ d', '(((a // b) % c) @ d)'],
    ['a << 1 + 2', '(a << (1 + 2))'],
    ['-1', '-1'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9.9999999999999998e-13', '1e-12f'],
    ['2j', '2j'],
  ])('%s', (text, expected) => {
    expect(parse(text)).toBe(expected);
  });

  it.each([
    ['(a)', 'a'],
    ['(a,)', '<a>'],
    ['()', '<>'],
    ['a, *b', '<a, *b>'],
    ['[a, b, ]', '[a, b]'],
    ['{"k": 1, }', '{"k": 1}'],
    ['[f(i) for i in x]', '[f(i) for i in x]'],
    ['{k: v for k, v in x}', '{k: v for <k, v> in x}'],
    ['any(x for x in y)', 'any([x for x in y])'],
    ['(self.fc).forward(x, )', 'self.fc.forward(x)'],
    ['f(a, *b, c=d)', 'f(a, *b, c=d)'],
    ['x[1:, ..., None, ::2]', 'x[1::, ..., None, ::2]'],
    ['x[-1]', 'x[-1]'],
    ['getattr(self, "0")', 'getattr(self, "0")'],
  ])('%s', (text, expected) => {
    expect(parse(text)).toBe(expected);
  });

  it('joins adjacent strings and makes f-strings calls of format', () => {
    expect(parse('"a" \'b\'')).toBe('"ab"');
    expect(parse('f"{x + 1}: {y!r}"'.replace('!r', ''))).toBe('"{}: {}".format((x + 1), y)');
    expect(parse('f"{{}} {d["k"]}"'.replaceAll('"k"', "'k'"))).toBe('"{} {}".format(d["k"])');
    expect(() => parse('f"{x:2d}"')).toThrow(/formatting in JoinedStr/);
    expect(() => parse('f"{x=}"')).toThrow(/conversion in JoinedStr/);
    expect(() => parse('f"{x = :2d}"')).toThrow(/formatting in JoinedStr/);
    expect(parse('f"{x == y}"')).toBe('"{}".format((x == y))');
  });

  it('reads escapes as Python does in source, and as bytes in printed code', () => {
    expect(parse(String.raw`"\n\x41\\"`)).toBe(JSON.stringify('\nA\\'));
    expect(parse('"é"')).toBe(JSON.stringify('Ã©'));
    expect(parse(String.raw`"\303\251"`, 'serialized')).toBe(JSON.stringify('Ã©'));
    expect(parse(String.raw`r"\n"`)).toBe(JSON.stringify('\\n'));
  });

  it('says what is wrong and where', () => {
    expect(() => parse('f(a')).toThrow(/expected \) but found/);
    expect(() => parse('9223372036854775809')).toThrow('Integral constant out of range');
    expect(() => parse(`${'('.repeat(5000)}1${')'.repeat(5000)}`)).toThrow('too many nested');
  });
});

describe('statements', () => {
  it('reads all kinds', () => {
    const kinds = statements(
      'a = b = 1\na: int = 2\na += 1\na, b = f()\nfor i, j in x: pass\nwhile a:\n  break\nwith f() as g, h():\n  pass\n' +
        'if a:\n  pass\nelif b:\n  pass\nelse:\n  pass\nassert a, "m"\ndel a[0]\nraise E("m") from None\nreturn 1, 2',
    ).map((stmt) => stmt.kind);
    expect(kinds).toEqual([
      'assign',
      'assign',
      'aug-assign',
      'assign',
      'for',
      'while',
      'with',
      'if',
      'assert',
      'delete',
      'raise',
      'return',
    ]);
  });

  it('drops docstrings and takes several statements on a line', () => {
    expect(statements('"""doc"""\na = 1; b = 2').map((stmt) => stmt.kind)).toEqual(['pass', 'assign', 'assign']);
  });

  it('types functions by comments in all their forms', () => {
    const types = (text: string): (string | undefined)[] => {
      const [def] = parseProgram(new Source(text), 'python');
      if (def!.kind !== 'def') return [];
      const { params, returnType } = def!.decl;
      return [...params.map((param) => param.type), returnType].map((type) => type && show(type));
    };
    expect(types('def f(x, y):\n  # type: (int, List[str]) -> Tensor\n  return x\n')).toEqual([
      'int',
      'List[str]',
      'Tensor',
    ]);
    expect(
      types('def f(x,  # type: int\n      y  # type: str\n      ):\n  # type: (...) -> bool\n  return x\n'),
    ).toEqual(['int', 'str', 'bool']);
    expect(types('def f(x: int):\n  y = x  # type: ignore\n  return y\n')).toEqual(['int', undefined]);
    expect(() => types('def f(x):\n  # type: (int, int) -> int\n  return x\n')).toThrow(
      'Number of type annotations (2) did not match the number of function parameters (1)',
    );
  });

  it('refuses what TorchScript has not', () => {
    const refusal = (text: string): string | undefined => {
      const [def] = parsePythonFile(new Source(text)).definitions;
      return def!.kind === 'def' ? def!.refusal?.reason : undefined;
    };
    const ofBody = (body: string): string | undefined => refusal(`def f(x):\n  ${body}\n`);
    expect(ofBody('return lambda x: x')).toBe("Lambda aren't supported");
    expect(ofBody('return [x for x in y if x]')).toBe('Comprehension ifs are not supported yet');
    expect(ofBody('return f(**k)')).toBe('keyword-arg expansion is not supported');
    expect(ofBody('try:\n    pass\n  except E: pass')).toBe("try blocks aren't supported");
    expect(ofBody('x //= 2')).toBe('unsupported kind of augmented assignment: FloorDiv');
    expect(ofBody('for i in x: pass\n  else: pass')).toBe("else branches of for loops aren't supported");
    expect(ofBody('return f"{x:2d}"')).toBe("Don't support formatting in JoinedStr");
    expect(ofBody('return {1, 2}')).toBe("Set aren't supported");
    expect(() => ofBody('match x:\n    case 1: pass')).toThrow("Match aren't supported");
    expect(ofBody('match = x\n  match(x)\n  match[0] = x')).toBeUndefined();
    const ofParams = (params: string): string | undefined => refusal(`def f(${params}): pass\n`);
    expect(ofParams('*args')).toContain("can't take variable number of arguments");
    expect(ofParams('a=[]')).toContain('Mutable default parameters are not supported');
    expect(ofParams('a, b=1')).toBeUndefined();
  });
});

describe('printed code', () => {
  it('reads classes with attributes of any name', () => {
    const [def] = parseProgram(
      new Source(
        'class Net(Module):\n  __parameters__ = ["w", ]\n  __annotations__["0/a"] = Tensor\n  training : bool\n' +
          '  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n    a, = (self).f(x, )\n    return a\n',
      ),
      'serialized',
    );
    expect(def?.kind === 'class' && def.body.map((stmt) => stmt.kind)).toEqual(['assign', 'assign', 'assign', 'def']);
  });

  it('gives a tree or an error for any text, quickly', () => {
    const words = fc.constantFrom(
      ...'def f ( ) : \n if else for in while x 1 "s" f"{ } [ ] { , = + - ** . * not is None class @ # # type:'.split(
        ' ',
      ),
      '\n  ',
      '\n    ',
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 40 }), (pieces) => {
        for (const dialect of ['python', 'serialized'] as const) {
          try {
            parseProgram(new Source(pieces.join(' ')), dialect);
          } catch (error) {
            expect((error as Error).name).toBe('ErrorReport');
          }
        }
      }),
      { numRuns: 1500 },
    );
  });
});

it('leaves the sign of a number in the library an operation, as Python does', () => {
  const signed = (dialect: Dialect): string => show(new Parser(new Source('-1'), dialect).parseSingleExpression());
  expect(signed('library')).toBe('(- 1)');
  expect(signed('python')).toBe('-1');
});
