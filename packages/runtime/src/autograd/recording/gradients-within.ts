import { constantValue, GraphFunction, type Graph, type Node, type ScriptFunction } from '@cresset/ir';
import { inline } from '@cresset/passes';
import type { IValue } from '@cresset/tensor';
import { remembered } from '@cresset/tensorexpr';
import type { CodeProvider } from '../../interpreter/code/code-compiler.ts';
import type { CallOptions } from '../../script-module.ts';
import type { Callee } from '../../worker/hosted-model.ts';
import { needForGradients } from './gradient-parts.ts';
import { Recorder } from './recorder.ts';
import { splitCallsOf, type RecordedModel } from '../splitting/split-calls.ts';
import { tapeCode } from '../tape-code.ts';

/** What nothing but a recorded run can answer. */
const asking: ReadonlySet<string> = new Set([
  'aten::grad',
  'aten::backward',
  'aten::_backward',
  'aten::retain_grad',
  'aten::requires_grad_',
]);

/** Whether a program asks for gradients itself, in a function or in what that calls. */
export const asksForGradients = remembered(
  (fn: ScriptFunction) => fn instanceof GraphFunction && isAsking(inlined(fn.graph)),
);

function inlined(graph: Graph): Graph {
  const copy = graph.copy();
  inline(copy);
  return copy;
}

function isAsking(graph: Graph): boolean {
  for (const node of graph.allNodes()) {
    if (asking.has(node.kind) || makesLeaf(node)) return true;
    for (const name of node.attributeNames) {
      const attribute = node.attribute(name);
      if (attribute.kind === 'g' && isAsking(attribute.value)) return true;
    }
  }
  return false;
}

/** `torch.tensor(…, requires_grad=True)` */
function makesLeaf(node: Node): boolean {
  return node.hasNamedInput('requires_grad') && constantValue(node.namedInput('requires_grad')) !== false;
}

/** What is called of a program from outside: hooks stand around `forward`. */
export function functionsOf({ fn, receiver }: Callee): readonly ScriptFunction[] {
  const { forwardPreHooks = [], forwardHooks = [] } = receiver?.type ?? {};
  return [fn, ...forwardPreHooks, ...forwardHooks];
}

/**
 * Calls a program that may ask for gradients itself. Where it does, all that stands outside of `torch.no_grad` is recorded, as in PyTorch, operator by operator
 * or in groups ({@link SplitCalls}), by the observer if there is one; what was recorded ends with the call. Results may be gradients that parameters
 * have, so that none is given away with its memory.
 */
export async function callWithGradients(
  model: RecordedModel,
  callee: Callee,
  { context = model.runner.context, observer: watcher = null }: CallOptions,
  call: (changed: CallOptions) => Promise<IValue>,
): Promise<IValue> {
  const { parts, runner } = model;
  const functions = functionsOf(callee);
  if (!functions.some(asksForGradients)) return call({});
  parts.note('autograd', 'gradients within the program');
  await needForGradients(parts, functions);
  const observer = new Recorder(watcher);
  const recorded = async (codes: CodeProvider): Promise<IValue> => {
    context.gradEnabled = true;
    try {
      const result = await call({ observer, codes, made: null });
      observer.giveUp([result]);
      return result;
    } finally {
      context.gradEnabled = false;
    }
  };
  // Whoever watches is told of operators, and nothing is planned for another device than the model's.
  const isWatched = watcher !== null || context !== runner.context;
  return isWatched ? recorded(tapeCode) : splitCallsOf(runner).call(functions, model, recorded);
}
