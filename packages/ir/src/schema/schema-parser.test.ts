import { describe, expect, it } from 'vitest';
import { parseRegisteredSchema, parseSchema } from './schema-parser.ts';

/** What both ways of reading a text come to. */
const bothWays = (text: string): readonly string[] =>
  [parseRegisteredSchema(text), parseSchema(text)].map((schema) =>
    JSON.stringify(schema, (_, value: unknown) => {
      if (typeof value === 'bigint') return `${value}n`;
      return value instanceof Set ? [...value] : value === undefined ? 'undefined' : value;
    }),
  );

describe('schemas that are put together of known arguments', () => {
  it.each([
    'aten::relu(Tensor self) -> Tensor',
    'aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)',
    'aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)',
    'aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=0) -> Tensor',
    'aten::split(Tensor(a -> *) self, int size, int dim=0) -> Tensor(a)[]',
    'aten::list.t(t[] l) -> t[]',
    'aten::zip((int, Tensor)[] pairs, Dict(str, int) d) -> (int, int)',
    'aten::pad(Tensor self, str mode="constant, (x", float? value=None) -> Tensor',
    'prim::Print(...) -> ()',
    'prim::nothing() -> ()',
    'aten::write_(Tensor! self, Tensor! other) -> ()',
  ])('%s', (text) => {
    const [known, whole] = bothWays(text);
    expect(known).toBe(whole);
    expect(parseRegisteredSchema(text).toString()).toBe(parseSchema(text).toString());
  });

  it('an argument of one text is one argument, unless it is one by keyword', () => {
    const [x] = parseRegisteredSchema('aten::first(Tensor x) -> Tensor').arguments;
    const [again] = parseRegisteredSchema('aten::second(Tensor x, int y) -> Tensor').arguments;
    const [named] = parseRegisteredSchema('aten::third(*, Tensor x) -> Tensor').arguments;
    expect(again).toBe(x);
    expect(named.kwargOnly).toBe(true);
    expect(x.kwargOnly).toBe(false);
  });

  it.each([
    'aten::f(Tensor x, int) -> Tensor',
    'aten::f(Tensor x, int y=) -> Tensor',
    'aten::f(Tensr x) -> Tensor',
    'aten::f(Tensor x, ) -> Tensor',
    'aten::f(Tensor x) -> ',
  ])('%s is refused at its place in the whole', (text) => {
    const messages = [parseRegisteredSchema, parseSchema].map((parse) => {
      try {
        parse(text);
        return 'no error';
      } catch (error) {
        return (error as Error).message;
      }
    });
    expect(messages[0]).toContain('aten::f(');
    expect(messages[0]).toBe(messages[1]);
  });
});
