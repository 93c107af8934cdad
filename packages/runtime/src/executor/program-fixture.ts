import { parseIr, type Graph } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import type { IValue } from '@cresset/tensor';
import { verifyCode } from '../interpreter/code-verifier.ts';
import { runtimeConstants } from '../interpreter/constant-value.ts';
import { Execution } from '../run/execution.ts';
import { ExecutorCache } from './graph-executor.ts';
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
  }

  readonly printed: string[] = [];

  run(args: readonly IValue[], signal: AbortSignal | null = null): readonly IValue[] | Promise<readonly IValue[]> {
    const code = this.executors.ofGraph(this.graph, 'program').code();
    verifyCode(code);
    return new InterpreterState(new Execution(this.context, signal), (fn) => this.executors.ofFunction(fn)).run(
      code,
      args,
    );
  }
}
