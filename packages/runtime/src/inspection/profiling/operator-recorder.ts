import type { Node } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import { dispatch } from '../../dispatch/dispatch.ts';
import type { FusionGroup } from '../../dispatch/fusion-group.ts';
import { tensorsIn } from '../../dispatch/tensors-in.ts';
import type { OperatorBinding } from '../../interpreter/code/operator-binding.ts';
import type { Execution, OperatorObserver } from '../../run/execution.ts';
import type { Counts, RunCounters } from '../../run/run-counters.ts';
import type { KernelPlace } from './profile-report.ts';

/** One operator, or a group that runs as one, as a run came to it. */
export interface OperatorRun {
  readonly node: Node;
  readonly operators: readonly string[];
  /** By `performance.now()`: on a device, of enqueuing it. */
  readonly begin: number;
  readonly end: number;
  /** Null where nothing was computed: a view, or a number. */
  readonly place: KernelPlace | null;
  /** The first of its dispatches, and the one after the last. */
  readonly firstDispatch: number;
  readonly endDispatch: number;
  /** Of the tensors it was given and made. */
  readonly bytes: number;
}

/** Notes what a run's operators do while it does them, one after the other. */
export class OperatorRecorder implements OperatorObserver {
  readonly runs: OperatorRun[] = [];
  readonly #dispatchesBefore: number;

  constructor(private readonly dispatches: () => number) {
    this.#dispatchesBefore = dispatches();
  }

  run(binding: OperatorBinding, args: readonly IValue[], node: Node, execution: Execution): Promise<readonly IValue[]> {
    return this.#note(node, [binding.name], args, execution, () => dispatch(binding, args, execution));
  }

  runGroup(group: FusionGroup, args: readonly IValue[], node: Node, execution: Execution): Promise<readonly IValue[]> {
    const operators = [...group.graph.nodes()].map(({ kind }) => kind).filter((kind) => !kind.startsWith('prim::'));
    // Where it does not run as one kernel its operators come here by themselves.
    return this.#note(node, operators, args, execution, () => group.run(args, execution));
  }

  async #note(
    node: Node,
    operators: readonly string[],
    args: readonly IValue[],
    execution: Execution,
    call: () => readonly IValue[] | Promise<readonly IValue[]>,
  ): Promise<readonly IValue[]> {
    const { counters, device } = execution.context;
    const callsBefore = hostCalls(counters);
    const notedBefore = this.runs.length;
    const firstDispatch = this.dispatches() - this.#dispatchesBefore;
    // Results of another device are read back before the host works with them.
    const gpu = device?.capabilities.host ? null : device;
    const begin = performance.now();
    const results = await call();
    const end = performance.now();
    const endDispatch = this.dispatches() - this.#dispatchesBefore;
    const tensors = tensorsIn([...args, ...results]);
    // A group whose operators ran one by one has been noted as those.
    if (this.runs.length === notedBefore && tensors.length > 0) {
      const calls = hostCalls(counters);
      const computedOnHost = gpu ? calls.host > callsBefore.host : results.some((value) => !isView(value, args));
      const place =
        gpu && calls.fallback > callsBefore.fallback
          ? 'fallback'
          : endDispatch > firstDispatch
            ? 'device'
            : computedOnHost
              ? 'host'
              : null;
      const storages = new Map(tensors.map((tensor) => [tensor.storage, tensor]));
      const bytes = [...storages.keys()].reduce((sum, { byteLength }) => sum + byteLength, 0);
      this.runs.push({ node, operators, begin, end, place, firstDispatch, endDispatch, bytes });
    }
    return results;
  }
}

/** Whether a result is nothing but another look at an argument. */
function isView(value: IValue, args: readonly IValue[]): boolean {
  const given = new Set(tensorsIn(args).map(({ storage }) => storage));
  return tensorsIn([value]).every(({ storage }) => given.has(storage));
}

function hostCalls({ hostSmall, hostDouble, hostFallback }: RunCounters): { host: number; fallback: number } {
  const total = ({ rows }: Counts): number => rows.reduce((sum, [, count]) => sum + count, 0);
  return { host: total(hostSmall) + total(hostDouble), fallback: total(hostFallback) };
}
