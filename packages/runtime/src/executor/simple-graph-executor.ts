import { jitOptions, type Graph, type Node } from '@cresset/ir';
import { preoptimizeForObject, optimizeForSpec, type AttributeGuard, type SpecOptions } from '@cresset/passes';
import type { IValue, ScriptObject } from '@cresset/tensor';
import { ArgumentSpecCreator, specializeTypes, type ArgumentSpec } from './argument-spec.ts';
import type { ExecutionPlan, GraphExecutor, PlanChooser, RunSpec } from './graph-executor.ts';
import type { Callback } from '../interpreter/code/instruction.ts';
import { DifferentiableGroup } from './differentiable-group.ts';
import { planOf } from './plan-compiler.ts';

/** So many plans a graph has; whatever else it is called with goes by the plan that is right for anything. */
const MAX_PLANS = 32;

/** Makes a plan for every ArgumentSpec that a graph is called with (torch::jit::GraphExecutorImpl). */
export class SimpleGraphExecutor implements PlanChooser {
  readonly guards: readonly AttributeGuard[];
  readonly #graph: Graph;
  readonly #specs: ArgumentSpecCreator;
  readonly #options: SpecOptions;
  readonly #plans = new Map<string, ExecutionPlan>();
  #latest: ExecutionPlan | null = null;

  constructor(
    private readonly executor: GraphExecutor,
    private readonly spec: RunSpec,
    private readonly self: ScriptObject | null,
  ) {
    this.#options = {
      ...executor.optimizeOptions(spec, self),
      fuseOnCpu: jitOptions().fuseOnCpu ?? false,
      asAutograd: spec.asAutograd ?? false,
    };
    this.#graph = executor.graph.copy();
    this.guards = preoptimizeForObject(this.#graph, this.#options);
    this.#specs = new ArgumentSpecCreator(this.#graph);
  }

  planFor(args: readonly IValue[]): ExecutionPlan {
    const spec = this.#specs.create(args, this.spec.gradEnabled);
    let plan = this.#plans.get(spec.key);
    if (!plan) {
      if (this.#plans.size >= MAX_PLANS) return this.executor.planFor(this.spec, this.self);
      this.#plans.set(spec.key, (plan = this.#makePlan(spec)));
    }
    return (this.#latest = plan);
  }

  #makePlan(spec: ArgumentSpec): ExecutionPlan {
    const graph = this.#graph.copy();
    specializeTypes(graph, spec);
    optimizeForSpec(graph, { ...this.#options, gradEnabled: this.spec.gradEnabled });
    const { gradEnabled } = this.spec;
    return planOf(
      this.executor,
      graph,
      this.guards,
      { ...this.#options, gradEnabled },
      { callbackOf: (node) => (node.kind === 'prim::DifferentiableGraph' ? this.#differentiable(node) : undefined) },
    );
  }

  /** Its forward graph was optimised with the graph around it. */
  #differentiable(node: Node): Callback {
    const { executor } = this;
    const { code } = planOf(executor, node.g('Subgraph'), this.guards, { ...this.#options, gradEnabled: false });
    const group = new DifferentiableGroup(node, executor, this.spec, () => code);
    return (inputs, state) => group.run(inputs, state);
  }

  latest(): ExecutionPlan | null {
    return this.#latest;
  }

  stages(): ReadonlyMap<string, Graph> {
    return new Map([['inlined', this.#graph], ...(this.#latest ? [['optimized', this.#latest.graph] as const] : [])]);
  }
}
