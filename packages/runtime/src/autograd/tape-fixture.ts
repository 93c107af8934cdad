import { declareScript, script } from '@cresset/frontend';
import { applyJitOptions, ClassType, type CompilationUnit, type ExecutorKind, type GraphFunction } from '@cresset/ir';
import { List, ScriptObject, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { Execution } from '../run/execution.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ScriptModule } from '../script-module.ts';
import { differentiate, type DifferentiationTask } from './differentiate.ts';
import type { Gradient } from './nodes/grad-node.ts';
import { Recorder } from './recording/recorder.ts';
import { recordedCall } from './tape.ts';
import { tapeCode } from './tape-code.ts';

/** A program whose calls are recorded, on the host, for tests. */
export class TapedProgram {
  readonly context = new RuntimeContext({ print: () => undefined });
  readonly #unit: CompilationUnit;
  readonly #recorder = new Recorder();

  constructor(source: string) {
    this.#unit = script(source);
    this.context.gradEnabled = true;
  }

  /** The tensors that `def f(…)` returns. */
  async call(...args: readonly IValue[]): Promise<readonly Tensor[]> {
    const value = await this.valueOf(...args);
    return (value instanceof Tuple || value instanceof List ? value.items : [value]) as Tensor[];
  }

  /** What `def f(…)` returns. */
  async valueOf(...args: readonly IValue[]): Promise<IValue> {
    const fn = this.#unit.getFunction('__torch__.f') as GraphFunction;
    const execution = new Execution(this.context, null, this.#recorder);
    const state = new InterpreterState(execution, (callee) => tapeCode.ofFunction(callee));
    const [value] = await state.run(tapeCode.ofFunction(fn).code([]), args);
    return value;
  }

  differentiate(task: DifferentiationTask): Promise<Gradient[]> {
    return differentiate(task, new Execution(this.context, null, this.#recorder));
  }
}

/** A program `def f(x, y)`, or with other parameters, that is recorded as pages have it: by the executor that was chosen. */
export class RecordedProgram {
  readonly #module: ScriptModule;
  readonly #fn: GraphFunction;

  constructor(
    body: string,
    executor: ExecutorKind | undefined,
    readonly context = new RuntimeContext(),
    parameters = 'x, y',
  ) {
    applyJitOptions({ executor });
    const lines = body.split('\n').map((line) => `    ${line}\n`);
    const { unit } = declareScript(`def f(${parameters}):\n${lines.join('')}`, { filename: 'f', module: 'program' });
    this.#module = new ScriptModule(new ScriptObject(new ClassType('__torch__.Functions')), unit, this.context);
    this.#fn = unit.findFunction('__torch__.f') as GraphFunction;
  }

  async call(...args: readonly IValue[]): Promise<readonly Tensor[]> {
    const result = await recordedCall(this.context, (options) => this.#module.callFunction(this.#fn, args, options));
    return (result instanceof Tuple ? result.items : [result]) as Tensor[];
  }
}

/** A float64 leaf. */
export function leaf(values: readonly number[], sizes: readonly number[] = [values.length]): Tensor {
  return leafOf(Tensor.fromArray(Float64Array.from(values), sizes, 'float64'));
}

export function leafOf(tensor: Tensor): Tensor {
  tensor.requiresGrad = true;
  return tensor;
}

export const numbersOf = (tensor: Gradient | undefined): number[] | null =>
  tensor ? Array.from(tensor.contiguousArray() as Float64Array) : null;
