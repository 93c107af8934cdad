import { declareFunctions, NATIVE_RESOLVER, parseProgram, type Def } from '@cresset/frontend';
import { CompilationUnit, IntType, Source, type GraphFunction } from '@cresset/ir';
import { List, type IValue, type Tensor } from '@cresset/tensor';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import type { Code } from '../interpreter/code.ts';
import type { Execution } from '../run/execution.ts';
import { tapeCode } from './tape-code.ts';

/** What the engine itself does with gradients. */
const STEPS = `
def add(a, b):
    return a + b

def addTo(a, b):
    return a.add_(b)

def own(a):
    return a.clone()

def sumToSize(gradient, size: List[int]):
    return torch.sum_to_size(gradient, size)

def expand(gradient, size: List[int]):
    return gradient.expand(size)

def realPart(gradient):
    return torch.real(gradient)

def toType(gradient, dtype: int):
    return gradient.to(dtype)

def onesLike(output):
    return torch.ones_like(output)

def zeros(size: List[int], dtype: int):
    return torch.zeros(size, dtype=dtype)

def laidOut(gradient, size: List[int], stride: List[int]):
    return torch.empty_strided(size, stride, dtype=gradient.dtype).copy_(gradient)

def copyTo(target, source):
    return target.copy_(source)

def clearTo(target):
    return target.zero_()
`;

let steps: ReadonlyMap<string, GraphFunction> | undefined;

function stepOf(name: string): GraphFunction {
  steps ??= new Map(
    declareFunctions(new CompilationUnit(), parseProgram(new Source(STEPS, '<autograd>'), 'python') as readonly Def[], {
      resolver: NATIVE_RESOLVER,
    }).map((fn) => [fn.name, fn]),
  );
  return steps.get(name)!;
}

/** Runs derivatives within a run of a program, with or without being recorded themselves. */
export class TapeRun {
  constructor(
    readonly execution: Execution,
    /** Whether derivatives of derivatives may be asked for. */
    readonly isRecording: boolean,
  ) {}

  async run(code: Code, args: readonly IValue[]): Promise<readonly IValue[]> {
    return new InterpreterState(this.execution, (fn) => tapeCode.ofFunction(fn)).run(code, args);
  }

  /** One of the engine's own steps. */
  async call(step: string, ...args: readonly IValue[]): Promise<Tensor> {
    const [result] = await this.run(tapeCode.ofFunction(stepOf(step)).code([]), args);
    return result as Tensor;
  }

  /** A gradient that nobody else writes to. */
  owned(gradient: Tensor): Promise<Tensor> {
    return this.call('own', gradient);
  }
}

export const sizeList = (sizes: readonly number[]): List => new List(IntType.get(), sizes.map(BigInt));
