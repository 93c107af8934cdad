import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonObject, type Json } from './json-object.ts';
import { parseJson } from './json-text.ts';

/** As JavaScript has it, ints as bigints. */
function plain(value: Json): unknown {
  if (Array.isArray(value)) return value.map(plain);
  return value instanceof JsonObject
    ? Object.fromEntries([...value.entries].map(([key, item]) => [key, plain(item)]))
    : value;
}

describe('parseJson', () => {
  it('keeps ints of any size apart from floats', () => {
    expect(plain(parseJson('{"a": [9223372036854775807, -1, 1.0, 1e3], "b": {}}', 'text'))).toEqual({
      a: [9223372036854775807n, -1n, 1, 1000],
      b: {},
    });
  });

  it('reads what Python writes of numbers that JSON has not', () => {
    expect(plain(parseJson('[NaN, Infinity, -Infinity, true, null]', 'text'))).toEqual([
      NaN,
      Infinity,
      -Infinity,
      true,
      null,
    ]);
  });

  it('reads what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        const numbers = (each: unknown): unknown =>
          JSON.parse(JSON.stringify(each, (_key, item: unknown) => (typeof item === 'bigint' ? Number(item) : item)));
        expect(numbers(plain(parseJson(text, 'text')))).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each(['', '{', '[1,]', '{"a" 1}', '"\\x"', '01x', '[1] 2', '['.repeat(9000)])('refuses %j', (text) => {
    expect(() => parseJson(text, 'model.json')).toThrow('model.json is damaged');
  });
});

describe('JsonObject', () => {
  const object = parseJson(
    '{"name": "x", "list": [1], "none": null, "tag": {"as_int": 3}}',
    'model.json',
  ) as JsonObject;

  it('gives what is asked for where it is of that kind', () => {
    expect(object.text('name')).toBe('x');
    expect(object.object('tag').variant()).toEqual(['as_int', 3n]);
    expect(object.get('none')).toBeUndefined();
    expect(() => object.list('name')).toThrow("model.json is damaged: 'name' is no list");
    expect(() => object.objects('list')).toThrow("'list' is no list of objects");
    expect(() => object.variant()).toThrow('a union has 4 values');
  });
});
