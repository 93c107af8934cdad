import {
  jitOptions,
  logGraph,
  type FusionStrategy,
  type Graph,
  type Node,
  type ScriptFunction,
  type TensorType,
} from '@cresset/ir';
import {
  bailoutGraph,
  preoptimizeForObject,
  replaceFallbackGraphs,
  removeProfileCounter,
  runProfilingInsensitiveOptimizations,
  runProfilingOptimizations,
  type AttributeGuard,
  type OptimizeOptions,
} from '@cresset/passes';
import type { IValue, List, ScriptObject } from '@cresset/tensor';
import type { CodeSource } from '../interpreter/code/code.ts';
import type { Callback } from '../interpreter/code/instruction.ts';
import { DifferentiableGroup } from './differentiable-group.ts';
import { GraphExecutor, type ExecutionPlan, type PlanChooser, type RunSpec } from './graph-executor.ts';
import { planOf, type SpecialNodes } from './plan-compiler.ts';
import { ProfilingRecord } from './profiling-record.ts';
import { matchesType, matchTogether } from './tensor-types.ts';

/** PyTorch's, since 1.10. */
const DEFAULT_STRATEGY: FusionStrategy = [
  ['STATIC', 2],
  ['DYNAMIC', 10],
];

/** So many graphs one function is profiled and specialised in, those of its bailouts and fallbacks among them. */
const MAX_SPECIALIZED_GRAPHS = 64;

/** What all graphs that come of one function have in common. */
interface Family {
  readonly spec: RunSpec;
  readonly options: OptimizeOptions;
  readonly guards: readonly AttributeGuard[];
  readonly bailouts: boolean;
  readonly fuseOnCpu: boolean;
  readonly strategy: FusionStrategy;
  specializedGraphs: number;
}

/**
 * Runs a graph as often as it is told to with `prim::profile` nodes in it, and then has it optimised for the tensors that were seen, under
 * guards. What has to be done where a guard fails has an executor of its own, which profiles in turn, so often as the fusion strategy
 * allows (torch::jit::ProfilingGraphExecutorImpl).
 */
export class ProfilingGraphExecutor implements PlanChooser {
  readonly guards: readonly AttributeGuard[];
  readonly #family: Family;
  #record: ProfilingRecord | null = null;
  #profilingPlan: ExecutionPlan | null = null;
  #optimizedPlan: ExecutionPlan | null = null;

  /** The executor of a function. */
  static of(executor: GraphExecutor, spec: RunSpec, self: ScriptObject | null): ProfilingGraphExecutor {
    const options = executor.optimizeOptions(spec, self);
    const { bailouts = false, fuseOnCpu = false, fusionStrategy: strategy = DEFAULT_STRATEGY } = jitOptions();
    const graph = executor.graph.copy();
    const guards = preoptimizeForObject(graph, options);
    const depth = strategy.reduce((sum, [, count]) => sum + count, 0);
    const family: Family = { spec, options, guards, bailouts, fuseOnCpu, strategy, specializedGraphs: 0 };
    return new ProfilingGraphExecutor(executor, graph, depth, family);
  }

  /** @param depth how often what fails in it may be specialised again; 0 for a graph that is not specialised itself */
  private constructor(
    private readonly executor: GraphExecutor,
    private readonly graph: Graph,
    private readonly depth: number,
    family: Family,
  ) {
    this.#family = family;
    this.guards = family.guards;
  }

  planFor(_args: readonly IValue[]): ExecutionPlan {
    return this.#optimizedPlan ?? this.#watch();
  }

  latest(): ExecutionPlan | null {
    return this.#optimizedPlan ?? this.#profilingPlan;
  }

  stages(): ReadonlyMap<string, Graph> {
    const stages = new Map([['inlined', this.graph]]);
    if (this.#record) stages.set('profiled', this.#record.graph);
    if (this.#optimizedPlan) stages.set('optimized', this.#optimizedPlan.graph);
    return stages;
  }

  #watch(): ExecutionPlan {
    const family = this.#family;
    if (!this.#record) {
      const graph = this.graph.copy();
      runProfilingInsensitiveOptimizations(graph, family.options);
      if (this.depth === 0 || family.specializedGraphs >= MAX_SPECIALIZED_GRAPHS) {
        return (this.#optimizedPlan = this.#planOf(graph));
      }
      family.specializedGraphs++;
      const record = new ProfilingRecord(graph, jitOptions().numProfiledRuns ?? 1, family.spec.gradEnabled);
      this.#record = record;
      const plan = this.#planOf(graph, record);
      this.#profilingPlan = { ...plan, code: { ...plan.code, isWatched: true } };
    }
    if (!this.#record.isReady) return this.#profilingPlan!;
    const graph = this.#record.graph.copy();
    removeProfileCounter(graph);
    runProfilingOptimizations(graph, {
      ...family.options,
      bailouts: family.bailouts,
      fuseOnCpu: family.fuseOnCpu,
      asAutograd: family.spec.asAutograd ?? false,
      behavior: this.#behavior(),
    });
    const fallbacks = new Map<ScriptFunction, CodeSource>();
    replaceFallbackGraphs(graph, (fn) => fallbacks.set(fn, this.#sourceOf(fn.graph)));
    logGraph('profiling_graph_executor_impl', graph, 'Optimized Graph');
    return (this.#optimizedPlan = this.#planOf(graph, {
      callbackOf: (node) => this.#guardOf(node),
      codeOf: (fn) => fallbacks.get(fn),
    }));
  }

  /** The strategy begins with its first entry, at full depth. */
  #behavior(): 'STATIC' | 'DYNAMIC' {
    let reached = 0;
    for (const [behavior, count] of this.#family.strategy.toReversed()) {
      reached += count;
      if (this.depth <= reached) return behavior;
    }
    return 'STATIC';
  }

  #planOf(graph: Graph, special: SpecialNodes = {}): ExecutionPlan {
    const { options, spec, fuseOnCpu } = this.#family;
    const { gradEnabled } = spec;
    return planOf(this.executor, graph, this.guards, { ...options, gradEnabled, fuseOnCpu }, special);
  }

  #guardOf(node: Node): Callback | undefined {
    switch (node.kind) {
      case 'prim::TypeCheck':
      case 'prim::RequiresGradCheck':
        return this.#typeCheck(node);
      case 'prim::TensorExprDynamicGuard': {
        const types = node.tys('types') as readonly TensorType[];
        const rules = (node.ival('striding_inputs_desc') as List).items.map((each) => (each as List).items as string[]);
        const { gradEnabled } = this.#family.spec;
        return (inputs) => [matchTogether(types, rules, inputs, gradEnabled)];
      }
      case 'prim::BailoutTemplate':
        return () => [0n];
      case 'prim::BailOut':
        return this.#bailOut(node);
      case 'prim::DifferentiableGraph':
        return this.#differentiable(node);
      default:
        return undefined;
    }
  }

  /** Whether all inputs are of the types that were seen; the inputs go through. */
  #typeCheck(node: Node): Callback {
    const types = node.tys('types') as readonly TensorType[];
    const { gradEnabled } = this.#family.spec;
    return (inputs) => [...inputs, types.every((type, at) => matchesType(type, inputs[at], gradEnabled))];
  }

  /** Where its tensor is not what was seen, the run goes on in a graph of what is left to do. */
  #bailOut(node: Node): Callback {
    const type = node.output().type as TensorType;
    const { gradEnabled } = this.#family.spec;
    let rest: ProfilingGraphExecutor | undefined;
    return (inputs, state) => {
      const [, tensor] = inputs;
      if (matchesType(type, tensor, gradEnabled)) return [tensor];
      rest ??= this.#executorOf(bailoutGraph(node.input(0).node.g('Subgraph'), node.i('index')));
      const args = inputs.slice(1);
      state.continueIn(rest.planFor(args).code, args);
      return undefined;
    };
  }

  /** Its forward graph is watched and optimised like any function. */
  #differentiable(node: Node): Callback {
    const spec = { ...this.#family.spec, gradEnabled: false };
    const forward = new GraphExecutor('<forward op>', node.g('Subgraph'), this.executor.provider);
    const group = new DifferentiableGroup(node, this.executor, spec, (args) => forward.planFor(spec, null, args).code);
    return (inputs, state) => group.run(inputs, state);
  }

  /** Errors are told as if they came from the function itself. */
  #sourceOf(graph: Graph): CodeSource {
    const executor = this.#executorOf(graph);
    return { name: this.executor.name, code: (args = []) => executor.planFor(args).code };
  }

  #executorOf(graph: Graph): ProfilingGraphExecutor {
    return new ProfilingGraphExecutor(this.executor, graph, this.depth - 1, this.#family);
  }
}
