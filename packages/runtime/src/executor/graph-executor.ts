import { CressetError, GraphFunction, jitOptions, logGraph, type Graph, type ScriptFunction } from '@cresset/ir';
import { optimizeForInference, type AttributeGuard, type OptimizeOptions } from '@cresset/passes';
import { Tensor, type ScriptObject } from '@cresset/tensor';
import { evaluateConstant } from './constant-evaluator.ts';
import { compileDecomposition } from './decomposition-compiler.ts';
import { compileCode, type CodeProvider } from '../interpreter/code-compiler.ts';
import type { Code, CodeSource } from '../interpreter/code.ts';

let autocastPass: OptimizeOptions['autocast'];

/** Gives plans that are made from now on the pass that a program with `torch.autocast` needs. */
export function useAutocast(pass: NonNullable<OptimizeOptions['autocast']>): void {
  autocastPass = pass;
}

/** What a plan was made for; another spec is another plan (torch::jit::ArgumentSpec). */
export interface ArgumentSpec {
  /** Tensors a fused kernel may bind; 0 on the host, where nothing is fused. */
  readonly maxFusedTensors: number;
  readonly gradEnabled: boolean;
}

/** A graph made ready to run under one ArgumentSpec. */
export interface ExecutionPlan {
  readonly graph: Graph;
  readonly code: Code;
  /** What has to hold for it to be right. */
  readonly guards: readonly AttributeGuard[];
}

/** Is told of the graph after every pass: for `explain()` and the playground. */
export type StepListener = (name: string, graph: Graph) => void;

/** Optimises one graph and keeps a plan for every kind of arguments it was called with (torch::jit::GraphExecutor). */
export class GraphExecutor {
  readonly #plans = new Map<string, ExecutionPlan>();
  readonly #plansOfObjects = new WeakMap<ScriptObject, Map<string, ExecutionPlan>>();
  readonly #made = new Set<ExecutionPlan>();
  /** Attributes that changed between two runs: plans do not count on them any more. */
  readonly #unstableAttributes = new Set<string>();

  constructor(
    readonly name: string,
    readonly graph: Graph,
    private readonly provider: CodeProvider,
  ) {}

  /** @param self the object a method is called on, where the plan may be made for that one */
  planFor(spec: ArgumentSpec, self: ScriptObject | null = null): ExecutionPlan {
    const key = `${spec.maxFusedTensors} ${spec.gradEnabled} ${jitOptions().enabled}`;
    const plans = self ? this.#plansOf(self) : this.#plans;
    let plan = plans.get(key);
    const broken = plan?.guards.filter(({ object, slot, value }) => !Object.is(object.slots[slot], value)) ?? [];
    for (const { attribute } of broken) this.#unstableAttributes.add(attribute);
    if (!plan || broken.length > 0) {
      plans.set(key, (plan = this.makePlan(spec, self)));
      this.#made.add(plan);
    }
    return plan;
  }

  /** The tensors that its plans hold as constants: the weights of a frozen module. */
  *constants(): Iterable<Tensor> {
    for (const { graph } of this.#made) yield* tensorConstantsOf(graph);
  }

  #plansOf(self: ScriptObject): Map<string, ExecutionPlan> {
    let plans = this.#plansOfObjects.get(self);
    if (!plans) this.#plansOfObjects.set(self, (plans = new Map()));
    return plans;
  }

  /** Optimises and compiles anew, telling `onStep` how the graph goes along. */
  makePlan(spec: ArgumentSpec, self: ScriptObject | null = null, onStep?: StepListener): ExecutionPlan {
    const graph = this.graph.copy();
    logGraph('graph_executor', graph, `Before optimization of ${this.name}`);
    const guards = optimizeForInference(graph, {
      evaluate: evaluateConstant,
      compileDecomposition,
      autocast: autocastPass,
      self,
      unstableAttributes: this.#unstableAttributes,
      fuse: spec.maxFusedTensors > 0 ? { maxTensors: spec.maxFusedTensors } : null,
      onStep,
    });
    logGraph('graph_executor', graph);
    return { graph, code: compileCode(this.name, graph, this.provider), guards };
  }
}

function* tensorConstantsOf(graph: Graph): Iterable<Tensor> {
  for (const node of graph.allNodes()) {
    for (const name of node.attributeNames) {
      const attribute = node.attribute(name);
      if (attribute.kind === 'g') yield* tensorConstantsOf(attribute.value);
      else if (attribute.value instanceof Tensor) yield attribute.value;
    }
  }
}

/** The executors of all functions of a program, for one kind of run. */
export class ExecutorCache implements CodeProvider {
  readonly #functions = new WeakMap<ScriptFunction, GraphExecutor>();
  readonly #graphs = new WeakMap<Graph, GraphExecutor>();
  readonly #all: GraphExecutor[] = [];

  constructor(readonly spec: () => ArgumentSpec) {}

  executorOf(fn: ScriptFunction): GraphExecutor {
    let executor = this.#functions.get(fn);
    if (!executor) {
      if (!(fn instanceof GraphFunction)) {
        throw new CressetError('FUNCTION_WITHOUT_GRAPH', `${fn.qualifiedName} has no graph to run`);
      }
      this.#functions.set(fn, (executor = this.#create(fn.name, fn.graph)));
    }
    return executor;
  }

  /** Tensors in the code of all functions that have run. */
  constants(): Tensor[] {
    return this.#all.flatMap((executor) => [...executor.constants()]);
  }

  #create(name: string, graph: Graph): GraphExecutor {
    const executor = new GraphExecutor(name, graph, this);
    this.#all.push(executor);
    return executor;
  }

  ofFunction(fn: ScriptFunction): CodeSource {
    return { name: fn.name, code: () => this.executorOf(fn).planFor(this.spec()).code };
  }

  ofGraph(graph: Graph, name: string): CodeSource {
    return {
      name,
      code: () => {
        let executor = this.#graphs.get(graph);
        if (!executor) this.#graphs.set(graph, (executor = this.#create(name, graph)));
        return executor.planFor(this.spec()).code;
      },
    };
  }
}
