import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { goldenCases, referenceSchemas, Tally } from '../text/golden-fixture.ts';
import { AliasDb, type Graph, operatorRegistry, parseIr, registerOperators, type Value } from '../index.ts';
import { renameValuesByDefinitionOrder } from '../text/value-renaming-fixture.ts';
import { lint } from '../graph/lint.ts';

type Query =
  | { op: 'may_contain_alias'; a: string; b: string; answer: boolean }
  | { op: 'has_writers'; value: string; answer: boolean }
  | {
      op: 'move_after_topologically_valid' | 'move_before_topologically_valid';
      node: number;
      point: number;
      answer: boolean;
      after?: string;
    };

const cases = goldenCases<{ id: string; ir: string; queries: Query[] }>('alias.jsonl');
const schemas = referenceSchemas();

beforeAll(() => registerOperators((schemas ?? []).map((schema) => ({ schema }))));
afterAll(() => operatorRegistry.clear());

/** The values by the names that the parsed graph prints. */
function valuesByName(graph: Graph): ReadonlyMap<string, Value> {
  const values = [...graph.inputs];
  for (const node of graph.allNodes()) {
    values.push(...node.outputs, ...node.blocks.flatMap((block) => block.inputs));
  }
  return new Map(values.map((value) => [`%${value.debugName}`, value]));
}

function answer(ir: string, query: Query): void {
  const graph = parseIr(ir);
  const db = new AliasDb(graph);
  if (query.op === 'may_contain_alias' || query.op === 'has_writers') {
    const values = valuesByName(graph);
    const got =
      query.op === 'has_writers'
        ? AliasDb.lazily(graph).hasWriters(values.get(query.value)!)
        : db.mayContainAlias(values.get(query.a)!, values.get(query.b)!);
    expect(`${JSON.stringify(query)} ${got}`).toBe(`${JSON.stringify(query)} ${query.answer}`);
    return;
  }
  const nodes = [...graph.nodes()];
  const move =
    query.op === 'move_after_topologically_valid' ? 'moveAfterTopologicallyValid' : 'moveBeforeTopologicallyValid';
  const could =
    query.op === 'move_after_topologically_valid' ? 'couldMoveAfterTopologically' : 'couldMoveBeforeTopologically';
  const before = String(graph);
  expect(db[could](nodes[query.node], nodes[query.point])).toBe(query.answer);
  expect(String(graph)).toBe(before);
  expect(db[move](nodes[query.node], nodes[query.point])).toBe(query.answer);
  lint(graph);
  if (query.after !== undefined) {
    expect(renameValuesByDefinitionOrder(String(graph))).toBe(renameValuesByDefinitionOrder(query.after));
  }
}

describe.skipIf(cases === undefined || schemas === undefined)('aliases in graphs of PyTorch', () => {
  test('are answered as PyTorch does', () => {
    const queries = new Tally();
    for (const golden of cases ?? []) {
      for (const [index, query] of golden.queries.entries()) {
        queries.run(`${golden.id} query ${index} ${JSON.stringify(query).slice(0, 90)}`, () =>
          answer(golden.ir, query),
        );
      }
    }
    queries.expectAtLeast(0.97);
  });

  test('have the writers that types leave possible', () => {
    for (const { ir } of cases ?? []) {
      const graph = parseIr(ir);
      const db = new AliasDb(graph);
      const lazily = AliasDb.lazily(graph);
      const ask = (of: { hasWriters(value: Value): boolean }): boolean[] =>
        [...valuesByName(graph).values()].map((value) => of.hasWriters(value));
      expect(ask({ hasWriters: (value) => lazily.hasWriters(value) }), ir).toEqual(ask(db));
    }
  });
});
