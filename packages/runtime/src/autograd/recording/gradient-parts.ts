import { GraphFunction, operatorRegistry, type Graph, type ScriptFunction } from '@cresset/ir';
import { namesInCode, partsOf, type OperatorRow } from '@cresset/operators';
import { derivativeHelpers, derivativeKeys, derivativesOf } from '@cresset/operators/parts/derivatives';
import { inline } from '@cresset/passes';
import type { ProgramParts } from '../../worker/program-parts.ts';

/** Fetches the parts of the library that derivatives of functions need: what the formulas of their operators call, and of those that these come to. */
export async function needForGradients(parts: ProgramParts, functions: readonly ScriptFunction[]): Promise<void> {
  const operators = new Set<string>();
  for (const fn of functions) {
    if (!(fn instanceof GraphFunction)) continue;
    const graph = fn.graph.copy();
    inline(graph);
    noteOperators(graph, operators);
  }
  const texts = new Set<string>();
  const areDifferentiatedAgain = operators.has('grad') || operators.has('backward');
  // A set that grows is gone through to its end.
  for (const operator of operators) {
    for (const text of decompositionsOf(operator)) noteNames(text, operators);
    for (const text of formulasOf(operator)) {
      texts.add(text);
      if (areDifferentiatedAgain) noteNames(text, operators);
    }
  }
  const code = withHelpers([...texts]).join('\n');
  const names = namesInCode(code);
  // A subscript may be by a tensor, which no name tells.
  if (code.includes('[')) names.add('index').add('index_put_');
  await parts.needForCode(code, names, partsOf);
}

const plainName = (name: string): string => name.replace(/^\w+::/, '').replace(/(?<=[^_])_$/, '');

function noteOperators(graph: Graph, names: Set<string>): void {
  for (const node of graph.allNodes()) {
    names.add(plainName(node.kind));
    // A custom operator's gradients are those of what it comes to.
    const { decomposed } = (node.maybeOperator()?.row as OperatorRow | undefined) ?? {};
    if (decomposed) noteOperators(decomposed, names);
    for (const name of node.attributeNames) {
      const attribute = node.attribute(name);
      if (attribute.kind === 'g') noteOperators(attribute.value, names);
    }
  }
}

function noteNames(text: string, names: Set<string>): void {
  for (const name of namesInCode(text)) names.add(plainName(name));
}

function* decompositionsOf(operator: string): Iterable<string> {
  for (const { row } of operatorRegistry.operatorsFor(`aten::${operator}`)) {
    const { decomposition } = (row as OperatorRow | undefined) ?? {};
    if (decomposition !== undefined) yield decomposition;
  }
}

let formulas: ReadonlyMap<string, readonly string[]> | undefined;

/** The formulas of all overloads of an operator. */
function formulasOf(operator: string): readonly string[] {
  formulas ??= formulasByName();
  return formulas.get(operator) ?? [];
}

function formulasByName(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const key of derivativeKeys()) {
    const [name, overload = ''] = key.split('.');
    const plain = plainName(name);
    found.set(plain, [...(found.get(plain) ?? []), ...Object.values(derivativesOf(`aten::${name}`, overload)!)]);
  }
  return found;
}

/** Texts with those of the functions that they call. */
function withHelpers(texts: readonly string[]): readonly string[] {
  const found = new Set(texts);
  for (const text of found) {
    for (const name of namesInCode(text))
      if (Object.hasOwn(derivativeHelpers, name)) found.add(derivativeHelpers[name]);
  }
  return [...found];
}
