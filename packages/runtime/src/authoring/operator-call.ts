import { CressetError, Graph, GraphFunction, FunctionSchema, type Operator } from '@cresset/ir';
import { isImplemented, runOnHost, type OperatorRow } from '@cresset/operators';
import type { IValue } from '@cresset/tensor';
import { Execution } from '../run/execution.ts';
import { ExecutorCache } from '../executor/graph-executor.ts';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { RuntimeContext } from '../run/runtime-context.ts';

/** Calls operators one by one, on the host and at once: for tracing, where a program's next step may depend on what one gave. */
export class HostOperators {
  readonly #context: RuntimeContext;
  readonly #executors = new ExecutorCache(() => ({ maxFusedTensors: 0, gradEnabled: false }));
  /** Operators that are defined by others, as functions. */
  readonly #decomposed = new Map<Operator, GraphFunction>();

  constructor(context = new RuntimeContext()) {
    this.#context = context;
  }

  /**
   * The results of an operator, one for each that its schema returns. Throws `OPERATOR_NOT_IMPLEMENTED` where it cannot be run, and what
   * it itself throws.
   */
  call(operator: Operator, args: readonly IValue[]): readonly IValue[] {
    const row = operator.row as OperatorRow | undefined;
    return row && isImplemented(row)
      ? runOnHost(row, args, this.#context)
      : this.#run(this.#functionOf(operator), args);
  }

  /** Runs a function on the host. Throws where it has to wait for something. */
  run(fn: GraphFunction, args: readonly IValue[]): readonly IValue[] {
    return this.#run(fn, args);
  }

  #run(fn: GraphFunction, args: readonly IValue[]): readonly IValue[] {
    const state = new InterpreterState(new Execution(this.#context), (callee) => this.#executors.ofFunction(callee));
    const results = state.run(this.#executors.ofFunction(fn).code(), args);
    if (results instanceof Promise) {
      results.catch(() => undefined);
      throw new CressetError('OPERATOR_NOT_IMPLEMENTED', `${fn.name} cannot be run at once`);
    }
    return results;
  }

  #functionOf(operator: Operator): GraphFunction {
    let fn = this.#decomposed.get(operator);
    if (!fn) {
      const { schema, name } = operator;
      const graph = new Graph();
      const inputs = schema.arguments.map(({ type }) => graph.addInput().setType(type));
      const node = graph.insertNode(graph.create(name, inputs, 0));
      for (const { type } of schema.returns) graph.registerOutput(node.addOutput().setType(type));
      node.setOperator(operator);
      fn = new GraphFunction(name, graph).setSchema(new FunctionSchema(name, '', schema.arguments, schema.returns));
      this.#decomposed.set(operator, fn);
    }
    return fn;
  }
}
