import type { Graph, ScriptFunction } from '@cresset/ir';
import { ScriptObject, type IValue, type Tensor } from '@cresset/tensor';
import { ExecutorCache } from '../../executor/graph-executor.ts';
import type { CodeProvider } from '../../interpreter/code/code-compiler.ts';
import type { CodeSource } from '../../interpreter/code/code.ts';
import type { RuntimeContext } from '../../run/runtime-context.ts';

/**
 * Code of plans for runs that are recorded. Operators that can be differentiated as a group are one `prim::DifferentiableGraph`, which is one step of the
 * tape: both of its directions are plans of their own, fused, recorded and replayed. What lies between groups is recorded operator by operator.
 */
export class SplitCode implements CodeProvider {
  readonly #executors: ExecutorCache;

  constructor(context: RuntimeContext) {
    const maxFusedTensors = context.device?.capabilities.maxStorageBuffers ?? 0;
    this.#executors = new ExecutorCache(() => ({
      maxFusedTensors,
      gradEnabled: context.gradEnabled,
      executor: 'profiling',
      asAutograd: true,
    }));
  }

  ofFunction(fn: ScriptFunction): CodeSource {
    const executor = this.#executors.executorOf(fn);
    return {
      name: fn.name,
      code: (args = []) => executor.planFor(this.#executors.spec(), moduleOf(args), args).code,
    };
  }

  ofGraph(graph: Graph, name: string): CodeSource {
    return this.#executors.ofGraph(graph, name);
  }

  /** Tensors in its code. */
  constants(): Tensor[] {
    return this.#executors.constants();
  }
}

/** Modules are few, and plans are made for each; of other classes there may be any number of objects. */
function moduleOf([self]: readonly IValue[]): ScriptObject | null {
  return self instanceof ScriptObject && self.type.isModule() ? self : null;
}
