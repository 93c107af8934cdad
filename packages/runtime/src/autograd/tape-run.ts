import { declareFunctions, NATIVE_RESOLVER, parseProgram, type Def } from '@cresset/frontend';
import { CompilationUnit, IntType, Source, type GraphFunction } from '@cresset/ir';
import { List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { InterpreterState } from '../interpreter/interpreter-state.ts';
import type { Code } from '../interpreter/code/code.ts';
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
  /** Called when a walk backwards is over. */
  readonly ends: (() => void)[] = [];

  constructor(
    readonly execution: Execution,
    /** Whether derivatives of derivatives may be asked for. */
    readonly isRecording: boolean,
  ) {}

  /** Calls code; tensors that it gives, those in tuples among them, are held until they are released. */
  async run(code: Code, args: readonly IValue[]): Promise<readonly IValue[]> {
    return new InterpreterState(this.execution, (fn) => tapeCode.ofFunction(fn), true).run(code, args);
  }

  /** One of the engine's own steps. */
  async call(step: string, ...args: readonly IValue[]): Promise<Tensor> {
    const [result] = await this.run(tapeCode.ofFunction(stepOf(step)).code([]), args);
    return result as Tensor;
  }

  /** Holds a tensor once more. */
  retain(tensor: Tensor | null): void {
    if (tensor) this.execution.ledger?.retain(tensor, false);
  }

  /** Lets go of a tensor: its memory is freed where nothing else holds it. */
  release(tensor: Tensor | null): void {
    if (tensor) this.execution.ledger?.release(tensor, false);
  }

  /** Somebody has a tensor from here on who knows nothing of this run. */
  handOut({ storage }: Tensor): void {
    this.execution.ledger?.entries.delete(storage);
  }

  /** Leaves what a call gave to the registers that are about to hold it. */
  handOver(values: readonly IValue[]): readonly IValue[] {
    for (const value of values) {
      if (value instanceof Tuple) this.handOver(value.items);
      const entry = value instanceof Tensor ? this.execution.ledger?.entries.get(value.storage) : undefined;
      if (entry) entry.holders--;
    }
    return values;
  }

  /** Whether nobody else holds a gradient, and it lies in memory as its variable does: then it need not be copied for it. */
  mayKeep({ storage, sizes, strides }: Tensor, variable: Tensor): boolean {
    const entry = this.execution.ledger?.entries.get(storage);
    return (
      !this.isRecording &&
      entry?.holders === 1 &&
      !entry.pinned &&
      storage.byteLength === variable.storage.byteLength &&
      sizes.every((size, dim) => size === variable.sizes[dim] && strides[dim] === variable.strides[dim])
    );
  }

  /** A gradient that nobody else writes to. */
  owned(gradient: Tensor): Promise<Tensor> {
    return this.call('own', gradient);
  }
}

export const sizeList = (sizes: readonly number[]): List => new List(IntType.get(), sizes.map(BigInt));
