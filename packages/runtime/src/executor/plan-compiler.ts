import { Graph, type Node, type ScriptFunction } from '@cresset/ir';
import { isImplemented, type OperatorRow } from '@cresset/operators';
import {
  decomposeOps,
  lowerForHost,
  type AttributeGuard,
  type OptimizeOptions,
  type SpecOptions,
} from '@cresset/passes';
import { compileCode, type CodeProvider } from '../interpreter/code/code-compiler.ts';
import type { Code, CodeSource } from '../interpreter/code/code.ts';
import type { Callback } from '../interpreter/code/instruction.ts';
import { bindOperator } from '../interpreter/code/operator-binding.ts';
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
  options: OptimizeOptions & Partial<SpecOptions> & { readonly gradEnabled: boolean },
  special: SpecialNodes = {},
): ExecutionPlan {
  const lowered = graph.copy();
  const originals = new Map<Node, Node>();
  const nodes = graph.allNodes();
  for (const node of lowered.allNodes()) originals.set(node, nodes.next().value as Node);
  // Whoever records a run knows derivatives of operators that are in terms of others, better ones than those of the others.
  lowerForHost(lowered, options, (node) => options.gradEnabled && mayBeKept(node));
  const { provider } = executor;
  const code = compileCode(executor.name, lowered, {
    ofFunction: (fn) => special.codeOf?.(fn) ?? provider.ofFunction(fn),
    ofGraph: (inner, name) => provider.ofGraph(inner, name),
    callbackOf: (node) => {
      const original = originals.get(node);
      return (original && special.callbackOf?.(original)) ?? composedOperator(node, options, provider);
    },
  });
  const plan = { graph, code, guards };
  executor.keep(plan);
  return plan;
}

const mayBeKept = (node: Node): boolean => node.maybeSchema()?.isVararg === false;

/** Calls an operator that is in terms of others: undefined for all others. */
function composedOperator(
  node: Node,
  { compileDecomposition }: OptimizeOptions,
  provider: CodeProvider,
): Callback | undefined {
  const row = node.maybeOperator()?.row as OperatorRow | undefined;
  const isComposed = row && (row.derived?.from ?? row).decomposition !== undefined && !isImplemented(row);
  if (!isComposed || row.remote || !mayBeKept(node)) return undefined;
  const binding = bindOperator(node);
  let code: Code | undefined;
  const compile = (): Code => {
    const graph = new Graph();
    const inputs = new Map(node.inputs.map((input) => [input, graph.addInput().copyMetadata(input)]));
    const alone = graph.appendNode(graph.createClone(node, (input) => inputs.get(input)!));
    for (const output of alone.outputs) graph.registerOutput(output);
    decomposeOps(graph, compileDecomposition, false);
    return compileCode(binding.name, graph, provider);
  };
  return (args, state) => {
    const { execution } = state;
    return execution.observer?.run(binding, args, node, execution) ?? state.runBeside((code ??= compile()), args);
  };
}
