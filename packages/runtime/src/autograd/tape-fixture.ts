import { script } from '@cresset/frontend';
import type { CompilationUnit, GraphFunction } from '@cresset/ir';
import { List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import { Execution } from '../run/execution.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { differentiate, type DifferentiationTask } from './differentiate.ts';
import type { Gradient } from './grad-node.ts';
import { Recorder } from './recorder.ts';
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

  /** What `def f(…)` returns. */
  async call(...args: readonly IValue[]): Promise<readonly Tensor[]> {
    const fn = this.#unit.getFunction('__torch__.f') as GraphFunction;
    const execution = new Execution(this.context, null, this.#recorder);
    const state = new InterpreterState(execution, (callee) => tapeCode.ofFunction(callee));
    const [value] = await state.run(tapeCode.ofFunction(fn).code([]), args);
    return (value instanceof Tuple || value instanceof List ? value.items : [value]) as Tensor[];
  }

  differentiate(task: DifferentiationTask): Promise<Gradient[]> {
    return differentiate(task, new Execution(this.context, null, this.#recorder));
  }
}

/** A float64 leaf. */
export function leaf(values: readonly number[], sizes: readonly number[] = [values.length]): Tensor {
  const tensor = Tensor.fromArray(Float64Array.from(values), sizes, 'float64');
  tensor.requiresGrad = true;
  return tensor;
}

export const numbersOf = (tensor: Gradient | undefined): number[] | null =>
  tensor ? Array.from(tensor.contiguousArray() as Float64Array) : null;
