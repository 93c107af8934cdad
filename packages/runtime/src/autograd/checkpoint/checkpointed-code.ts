import type { ClassType, Graph, Node } from '@cresset/ir';
import type { IValue, ScriptObject } from '@cresset/tensor';
import type { CodeProvider } from '../../interpreter/code/code-compiler.ts';
import type { Callback } from '../../interpreter/code/instruction.ts';
import { InterpreterState } from '../../interpreter/interpreter-state.ts';
import type { Execution } from '../../run/execution.ts';
import { Checkpoint } from './checkpoint.ts';
import { Recorder } from '../recording/recorder.ts';
import { TapeCode } from '../tape-code.ts';
import { TapeRun } from '../tape-run.ts';

/** A call that is not inlined: what it calls may be run again. */
const CALL = 'prim::CheckpointedCall';

/** Code for tapes in which calls of some modules are checkpoints. */
export class CheckpointedCode extends TapeCode implements CodeProvider {
  readonly #types: ReadonlySet<ClassType>;
  readonly #bodies = new WeakMap<Graph, Graph>();

  constructor(private readonly modules: ReadonlySet<ScriptObject>) {
    super();
    this.#types = new Set([...modules].map(({ type }) => type));
  }

  protected override bodyOf(graph: Graph): Graph {
    let body = this.#bodies.get(graph);
    if (!body) {
      body = graph.copy();
      const calls = [...body.allNodes()].filter((node) => this.#isChosen(node));
      calls.forEach(apart);
      this.#bodies.set(graph, body);
    }
    return body;
  }

  #isChosen(node: Node): boolean {
    return (
      node.kind === 'prim::CallMethod' &&
      node.s('name') === 'forward' &&
      this.#types.has(node.input(0).type as ClassType)
    );
  }

  callbackOf(node: Node): Callback | undefined {
    if (node.kind !== CALL) return undefined;
    const method = (node.input(0).type as ClassType).getMethod('forward');
    return (args, { execution }) => this.#call(this.ofFunction(method).code(args), args, execution);
  }

  async #call(
    code: ReturnType<ReturnType<CodeProvider['ofFunction']>['code']>,
    args: readonly IValue[],
    execution: Execution,
  ): Promise<readonly IValue[]> {
    const part = async (within: Execution): Promise<readonly IValue[]> =>
      new InterpreterState(within, (fn) => this.ofFunction(fn), true).run(code, args);
    const { observer, context } = execution;
    const [module] = args as [ScriptObject];
    const isCheckpoint =
      observer instanceof Recorder && context.gradEnabled && !observer.keepsNothing && this.modules.has(module);
    const results = isCheckpoint
      ? await Checkpoint.record(part, module, args, observer, execution)
      : await part(execution);
    return new TapeRun(execution, true).handOver(results);
  }
}

/** Puts a call that stays one in the place of another. */
function apart(call: Node): void {
  const own = call.owningGraph.create(CALL, call.inputs, 0).insertBefore(call);
  own.sourceRange = call.sourceRange;
  for (const output of call.outputs) {
    const made = own.addOutput().setType(output.type);
    output.replaceAllUsesWith(made);
  }
  call.destroy();
}
