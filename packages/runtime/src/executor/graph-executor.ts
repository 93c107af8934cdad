import {
  compilerServices,
  CressetError,
  GraphFunction,
  jitOptions,
  logGraph,
  type ExecutorKind,
  type Graph,
  type ScriptFunction,
} from '@cresset/ir';
import { optimizeForInference, type AttributeGuard, type OptimizeOptions } from '@cresset/passes';
import { Tensor, type IValue, type ScriptObject } from '@cresset/tensor';
import { remembered } from '@cresset/tensorexpr';
import { evaluateConstant } from './constant-evaluator.ts';
import { compileDecomposition } from './decomposition-compiler.ts';
import { compileCode, type CodeProvider } from '../interpreter/code/code-compiler.ts';
import type { Code, CodeSource } from '../interpreter/code/code.ts';
import type { RuntimeServices } from '../services.ts';

/** The kind of run that a plan was made for. */
export interface RunSpec {
  /** Tensors a fused kernel may bind; 0 on the host, where nothing is fused. */
  readonly maxFusedTensors: number;
  readonly gradEnabled: boolean;
  /** Who makes its plans, where it is not left to the switches of the compiler. */
  readonly executor?: ExecutorKind | undefined;
  /** Whether gradients of groups have to be those of their operators. */
  readonly asAutograd?: boolean;
}

/** A graph made ready to run. */
export interface ExecutionPlan {
  readonly graph: Graph;
  readonly code: Code;
  /** What has to hold for it to be right. */
  readonly guards: readonly AttributeGuard[];
}

/** Has a plan for whatever a graph is called with, of those it made. */
export interface PlanChooser {
  /** What has to hold for its plans to be right. */
  readonly guards: readonly AttributeGuard[];
  planFor(args: readonly IValue[]): ExecutionPlan;
  /** The plan of the last run; null before the first. */
  latest(): ExecutionPlan | null;
  /** The graphs it has made, by the stage that they are of, the last one last: `inlined`, `profiled`, `optimized`. */
  stages(): ReadonlyMap<string, Graph>;
}

export type ChooserFactory = (executor: GraphExecutor, spec: RunSpec, self: ScriptObject | null) => PlanChooser;

/** Is told of the graph after every pass: for `explain()` and the playground. */
export type StepListener = (name: string, graph: Graph) => void;

/** Optimises one graph and keeps a plan for every kind of arguments it was called with (torch::jit::GraphExecutor). */
export class GraphExecutor {
  readonly #plans = new Map<string, PlanChooser>();
  readonly #plansOf = remembered<ScriptObject, Map<string, PlanChooser>>(() => new Map());
  readonly #made = new Set<ExecutionPlan>();
  /** Attributes that changed between two runs: plans do not count on them any more. */
  readonly #unstableAttributes = new Set<string>();

  constructor(
    readonly name: string,
    readonly graph: Graph,
    readonly provider: CodeProvider,
    /** Whether the graph works out gradients. */
    private readonly isBackward = false,
  ) {}

  /**
   * @param self the object a method is called on, where the plan may be made for that one
   * @param args what the graph is called with; a plan for any arguments where that is not known
   */
  planFor(spec: RunSpec, self: ScriptObject | null = null, args?: readonly IValue[]): ExecutionPlan {
    return this.chooserFor(spec, self, args !== undefined).planFor(args ?? []);
  }

  /** @param byArguments whether plans may be made for the arguments at hand, as the chosen executor does */
  chooserFor(spec: RunSpec, self: ScriptObject | null, byArguments: boolean): PlanChooser {
    const { enabled, executor = spec.executor } = jitOptions();
    const kind = byArguments && enabled !== false ? executor : undefined;
    const key = `${spec.maxFusedTensors} ${spec.gradEnabled} ${enabled} ${kind}`;
    const plans = self ? this.#plansOf(self) : this.#plans;
    let chooser = plans.get(key);
    if (!chooser || this.#isBroken(chooser)) plans.set(key, (chooser = this.#makeChooser(kind, spec, self)));
    return chooser;
  }

  /** Whether attributes are others than its plans were made for: those are not counted on any more. */
  #isBroken({ guards }: PlanChooser): boolean {
    let isBroken = false;
    for (const { object, slot, value, attribute } of guards) {
      if (Object.is(object.slots[slot], value)) continue;
      this.#unstableAttributes.add(attribute);
      isBroken = true;
    }
    return isBroken;
  }

  #makeChooser(kind: ExecutorKind | undefined, spec: RunSpec, self: ScriptObject | null): PlanChooser {
    if (kind) {
      const make = compilerServices<RuntimeServices>().executors?.[kind];
      if (!make) throw new CressetError('ARGUMENT', `there is no executor '${kind}' here`);
      return make(this, spec, self);
    }
    const plan = this.makePlan(spec, self);
    this.keep(plan);
    return {
      guards: plan.guards,
      planFor: () => plan,
      latest: () => plan,
      stages: () => new Map([['optimized', plan.graph]]),
    };
  }

  /** Counts the constants of a plan among its own. */
  keep(plan: ExecutionPlan): void {
    this.#made.add(plan);
  }

  /** The tensors that its plans hold as constants: the weights of a frozen module. */
  *constants(): Iterable<Tensor> {
    for (const { graph } of this.#made) yield* tensorConstantsOf(graph);
  }

  /** Optimises and compiles anew, telling `onStep` how the graph goes along. */
  makePlan(spec: RunSpec, self: ScriptObject | null = null, onStep?: StepListener): ExecutionPlan {
    const graph = this.graph.copy();
    logGraph('graph_executor', graph, `Before optimization of ${this.name}`);
    const guards = optimizeForInference(graph, this.optimizeOptions(spec, self, onStep));
    logGraph('graph_executor', graph);
    return { graph, code: compileCode(this.name, graph, this.provider), guards };
  }

  /** What the passes are given that make a plan. */
  optimizeOptions(spec: RunSpec, self: ScriptObject | null, onStep?: StepListener): OptimizeOptions {
    const { autocast, loopRolling } = compilerServices<RuntimeServices>();
    return {
      evaluate: evaluateConstant,
      compileDecomposition,
      autocast,
      isRolled: spec.maxFusedTensors > 0 ? loopRolling?.isLikely : undefined,
      self,
      unstableAttributes: this.#unstableAttributes,
      fuse: spec.maxFusedTensors > 0 ? { maxTensors: spec.maxFusedTensors } : null,
      isBackward: this.isBackward,
      onStep,
    };
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

  constructor(readonly spec: () => RunSpec) {}

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
    return { name: fn.name, code: (args) => this.executorOf(fn).planFor(this.spec(), null, args).code };
  }

  ofGraph(graph: Graph, name: string): CodeSource {
    return {
      name,
      code: (args) => {
        let executor = this.#graphs.get(graph);
        if (!executor) this.#graphs.set(graph, (executor = this.#create(name, graph)));
        return executor.planFor(this.spec(), null, args).code;
      },
    };
  }
}
