import {
  compilerServices,
  constantValue,
  CressetError,
  deviceText,
  isDeviceConstant,
  isEnumConstant,
  type Block,
  type Constant,
  type DictType,
  type FunctionType,
  type Graph,
  type GraphFunction,
  type ListType,
  type Node,
  type NodeEvaluator,
  type TupleType,
  type Value,
} from '@cresset/ir';
import { DeviceValue, Dict, EnumValue, fromByteString, List, Tuple, Uninitialized, type IValue } from '@cresset/tensor';

/**
 * Computes the outputs of a graph of constants: what default arguments and class constants may be written with. Throws `compile` for anything
 * that would have to be run.
 */
export function evaluateConstantGraph(graph: Graph): readonly Constant[] {
  // A runtime has operators; the frontend knows none.
  const { evaluate = evaluateConstruction as NodeEvaluator } = compilerServices();
  return evaluateWithInputs(graph, [], evaluate) as readonly Constant[];
}

/** As {@link evaluateConstantGraph}, with values for the graph's inputs and something that runs its operators. Conditions are followed. */
export function evaluateWithInputs(
  graph: Graph,
  inputs: readonly IValue[],
  evaluate: NodeEvaluator,
): readonly IValue[] {
  const known = new Map<Value, IValue>(graph.inputs.map((input, index) => [input, inputs[index]!]));
  evaluateBlock(graph.block, known, evaluate);
  return outputsOf(graph.block, known);
}

function outputsOf(block: Block, known: ReadonlyMap<Value, IValue>): readonly IValue[] {
  return block.outputs.map((output) => {
    const result = known.get(output);
    if (result === undefined) {
      throw new CressetError('COMPILE', `cannot evaluate ${output.node.kind} for a default value: it is no constant`);
    }
    return result;
  });
}

function evaluateBlock(block: Block, known: Map<Value, IValue>, evaluate: NodeEvaluator): void {
  for (const node of block.nodes()) {
    const results = node.kind === 'prim::Constant' ? literal(node) : evaluated(node, known, evaluate);
    results?.forEach((result, index) => known.set(node.outputs[index]!, result));
  }
}

function literal(node: Node): readonly IValue[] | null {
  const constant = constantValue(node.output());
  if (constant === undefined) return null;
  if (isEnumConstant(constant)) return [EnumValue.of(constant.type, constant.name)!];
  return [isDeviceConstant(constant) ? DeviceValue.parse(deviceText(constant)) : (constant as IValue)];
}

function evaluated(node: Node, known: Map<Value, IValue>, evaluate: NodeEvaluator): readonly IValue[] | null {
  const areKnown = node.inputs.every((input) => known.has(input) || input.node.kind === 'prim::Constant');
  if (!areKnown) return null;
  const inputs = node.inputs.map((input) => known.get(input)!);
  switch (node.kind) {
    case 'prim::If': {
      const block = node.blocks[inputs[0] === true ? 0 : 1]!;
      evaluateBlock(block, known, evaluate);
      return outputsOf(block, known);
    }
    case 'prim::CallFunction': {
      const callee = (node.inputs[0]!.type as FunctionType).function;
      return evaluateWithInputs((callee as GraphFunction).graph, inputs.slice(1), evaluate);
    }
    case 'prim::Uninitialized':
      return [Uninitialized.value];
    case 'prim::RaiseException':
      throw new CressetError('COMPILE', fromByteString(String(inputs[0])));
    default:
      return evaluate(node, inputs) as readonly IValue[] | null;
  }
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
