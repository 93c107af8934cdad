import { FloatType, TensorType, type GraphFunction } from '@cresset/ir';
import { List, Tensor, type IValue } from '@cresset/tensor';
import { ExecutorCache } from '../executor/graph-executor.ts';
import type { RunProfile } from '../run/run-profile.ts';
import type { HostedModel } from '../worker/hosted-model.ts';
import type { WireValue } from '../worker/wire-format.ts';
import { reachableTensors, toWire } from '../worker/wire-value.ts';
import { lossOf, type DifferentiableCall } from './differentiable-call.ts';
import {
  optimizerUnit,
  UPDATE_RULES,
  type Hyperparameters,
  type OptimizerName,
  type UpdateRule,
} from './optimizers.ts';
import { RecordedRun } from './recorded-run.ts';
import type { Parameter } from './trainable-parameters.ts';
import type { CallToDifferentiate, Clipping } from './training-requests.ts';

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
    const { device } = model.runner.context;
    this.#executors = new ExecutorCache(() => ({
      maxFusedTensors: device?.capabilities.maxStorageBuffers ?? 0,
      gradEnabled: false,
    }));
  }

  /** All that is trained, in the order in which PyTorch numbers it. */
  get states(): readonly ParameterState[] {
    return this.groups.flat();
  }

  /**
   * Runs the model, takes the gradients of its loss and changes the parameters: `optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()`. Until the
   * gradients are there an abort ends it, and parameters are as they were.
   */
  async step(given: CallToDifferentiate, options: StepOptions, signal: AbortSignal | null): Promise<StepResult> {
    const args = await this.call.argumentsOf(given);
    const left: IValue[] = [...args.inputs, ...args.targets];
    const held = (): IValue[] => [...left, ...this.#kept()];
    const { output, report } = await RecordedRun.of(this.model, this.#executors, { signal, held }, async (run) => {
      const results = await this.call.run(run, args);
      const loss = lossOf(results);
      const trained = this.states.filter(({ parameter }) => parameter.tensor.requiresGrad);
      const tensors = trained.map(({ parameter }) => parameter.tensor);
      const found = await run.gradients([loss], [null], tensors);
      run.throwIfAborted();
      const gradients = new Map<ParameterState, Tensor>();
      for (const [at, state] of trained.entries()) {
        const gradient = await this.#added(run, state.gradient, found[at]);
        if (gradient) gradients.set(state, gradient);
      }
      const norm = options.accumulate ? null : await this.#update(run, gradients, options);
      for (const state of this.states) state.gradient = options.accumulate ? (gradients.get(state) ?? null) : null;
      const told = norm ? ((await this.#plain(run, 'with_norm', loss, norm)) as Tensor) : loss;
      left.push(results.output, told);
      const toHost = options.wantsOutput ? [told, ...reachableTensors(results.output)] : [told];
      return { result: { output: results.output, report: told }, toHost };
    });
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

  async #added(run: RecordedRun, total: Tensor | null, gradient: Tensor | null): Promise<Tensor | null> {
    return total && gradient
      ? ((await this.#plain(run, 'accumulated', total, gradient)) as Tensor)
      : (gradient ?? total);
  }

  async #update(
    run: RecordedRun,
    given: ReadonlyMap<ParameterState, Tensor>,
    { hyperparameters, clipping }: StepOptions,
  ): Promise<Tensor | null> {
    const { gradients, norm } = await this.#clipped(run, given, clipping);
    for (const [at, group] of this.groups.entries()) {
      for (const state of group) {
        const gradient = gradients.get(state);
        if (gradient) await this.#change(run, state, gradient, hyperparameters[at]);
      }
    }
    return norm;
  }

  async #clipped(
    run: RecordedRun,
    given: ReadonlyMap<ParameterState, Tensor>,
    { norm, value }: Clipping,
  ): Promise<{ readonly gradients: ReadonlyMap<ParameterState, Tensor>; readonly norm: Tensor | null }> {
    if ((!norm && value === null) || given.size === 0) return { gradients: given, norm: null };
    let total: Tensor | null = null;
    let clip = (gradient: Tensor): Promise<IValue> => this.#plain(run, 'clip_grad_value', gradient, value);
    if (norm) {
      total = (await this.#plain(
        run,
        'total_norm',
        new List(TensorType.get(), [...given.values()]),
        norm.normType,
      )) as Tensor;
      const coefficient = await this.#plain(run, 'clip_coefficient', total, norm.maxNorm);
      clip = (gradient) => this.#plain(run, 'scaled', gradient, coefficient);
    }
    const gradients = new Map<ParameterState, Tensor>();
    for (const [state, gradient] of given) gradients.set(state, (await clip(gradient)) as Tensor);
    return { gradients, norm: total };
  }

  async #change(run: RecordedRun, state: ParameterState, grad: Tensor, group: Hyperparameters): Promise<void> {
    const { rule } = this;
    const param = state.parameter.tensor;
    for (const name of rule.state(group)) {
      if (!state.tensors.has(name)) state.tensors.set(name, Tensor.empty(param.sizes, param.dtype));
    }
    state.steps++;
    const fn = functionOf(rule.update);
    const own: Readonly<Record<string, IValue>> = { param, grad, step: BigInt(state.steps) };
    const args = fn.schema.arguments.map(({ name }) => own[name] ?? state.tensors.get(name) ?? valueOf(group[name]));
    await run.plain(fn, args);
  }

  #plain(run: RecordedRun, name: string, ...args: readonly IValue[]): Promise<IValue> {
    return run.plain(functionOf(name), args);
  }

  /** What is here from step to step. */
  *#kept(): Iterable<Tensor> {
    for (const { tensors, gradient } of this.states) {
      yield* tensors.values();
      if (gradient) yield gradient;
    }
  }

  dispose(): void {
    for (const { storage } of this.#kept()) storage.dispose();
  }
}

const functionOf = (name: string): GraphFunction => optimizerUnit().getFunction(name);

/** A hyperparameter as the function takes it; None for one that has nothing to do here. */
function valueOf(value: Hyperparameters[string] | undefined): IValue {
  if (Array.isArray(value)) return new List(FloatType.get(), [...(value as readonly number[])]);
  return (value as number | boolean | undefined) ?? null;
}
