import {
  compilerServices,
  constantValue,
  CressetError,
  deviceText,
  isDeviceConstant,
  isEnumConstant,
  type Constant,
  type DictType,
  type Graph,
  type ListType,
  type Node,
  type NodeEvaluator,
  type TupleType,
  type Value,
} from '@cresset/ir';
import { DeviceValue, Dict, EnumValue, List, Tuple, type IValue } from '@cresset/tensor';

/**
 * Computes the outputs of a graph of constants: what default arguments and class constants may be written with. Throws `compile` for anything
 * that would have to be run.
 */
export function evaluateConstantGraph(graph: Graph): readonly Constant[] {
  const known = new Map<Value, IValue>();
  for (const node of graph.nodes()) {
    const results = node.kind === 'prim::Constant' ? literal(node) : evaluated(node, known);
    results?.forEach((result, index) => known.set(node.outputs[index]!, result));
  }
  return graph.outputs.map((output) => {
    const result = known.get(output);
    if (result === undefined) {
      throw new CressetError('COMPILE', `cannot evaluate ${output.node.kind} for a default value: it is no constant`);
    }
    return result as Constant;
  });
}

/** The value of a `prim::Constant`; null where it is none of TorchScript's. */
export function literal(node: Node): readonly IValue[] | null {
  const constant = constantValue(node.output());
  if (constant === undefined) return null;
  if (isEnumConstant(constant)) return [EnumValue.of(constant.type, constant.name)!];
  return [isDeviceConstant(constant) ? DeviceValue.parse(deviceText(constant)) : (constant as IValue)];
}

function evaluated(node: Node, known: ReadonlyMap<Value, IValue>): readonly IValue[] | null {
  const areKnown = node.inputs.every((input) => known.has(input));
  if (!areKnown) return null;
  const inputs = node.inputs.map((input) => known.get(input)!);
  // A runtime has operators; the frontend knows none.
  const { evaluate = evaluateConstruction as NodeEvaluator } = compilerServices();
  return evaluate(node, inputs) as readonly IValue[] | null;
}

/** The output of a node that puts values into a list, tuple or dict, or only says of what type one is; null for other nodes. */
export function evaluateConstruction(node: Node, inputs: readonly IValue[]): readonly IValue[] | null {
  switch (node.kind) {
    case 'prim::ListConstruct':
      return [new List((node.output().type as ListType).elementType, [...inputs])];
    case 'prim::TupleConstruct': {
      const type = node.output().type as TupleType;
      return [new Tuple(inputs, type.named ? type : null)];
    }
    case 'prim::DictConstruct': {
      const { keyType, valueType } = node.output().type as DictType;
      const dict = new Dict(keyType, valueType);
      for (let i = 0; i < inputs.length; i += 2) dict.entries.set(dict.storedKey(inputs[i]!), inputs[i + 1]!);
      return [dict];
    }
    case 'prim::unchecked_cast':
      return inputs;
    default:
      return null;
  }
}
