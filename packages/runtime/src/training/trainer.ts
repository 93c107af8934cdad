import { CressetError, type GraphFunction } from '@cresset/ir';
import { OperatorError } from '@cresset/operators';
import type { Expr } from '@cresset/tensorexpr';
import { tapeCode } from '../autograd/tape-code.ts';
import type { CodeProvider } from '../interpreter/code/code-compiler.ts';
import { Tensor, type IValue } from '@cresset/tensor';
import { ExecutorCache, GraphExecutor, type RunSpec } from '../executor/graph-executor.ts';
import type { RunProfile } from '../run/run-profile.ts';
import type { HostedModel } from '../worker/hosted-model.ts';
import type { WireValue } from '../worker/wire/wire-format.ts';
import { reachableTensors, toWire } from '../worker/wire/wire-value.ts';
import { lossOf, type CallArguments, type DifferentiableCall } from './differentiable-call.ts';
import { UPDATE_RULES, type Hyperparameters, type OptimizerName, type UpdateRule } from './optimizers.ts';
import { RecordedRun } from './recorded-run.ts';
import { flatZeros, type TensorShape } from './flat-tensors.ts';
import { keyOf, StepGraph, StepPlan, type StepInputs, type StepOutputs, type StepShape } from './step-plan.ts';
import { CallTracer, TracedCall, type DifferentiatedResults } from './traced-call.ts';
import type { Parameter } from './trainable-parameters.ts';
import type { CallToDifferentiate, Clipping } from './training-requests.ts';
import { valuesIn } from './value-layouts.ts';

/** So many calls with other layouts a trainer knows as graphs, those that were traced last. */
const MAX_TRACED = 16;
/** And so many kinds of steps of each. */
const MAX_PLANS = 16;

/** What an optimiser knows of one parameter. */
export interface ParameterState {
  readonly parameter: Parameter;
  /** How often it was changed. */
  steps: number;
  /** By PyTorch's names. */
  readonly tensors: Map<string, Tensor>;
  /** Gradients that were added up and not used so far. */
  gradient: Tensor | null;
}

export interface StepOptions {
  readonly hyperparameters: readonly Hyperparameters[];
  readonly clipping: Clipping;
  readonly accumulate: boolean;
  /** Whether what the method gave is brought to the host. */
  readonly wantsOutput: boolean;
}

/** What a step came to. */
export interface StepResult {
  readonly loss: number;
  readonly gradNorm: number | null;
  /** Null where it is not asked for. */
  readonly output: WireValue;
  readonly profile: RunProfile;
}

/** Trains the parameters of a model: they, their gradients and what the optimiser keeps of them stay where the model runs. */
export class Trainer {
  readonly groups: readonly (readonly ParameterState[])[];
  readonly rule: UpdateRule;
  readonly #executors: ExecutorCache;
  /** Those that were used last stand first. */
  readonly #traced: TracedCall[] = [];
  /** What sees gradients before they are used, by its number, in the order in which it was added. */
  readonly #hooks = new Map<number, { readonly state: ParameterState; readonly fn: GraphFunction }>();
  /** Of steps whose gradients the tape takes. */
  readonly #plans = new Map<string, StepPlan>();

  constructor(
    private readonly model: HostedModel,
    readonly call: DifferentiableCall,
    readonly optimizer: OptimizerName,
    groups: readonly (readonly Parameter[])[],
  ) {
    this.rule = UPDATE_RULES[optimizer];
    this.groups = groups.map((group) =>
      group.map((parameter) => ({ parameter, steps: 0, tensors: new Map(), gradient: null })),
    );
    this.#executors = new ExecutorCache(() => this.#spec());
  }

  #spec(): RunSpec {
    const { device } = this.model.runner.context;
    return { maxFusedTensors: device?.capabilities.maxStorageBuffers ?? 0, gradEnabled: false };
  }

  /** All that is trained, in the order in which PyTorch numbers it. */
  get states(): readonly ParameterState[] {
    return this.groups.flat();
  }

  /**
   * Has `fn` called with the gradient of a parameter, before it is added to earlier ones, clipped or used; what it gives takes its place (Tensor.register_hook).
   * Throws `NO_PARAMETER` for one that is not trained, and PyTorch's error for one that requires no gradient.
   */
  addHook(hook: number, parameter: string, fn: GraphFunction): void {
    const state = this.states.find((each) => each.parameter.name === parameter);
    if (!state) throw new CressetError('NO_PARAMETER', `there is no parameter '${parameter}'`);
    if (!state.parameter.tensor.requiresGrad) {
      throw new OperatorError("cannot register a hook on a tensor that doesn't require gradient");
    }
    this.#hooks.set(hook, { state, fn });
    this.#traced.splice(0);
  }

  removeHook(hook: number): void {
    if (this.#hooks.delete(hook)) this.#traced.splice(0);
  }

  /**
   * Runs the model, takes the gradients of its loss and changes the parameters: `optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()`. An abort ends it
   * as long as nothing was changed, and parameters are as they were; so they are, with all that the optimiser keeps, where the step fails. One that comes later
   * changes nothing: the step is made to its end.
   */
  async step(given: CallToDifferentiate, options: StepOptions, signal: AbortSignal | null): Promise<StepResult> {
    const args = await this.call.argumentsOf(given);
    const roots = [...args.inputs, ...args.targets, ...this.model.modules.values()];
    const values = valuesIn(roots);
    const known = this.#traced.find((each) => each.wantsOutput === options.wantsOutput && each.matches(values));
    const left: IValue[] = [...args.inputs, ...args.targets];
    const bounds = { signal, given: () => left, kept: () => this.kept(), changed: () => this.#changed() };
    const before = this.states.map(({ steps, gradient }) => ({ steps, gradient }));
    const { output, report } = await RecordedRun.of(this.model, bounds, async (run) => {
      const found = known?.graph ? null : await this.#differentiate(run, args, roots, options, known === undefined);
      run.throwIfAborted();
      const traced = found ? null : known!;
      const gradients = this.states.map((_, at) => found?.gradients[at] ?? null);
      const inputs: StepInputs = { ...options, values, gradients, loss: found?.loss ?? null };
      const outputs = await this.#change(run, inputs, traced, options);
      for (const state of this.states) this.#keepGradient(state, outputs.gradients.get(state), options);
      const result = found ? found.output : known!.outputOf(outputs.output);
      left.push(result, outputs.told);
      const toHost = options.wantsOutput ? [outputs.told, ...reachableTensors(result)] : [outputs.told];
      return { result: { output: result, report: outputs.told }, toHost };
    }).catch((error: unknown) => {
      this.#goBack(before);
      throw error;
    });
    for (const [at, { gradient }] of before.entries()) if (this.states[at].gradient !== gradient) gradient?.dispose();
    const [loss, gradNorm = null] = report.contiguousArray() as Float32Array;
    const result = {
      loss,
      gradNorm,
      output: options.wantsOutput ? toWire(output, null) : null,
      profile: this.model.runner.lastRun!,
    };
    this.model.freeTemporaries(left);
    return result;
  }

  /** Runs the model by the tape, and has what that comes to as a graph from then on. @param isNew whether nobody tried that before */
  async #differentiate(
    run: RecordedRun,
    args: CallArguments,
    roots: readonly IValue[],
    { wantsOutput }: StepOptions,
    isNew: boolean,
  ): Promise<DifferentiatedResults<Tensor>> {
    // On the host a step is as long as its operators, and may be aborted between them.
    const tracer = isNew && this.call.isTraceable ? new CallTracer(roots, this.call.functions) : null;
    const { counters, faults } = this.model.runner.context;
    const work = async (
      codes: CodeProvider,
    ): Promise<DifferentiatedResults<Tensor> & { conditions: Expr[] | null }> => {
      const given = await this.call.run(run, args, codes);
      const loss = lossOf(given);
      // The host tells at once what a kernel would note, but not under which conditions. Formulas look up what was looked up or made on the way to the
      // loss; what the page says itself, of gradients or of operators, may look up anything.
      const isTold = tracer !== null && counters.hostSmall.isEmpty && this.#hooks.size === 0;
      const conditions = isTold && !this.call.hasOwnDerivatives ? [...faults.conditions!] : null;
      const trained = this.states.filter(({ parameter }) => parameter.tensor.requiresGrad);
      const tensors = trained.map(({ parameter }) => parameter.tensor);
      const found = [...(await run.gradients([loss], [null], tensors))];
      for (const { state, fn } of this.#hooks.values()) {
        const at = trained.indexOf(state);
        const gradient = found[at];
        if (gradient) found[at] = await run.hooked(fn, gradient);
      }
      const gradients = this.states.map((state) => found[trained.indexOf(state)] ?? null);
      return { loss, output: given.output, gradients, conditions };
    };
    const { conditions, ...results } = tracer
      ? await run.traced(tracer.trace, () => work(tapeCode))
      : await this.call.untraced(work);
    if (tracer) {
      const traced = TracedCall.of(tracer, results, wantsOutput);
      if (conditions) traced.learnFaults(conditions, tracer.values);
      this.#traced.unshift(traced);
      this.#traced.splice(MAX_TRACED);
    }
    return results;
  }

  /** Runs what a step does behind the gradients. */
  async #change(
    run: RecordedRun,
    inputs: StepInputs,
    traced: TracedCall | null,
    options: StepOptions,
  ): Promise<StepOutputs> {
    const plan = this.#planOf(inputs, traced, options);
    const { code } = plan.executor.planFor(this.#spec());
    const results = await run.planned(code, plan.argumentsFor(inputs));
    if (traced?.knowsFaults === false) traced.learnFaults(this.model.runner.context.faults.conditions!, inputs.values);
    return plan.outputsOf(results);
  }

  /** A step ended with an error: no parameter was changed, none counts as changed, and gradients are those of the steps before. */
  #goBack(before: readonly Pick<ParameterState, 'steps' | 'gradient'>[]): void {
    for (const [at, state] of this.states.entries()) {
      const { steps, gradient } = before[at];
      if (state.gradient !== gradient) state.gradient?.dispose();
      state.steps = steps;
      state.gradient = gradient;
    }
  }

  /** What a step like this one does behind the gradients, or altogether where the call is a graph. */
  #planOf(inputs: StepInputs, traced: TracedCall | null, { accumulate }: StepOptions): StepPlan {
    const hasGradient = traced
      ? (_: ParameterState, at: number): boolean => traced.gradients[at]
      : (_: ParameterState, at: number): boolean => inputs.gradients[at] !== null;
    const isChanged = this.states.map((state, at) => hasGradient(state, at) || state.gradient !== null);
    if (!accumulate) this.#begin(isChanged, inputs.hyperparameters);
    const gradients = this.states.map(hasGradient);
    const mayFail = traced ? traced.mayFail(inputs.values) : this.model.runner.context.faults.isPending;
    const shape: StepShape = { traced, rule: this.rule, groups: this.groups, gradients, accumulate, mayFail };
    const plans = traced ? traced.plans : this.#plans;
    const key = keyOf(shape, inputs);
    let plan = plans.get(key);
    if (!plan) {
      const graph = new StepGraph(shape, inputs);
      plan = new StepPlan(new GraphExecutor('step', graph.graph, this.#executors), graph);
      if (plans.size >= MAX_PLANS) plans.delete(plans.keys().next().value!);
      plans.set(key, plan);
    }
    return plan;
  }

  /** Parameters are about to be changed: those that these flags say, in the order of {@link states}. */
  #begin(isChanged: readonly boolean[], hyperparameters: readonly Hyperparameters[]): void {
    const changed = this.states.filter((_, at) => isChanged[at]);
    const missing = this.groups.flatMap((group, at) => {
      const names = this.rule.state(hyperparameters[at]);
      const own = group.filter((state) => changed.includes(state));
      return own.flatMap((state) => names.filter((name) => !state.tensors.has(name)).map((name) => ({ state, name })));
    });
    const made = this.zeros(missing.map(({ state }) => state.parameter.tensor));
    missing.forEach(({ state, name }, at) => state.tensors.set(name, made[at]));
    for (const state of changed) state.steps++;
  }

  /** Tensors for what the optimiser keeps. A GPU binds few buffers at a time; the host tells better what is written where each has its own memory. */
  zeros(shapes: readonly TensorShape[]): Tensor[] {
    const { device } = this.model.runner.context;
    const isOnGpu = device !== null && !device.capabilities.host;
    return isOnGpu ? flatZeros(shapes) : shapes.map(({ sizes, dtype }) => Tensor.empty(sizes, dtype));
  }

  /** Gradients that were added up are kept until they are used. */
  #keepGradient(state: ParameterState, made: Tensor | undefined, { accumulate }: StepOptions): void {
    if (accumulate) state.gradient ??= made ?? null;
    else state.gradient = null;
  }

  /** What is here from step to step. */
  *kept(): Iterable<Tensor> {
    for (const { tensors, gradient } of this.states) {
      yield* tensors.values();
      if (gradient) yield gradient;
    }
  }

  /** What a step changes. */
  *#changed(): Iterable<Tensor> {
    for (const { parameter } of this.states) yield parameter.tensor;
    yield* this.kept();
  }

  dispose(): void {
    for (const { storage } of this.kept()) storage.dispose();
  }
}
