import { evaluateConstruction } from '@cresset/frontend';
import type { Node } from '@cresset/ir';
import {
  computeCallOnHost,
  isImplemented,
  OperatorCall,
  runWithoutData,
  type HostContext,
  type OperatorRow,
} from '@cresset/operators';
import { isInstance, List, numelOf, Tensor, Tuple, type IValue, settleAll } from '@cresset/tensor';
import { toIValue } from '../interpreter/code/constant-value.ts';
import { PhiloxGenerator } from '../run/philox.ts';

/** Tensors, lists and strings of more elements are not worked out ahead of a run: they would be kept for good. */
const maxElements = 1 << 14;

/** What a kernel says while constants are worked out is not the program's output. */
export const silentContext: HostContext = {
  generator: new PhiloxGenerator(),
  gradEnabled: false,
  print: () => undefined,
  warn: () => undefined,
};

/** Runs a node on constants, as constant propagation asks for it; null where it cannot be run, or only with an error. */
export function evaluateConstant(node: Node, constants: readonly unknown[]): readonly IValue[] | null {
  const results = evaluateUpTo(maxElements, node, constants);
  return results?.some((value) => lengthOf(value) > maxElements) === true ? null : results;
}

function lengthOf(value: IValue): number {
  if (value instanceof Tensor) return value.numel;
  if (value instanceof List || value instanceof Tuple) return value.items.length;
  return typeof value === 'string' ? value.length : 0;
}

/** As {@link evaluateConstant}, whatever the size of the result: where a program is made anew of its constants. */
export function evaluateAnyConstant(node: Node, constants: readonly unknown[]): readonly IValue[] | null {
  return evaluateUpTo(Infinity, node, constants);
}

/** @param most elements of a tensor that is computed, where its size is known before */
function evaluateUpTo(most: number, node: Node, constants: readonly unknown[]): readonly IValue[] | null {
  try {
    return evaluateNode(node, constants.map(toIValue), { most, context: silentContext });
  } catch {
    // Whether the program ever comes here is not known: the error is raised when it does.
    return null;
  }
}

export interface Evaluation {
  /** Elements of a tensor that is computed, at most. */
  readonly most: number;
  readonly context: HostContext;
}

/** Runs a node; null for one that cannot be run. Throws what its operator throws. */
export function evaluateNode(node: Node, inputs: readonly IValue[], evaluation: Evaluation): readonly IValue[] | null {
  const constructed = evaluateConstruction(node, inputs);
  if (constructed) return constructed;
  switch (node.kind) {
    case 'prim::ListUnpack':
    case 'prim::TupleUnpack': {
      const { items } = inputs[0] as List | Tuple;
      return items.length === node.outputs.length ? items : null;
    }
    case 'prim::TupleIndex': {
      const item = (inputs[0] as Tuple).items.at(Number(inputs[1]));
      return item === undefined ? null : [item];
    }
    case 'prim::TupleSlice':
      return [new Tuple((inputs[0] as Tuple).items.slice(Number(node.i('beg')), Number(node.i('end'))))];
    case 'prim::isinstance':
      return [node.tys('types').some((type) => isInstance(inputs[0], type))];
    default:
      return evaluateOperator(node, inputs, evaluation);
  }
}

function evaluateOperator(
  node: Node,
  inputs: readonly IValue[],
  { most, context }: Evaluation,
): readonly IValue[] | null {
  const row = node.maybeOperator()?.row as OperatorRow | undefined;
  if (!row || !isImplemented(row)) return null;
  const known = runWithoutData(row, inputs, context);
  if (known) return known;
  const call = new OperatorCall(row, inputs);
  return call.outputs?.some(({ sizes }) => numelOf(settleAll(sizes)) > most) ? null : computeCallOnHost(call, context);
}
