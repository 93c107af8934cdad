import { isSymbolic, List, settle, SymNode, Tensor, type ShapeEnv, type SymInt } from '@cresset/tensor';
import type { Frame } from '../../interpreter/frame.ts';
import type { Instruction } from '../../interpreter/code/instruction.ts';
import { giveSizes, sizesMadeBy, takesSizes, type SymbolicValue } from './sizes-made.ts';

/** Numbers in registers, and in lists there, that are worked out of sizes which may be others the next time. */
export class RecordedSizes {
  readonly #sizes = new Map<number, SymNode>();
  readonly #sizesIn = new WeakMap<List, readonly SymInt[]>();
  /** What the instruction that runs works out of sizes, for its outputs. */
  #made: readonly (SymInt | readonly SymInt[] | null)[] = [];

  constructor(
    private readonly env: ShapeEnv,
    private readonly frame: Frame,
  ) {}

  /** Has an instruction that works numbers out of sizes do so with expressions; what goes by the numbers otherwise is told that they may be others. */
  before(instruction: Instruction): void {
    const { inputs } = instruction;
    const values = inputs.map((register) => this.#symbolic(register));
    this.#made = [];
    const isAbout = values.some((value, at) => value !== this.frame.get(inputs[at]));
    const hasTensors = values.some((value) => value instanceof Tensor && value.isSymbolic);
    if (!isAbout && !hasTensors) return;
    const made = sizesMadeBy(instruction, values);
    if (made) {
      this.#made = made;
      this.env.isPaused = true;
    } else if (isAbout && takesSizes(instruction)) {
      giveSizes(instruction, values);
    } else {
      for (const value of values) for (const size of [value].flat()) if (size instanceof SymNode) settle(size);
    }
  }

  /** The instruction has run. */
  after(): void {
    this.env.isPaused = false;
    giveSizes(null, []);
  }

  /** Notes what the instruction has made of sizes in its outputs. */
  note(outputs: readonly number[]): void {
    outputs.forEach((register, at) => {
      const made = this.#made[at] ?? null;
      const value = this.frame.get(register);
      if (made instanceof SymNode) this.#sizes.set(register, made);
      else this.#sizes.delete(register);
      if (Array.isArray(made) && value instanceof List && isSymbolic(made)) this.#sizesIn.set(value, made);
    });
  }

  clear(register: number): void {
    this.#sizes.delete(register);
  }

  /** The expression that a register holds the number of; null where it holds no such number. */
  in(register: number): SymNode | null {
    return this.#sizes.get(register) ?? null;
  }

  /** The expressions that a list holds the numbers of; null where it holds no such numbers. */
  inList(list: List): readonly SymInt[] | null {
    return this.#sizesIn.get(list) ?? null;
  }

  /** What a register holds: an expression, or a list of some, where that is worked out of sizes. */
  #symbolic(register: number): SymbolicValue {
    const value = this.frame.get(register);
    if (value instanceof List) return this.#sizesIn.get(value) ?? value;
    return this.#sizes.get(register) ?? value;
  }
}
