import { FloatType, Graph, insertGraph, IntType, OptionalType, TensorType, type Type, type Value } from '@cresset/ir';
import { isComplex, Tensor, type IValue } from '@cresset/tensor';
import type { GraphExecutor } from '../executor/graph-executor.ts';
import { insertLine, insertUnlessFaulty, type Replacement } from './fault-flag.ts';
import { guardWrites } from './guarded-writes.ts';
import { optimizerUnit, type Hyperparameters, type UpdateRule } from './optimizers.ts';
import type { TracedCall, TracedResults } from './traced-call.ts';
import type { ParameterState } from './trainer.ts';
import type { Clipping } from './training-requests.ts';

/** What one step is given, beside what the optimiser keeps. */
export interface StepInputs {
  /** All that the call may reach (`valuesIn`). */
  readonly values: readonly IValue[];
  /** Gradients, where they were taken before; by the place of their state. */
  readonly gradients: readonly (Tensor | null)[];
  /** The loss, where it is there. */
  readonly loss: Tensor | null;
  readonly hyperparameters: readonly Hyperparameters[];
  readonly clipping: Clipping;
}

/** What a step does, apart from numbers that may be others each time. */
export interface StepShape {
  /** The call, where it is a graph; null where gradients come from elsewhere. */
  readonly traced: TracedCall | null;
  readonly rule: UpdateRule;
  /** States of each group, in order. */
  readonly groups: readonly (readonly ParameterState[])[];
  /** Of all states: whether they have a gradient in this step. */
  readonly gradients: readonly boolean[];
  readonly accumulate: boolean;
  /** Whether kernels may note faults on the way to the loss. */
  readonly mayFail: boolean;
}

type Source = (inputs: StepInputs) => IValue;

/** What is put where something is, at the end of a step. */
interface StepCopy extends Replacement {
  /** Whether it has no dimensions. */
  readonly isNumber: boolean;
}

/** What a planned step gave. */
export interface StepOutputs {
  /** The loss, with the norm of the gradients behind it where they were clipped by it. */
  readonly told: Tensor;
  readonly output: readonly Tensor[];
  /** Gradients to be kept, where they are added up: those that were not there before. */
  readonly gradients: ReadonlyMap<ParameterState, Tensor>;
}

/**
 * A step as one graph: the call with its derivatives where they were traced, what is done with gradients, and what the optimiser makes of them. Every
 * tensor that is changed is worked out anew, and copied to where it belongs at the very end; recordings store it there at once. Where a kernel noted a fault
 * each is what it was.
 */
export class StepPlan {
  readonly #sources: readonly Source[];
  readonly #keptGradients: readonly ParameterState[];
  readonly #outputCount: number;

  constructor(
    readonly executor: GraphExecutor,
    { sources, keptGradients, outputCount }: StepGraph,
  ) {
    this.#sources = sources;
    this.#keptGradients = keptGradients;
    this.#outputCount = outputCount;
  }

  argumentsFor(inputs: StepInputs): IValue[] {
    return this.#sources.map((source) => source(inputs));
  }

  outputsOf(results: readonly IValue[]): StepOutputs {
    const tensors = results as readonly Tensor[];
    const behind = 1 + this.#outputCount;
    const gradients = this.#keptGradients.map((state, at) => [state, tensors[behind + at]] as const);
    return { told: tensors[0], output: tensors.slice(1, behind), gradients: new Map(gradients) };
  }
}

/** What a step is made of, as a text: equal texts, of one call, are one graph. */
export function keyOf(
  { groups, gradients, accumulate, mayFail }: StepShape,
  { hyperparameters, clipping }: StepInputs,
): string {
  const counts = new Map<number, number>();
  const states = groups.flat().map((state, at) => {
    const { steps, gradient, tensors } = state;
    if (!counts.has(steps)) counts.set(steps, counts.size);
    return [gradients[at], gradient !== null, steps === 1, counts.get(steps), [...tensors.keys()]];
  });
  const settings = hyperparameters.map((group) =>
    Object.entries(group).map(([name, value]) => [name, typeof value === 'boolean' ? value : isUsed(name, value)]),
  );
  const { norm, value } = clipping;
  return JSON.stringify([accumulate, mayFail, states, settings, norm && String(norm.normType), value !== null]);
}

const isUsed = (name: string, value: unknown): boolean => name !== 'weight_decay' || value !== 0;

/** Makes the graph of a step. */
export class StepGraph {
  readonly graph = new Graph();
  readonly sources: Source[] = [];
  readonly keptGradients: ParameterState[] = [];
  readonly outputCount: number;
  readonly #copies: StepCopy[] = [];
  readonly #numbers = new Map<string, Value>();

  constructor(
    private readonly shape: StepShape,
    inputs: StepInputs,
  ) {
    const { traced, accumulate } = shape;
    const states = shape.groups.flat();
    const results = traced ? this.#resultsOf(traced, inputs) : this.#resultsFrom(states);
    this.outputCount = results.tensors.length;
    let told = results.loss;
    const gradients = new Map<ParameterState, Value>();
    for (const [at, state] of states.entries()) {
      const gradient = this.#added(state, results.gradients[at]);
      if (gradient) gradients.set(state, gradient);
    }
    if (accumulate) this.#keep(gradients);
    else {
      const norm = this.#clip(gradients, inputs.clipping);
      if (norm) [told] = this.#call('with_norm', [told, norm]);
      this.#update(gradients, inputs.hyperparameters);
    }
    const { graph } = this;
    for (const value of [told, ...results.tensors]) graph.registerOutput(value);
    for (const state of this.keptGradients) graph.registerOutput(gradients.get(state)!);
    const copies = shape.mayFail ? this.#unlessFaulty(results.loss) : this.#copies;
    // Behind all that reads what they write.
    const blocking = graph.insertConstant(false);
    for (const { before, value } of copies) graph.insert('aten::copy_', [before, value, blocking]);
  }

  /** The copies, of what was there before where something went wrong on the device up to the loss: PyTorch would have come to no update. */
  #unlessFaulty(loss: Value): Replacement[] {
    const { graph, shape } = this;
    const isOfComplex = shape.groups.flat().some(({ parameter }) => isComplex(parameter.tensor.dtype));
    const lines = this.#copies.map(({ before, value, isNumber }) =>
      isNumber ? { before: insertLine(graph, before), value: insertLine(graph, value) } : { before, value },
    );
    const values = insertUnlessFaulty(graph, [loss], lines, isOfComplex);
    return values.map((value, at) => ({ before: lines[at].before, value }));
  }

  #input(type: Type, source: Source): Value {
    this.sources.push(source);
    return this.graph.addInput().setType(type);
  }

  #tensor(source: (inputs: StepInputs) => Tensor): Value {
    return this.#input(TensorType.get(), source);
  }

  #resultsOf(traced: TracedCall, { values }: StepInputs): TracedResults<Value> {
    const given = traced.inputs.map((at) => this.#tensor((step) => step.values[at] as Tensor));
    const copies = new Map<Value, Value>();
    const outputs = insertGraph(this.graph, traced.graph!, given, copies);
    if (this.shape.mayFail) {
      const isOfComplex = values.some((value) => value instanceof Tensor && isComplex(value.dtype));
      guardWrites(
        this.graph,
        traced.looking.map((value) => copies.get(value)!),
        isOfComplex,
      );
    }
    return traced.resultsOf(outputs);
  }

  #resultsFrom(states: readonly ParameterState[]): {
    readonly loss: Value;
    readonly tensors: readonly Value[];
    readonly gradients: readonly (Value | null)[];
  } {
    const gradients = states.map((_, at) =>
      this.shape.gradients[at] ? this.#tensor((given) => given.gradients[at]!) : null,
    );
    return { loss: this.#tensor(({ loss }) => loss!), tensors: [], gradients };
  }

  /** Puts a function of the optimisers in place. */
  #call(name: string, inputs: readonly Value[]): Value[] {
    const { graph } = this;
    const [result] = insertGraph(graph, optimizerUnit().getFunction(name).graph, inputs);
    if (result.type.kind !== 'TupleType') return [result];
    return [...graph.insertNode(graph.createTupleUnpack(result)).outputs];
  }

  /** A gradient with what was added up before. */
  #added(state: ParameterState, gradient: Value | null): Value | null {
    if (!state.gradient) return gradient;
    const total = this.#tensor(() => state.gradient!);
    if (!gradient) return total;
    const [sum] = this.#call('added', [total, gradient]);
    if (this.shape.accumulate) {
      this.#copies.push({ before: total, value: sum, isNumber: state.gradient.dim === 0 });
    }
    return sum;
  }

  #keep(gradients: ReadonlyMap<ParameterState, Value>): void {
    for (const state of gradients.keys()) if (!state.gradient) this.keptGradients.push(state);
  }

  /** Clips gradients, and gives their norm where they are clipped by that. */
  #clip(gradients: Map<ParameterState, Value>, { norm, value }: Clipping): Value | null {
    if (gradients.size === 0) return null;
    const { graph } = this;
    let total: Value | null = null;
    if (norm) {
      const kind = graph.insertConstant(norm.normType);
      const norms = [...gradients.values()].flatMap((gradient) => this.#call('norm', [gradient, kind]));
      const list = graph.insertNode(graph.createList(TensorType.get(), norms)).output();
      [total] = this.#call('total_norm', [list, kind]);
      const most = this.#number('max_norm', ({ clipping }) => clipping.norm!.maxNorm);
      const [coefficient] = this.#call('clip_coefficient', [total, most]);
      for (const [state, gradient] of gradients) gradients.set(state, this.#call('scaled', [gradient, coefficient])[0]);
    } else if (value !== null) {
      const most = this.#number('clip_value', ({ clipping }) => clipping.value!);
      for (const [state, gradient] of gradients)
        gradients.set(state, this.#call('clip_grad_value', [gradient, most])[0]);
    }
    return total;
  }

  #update(gradients: ReadonlyMap<ParameterState, Value>, hyperparameters: readonly Hyperparameters[]): void {
    const { groups, rule } = this.shape;
    const parameters = optimizerUnit().getFunction(rule.update).schema.arguments;
    const names = parameters.map(({ name }) => name);
    const tensorType = TensorType.get();
    const changed = parameters.filter(
      ({ name, type }) => name !== 'grad' && type.isSubtypeOf(OptionalType.create(TensorType.get())),
    );
    for (const [at, group] of groups.entries()) {
      for (const state of group) {
        const grad = gradients.get(state);
        if (!grad) continue;
        const isInParts = rule.takesParts && isComplex(state.parameter.tensor.dtype);
        const given = names.map((name) => {
          const value = name === 'grad' ? grad : this.#argument(name, state, at, hyperparameters[at]);
          return isInParts && value.type === tensorType ? this.graph.insert('aten::view_as_real', [value]) : value;
        });
        const results = this.#call(rule.update, given);
        changed.forEach(({ name }, result) => {
          if (name !== 'param' && !state.tensors.has(name)) return;
          const value = this.graph.insertUncheckedCast(results[result], tensorType);
          const isNumber = !isInParts && state.parameter.tensor.dim === 0;
          this.#copies.push({ before: given[names.indexOf(name)], value, isNumber });
        });
      }
    }
  }

  /** What an optimiser's function takes under a name. */
  #argument(name: string, state: ParameterState, group: number, settings: Hyperparameters): Value {
    const { graph } = this;
    if (name === 'param') return this.#tensor(() => state.parameter.tensor);
    if (state.tensors.has(name)) return this.#tensor(() => state.tensors.get(name)!);
    if (name === 'is_first') return graph.insertConstant(state.steps === 1);
    if (name === 'step') {
      const key = `step ${state.steps}`;
      return this.#known(key, () => this.#input(IntType.get(), () => BigInt(state.steps)));
    }
    const setting = settingOf(settings, name);
    if (typeof setting === 'boolean') return graph.insertConstant(setting);
    if (setting === undefined || !isUsed(name, setting)) return graph.insertConstant(null);
    return this.#number(
      `${name} of ${group}`,
      ({ hyperparameters }) => settingOf(hyperparameters[group], name) as number,
    );
  }

  /** A number that may be another one each time. */
  #number(key: string, source: (inputs: StepInputs) => number): Value {
    return this.#known(key, () => this.#input(FloatType.get(), source));
  }

  #known(key: string, make: () => Value): Value {
    let value = this.#numbers.get(key);
    if (!value) this.#numbers.set(key, (value = make()));
    return value;
  }
}

/** A hyperparameter under the name that functions take it by: the first of `betas` is `beta1`. */
function settingOf(settings: Hyperparameters, name: string): number | boolean | undefined {
  const beta = /^beta(\d)$/.exec(name);
  return beta
    ? (settings.betas as readonly number[])[Number(beta[1]) - 1]
    : (settings[name] as number | boolean | undefined);
}
