import { describe, expect, test } from 'vitest';
import { type Constant, CressetError, isComplexConstant, parseSchema } from '../index.ts';
import { goldenCases, Tally } from '../text/golden-fixture.ts';

interface SchemaCase {
  id: string;
  schema: string;
  raises?: string;
  parsed?: {
    name: string;
    overload: string;
    is_mutable: boolean;
    printed: string;
    arguments: ArgumentCase[];
    returns: ArgumentCase[];
  };
}

interface ArgumentCase {
  name: string;
  type: string;
  annotation: string;
  real_type: string;
  kwarg_only: boolean;
  N?: number;
  default?: unknown;
  alias?: { is_write: boolean; before: string[]; after: string[] };
}

function encode(value: Constant | undefined): unknown {
  if (value === undefined || value === null || typeof value === 'boolean') {
    return value;
  }
  switch (typeof value) {
    case 'bigint':
      return { int: String(value) };
    case 'number':
      return { float: value };
    case 'string':
      return { str: value };
    default:
      break;
  }
  return isComplexConstant(value)
    ? { complex: [value.re, value.im] }
    : { list: (value as readonly Constant[]).map(encode) };
}

function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1)))
      : inner,
  );
}

const cases = goldenCases<SchemaCase>('schema.jsonl');

describe.skipIf(cases === undefined)('schemas of PyTorch', () => {
  test('parse and print as PyTorch does', () => {
    const tally = new Tally();
    for (const golden of cases ?? []) {
      tally.run(golden.id, () => {
        if (golden.raises !== undefined) {
          expect(() => parseSchema(golden.schema)).toThrow(CressetError);
          expect(() => parseSchema(golden.schema)).toThrow(golden.raises);
          return;
        }
        const schema = parseSchema(golden.schema);
        const parsed = golden.parsed!;
        expect(String(schema)).toBe(parsed.printed);
        expect([schema.name, schema.overloadName, schema.isMutable]).toEqual([
          parsed.name,
          parsed.overload,
          parsed.is_mutable,
        ]);
        const described = (args: typeof schema.arguments): unknown =>
          args.map(({ name, type, realType, kwargOnly, N, defaultValue, aliasInfo, isOut }) => ({
            name,
            type: type.annotationStr(),
            annotation: type.annotationStr(),
            real_type: realType.annotationStr(),
            kwarg_only: kwargOnly,
            ...(isOut ? { is_out: true } : {}),
            ...(N === undefined ? {} : { N }),
            ...(defaultValue === undefined ? {} : { default: encode(defaultValue) }),
            ...(aliasInfo === undefined
              ? {}
              : {
                  alias: {
                    is_write: aliasInfo.isWrite,
                    before: [...aliasInfo.beforeSets].sort(),
                    after: [...aliasInfo.afterSets].sort(),
                  },
                }),
          }));
        expect(sortedJson(described(schema.arguments))).toBe(sortedJson(parsed.arguments));
        expect(sortedJson(described(schema.returns))).toBe(sortedJson(parsed.returns));
      });
    }
    tally.expectAtLeast(1);
  });
});
