import type { Graph, Node } from '@cresset/ir';
import { isImplemented, type OperatorRow } from '@cresset/operators';
import { Tuple, type IValue, type Tensor } from '@cresset/tensor';
import { dispatch, whenThere, type Invocation } from '../../dispatch/dispatch.ts';
import { compileDecomposition } from '../../executor/decomposition-compiler.ts';
import type { OperatorBinding } from '../../interpreter/code/operator-binding.ts';
import type { OperatorTrace } from './operator-trace.ts';
import { Execution, type OperatorObserver } from '../../run/execution.ts';
import { tensorsOf } from './record.ts';
import { recordedOperatorOf, type RecordedOperator } from './recorded-operator.ts';
import { tapeCode } from '../tape-code.ts';
import { TapeRun } from '../tape-run.ts';
import { bumpVersion } from './tensor-history.ts';

/** Runs operators in the interpreter's stead; those that are said in terms of others have nothing else to run them. */
class Runner implements OperatorObserver {
  readonly trace: OperatorTrace | null;
  readonly watcher: OperatorObserver | null;

  /** @param outer the observer of the run that this is a part of: whoever looks at that one looks here too */
  constructor(outer: OperatorObserver | null) {
    this.trace = outer?.trace ?? null;
    this.watcher = outer?.watcher ?? null;
  }

  run(binding: OperatorBinding, args: readonly IValue[], node: Node, execution: Execution): Invocation {
    const { row } = binding;
    if (row && !isImplemented(row) && !row.remote) return runComposed(row, args, new TapeRun(execution, false));
    return whenThere(dispatchTraced(binding, args, node, execution), (results) => {
      if (row) noteWrites(recordedOperatorOf(row), args);
      return results;
    });
  }

  runGroup(): never {
    throw new Error('nothing is fused in what is recorded');
  }
}

/** Calls an operator, or has the watcher of its run call it, and tells the trace of the run. */
export function dispatchTraced(
  binding: OperatorBinding,
  args: readonly IValue[],
  node: Node,
  execution: Execution,
): Invocation {
  const { trace, watcher } = execution.observer ?? {};
  const results = watcher?.run(binding, args, node, execution) ?? dispatch(binding, args, execution);
  if (!trace) return results;
  return whenThere(results, (done) => {
    trace.note(binding.row, args, node, done);
    return done;
  });
}

/** A run below autograd: within another one, and not recorded. It is planned and replayed as any run. */
export const below = ({ context, signal, ledger }: Execution): Execution =>
  new Execution(context, signal, null, ledger);

/** As {@link below}, of operators as they were written. */
export const unrecorded = (execution: Execution): TapeRun =>
  new TapeRun(
    new Execution(execution.context, execution.signal, new Runner(execution.observer), execution.ledger),
    false,
  );

/** Runs an operator by its text. What is written in place is a copy, as it is of the text's result. */
export async function runComposed(row: OperatorRow, args: readonly IValue[], run: TapeRun): Promise<readonly IValue[]> {
  const source = row.derived?.from ?? row;
  return runGraph(compileDecomposition(source), row, args, run);
}

/** Runs an operator as a graph of its arguments. */
export async function runGraph(
  graph: Graph,
  row: OperatorRow,
  args: readonly IValue[],
  run: TapeRun,
): Promise<readonly IValue[]> {
  const taken = args.slice(0, graph.inputs.length);
  // What derivatives keep of it must be as it was before.
  const isKept = row.derived?.form === 'in-place' && run.isRecording && run.execution.context.gradEnabled;
  const before = isKept ? await run.owned(args[0] as Tensor) : null;
  if (before) taken[0] = before;
  const results = run.handOver(await run.run(tapeCode.ofGraph(graph, row.schema).code([]), taken));
  run.release(before);
  const values = results.length === 1 && results[0] instanceof Tuple ? results[0].items : results;
  if (!row.derived) return values;
  const targets = row.derived.form === 'out' ? args.slice(graph.inputs.length) : args.slice(0, 1);
  const written: IValue[] = [];
  for (const [at, target] of targets.entries()) written.push(await run.call('copyTo', target, values[at]));
  return run.handOver(written);
}

/** Counts what an operator wrote. */
export function noteWrites({ writes }: RecordedOperator, args: readonly IValue[]): void {
  for (const at of writes) for (const tensor of tensorsOf(args[at])) if (tensor) bumpVersion(tensor);
}
