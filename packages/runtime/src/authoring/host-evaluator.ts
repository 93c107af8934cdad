import { evaluateGraph } from '@cresset/frontend';
import type { NodeEvaluator } from '@cresset/ir';
import type { HostContext, OperatorRow } from '@cresset/operators';
import type { IValue } from '@cresset/tensor';
import { evaluateNode } from '../executor/constant-evaluator.ts';
import { compileDecomposition } from '../executor/decomposition-compiler.ts';

/** Runs nodes on tensors of the host at once, with a program's stream of random numbers: what Python computes while it makes modules. */
export function hostEvaluator(context: HostContext): NodeEvaluator {
  const evaluate: NodeEvaluator = (node, values) => {
    const inputs = values as readonly IValue[];
    const row = node.maybeOperator()?.row as OperatorRow | undefined;
    if (row?.decomposition !== undefined || row?.decomposed !== undefined) {
      return evaluateGraph(compileDecomposition(row), inputs, evaluate);
    }
    return evaluateNode(node, inputs, { most: Infinity, context });
  };
  return evaluate;
}
