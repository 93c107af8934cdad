import { remembered } from '@cresset/tensorexpr';
import type { IValue, Tensor } from '@cresset/tensor';
import { tapeCode } from '../autograd/tape-code.ts';
import { ExecutorCache, GraphExecutor } from '../executor/graph-executor.ts';
import type { CodeProvider } from '../interpreter/code/code-compiler.ts';
import type { HostedModel } from '../worker/hosted-model.ts';
import type { DifferentiableCall } from './differentiable-call.ts';
import type { RecordedRun } from './recorded-run.ts';
import { CallTracer, TracedCall, type DifferentiatedResults } from './traced-call.ts';
import type { DifferentiatedMethod } from './training-requests.ts';
import { ValueLayouts } from './value-layouts.ts';

/** So many layouts of calls are remembered, those that were met last, and so many graphs. */
const MAX_LAYOUTS = 16;

/** A call whose gradients are asked for. */
interface GradientCall {
  readonly call: DifferentiableCall;
  readonly run: RecordedRun;
  /** What it may reach. */
  readonly roots: readonly IValue[];
  /** All that lies there (`valuesIn`). */
  readonly values: readonly IValue[];
}

type Differentiation = (codes: CodeProvider) => Promise<DifferentiatedResults<Tensor>>;

/** A graph of a call and its gradients, with who makes its plan. */
interface KnownCall {
  readonly traced: TracedCall;
  readonly executor: GraphExecutor | null;
}

/**
 * Calls of one method whose gradients are asked for. One whose arguments lie as those of an earlier one is written down as a graph, and from then on calls like
 * it are one program, fused and replayed as any is. What can be no graph, or comes once, is recorded by the tape.
 */
class RepeatedCalls {
  readonly #executors: ExecutorCache;
  readonly #met: ValueLayouts[] = [];
  readonly #known: KnownCall[] = [];

  constructor({ runner: { context } }: HostedModel) {
    const maxFusedTensors = context.device?.capabilities.maxStorageBuffers ?? 0;
    this.#executors = new ExecutorCache(() => ({ maxFusedTensors, gradEnabled: false }));
  }

  /** Makes a call. @param differentiated makes it operator by operator */
  async call(given: GradientCall, differentiated: Differentiation): Promise<DifferentiatedResults<Tensor>> {
    const { call, values } = given;
    if (!call.isTraceable) return call.untraced(differentiated);
    const known = this.#known.find(({ traced }) => traced.matches(values));
    if (known?.executor) return this.#planned(known.traced, known.executor, given);
    if (known) return call.untraced(differentiated);
    if (this.#met.some((layouts) => layouts.matches(values))) return this.#traced(given, differentiated);
    remember(this.#met, new ValueLayouts(values));
    return call.untraced(differentiated);
  }

  async #traced(
    { call, run, roots }: GradientCall,
    differentiated: Differentiation,
  ): Promise<DifferentiatedResults<Tensor>> {
    const tracer = new CallTracer(roots, call.functions);
    const results = await run.traced(tracer.trace, () => differentiated(tapeCode));
    const traced = TracedCall.of(tracer, results, true);
    const { name } = call.functions[0];
    const executor = traced.graph && new GraphExecutor(name, traced.graph, this.#executors);
    remember(this.#known, { traced, executor });
    return results;
  }

  async #planned(
    traced: TracedCall,
    executor: GraphExecutor,
    { run, values }: GradientCall,
  ): Promise<DifferentiatedResults<Tensor>> {
    const { code } = executor.planFor(this.#executors.spec());
    const outputs = (await run.planned(
      code,
      traced.inputs.map((at) => values[at]),
    )) as readonly Tensor[];
    const { tensors, loss, gradients } = traced.resultsOf(outputs);
    return { loss, output: traced.outputOf(tensors), gradients };
  }
}

function remember<Item>(items: Item[], item: Item): void {
  items.unshift(item);
  items.splice(MAX_LAYOUTS);
}

const callsOf = remembered((_model: HostedModel) => new Map<string, RepeatedCalls>());

/** Those of the method and the loss that a request names. */
export function repeatedCallsOf(
  model: HostedModel,
  { module, method, loss, autocast, checkpoint }: DifferentiatedMethod,
): RepeatedCalls {
  const all = callsOf(model);
  const key = JSON.stringify([module, method, loss, autocast, checkpoint]);
  let calls = all.get(key);
  if (!calls) all.set(key, (calls = new RepeatedCalls(model)));
  return calls;
}
