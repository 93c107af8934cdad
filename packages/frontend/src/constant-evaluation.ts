import { Complex, constantValue, CressetError, type Constant, type Graph, type Node, type Value } from '@cresset/ir';
import { DeviceValue, Dict, List, Tuple, type DictKey, type IValue } from '@cresset/tensor';
import type { DictType, ListType, TupleType } from '@cresset/ir';

/**
 * Computes the outputs of a graph of constants: what default arguments and class constants may be written with. Throws `compile` for anything
 * that would have to be run.
 */
export function evaluateConstantGraph(graph: Graph): readonly Constant[] {
  const known = new Map<Value, IValue>();
  for (const node of graph.nodes()) {
    evaluateNode(node, known);
  }
  return graph.outputs.map((output) => valueOf(output, known) as Constant);
}

function valueOf(value: Value, known: Map<Value, IValue>): IValue {
  const result = known.get(value);
  if (result === undefined) {
    throw new CressetError('COMPILE', `cannot evaluate ${value.node.kind} for a default value: it is no constant`);
  }
  return result;
}

function evaluateNode(node: Node, known: Map<Value, IValue>): void {
  if (node.outputs.length !== 1) {
    return;
  }
  const output = node.output();
  if (node.kind === 'prim::Constant') {
    const constant = constantValue(output);
    if (constant !== undefined) {
      known.set(output, constant as IValue);
    }
    return;
  }
  const evaluate = EVALUATORS[node.kind];
  if (evaluate !== undefined && node.inputs.every((input) => known.has(input))) {
    const result = evaluate(
      node.inputs.map((input) => known.get(input)!),
      node,
    );
    if (result !== undefined) {
      known.set(output, result);
    }
  }
}

type Evaluator = (inputs: readonly IValue[], node: Node) => IValue | undefined;

const EVALUATORS: Readonly<Record<string, Evaluator>> = {
  'prim::ListConstruct': (inputs, node) => new List((node.output().type as ListType).elementType, [...inputs]),
  'prim::TupleConstruct': (inputs, node) => {
    const type = node.output().type as TupleType;
    return new Tuple(inputs, type.named === undefined ? null : type);
  },
  'prim::DictConstruct': (inputs, node) => {
    const { keyType, valueType } = node.output().type as DictType;
    const entries = new Map<DictKey, IValue>();
    for (let index = 0; index < inputs.length; index += 2) {
      entries.set(inputs[index] as DictKey, inputs[index + 1]!);
    }
    return new Dict(keyType, valueType, entries);
  },
  'prim::unchecked_cast': ([value]) => value,
  'aten::Float': ([value]) =>
    typeof value === 'bigint' || typeof value === 'boolean' ? Number(value) : asNumber(value),
  'aten::Int': ([value]) => (typeof value === 'boolean' || typeof value === 'bigint' ? BigInt(value) : undefined),
  'aten::Complex': ([value]) => (typeof value === 'number' ? (new Complex(value, 0) as IValue) : undefined),
  'aten::neg': ([value]) => (typeof value === 'bigint' || typeof value === 'number' ? -value : undefined),
  'aten::device': ([value]) => (typeof value === 'string' ? DeviceValue.parse(value) : undefined),
  'aten::mul': arithmetic(
    (a, b) => a * b,
    (a, b) => a * b,
  ),
  'aten::add': arithmetic(
    (a, b) => a + b,
    (a, b) => a + b,
  ),
  'aten::sub': arithmetic(
    (a, b) => a - b,
    (a, b) => a - b,
  ),
  'aten::div': ([a, b]) => {
    const [left, right] = [asNumber(a), asNumber(b)];
    return left === undefined || right === undefined || right === 0 ? undefined : left / right;
  },
};

function asNumber(value: IValue | undefined): number | undefined {
  return typeof value === 'bigint' || typeof value === 'number' ? Number(value) : undefined;
}

function arithmetic(ofInts: (a: bigint, b: bigint) => bigint, ofFloats: (a: number, b: number) => number): Evaluator {
  return ([a, b]) => {
    if (typeof a === 'bigint' && typeof b === 'bigint') {
      return BigInt.asIntN(64, ofInts(a, b));
    }
    const [left, right] = [asNumber(a), asNumber(b)];
    return left === undefined || right === undefined ? undefined : ofFloats(left, right);
  };
}
