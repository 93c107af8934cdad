import { GraphFunction, type Graph, type ScriptFunction, type Value } from '@cresset/ir';
import { inline } from '@cresset/passes';
import { Dict, List, ScriptObject, Tensor, Tuple, type IValue } from '@cresset/tensor';
import type { Expr } from '@cresset/tensorexpr';
import { OperatorTrace } from '../autograd/recording/operator-trace.ts';
import { reachableTensors } from '../worker/wire/wire-value.ts';
import { InputChecks } from './input-checks.ts';
import type { StepPlan } from './step-plan.ts';
import { ValueLayouts, valuesIn } from './value-layouts.ts';

/** What a recorded run came to: its loss, what the method gave, and gradients, null for those of what the loss does not depend on. */
export interface DifferentiatedResults<T> {
  readonly loss: T;
  readonly output: IValue;
  readonly gradients: readonly (T | null)[];
}

/** The same of a graph: the tensors of the output, one by one. */
export type TracedResults<T> = DifferentiatedResults<T> & { readonly tensors: readonly T[] };

/**
 * A recorded run as a graph, from what it was given to its gradients: it is optimised as any graph is, forward and backward as one, and no step of
 * a tape is made when it runs again. Where the run looked at elements to decide something there is none, and such calls are recorded each time.
 */
export class TracedCall {
  /** What steps with it do, by their kinds. */
  readonly plans = new Map<string, StepPlan>();
  /** Null where nothing can be told beforehand, undefined where nobody asked. */
  #checks: InputChecks | null | undefined;

  private constructor(
    /** Outputs are the loss, the tensors of the output, and the gradients that there are. */
    readonly graph: Graph | null,
    /** What its nodes give that go by positions. */
    readonly looking: readonly Value[],
    /** Why there is no graph. */
    readonly refusal: string | null,
    private readonly layouts: ValueLayouts,
    /** The place of each input of the graph among the values that the run was given. */
    readonly inputs: readonly number[],
    readonly wantsOutput: boolean,
    private readonly output: IValue,
    /** Of each parameter that is trained: whether it has a gradient. */
    readonly gradients: readonly boolean[],
  ) {}

  /** @param wantsOutput whether anybody wants what the method gave */
  static of(tracer: CallTracer, results: DifferentiatedResults<Tensor>, wantsOutput: boolean): TracedCall {
    const { trace, values, layouts } = tracer;
    const { loss, gradients } = results;
    const output = wantsOutput ? results.output : null;
    const outputs = [loss, ...tensorsOf(output), ...gradients.filter((gradient) => gradient !== null)];
    for (const tensor of outputs) {
      const value = trace.valueOf(tensor);
      if (value) trace.graph.registerOutput(value);
      else trace.refuse('a result that comes from elsewhere');
    }
    // Attributes that were set to something else have to be set again.
    const after = valuesIn(tracer.roots);
    if (after.length !== values.length || after.some((value, at) => !Object.is(value, values[at]))) {
      trace.refuse('an attribute or a container that changes');
    }
    if (valuesIn([output]).some((value) => value instanceof ScriptObject)) trace.refuse('an object as a result');
    const { refusal } = trace;
    const inputs = trace.given.map((tensor) => values.indexOf(tensor));
    const isThere = gradients.map((gradient) => gradient !== null);
    const graph = refusal === null ? trace.graph : null;
    return new TracedCall(graph, trace.looking, refusal, layouts, inputs, wantsOutput, output, isThere);
  }

  /** Whether it is known under which conditions its kernels note faults. */
  get knowsFaults(): boolean {
    return this.#checks !== undefined;
  }

  /** Is told of these conditions, and of the values that its kernels met. */
  learnFaults(conditions: readonly Expr[], values: readonly IValue[]): void {
    this.#checks = InputChecks.of(conditions, values);
  }

  /** Whether kernels may note faults, as far as can be told beforehand. */
  mayFail(values: readonly IValue[]): boolean {
    return !this.#checks?.holdFor(values);
  }

  /** Whether what a call is given is as it was then. @param values of `valuesIn` */
  matches(values: readonly IValue[]): boolean {
    return this.layouts.matches(values);
  }

  /** What stands for the results among the outputs of the graph, of a copy of it, or of a run. */
  resultsOf<T>(outputs: readonly T[]): TracedResults<T> {
    const count = tensorsOf(this.output).length;
    let next = 1 + count;
    const gradients = this.gradients.map((isThere) => (isThere ? outputs[next++] : null));
    return { loss: outputs[0], output: null, tensors: outputs.slice(1, 1 + count), gradients };
  }

  /** The output with other tensors in the place of its own. */
  outputOf(tensors: readonly Tensor[]): IValue {
    const own = tensorsOf(this.output);
    return withTensors(this.output, new Map(own.map((tensor, at) => [tensor, tensors[at]])));
  }
}

/** What is traced, with the values that it was given. */
export class CallTracer {
  readonly values: readonly IValue[];
  readonly layouts: ValueLayouts;
  readonly trace: OperatorTrace;

  /** @param roots what the call may reach: its arguments and the program's objects */
  constructor(
    readonly roots: readonly IValue[],
    functions: readonly ScriptFunction[],
  ) {
    this.values = valuesIn(roots);
    this.layouts = new ValueLayouts(this.values);
    const given = new Set(this.values);
    this.trace = new OperatorTrace((tensor) => given.has(tensor));
    const said = functions.flatMap((fn) => refusalIn(fn) ?? []);
    if (said.length > 0) this.trace.refuse(said[0]);
  }
}

/** Nodes that do what no operator tells of. */
const untold: ReadonlySet<string> = new Set(['prim::Print', 'prim::fork', 'aten::wait', 'prim::tolist']);

function refusalIn(fn: ScriptFunction): string | null {
  if (!(fn instanceof GraphFunction)) return `${fn.name}: a function without a graph`;
  const graph = fn.graph.copy();
  inline(graph);
  for (const { kind } of graph.allNodes()) if (untold.has(kind)) return kind;
  return null;
}

function tensorsOf(output: IValue): Tensor[] {
  return [...new Set(reachableTensors(output))];
}

function withTensors(value: IValue, tensors: ReadonlyMap<Tensor, Tensor>): IValue {
  const inside = (item: IValue): IValue => withTensors(item, tensors);
  if (value instanceof Tensor) return tensors.get(value)!;
  if (value instanceof Tuple) return new Tuple(value.items.map(inside), value.type);
  if (value instanceof List) return new List(value.elementType, value.items.map(inside));
  if (value instanceof Dict) {
    return new Dict(
      value.keyType,
      value.valueType,
      new Map([...value.entries].map(([key, item]) => [key, inside(item)])),
    );
  }
  return value;
}
