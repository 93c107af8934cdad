import type { Graph, Node, ScriptFunction } from '@cresset/ir';
import { lowerForHost, type AttributeGuard, type OptimizeOptions } from '@cresset/passes';
import { compileCode } from '../interpreter/code-compiler.ts';
import type { CodeSource } from '../interpreter/code.ts';
import type { Callback } from '../interpreter/instruction.ts';
import type { ExecutionPlan, GraphExecutor } from './graph-executor.ts';

/** What only the executor knows that made a graph. */
export interface SpecialNodes {
  /** What is done at a node of its own; undefined for all others. */
  callbackOf?(node: Node): Callback | undefined;
  /** The code of a function of its own; undefined for all others. */
  codeOf?(fn: ScriptFunction): CodeSource | undefined;
}

/**
 * The plan of a graph as PyTorch has it. What runs is a copy, in which operators that have no function of their own here are put in terms
 * of those that have one; its nodes of the executor's own stand for those of the graph.
 */
export function planOf(
  executor: GraphExecutor,
  graph: Graph,
  guards: readonly AttributeGuard[],
  options: OptimizeOptions,
  special: SpecialNodes = {},
): ExecutionPlan {
  const lowered = graph.copy();
  const originals = new Map<Node, Node>();
  const nodes = graph.allNodes();
  for (const node of lowered.allNodes()) originals.set(node, nodes.next().value as Node);
  lowerForHost(lowered, options);
  const { provider } = executor;
  const code = compileCode(executor.name, lowered, {
    ofFunction: (fn) => special.codeOf?.(fn) ?? provider.ofFunction(fn),
    ofGraph: (inner, name) => provider.ofGraph(inner, name),
    callbackOf: (node) => {
      const original = originals.get(node);
      return original && special.callbackOf?.(original);
    },
  });
  const plan = { graph, code, guards };
  executor.keep(plan);
  return plan;
}
