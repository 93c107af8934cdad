import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { goldenCases, referenceSchemas, Tally } from './golden-fixture.ts';
import { CressetError, operatorRegistry, parseIr, parseSchema, registerOperators } from '../index.ts';
import { renameValuesByDefinitionOrder } from './value-renaming-fixture.ts';

interface RoundTripCase {
  id: string;
  ir: string;
  printed?: string;
  raises?: string;
}

const cases = goldenCases<RoundTripCase>('roundtrip.jsonl');
const schemas = referenceSchemas();

beforeAll(() => registerOperators((schemas ?? []).map((schema) => ({ schema }))));
afterAll(() => operatorRegistry.clear());

describe.skipIf(cases === undefined)('graphs of PyTorch', () => {
  test('are read and printed as PyTorch does', () => {
    const tally = new Tally();
    for (const golden of cases ?? []) {
      tally.run(golden.id, () => {
        if (golden.raises !== undefined) {
          expect(() => parseIr(golden.ir)).toThrow(CressetError);
          expect(() => parseIr(golden.ir)).toThrow(golden.raises);
          return;
        }
        const graph = parseIr(golden.ir);
        const printed = String(graph);
        expect(renameValuesByDefinitionOrder(printed)).toBe(renameValuesByDefinitionOrder(golden.printed!));
        if (!/\.[+-][\d.]+j/.test(printed)) {
          expect(String(parseIr(printed))).toBe(printed);
        }
        const copy = graph.copy();
        expect(renameValuesByDefinitionOrder(String(copy))).toBe(renameValuesByDefinitionOrder(printed));
      });
    }
    tally.expectAtLeast(0.99);
  });

  test('are read back with their subgraphs', () => {
    const texts = (goldenCases<{ id: string; after?: string }>('passes.jsonl') ?? []).filter(
      ({ after }) => after?.includes('\nwith prim::') === true,
    );
    const tally = new Tally();
    for (const { id, after } of texts) {
      tally.run(id, () =>
        expect(renameValuesByDefinitionOrder(String(parseIr(after!)))).toBe(renameValuesByDefinitionOrder(after!)),
      );
    }
    tally.expectAtLeast(0.99);
  });
});

describe.skipIf(schemas === undefined)("PyTorch's operators", () => {
  test('have schemas that print as they are written', () => {
    const tally = new Tally();
    for (const schema of schemas ?? []) {
      tally.run(schema, () => expect(String(parseSchema(schema))).toBe(schema));
    }
    tally.expectAtLeast(0.99);
  });
});
