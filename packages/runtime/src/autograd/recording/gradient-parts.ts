import { GraphFunction, operatorRegistry, type Graph, type ScriptFunction } from '@cresset/ir';
import { namesInCode, partsOf, type OperatorRow } from '@cresset/operators';
import { derivativeHelpers, derivativeKeys, derivativesOf } from '@cresset/operators/parts/derivatives';
import { inline } from '@cresset/passes';
import type { ProgramParts } from '../../worker/program-parts.ts';

/** Fetches the parts of the library that derivatives of functions need: what the formulas of their operators call, and of those that these come to. */
export async function needForGradients(parts: ProgramParts, functions: readonly ScriptFunction[]): Promise<void> {
  const operators = operatorsIn(functions);
  const texts = new Set<string>();
  const areDifferentiatedAgain = operators.has('grad') || operators.has('backward');
  // A set that grows is gone through to its end.
  for (const operator of operators) {
    for (const text of decompositionsOf(operator)) noteNames(text, operators);
    for (const [input, text] of formulasOf(operator)) {
      texts.add(text);
      // What runs in an operator's stead is differentiated in turn.
      if (areDifferentiatedAgain || input === '=') for (const each of withHelpers([text])) noteNames(each, operators);
    }
  }
  const code = withHelpers([...texts]).join('\n');
  const names = namesInCode(code);
  // A subscript may be by a tensor, which no name tells.
  if (code.includes('[')) names.add('index').add('index_put_');
  await parts.needForCode(code, names, partsOf);
}

/** Fetches what groups of operators need, whose formulas are those of PyTorch's JIT: in both directions they call other operators than the tape does. */
export async function needForGroups(
  parts: ProgramParts,
  functions: readonly ScriptFunction[],
  formulasOfGroups: (operators: ReadonlySet<string>) => readonly string[],
): Promise<void> {
  const code = formulasOfGroups(operatorsIn(functions)).join('\n');
  await parts.needForCode(code, namesInCode(code), partsOf);
}

/** The operators that functions call, and what those call, without namespace and overload. */
function operatorsIn(functions: readonly ScriptFunction[]): Set<string> {
  const operators = new Set<string>();
  for (const fn of functions) {
    if (!(fn instanceof GraphFunction)) continue;
    const graph = fn.graph.copy();
    inline(graph);
    noteOperators(graph, operators);
  }
  return operators;
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

type Formula = readonly [input: string, text: string];
let formulas: ReadonlyMap<string, readonly Formula[]> | undefined;

/** The formulas of all overloads of an operator; under `=` what runs in its stead. */
function formulasOf(operator: string): readonly Formula[] {
  formulas ??= formulasByName();
  return formulas.get(operator) ?? [];
}

function formulasByName(): Map<string, Formula[]> {
  const found = new Map<string, Formula[]>();
  for (const key of derivativeKeys()) {
    const [name, overload = ''] = key.split('.');
    const plain = plainName(name);
    found.set(plain, [...(found.get(plain) ?? []), ...Object.entries(derivativesOf(`aten::${name}`, overload)!)]);
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
