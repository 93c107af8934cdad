import { IntType, parseIr, type Graph } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { List, type IValue } from '@cresset/tensor';
import { verifyCode } from '../interpreter/code/code-verifier.ts';
import { runtimeConstants } from '../interpreter/code/constant-value.ts';
import { Execution } from '../run/execution.ts';
import { ExecutorCache, GraphExecutor } from './graph-executor.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { RuntimeContext } from '../run/runtime-context.ts';

/** A graph from text with its executor, for tests of what runs below the level of modules. */
export class Program {
  readonly graph: Graph;
  readonly executors = new ExecutorCache(() => ({ maxFusedTensors: 0, gradEnabled: false }));

  constructor(
    text: string,
    readonly context = new RuntimeContext({ print: (line) => this.printed.push(line) }),
  ) {
    registerAllOperators();
    this.graph = parseIr(text, { constants: runtimeConstants });
    this.#executor = new GraphExecutor('program', this.graph, this.executors);
  }

  readonly printed: string[] = [];

  readonly #executor: GraphExecutor;

  run(args: readonly IValue[], signal: AbortSignal | null = null): readonly IValue[] | Promise<readonly IValue[]> {
    const { code } = this.#executor.planFor(this.executors.spec(), null, args);
    verifyCode(code);
    return new InterpreterState(new Execution(this.context, signal), (fn) => this.executors.ofFunction(fn)).run(
      code,
      args,
    );
  }

  /** A list of ints, as an argument. */
  emptyList(): List {
    return new List(IntType.get(), []);
  }

  /** The graphs that its executor made, by stage. */
  stages(): ReadonlyMap<string, Graph> {
    return this.#executor.chooserFor(this.executors.spec(), null, true).stages();
  }
}
