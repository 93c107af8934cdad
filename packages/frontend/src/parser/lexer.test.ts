import { Source } from '@cresset/ir';
import { describe, expect, it } from 'vitest';
import { lex } from './lexer.ts';

function tokens(text: string): string[] {
  return lex(new Source(text)).tokens.map(({ kind, start, end }) => {
    const piece = text.slice(start, end).trim();
    return kind === piece || piece === '' ? kind : `${kind}:${piece}`;
  });
}

describe('lexing', () => {
  it('tells blocks by indentation, whatever the level of the whole text', () => {
    const expected = [
      'if',
      'ident:a',
      ':',
      'newline',
      'indent',
      'ident:b',
      'newline',
      'dedent',
      'ident:c',
      'newline',
      'eof',
    ];
    expect(tokens('if a:\n  b\nc')).toEqual(expected);
    expect(tokens('    if a:\n\n      b  # comment\n  # comment\n    c\n')).toEqual(expected);
  });

  it('closes all blocks at the end of the text', () => {
    expect(tokens('if a:\n  if b:\n    c').slice(-4)).toEqual(['newline', 'dedent', 'dedent', 'eof']);
  });

  it('joins lines within brackets and after a backslash', () => {
    expect(tokens('f(a,\n  b)')).toEqual(['ident:f', '(', 'ident:a', ',', 'ident:b', ')', 'newline', 'eof']);
    expect(tokens('a + \\\n  b')).toEqual(['ident:a', '+', 'ident:b', 'newline', 'eof']);
  });

  it('takes the longest operator that stands somewhere, and a point before a digit for a number', () => {
    expect(tokens('a**=b//c...d!=!e.f:=.5')).toEqual(
      [
        'ident:a',
        '**=',
        'ident:b',
        '//',
        'ident:c',
        '...',
        'ident:d',
        '!=',
        '!',
        'ident:e',
        '.',
        'ident:f',
        ':=',
        'number:.5',
      ].concat('newline', 'eof'),
    );
  });

  it('reads numbers of all forms', () => {
    for (const number of ['0', '1_000', '0x1F', '0b101', '1.', '.5', '9.99e-13', '1e5', '2j', '9223372036854775807']) {
      expect(tokens(number)).toEqual([`number:${number}`, 'newline', 'eof']);
    }
    expect(tokens('1.foo')).toEqual(['number:1.', 'ident:foo', 'newline', 'eof']);
  });

  it('reads names in any letters, and longer operators before those they begin with', () => {
    expect(tokens('naïve 日本2 x_1é3')).toEqual(['ident:naïve', 'ident:日本2', 'ident:x_1é3', 'newline', 'eof']);
    expect(tokens('a**=b//c!=.5...')).toEqual([
      'ident:a',
      '**=',
      'ident:b',
      '//',
      'ident:c',
      '!=',
      'number:.5',
      '...',
      'newline',
      'eof',
    ]);
    expect(() => tokens('a — b')).toThrow(/expected a valid token but found '—'/);
  });

  it('reads strings with prefixes, escapes and quotes within', () => {
    for (const text of ['"a#b"', "'a\\'b'", 'f"{x}"', "r'\\d'", '"""a\n"b" """']) {
      expect(tokens(text)[0]).toBe(`string:${text}`);
    }
  });

  it('keeps type comments apart from other comments', () => {
    const { typeComments } = lex(new Source('def f(x):\n  # type: (int) -> int\n  # else\n  return x\n'));
    expect(typeComments).toHaveLength(1);
  });

  it('refuses what starts no token, with the place', () => {
    expect(() => tokens('a ? b')).toThrow(/expected a valid token/);
    expect(() => tokens('"abc')).toThrow(/expected a valid token/);
    expect(() => tokens('if a:\n    b\n  c\n')).toThrow(/invalid indent level/);
  });
});
