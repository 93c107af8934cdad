import { declareScript } from '@cresset/frontend';
import { AliasDb, parseIr, parseSchema, type Graph, type Value, lint } from '@cresset/ir';
import { canonicalize, namedPasses } from '@cresset/passes';
import { passEnvironment, registerAllParts, runtimeConstants } from '@cresset/runtime';
import { checkAutodiff, type GradientJson } from './autodiff-case.ts';
import { checkBytecode, type BytecodeJson } from './bytecode-case.ts';
import { sameGraph } from './graph-text.ts';
import { analysedGraph, type InputShape } from './shape-case.ts';

/** Cases of the IR corpora: texts and graphs instead of programs. Each has a suite that starts with `ir/`. */
export interface IrCase extends Partial<GradientJson> {
  readonly id: string;
  readonly suite: string;
  readonly raises?: string;
  readonly ir?: string;
  readonly code?: BytecodeJson;
  readonly printed?: string | object;
  readonly schema?: string;
  readonly parsed?: { readonly printed: string };
  readonly queries?: readonly AliasQuery[];
  readonly before?: string;
  /** TorchScript to be compiled, in place of `before`. */
  readonly source?: string;
  readonly after?: string;
  readonly pass?: string;
  /** What the pass itself says: whether it changed anything. */
  readonly returned?: boolean;
  readonly inputs?: readonly (InputShape | null)[];
  readonly passes?: readonly string[];
}

type AliasQuery =
  | { readonly op: 'may_contain_alias'; readonly a: string; readonly b: string; readonly answer: boolean }
  | { readonly op: 'has_writers'; readonly value: string; readonly answer: boolean }
  | {
      readonly op: 'move_after_topologically_valid' | 'move_before_topologically_valid';
      readonly node: number;
      readonly point: number;
      readonly answer: boolean;
      readonly after?: string;
    };

/** What is wrong, or null where the case passes. Throws what parsing or a pass throws. */
export function checkIrCase(json: IrCase): string | null {
  registerAllParts();
  if (json.schema !== undefined) return checkSchema(json);
  if (json.queries !== undefined) return checkQueries(json);
  if (json.suite === 'ir/bytecode') return checkBytecode(json.ir!, json.code!);
  if (json.suite === 'ir/autodiff') return checkAutodiff(json.ir!, json as GradientJson);
  if (json.suite.startsWith('ir/roundtrip')) return checkRoundTrip(json);
  if (json.before !== undefined && json.after !== undefined && json.suite.startsWith('ir/pass/'))
    return checkPass(json);
  if (json.suite.startsWith('ir/shape/')) return checkShapes(json);
  return `nothing here answers ${json.suite.split('/').slice(0, 2).join('/')}`;
}

function checkSchema({ schema, parsed, raises }: IrCase): string | null {
  if (raises !== undefined) return expectThrow(() => parseSchema(schema!), raises);
  return String(parseSchema(schema!)) === parsed!.printed ? null : 'another schema text';
}

function checkRoundTrip({ ir, printed, raises }: IrCase): string | null {
  if (raises !== undefined) return expectThrow(() => parseIr(ir!, { constants: runtimeConstants }), raises);
  return same(parseIr(ir!, { constants: runtimeConstants }), printed as string);
}

function checkPass({ before, source, after, pass, passes: several, returned }: IrCase): string | null {
  const names = several ?? [pass!];
  const passes = namedPasses(passEnvironment);
  const missing = names.find((name) => !(name in passes));
  if (missing !== undefined) return `no pass ${missing}`;
  const graph = source === undefined ? parseIr(before!, { constants: runtimeConstants }) : compiledForward(source);
  let result: unknown;
  for (const name of names) result = passes[name](graph);
  lint(graph);
  if (returned !== undefined && result !== returned) return `returned ${String(result)}`;
  return same(canonicalize(graph), after!);
}

function compiledForward(source: string): Graph {
  const { unit } = declareScript(source, { filename: '<source>', module: 'program' });
  return unit.findFunction('__torch__.forward')!.graph.copy();
}

function checkShapes({ ir, inputs, after, pass }: IrCase): string | null {
  const graph = analysedGraph(pass!, ir!, inputs);
  return graph ? same(graph, after!) : `no shape analysis ${pass}`;
}

function checkQueries({ ir, queries }: IrCase): string | null {
  for (const query of queries!) {
    const found = checkQuery(parseIr(ir!, { constants: runtimeConstants }), query);
    if (found) return found;
  }
  return null;
}

function checkQuery(graph: Graph, query: AliasQuery): string | null {
  const db = new AliasDb(graph);
  if (query.op === 'may_contain_alias' || query.op === 'has_writers') {
    const values = valuesByName(graph);
    const answer =
      query.op === 'has_writers'
        ? db.hasWriters(values.get(query.value)!)
        : db.mayContainAlias(values.get(query.a)!, values.get(query.b)!);
    return answer === query.answer ? null : `${query.op}: another answer`;
  }
  const nodes = [...graph.nodes()];
  const [node, point] = [nodes[query.node], nodes[query.point]];
  const moved =
    query.op === 'move_after_topologically_valid'
      ? db.moveAfterTopologicallyValid(node, point)
      : db.moveBeforeTopologicallyValid(node, point);
  if (moved !== query.answer) return `${query.op}: another answer`;
  return query.after === undefined ? null : same(graph, query.after);
}

function valuesByName(graph: Graph): ReadonlyMap<string, Value> {
  const values = [...graph.inputs];
  for (const node of graph.allNodes()) values.push(...node.outputs, ...node.blocks.flatMap((block) => block.inputs));
  return new Map(values.map((value) => [`%${value.debugName}`, value]));
}

function same(graph: Graph, text: string): string | null {
  return sameGraph(graph, text) ? null : 'another graph';
}

function expectThrow(body: () => unknown, message: string): string | null {
  try {
    body();
  } catch (error) {
    return error instanceof Error && error.message.includes(message) ? null : 'raised another message';
  }
  return 'accepted, though PyTorch raises';
}
