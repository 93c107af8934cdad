import type { GraphFunction, ScriptFunction } from '@cresset/ir';
import { OperatorError } from '@cresset/operators';
import { Tensor, Tuple, type IValue, type ScriptObject, type Storage } from '@cresset/tensor';
import { differentiate } from '../autograd/differentiate.ts';
import type { Gradient } from '../autograd/nodes/grad-node.ts';
import { Recorder } from '../autograd/recording/recorder.ts';
import { unrecorded } from '../autograd/recording/runner.ts';
import { tensorTypes } from '../autograd/nodes/saved-value.ts';
import { Autocast, type AutocastDtype } from '../autograd/recording/autocast.ts';
import { tapeCode } from '../autograd/tape-code.ts';
import { TapeRun } from '../autograd/tape-run.ts';
import type { OperatorTrace } from '../autograd/recording/operator-trace.ts';
import type { CodeProvider } from '../interpreter/code/code-compiler.ts';
import type { Code, CodeSource } from '../interpreter/code/code.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { InterruptedError, TorchScriptError } from '../interpreter/script-error.ts';
import { Execution } from '../run/execution.ts';
import { RunCounters } from '../run/run-counters.ts';
import { makeRunProfile } from '../run/run-profile.ts';
import type { RuntimeContext } from '../run/runtime-context.ts';
import { firstCause } from '../script-module.ts';
import type { HostedModel } from '../worker/hosted-model.ts';
import { GuardedWrites } from './guarded-writes.ts';
import { PendingChange } from './pending-change.ts';

/** What outlives a run beside what the model holds. */
export interface RunBounds {
  readonly signal: AbortSignal | null;
  /** What it is given and what it gives, which is nobody's where it fails. */
  readonly given: () => readonly IValue[];
  /** What outlives it beside that. */
  readonly kept: () => Iterable<IValue>;
  /** What it changes at its end; null where it changes nothing. Kernels that note a fault raise the flag where there is something. */
  readonly changed: (() => Iterable<Tensor>) | null;
}

/**
 * One call of a program with the walk backwards behind it, and whatever is done with the gradients: a single run, whose work goes to the device in one
 * submission.
 */
export class RecordedRun {
  readonly #context: RuntimeContext;
  readonly #recorder: Recorder;
  readonly #recorded: Execution;
  /** Runs what nobody takes the gradient of; ended by an abort that comes before it has changed anything. */
  readonly #plain: Execution;
  readonly #inTime: AbortController | null;
  #unlisten: (() => void) | null = null;

  private constructor(
    private readonly model: HostedModel,
    private readonly bounds: RunBounds,
  ) {
    const { signal, changed } = bounds;
    this.#context = model.runner.context;
    const isGuarded = changed !== null && this.#context.device !== null;
    this.#recorder = new Recorder(isGuarded ? new GuardedWrites(() => [...model.modules.values()]) : null);
    this.#recorded = new Execution(this.#context, signal, this.#recorder);
    this.#inTime = signal && changed ? new AbortController() : null;
    this.#plain = new Execution(this.#context, this.#inTime?.signal ?? signal, null, this.#recorded.ledger);
  }

  /**
   * Runs `work`, and brings to the host what is asked for of what it gives. Rejects with what running the program rejects with; `lastRun` of the
   * model tells of it.
   */
  static async of<Result>(
    model: HostedModel,
    bounds: RunBounds,
    work: (run: RecordedRun) => Promise<{ readonly result: Result; readonly toHost: readonly Tensor[] }>,
  ): Promise<Result> {
    const { runner } = model;
    const { context } = runner;
    const { device } = context;
    const isLasting = bounds.changed !== null;
    const before = device ? { ...device.counters } : null;
    const start = performance.now();
    context.counters = new RunCounters();
    const run = new RecordedRun(model, bounds);
    const execution = run.#recorded;
    const outside = (): IValue[] => [...bounds.given(), ...bounds.kept()];
    const held = (): IValue[] => [...model.modules.values(), ...outside(), ...run.#recorder.kept];
    try {
      execution.throwIfAborted();
      context.faults.conditions = isLasting ? [] : null;
      execution.budget?.begin(execution, held);
      const { result, toHost } = await work(run);
      const storages = new Set<Storage>(toHost.map(({ storage }) => storage));
      const readbacks = [...storages].map((each) => each.toHost());
      const done = Promise.all([...readbacks, context.faults.check(), execution.flush()]);
      await (isLasting ? run.#plain : execution).untilAborted(done);
      return result;
    } catch (error) {
      model.freeTemporaries(bounds.given());
      // Nobody waits for what the device still does of a run that was ended, nor for what it notes.
      if (error instanceof InterruptedError) {
        context.faults.dispose();
        throw error;
      }
      const fault = await context.faults.check().then(
        () => null,
        (found: unknown) => found,
      );
      throw await run.#inOriginalTerms(firstCause(error, execution.deviceFailure(), fault));
    } finally {
      run.#unlisten?.();
      context.faults.conditions = null;
      execution.ledger?.sweep(outside(), [...model.modules.values()]);
      execution.budget?.end();
      runner.lastRun = makeRunProfile(performance.now() - start, context.counters, before, device?.counters ?? null);
    }
  }

  /** Calls a method of an object, or a function, so that gradients of its result can be asked for; hooks stand around `forward`. */
  async call(
    fn: ScriptFunction,
    receiver: ScriptObject | null,
    args: readonly IValue[],
    codes: CodeProvider,
  ): Promise<IValue> {
    this.#context.gradEnabled = true;
    try {
      if (!receiver || fn.name !== 'forward')
        return await this.#recordedCall(fn, receiver ? [receiver, ...args] : args, codes);
      const { forwardPreHooks, forwardHooks } = receiver.type;
      let inputs = args;
      for (const hook of forwardPreHooks) {
        const changed = await this.#recordedCall(hook, [receiver, new Tuple(inputs)], codes);
        if (changed !== null) inputs = changed instanceof Tuple ? changed.items : [changed];
      }
      let result = await this.#recordedCall(fn, [receiver, ...inputs], codes);
      for (const hook of forwardHooks) {
        result = (await this.#recordedCall(hook, [receiver, new Tuple(inputs), result], codes)) ?? result;
      }
      return result;
    } finally {
      this.#context.gradEnabled = false;
    }
  }

  /** Calls what `work` calls as within an autocast; gradients are taken outside of it. */
  async autocast<Result>(dtype: AutocastDtype | null, work: () => Promise<Result>): Promise<Result> {
    const autocast = dtype && new Autocast(dtype);
    this.#recorder.autocast = autocast;
    try {
      return await work();
    } finally {
      this.#recorder.autocast = null;
      autocast?.end(new TapeRun(this.#recorded, true));
    }
  }

  /** What a hook makes of a gradient; the gradient itself where it gives None. Throws PyTorch's errors. */
  async hooked(fn: GraphFunction, gradient: Tensor): Promise<Tensor> {
    const run = unrecorded(this.#recorded);
    const [made] = await run.run(tapeCode.ofFunction(fn).code([]), [gradient]);
    if (made === null) return gradient;
    if (!(made instanceof Tensor)) throw new OperatorError(`hook '${fn.name}' has to return a Tensor or None`);
    if (made.sizes.join() !== gradient.sizes.join()) {
      throw new OperatorError(`hook '${fn.name}' has changed the size of value`);
    }
    if (made.dtype !== gradient.dtype) {
      const typeOf = ({ dtype }: Tensor): string => `torch.${tensorTypes[dtype]}Tensor`;
      throw new OperatorError(
        `hook '${fn.name}' has changed the type of value (was ${typeOf(gradient)} got ${typeOf(made)})`,
      );
    }
    run.release(gradient);
    return made;
  }

  /** The gradients of outputs by inputs; null for one that they do not depend on. */
  gradients(
    outputs: readonly Tensor[],
    gradients: readonly Gradient[],
    inputs: readonly Tensor[],
  ): Promise<readonly Gradient[]> {
    return differentiate({ outputs, gradients, inputs, allowUnused: true }, this.#recorded);
  }

  /** Does work whose operators a trace is told of. */
  async traced<Result>(trace: OperatorTrace, work: () => Promise<Result>): Promise<Result> {
    this.#recorder.trace = trace;
    try {
      return await work();
    } finally {
      this.#recorder.trace = null;
    }
  }

  /**
   * Runs code that nothing is recorded of and that calls no function, fused and replayed as any program. An abort ends it as long as nothing has changed of
   * what the run changes. What the device can do is done there, however small: work on the host would stand between launches that are replayed as one. What can
   * be done at the same time is one launch: a step is taken so often that shaders of its own pay.
   */
  async planned(code: Code, args: readonly IValue[]): Promise<readonly IValue[]> {
    const { limits } = this.#context;
    this.#listen();
    this.#context.limits = { ...limits, smallWork: 0, joinsHeavy: true };
    try {
      return await new InterpreterState(this.#plain, (callee) => tapeCode.ofFunction(callee)).run(code, args);
    } finally {
      this.#context.limits = limits;
    }
  }

  /** Has an abort end the run from here on, where that leaves everything as it was. */
  #listen(): void {
    const { signal, changed } = this.bounds;
    if (!signal || !changed) return;
    const change = new PendingChange(changed(), this.#context.device);
    const abort = (): void => {
      if (change.takeBack()) this.#inTime!.abort(signal.reason);
    };
    signal.addEventListener('abort', abort, { once: true });
    this.#unlisten = () => signal.removeEventListener('abort', abort);
  }

  async #recordedCall(fn: ScriptFunction, args: readonly IValue[], codes: CodeProvider): Promise<IValue> {
    const codeOf = (callee: ScriptFunction): CodeSource => codes.ofFunction(callee);
    return valueOf(await new InterpreterState(this.#recorded, codeOf).run(codeOf(fn).code(args), args));
  }

  /** Throws what a run that was aborted rejects with. */
  throwIfAborted(): void {
    this.#recorded.throwIfAborted();
  }

  async #inOriginalTerms(error: unknown): Promise<unknown> {
    if (!(error instanceof TorchScriptError)) return error;
    await this.model.loadDebugTables();
    return new TorchScriptError(error.cause, error.callStack);
  }
}

const valueOf = (results: readonly IValue[]): IValue =>
  results.length === 1 ? results[0] : results.length === 0 ? null : new Tuple(results);
