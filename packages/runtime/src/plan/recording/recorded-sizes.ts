import { isSymbolic, List, settle, SymNode, Tensor, type ShapeEnv, type SymInt } from '@cresset/tensor';
import type { Frame } from '../../interpreter/frame.ts';
import type { Instruction } from '../../interpreter/code/instruction.ts';
import { giveSizes, mayTakeSizes, sizesMadeBy, takesSizes, type SymbolicValue } from './sizes-made.ts';

/** Whole numbers that a recording was given. */
export interface OpenNumbers {
  /** The symbols so far, where there are some. */
  readonly env: ShapeEnv | null;
  /** Whether a register holds one that may be another the next time. */
  isGiven(register: number): boolean;
  /** A symbol for such a number; null where a register holds none. */
  symbolIn(register: number): SymNode | null;
}

/** Numbers in registers, and in lists there, that are worked out of sizes which may be others the next time. */
export class RecordedSizes {
  readonly #sizes = new Map<number, SymNode>();
  readonly #sizesIn = new WeakMap<List, readonly SymInt[]>();
  /** Whether the instruction that runs goes by expressions. */
  #goesBySizes = false;
  /** What the instruction that runs works out of sizes, for its outputs. */
  #made: readonly (SymInt | readonly SymInt[] | null)[] = [];

  /** @param numbers asked of the recording */
  constructor(
    private readonly numbers: OpenNumbers,
    private readonly frame: Frame,
  ) {}

  /**
   * Has an instruction that works numbers out of sizes do so with expressions; what goes by the numbers otherwise is told that they may be others.
   *
   * @param isStep whether it is done anew each time, with the numbers that there are then
   */
  before(instruction: Instruction, isStep: boolean): void {
    const { inputs } = instruction;
    this.#made = [];
    this.#goesBySizes = false;
    if (!isStep && mayTakeSizes(instruction)) for (const register of inputs) this.#open(register);
    const { env } = this.numbers;
    if (!env) return;
    const values = inputs.map((register) => this.#symbolic(register));
    const isAbout = values.some((value, at) => value !== this.frame.get(inputs[at]));
    const hasTensors = values.some((value) => value instanceof Tensor && value.isSymbolic);
    if (!isAbout && !hasTensors) return;
    const made = sizesMadeBy(instruction, values);
    if (made) {
      this.#made = made;
      this.#goesBySizes = true;
      env.isPaused = true;
    } else if (isStep) {
      return;
    } else if (isAbout && takesSizes(instruction)) {
      this.#goesBySizes = true;
      giveSizes(instruction, values);
    } else {
      values.forEach((value, at) => {
        // A number that is given is compared itself, or taken as it is.
        if (value instanceof SymNode && this.numbers.isGiven(inputs[at])) return;
        for (const size of [value].flat()) if (size instanceof SymNode) settle(size);
      });
    }
  }

  /** Whether the instruction that runs takes the expression of a register in the place of the number. */
  takes(register: number): boolean {
    return this.#goesBySizes && this.#sizes.has(register);
  }

  /** The instruction has run. */
  after(): void {
    if (this.numbers.env) this.numbers.env.isPaused = false;
    giveSizes(null, []);
  }

  #open(register: number): void {
    if (this.#sizes.has(register)) return;
    const symbol = this.numbers.symbolIn(register);
    if (symbol) this.#sizes.set(register, symbol);
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

  give(register: number, size: SymNode): void {
    this.#sizes.set(register, size);
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

/** Whether what was recorded holds for one number of a symbol alone. */
export const isSettled = ({ guards }: ShapeEnv, symbol: SymNode): boolean =>
  [...guards].some(([text, { node }]) => {
    const terms = [...node.terms.values()].filter(({ factors }) => factors.length > 0);
    return text.endsWith('== 0') && terms.length === 1 && terms[0].factors.every((factor) => factor === symbol);
  });
