import type { PendingState, TransferProgress, WeightReader } from '@cresset/archive';
import { CressetError, isCustomClass, type CompilationUnit, type Graph, type ScriptFunction } from '@cresset/ir';
import { ScriptObject, Tuple, type IValue, type Storage, type Tensor } from '@cresset/tensor';
import { Execution, type OperatorObserver } from './run/execution.ts';
import { ExecutorCache, type ExecutionPlan, type RunSpec, type StepListener } from './executor/graph-executor.ts';
import type { CodeProvider } from './interpreter/code/code-compiler.ts';
import { InterpreterState } from './interpreter/interpreter-state.ts';
import { RunCounters } from './run/run-counters.ts';
import { makeRunProfile, type RunProfile } from './run/run-profile.ts';
import type { RuntimeContext } from './run/runtime-context.ts';
import { InterruptedError, TorchScriptError } from './interpreter/script-error.ts';
import { forEachStorage } from './memory/reachable-storages.ts';
import { weightOrder } from './memory/weight-order.ts';

export interface ScriptModuleOptions {
  /** Makes the original source of the program known, so that errors can be told in its terms. */
  readonly loadDebugTables?: () => Promise<void>;
  /** Reads the tensors of the module where they are not in memory. */
  readonly weights?: WeightReader | null;
}

export interface CallOptions {
  readonly signal?: AbortSignal | null;
  /** Brings the tensors of the result to the host, or of the parts that it says, in one submission with the work that makes them. */
  readonly resultToHost?: boolean | ((result: IValue) => readonly IValue[]);
  /** With that: takes those of the result that the run made on its device, and that had no copy on the host before. */
  readonly made?: Set<Storage> | null;
  /** Runs it here instead, with the code made for this module's device. */
  readonly context?: RuntimeContext;
  readonly observer?: OperatorObserver | null;
  /** Whose code runs in place of what was made ready for running. */
  readonly codes?: CodeProvider;
  /** Told how many bytes were read of the weights that the run needs, where they are not there yet. */
  readonly onProgress?: ((progress: TransferProgress) => void) | null;
}

/** Weights that were read and did not go up to the device yet take this much at most. */
export const READ_AHEAD_BYTES = 24 << 20;

/** A module that can be called (torch::jit::Module with an executor for each of its methods). */
export class ScriptModule {
  /** What the last call did; null before the first. */
  lastRun: RunProfile | null = null;
  readonly #executors: ExecutorCache;
  readonly #spec: () => RunSpec;
  #queue: Promise<unknown> = Promise.resolve();
  /** Graphs whose weights were asked for. */
  readonly #readAheadFor = new WeakSet<Graph>();
  #isDisposed = false;

  constructor(
    readonly object: ScriptObject,
    readonly unit: CompilationUnit,
    readonly context: RuntimeContext,
    private readonly options: ScriptModuleOptions = {},
  ) {
    const capabilities = context.device?.capabilities;
    this.#spec = () => ({ maxFusedTensors: capabilities?.maxStorageBuffers ?? 0, gradEnabled: context.gradEnabled });
    this.#executors = new ExecutorCache(this.#spec);
  }

  /**
   * Calls a method of the module, or of one below it: `self`, then one value for each further parameter. Calls made while one is running
   * wait for it. Rejects with a TorchScriptError where the program fails, with an InterruptedError where it is stopped.
   */
  call(method: string, args: readonly IValue[] = [], options: CallOptions = {}): Promise<IValue> {
    return this.callOn(this.object, method, args, options);
  }

  callOn(receiver: ScriptObject, method: string, args: readonly IValue[], options: CallOptions = {}): Promise<IValue> {
    const turn = this.#queue.then(() => this.#callMethod(receiver, method, args, options));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  /**
   * Gives objects that were read from a file their states: runs `__setstate__` of each. Rejects as {@link call} does, and with
   * `ATTRIBUTE_UNSET` where that leaves an attribute without a value (torch::jit::postSetStateValidate).
   */
  async restore(pendingStates: readonly PendingState[], options: CallOptions = {}): Promise<void> {
    for (const { object, state } of pendingStates) {
      await this.callOn(object, '__setstate__', [state], options);
      const unset = object.type.attributes.find(
        ({ type }, slot) => object.slots[slot] === null && !/^(Union|Optional|None)Type$/.test(type.kind),
      );
      if (!unset) continue;
      const expected = `expected a value of type '${unset.type.reprStr()}'`;
      throw new CressetError(
        'ATTRIBUTE_UNSET',
        `The field '${unset.name}' was left uninitialized after '__setstate__', but ${expected}`,
      );
    }
  }

  /** Calls a function that is no method. */
  callFunction(fn: ScriptFunction, args: readonly IValue[], options: CallOptions = {}): Promise<IValue> {
    const turn = this.#queue.then(() => this.#run(fn, args, options));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  /** Throws a CressetError where there is no such method. */
  method(name: string, receiver: ScriptObject = this.object): ScriptFunction {
    const method = receiver.type.findMethod(name);
    if (!method) throw new CressetError('METHOD_NOT_FOUND', `'${receiver.type.str()}' has no method '${name}'`);
    return method;
  }

  /** The graph of a method or function as it was compiled. */
  graphOf(fn: ScriptFunction): Graph {
    return this.#executors.executorOf(fn).graph;
  }

  /** The graph of a method and its object, or a function, as it is run. */
  optimizedGraphOf(fn: ScriptFunction, receiver: ScriptObject | null): Graph {
    return this.planOf(fn, receiver).graph;
  }

  /** The graphs that the chosen executor has made of a method or function so far, by their stage (PyTorch: graph_for). */
  stagesOf(fn: ScriptFunction, receiver: ScriptObject | null): ReadonlyMap<string, Graph> {
    return this.#executors.executorOf(fn).chooserFor(this.#spec(), receiver, true).stages();
  }

  /** The plan of the last run, or before the first the one for any arguments. */
  planOf(fn: ScriptFunction, receiver: ScriptObject | null): ExecutionPlan {
    const executor = this.#executors.executorOf(fn);
    return executor.chooserFor(this.#spec(), receiver, true).latest() ?? executor.planFor(this.#spec(), receiver);
  }

  /** Compiles and optimises a method, if there is one of that name, before its first call. */
  prepare(method: string, receiver = this.object): void {
    const fn = receiver.type.findMethod(method);
    if (!fn) return;
    try {
      this.#executors.executorOf(fn).planFor(this.#spec(), receiver);
    } catch {
      // Nobody called it yet: a call fails of the same.
    }
  }

  /** Optimises a method of an object, or a function, once more and tells of every step. */
  traceOptimization(onStep: StepListener, fn: ScriptFunction, receiver: ScriptObject | null): void {
    this.#executors.executorOf(fn).makePlan(this.#spec(), receiver, onStep);
  }

  /**
   * Frees the memory of all tensors of the module, those that its code holds as constants among them.
   *
   * @param isHeld whether somebody else has a storage, who frees it
   */
  dispose(isHeld: (storage: Storage) => boolean = () => false): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.options.weights?.close();
    this.context.planner?.clear();
    this.context.faults.dispose();
    for (const storage of this.storages()) if (!isHeld(storage)) storage.dispose();
  }

  /** The tensors that its code holds. */
  constants(): readonly Tensor[] {
    return this.#executors.constants();
  }

  /** Those of all tensors of the module, and of its code's constants. */
  storages(): ReadonlySet<Storage> {
    const found = new Set<Storage>();
    forEachStorage([this.object, ...this.constants()], (storage) => found.add(storage));
    return found;
  }

  /** Hooks stand around `forward` where it is called from outside; calls within a program have them compiled in. */
  #callMethod(receiver: ScriptObject, method: string, args: readonly IValue[], options: CallOptions): Promise<IValue> {
    const fn = this.method(method, receiver);
    const { forwardPreHooks, forwardHooks } = receiver.type;
    const hasHooks = method === 'forward' && forwardPreHooks.length + forwardHooks.length > 0;
    return hasHooks ? this.#callHooked(receiver, fn, args, options) : this.#run(fn, [receiver, ...args], options);
  }

  async #callHooked(
    receiver: ScriptObject,
    fn: ScriptFunction,
    args: readonly IValue[],
    options: CallOptions,
  ): Promise<IValue> {
    const { forwardPreHooks, forwardHooks } = receiver.type;
    let inputs = args;
    for (const hook of forwardPreHooks) {
      const changed = await this.#run(hook, [receiver, new Tuple(inputs)], options);
      if (changed !== null) inputs = changed instanceof Tuple ? changed.items : [changed];
    }
    let result = await this.#run(fn, [receiver, ...inputs], options);
    const profile = this.lastRun;
    for (const hook of forwardHooks) {
      const changed = await this.#run(hook, [receiver, new Tuple(inputs), result], options);
      if (changed !== null) result = changed;
    }
    this.lastRun = profile;
    return result;
  }

  async #run(fn: ScriptFunction, args: readonly IValue[], options: CallOptions): Promise<IValue> {
    const { signal = null, resultToHost = false, made, context = this.context, observer = null, codes } = options;
    if (this.#isDisposed) throw new CressetError('MODEL_DISPOSED', 'this module was disposed of');
    const { device } = context;
    const before = device ? { ...device.counters } : null;
    const start = performance.now();
    context.counters = new RunCounters();
    const execution = new Execution(context, signal, observer);
    const given = args.filter((value) => !(value instanceof ScriptObject));
    const objects = [this.object, ...args.filter((value) => value instanceof ScriptObject)];
    let unfollow: (() => void) | undefined;
    try {
      execution.throwIfAborted();
      const self = args[0] instanceof ScriptObject ? args[0] : null;
      // Packed weights are many of a class, and restored by one method that runs once for each.
      const planned = self && isCustomClass(self.type.qualifiedName) ? null : self;
      const code =
        codes?.ofFunction(fn).code(args) ?? this.#executors.executorOf(fn).planFor(this.#spec(), planned, args).code;
      unfollow = this.#readAhead(code.graph, self, options.onProgress ?? null);
      const held = (): IValue[] => [...objects, ...given, ...this.#executors.constants(), ...(observer?.kept ?? [])];
      execution.budget?.begin(execution, held);
      const state = new InterpreterState(execution, (callee) => (codes ?? this.#executors).ofFunction(callee));
      const results = await state.run(code, args);
      const value = results.length === 1 ? results[0] : results.length === 0 ? null : new Tuple(results);
      const wanted = new Set<Storage>();
      const parts = typeof resultToHost === 'function' ? resultToHost(value) : resultToHost ? [value] : [];
      forEachStorage(parts, (storage) => wanted.add(storage));
      for (const storage of wanted) if (!storage.isOnHost && execution.ledger?.entries.has(storage)) made?.add(storage);
      const ends = Array.from(wanted, (storage) => storage.toHost());
      if (resultToHost && context.faults.isPending) ends.push(context.faults.check());
      // Nothing is lost of what was enqueued, and errors of the device come up in this call.
      ends.push(execution.flush());
      await execution.untilAborted(Promise.all(ends));
      execution.ledger?.sweep([value, ...given, ...(observer?.kept ?? [])], objects);
      if (device && device.counters.dispatches - before!.dispatches > context.counters.replayed)
        context.planner?.launchedAnew();
      return value;
    } catch (error) {
      execution.ledger?.sweep(given, objects);
      // What else fails of it comes to light before the next run begins, and is not told as that one's.
      if (execution.deviceFailure()) await execution.flush().catch(() => {});
      // Nobody waits for what the device still does of a run that was ended, nor for what it notes.
      if (error instanceof InterruptedError) {
        context.faults.dispose();
        throw error;
      }
      const fault = await context.faults.check().then(
        () => null,
        (found: unknown) => found,
      );
      throw await this.#inOriginalTerms(firstCause(error, execution.deviceFailure(), fault));
    } finally {
      unfollow?.();
      execution.budget?.end();
      this.lastRun = makeRunProfile(performance.now() - start, context.counters, before, device?.counters ?? null);
    }
  }

  /** What the run is going to need is on its way while the run begins. What it returns ends the telling of progress. */
  #readAhead(
    graph: Graph,
    self: ScriptObject | null,
    onProgress: (CallOptions['onProgress'] & {}) | null,
  ): (() => void) | undefined {
    const { weights } = this.options;
    const isKnown = this.#readAheadFor.has(graph);
    if (!weights || (isKnown && !onProgress)) return undefined;
    this.#readAheadFor.add(graph);
    const { always, branches } = weightOrder(graph, self);
    const unfollow = onProgress ? weights.follow(always, onProgress) : undefined;
    if (!isKnown) weights.prefetch(always, branches, this.context.device ? READ_AHEAD_BYTES : Infinity);
    return unfollow;
  }

  /** Debug tables are fetched when there is an error to tell; then it is told again. */
  async #inOriginalTerms(error: unknown): Promise<unknown> {
    if (!(error instanceof TorchScriptError) || !this.options.loadDebugTables) return error;
    await this.options.loadDebugTables();
    return new TorchScriptError(error.cause, error.callStack);
  }
}

/** What a run really failed of: what a lack of memory led to is not the error, nor what a bad index led to. */
export function firstCause(error: unknown, deviceFailure: CressetError | null, fault: unknown): unknown {
  if (error instanceof InterruptedError) return error;
  if (deviceFailure) return error instanceof Error && error.cause === deviceFailure ? error : deviceFailure;
  return fault ?? error;
}
