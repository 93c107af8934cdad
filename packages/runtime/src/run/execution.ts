import { nextTurn, type CressetError, type Node } from '@cresset/ir';
import type { Pieces } from '@cresset/operators';
import { meterMemory, type IValue } from '@cresset/tensor';
import type { Invocation } from '../dispatch/dispatch.ts';
import type { FusionGroup } from '../dispatch/fusion-group.ts';
import type { OperatorTrace } from '../autograd/recording/operator-trace.ts';
import type { DifferentiableGroup } from '../executor/differentiable-group.ts';
import type { OperatorBinding } from '../interpreter/code/operator-binding.ts';
import { ProgramPlace, type RunningProgram } from '../interpreter/program-place.ts';
import type { MemoryBudget } from './memory-budget.ts';
import type { Planner } from './planner.ts';
import type { RuntimeContext } from './runtime-context.ts';
import { InterruptedError } from '../interpreter/script-error.ts';
import { StorageLedger } from '../memory/storage-ledger.ts';

/** How long a run that can be aborted keeps the event loop waiting, in milliseconds. */
export const MAX_BUSY_MS = 40;

/** Calls the operators of a run in the interpreter's stead, to look at what they make. */
export interface OperatorObserver {
  run(binding: OperatorBinding, args: readonly IValue[], node: Node, execution: Execution): Invocation;
  runGroup(group: FusionGroup, args: readonly IValue[], node: Node, execution: Execution): Promise<readonly IValue[]>;
  /** Runs a group that has a backward graph; where it does not care, the operators of the group are called. */
  runDifferentiable?(
    group: DifferentiableGroup,
    args: readonly IValue[],
    execution: Execution,
  ): Promise<readonly IValue[]>;
  /** Is told of the operators that it calls. */
  readonly trace?: OperatorTrace | null;
  /** Calls those operators in its stead. */
  readonly watcher?: OperatorObserver | null;
  /** What it keeps of the run after the run has ended. */
  readonly kept?: readonly IValue[];
}

/** One call of a program from outside, with all the calls and forks within it. */
export class Execution {
  /** Null on the host, whose memory the garbage collector looks after. */
  readonly ledger: StorageLedger | null;
  /** Null where every operator is to be run. */
  readonly planner: Planner | null;
  /** Null where tensors may take any memory. */
  readonly budget: MemoryBudget | null;
  /** The program that is being interpreted; null while all rest. */
  running: RunningProgram | null = null;
  /** The operator of a fused group that is being called by itself. */
  member: Node | null = null;
  /** Where that operator's arguments are among the values of the group: its inputs come first. */
  memberInputs: readonly number[] | null = null;
  /** How many failures the device had before. */
  readonly #failures: number;

  constructor(
    readonly context: RuntimeContext,
    readonly signal: AbortSignal | null = null,
    readonly observer: OperatorObserver | null = null,
    /** The ledger of the run that it is a part of. */
    ledger?: StorageLedger | null,
  ) {
    this.ledger = ledger ?? (context.device ? new StorageLedger(context.keptStorages) : null);
    this.planner = observer ? null : context.planner;
    this.budget = context.budget;
    this.#failures = context.device?.counters.failures ?? 0;
  }

  /** Where the program is, for what comes of the operator that it calls. */
  place(member = this.member): ProgramPlace {
    return new ProgramPlace(this.running, member);
  }

  /** What failed on the device since the run began. */
  deviceFailure(): CressetError | null {
    return this.context.device?.failureSince(this.#failures) ?? null;
  }

  /** Hands all work to the device; rejects with what failed there since the run began. */
  flush(): Promise<void> {
    return this.context.device?.flush(this.#failures) ?? Promise.resolve();
  }

  /** The outcome of `work`, or the error of an aborted run as soon as it is aborted. */
  untilAborted<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    if (!signal) return work;
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        try {
          this.throwIfAborted();
        } catch (error) {
          reject(error as Error);
        }
      };
      signal.addEventListener('abort', abort, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
      if (signal.aborted) abort();
    });
  }

  /**
   * Does work in pieces. A run that can be aborted lets others have a turn whenever it has kept them waiting, and does no more once
   * it was: then the outcome is a Promise. Any other does it all at once.
   */
  inTurns<Result>(pieces: Pieces<Result>): Result | Promise<Result> {
    const start = performance.now();
    const outerMeter = meterMemory(this.budget);
    try {
      let step = pieces.next();
      while (!step.done) {
        if (this.signal && performance.now() - start >= MAX_BUSY_MS) return this.#afterTurn(pieces);
        step = pieces.next();
      }
      return step.value;
    } finally {
      meterMemory(outerMeter);
    }
  }

  async #afterTurn<Result>(pieces: Pieces<Result>): Promise<Result> {
    // A message that the run is aborted may be what waits.
    await nextTurn();
    this.throwIfEnded();
    return this.inTurns(pieces);
  }

  /** Nothing that is computed after a failure of the device is of any use. */
  throwIfEnded(): void {
    this.throwIfAborted();
    const failure = this.deviceFailure();
    if (failure) throw failure;
  }

  throwIfAborted(): void {
    if (this.signal?.aborted) {
      throw new InterruptedError('ABORTED', 'the run was aborted', { cause: this.signal.reason });
    }
  }
}
