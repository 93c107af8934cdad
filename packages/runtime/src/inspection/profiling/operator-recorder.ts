import type { Node } from '@cresset/ir';
import { fromByteString, type IValue } from '@cresset/tensor';
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

/** What a program does within a `torch.profiler.record_function`, by its name; times are those of `performance.now()`. */
export interface ProgramRange {
  readonly name: string;
  readonly begin: number;
  readonly end: number;
}

/** Notes what a run's operators do while it does them, one after the other. */
export class OperatorRecorder implements OperatorObserver {
  readonly runs: OperatorRun[] = [];
  /** Those that were left. */
  readonly ranges: ProgramRange[] = [];
  /** Names and beginnings of the others, by what stands for them in the program. */
  readonly #open = new Map<IValue, Omit<ProgramRange, 'end'>>();
  readonly #dispatchesBefore: number;

  constructor(private readonly dispatches: () => number) {
    this.#dispatchesBefore = dispatches();
  }

  async run(
    binding: OperatorBinding,
    args: readonly IValue[],
    node: Node,
    execution: Execution,
  ): Promise<readonly IValue[]> {
    const begin = performance.now();
    const results = await this.#note(node, [binding.name], args, execution, () => dispatch(binding, args, execution));
    if (binding.name.startsWith('profiler::_record_function_e')) this.#noteRange(args, results, begin);
    return results;
  }

  /** Notes that a range is entered, of which there is a result, or left. */
  #noteRange([given]: readonly IValue[], results: readonly IValue[], begin: number): void {
    const opened = this.#open.get(given);
    if (opened) this.ranges.push({ ...opened, end: performance.now() });
    else if (typeof given === 'string') this.#open.set(results[0], { name: fromByteString(given), begin });
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
