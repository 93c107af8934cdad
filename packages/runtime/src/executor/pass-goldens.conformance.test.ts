import { existsSync, readFileSync } from 'node:fs';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { AliasDb, parseIr, type Graph, lint } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import {
  canonicalize,
  eliminateCommonSubexpressions,
  eliminateDeadCode,
  poolConstants,
  propagateConstants,
  removeMutation,
  runCleanupPasses,
} from '@cresset/passes';
import { beforeAll, describe, expect, it } from 'vitest';
import { evaluateConstant } from './constant-evaluator.ts';
import { runtimeConstants } from '../interpreter/code/constant-value.ts';

interface PassCase {
  readonly id: string;
  readonly pass?: string;
  readonly before?: string;
  readonly after: string;
}

interface GoldenPass {
  readonly run: (graph: Graph) => unknown;
  /** Part of PyTorch's cases whose result is the same, to the letter. */
  readonly atLeast: number;
}

/** PyTorch's passes by the names in the goldens. */
const passes: Readonly<Record<string, GoldenPass>> = {
  constant_pooling: { run: (graph) => poolConstants(graph), atLeast: 1 },
  constant_propagation: { run: (graph) => propagateConstants(graph, evaluateConstant), atLeast: 0.9 },
  constant_propagation_immutable_types: {
    run: (graph) => propagateConstants(graph, evaluateConstant, { immutableTypesOnly: true }),
    atLeast: 1,
  },
  cse: { run: (graph) => eliminateCommonSubexpressions(graph), atLeast: 0.8 },
  dce: { run: (graph) => eliminateDeadCode(graph, { aliasDb: new AliasDb(graph) }), atLeast: 1 },
  dce_allow_deleting_nodes_with_side_effects: {
    run: (graph) => eliminateDeadCode(graph, { allowSideEffects: true }),
    atLeast: 1,
  },
  frontend_cleanup: { run: (graph) => runCleanupPasses(graph, { evaluate: evaluateConstant }), atLeast: 1 },
  remove_mutation: { run: removeMutation, atLeast: 1 },
};

// Goldens printed by PyTorch lie beside the repository; where they do not, there is nothing to compare with.
const file = fileURLToPath(new URL('../../../../../shared/conformance/ir/passes.jsonl', import.meta.url));

describe.skipIf(!existsSync(file))('passes against PyTorch', () => {
  beforeAll(registerAllOperators);
  const cases = existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as PassCase)
    : [];

  it.each(Object.entries(passes))('%s', (name, { run, atLeast }) => {
    const own = cases.filter((each) => each.pass === name && each.before !== undefined);
    const failures: string[] = [];
    for (const { id, before, after } of own) {
      const difference = differenceOf(before!, after, run);
      if (difference !== null) failures.push(`${id}\n${difference}`);
    }
    if (env['GOLDEN_FAILURES'])
      console.log(
        `${name}: ${own.length - failures.length} of ${own.length}\n${failures.slice(0, Number(env['GOLDEN_FAILURES'])).join('\n')}`,
      );
    expect(own.length).toBeGreaterThan(0);
    expect(1 - failures.length / own.length, failures.slice(0, 2).join('\n')).toBeGreaterThanOrEqual(atLeast);
  });
});

function differenceOf(before: string, after: string, run: (graph: Graph) => unknown): string | null {
  try {
    const graph = parseIr(before, { constants: runtimeConstants });
    run(graph);
    lint(graph);
    const got = canonicalText(graph);
    const want = canonicalText(parseIr(withoutElements(after), { constants: runtimeConstants }));
    return got === want ? null : `want\n${want}\ngot\n${got}`;
  } catch (error) {
    return String(error);
  }
}

/** Elements of tensor constants are not read back by the parser. */
function withoutElements(text: string): string {
  return text.replaceAll(/\[value=[^\n]*? \[ CPU\w+\{[^}]*\} \]\]/g, '[value=<Tensor>]');
}

/** Names of values do not count, nor does how tensors print. */
function canonicalText(graph: Graph): string {
  return canonicalize(graph, false)
    .toString({ sourceRanges: false })
    .replaceAll(/ : \w+\([^)]*\) = prim::Constant\[value=[^\n]*\]\(\)/g, ' = tensor constant');
}
