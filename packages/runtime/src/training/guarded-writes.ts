import { AliasDb, constantValue, Graph, TensorType, type Node, type Value } from '@cresset/ir';
import { isComplex, Tensor, type IValue, type Storage } from '@cresset/tensor';
import { below } from '../autograd/recording/runner.ts';
import { tapeCode } from '../autograd/tape-code.ts';
import { TapeRun } from '../autograd/tape-run.ts';
import { dispatch, type Invocation } from '../dispatch/dispatch.ts';
import type { OperatorBinding } from '../interpreter/code/operator-binding.ts';
import type { Execution, OperatorObserver } from '../run/execution.ts';
import { insertLine, insertUnlessFaulty } from './fault-flag.ts';
import { valuesIn } from './value-layouts.ts';

/*
 * What a call writes to buffers, statistics of batches above all, it has written in PyTorch before the operator that fails, and not what stands behind it. On a
 * device everything is enqueued by then: such a write goes to a copy first, and from there to its place unless a fault was noted before.
 */

/** Normalisations write to their running statistics in training, which their schemas do not tell: two arguments, and the flag behind them. */
const normalizations: ReadonlySet<string> = new Set([
  'aten::batch_norm',
  'aten::instance_norm',
  'aten::native_batch_norm',
]);
const statistics = [3, 4];
const trainingFlag = 5;

/** Calls the operators of a run that is recorded; what those write that are behind a kernel which may note a fault is guarded. */
export class GuardedWrites implements OperatorObserver {
  #lasting: Set<Storage> | null = null;

  /** @param roots what outlives the run */
  constructor(private readonly roots: () => readonly IValue[]) {}

  run(binding: OperatorBinding, args: readonly IValue[], _node: Node, execution: Execution): Invocation {
    const { faults } = execution.context;
    const written = faults.conditions && faults.isPending ? this.#writtenBy(binding, args) : [];
    return written.length === 0
      ? dispatch(binding, args, execution)
      : this.#runGuarded(written, binding, args, execution);
  }

  runGroup(): never {
    throw new Error('nothing is fused in what is recorded');
  }

  #writtenBy({ name, written }: OperatorBinding, args: readonly IValue[]): Tensor[] {
    const isTraining = normalizations.has(name) && args[trainingFlag] === true;
    const places = isTraining ? [...written, ...statistics] : written;
    const tensors = places.map((at) => args[at]).filter((value) => value instanceof Tensor);
    return tensors.length === 0 ? tensors : tensors.filter(({ storage }) => this.#storages.has(storage));
  }

  get #storages(): Set<Storage> {
    const tensors = (): Tensor[] => valuesIn(this.roots()).filter((value) => value instanceof Tensor);
    return (this.#lasting ??= new Set(tensors().map(({ storage }) => storage)));
  }

  async #runGuarded(
    written: readonly Tensor[],
    binding: OperatorBinding,
    args: readonly IValue[],
    execution: Execution,
  ): Promise<readonly IValue[]> {
    const run = new TapeRun(below(execution), false);
    const copies = new Map<IValue, Tensor>();
    const originals = new Map<IValue, Tensor>();
    for (const tensor of written) {
      const copy = await run.owned(tensor);
      copies.set(tensor, copy);
      originals.set(copy, tensor);
    }
    const results = await dispatch(
      binding,
      args.map((value) => copies.get(value) ?? value),
      execution,
    );
    for (const [copy, tensor] of originals) {
      const [target] = await run.run(tapeCode.ofGraph(commit(tensor), 'unless_faulty').code([]), [tensor, copy]);
      run.release(target as Tensor);
      run.release(copy as Tensor);
    }
    return results.map((result) => originals.get(result) ?? result);
  }
}

const commits = new Map<boolean, Graph>();

/** Puts the second of two tensors into the first, unless a fault was noted. */
function commit({ dtype }: Tensor): Graph {
  const isOfComplex = isComplex(dtype);
  let graph = commits.get(isOfComplex);
  if (!graph) {
    commits.set(isOfComplex, (graph = new Graph()));
    const [target, copy] = [0, 1].map(() => insertLine(graph!, graph!.addInput().setType(TensorType.get())));
    const [value] = insertUnlessFaulty(graph, [copy], [{ value: copy, before: target }], isOfComplex);
    graph.registerOutput(graph.insert('aten::copy_', [target, value, graph.insertConstant(false)]));
  }
  return graph;
}

/**
 * Guards what the nodes of a graph write to its inputs.
 *
 * @param looking what nodes give that go by positions, in their order: they may note faults
 * @param isOfComplex whether it may be given complex numbers
 */
export function guardWrites(graph: Graph, looking: readonly Value[], isOfComplex: boolean): void {
  const aliases = new AliasDb(graph);
  const inputs = [...graph.inputs];
  const writers = [...graph.nodes()].flatMap((node) => {
    const written = writtenBy(node).filter((value) => aliases.mayAlias(value, inputs));
    return written.length > 0 ? [{ node, written }] : [];
  });
  for (const { node, written } of writers) {
    const before = looking.filter((value) => value.node.isBefore(node));
    if (before.length === 0) continue;
    const pairs = graph.withInsertPoint(node, () =>
      written.map((target) => ({ value: graph.insert('aten::clone', [target, null]), before: target })),
    );
    for (const { value, before: target } of pairs) {
      for (const [at, input] of node.inputs.entries()) if (input === target) node.replaceInput(at, value);
    }
    graph.withInsertPoint(node.next, () => {
      const lines = pairs.map((pair) => ({
        value: insertLine(graph, pair.value),
        before: insertLine(graph, pair.before),
      }));
      const values = insertUnlessFaulty(graph, [...before, ...lines.map(({ value }) => value)], lines, isOfComplex);
      const blocking = graph.insertConstant(false);
      lines.forEach(({ before: target }, at) => graph.insert('aten::copy_', [target, values[at], blocking]));
    });
    // What it gives where it is done in place is what is there now.
    for (const output of node.outputs) {
      const pair = pairs.find(({ before: target }) => aliases.mayAlias(output, target));
      if (pair) output.replaceAllUsesAfterNodeWith(node, pair.before);
    }
  }
}

function writtenBy(node: Node): Value[] {
  const schema = node.maybeOperator()?.schema;
  const places = schema?.arguments.flatMap(({ isWrite }, at) => (isWrite ? at : [])) ?? [];
  const isTraining = normalizations.has(node.kind) && constantValue(node.inputs[trainingFlag]) === true;
  return [...places, ...(isTraining ? statistics : [])]
    .map((at) => node.inputs[at])
    .filter(({ type }) => type.kind === 'TensorType');
}
