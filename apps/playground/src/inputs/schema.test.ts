import { describe, expect, test } from 'vitest';
import { parseParameters, parseType } from './schema.ts';

const named = (name: string) => ({ kind: 'named', name });

describe('parseType', () => {
  test.each([
    ['Tensor', named('Tensor')],
    ['Tensor?', { kind: 'optional', element: named('Tensor') }],
    ['Optional[int]', { kind: 'optional', element: named('int') }],
    ['int[]', { kind: 'list', element: named('int') }],
    ['int[2]', { kind: 'list', element: named('int') }],
    ['Tensor[][]', { kind: 'list', element: { kind: 'list', element: named('Tensor') } }],
    ['Dict(str, Tensor)', { kind: 'dict', key: named('str'), value: named('Tensor') }],
    ['(Tensor, int)', { kind: 'tuple', elements: [named('Tensor'), named('int')] }],
    ['(Tensor, (int, float))[]', { kind: 'list', element: parseType('(Tensor, (int, float))') }],
    ['__torch__.model.Point', named('__torch__.model.Point')],
  ])('%s', (text, type) => {
    expect(parseType(text)).toEqual(type);
  });
});

describe('parseParameters', () => {
  test('leaves the receiver out and keeps defaults', () => {
    const schema =
      'forward(__torch__.model.Net self, Tensor x, (Tensor, Tensor)? state=None, *, int[] sizes=[1, 2], str mode="a,b") -> Tensor';
    expect(parseParameters(schema).map(({ name, typeText, defaultText }) => [name, typeText, defaultText])).toEqual([
      ['x', 'Tensor', undefined],
      ['state', '(Tensor, Tensor)?', 'None'],
      ['sizes', 'int[]', '[1, 2]'],
      ['mode', 'str', '"a,b"'],
    ]);
  });

  test('knows a receiver by its place', () => {
    const names = (schema: string): string[] => parseParameters(schema).map(({ name }) => name);
    expect(names('forward(__torch__.model.Net s, Tensor x) -> Tensor')).toEqual(['x']);
    expect(names('forward(__torch__.Net this, Tensor self, *, int n=1) -> Tensor')).toEqual(['self', 'n']);
  });

  test('none', () => {
    expect(parseParameters('reset(__torch__.model.Net self) -> NoneType')).toEqual([]);
    expect(parseParameters('reset(__torch__.model.Net me) -> NoneType')).toEqual([]);
  });
});
