import { List, settle, SymNode, Tensor, Tuple, type ShapeEnv, type SymKind } from '@cresset/tensor';
import type { Frame } from '../../interpreter/frame.ts';
import type { Instruction } from '../../interpreter/code/instruction.ts';
import { SizedNumber } from './open-params.ts';
import {
  giveSizes,
  mayLaunch,
  mayTakeSizes,
  sizesMadeBy,
  takeSizesBack,
  type MadeOfSizes,
  type SizedItems,
  type SymbolicValue,
} from './sizes-made.ts';

/** Numbers that a recording was given. */
export interface OpenNumbers {
  /** The symbols so far, where there are some. */
  readonly env: ShapeEnv | null;
  /** Whether a register holds one that may be another the next time. */
  isGiven(register: number): boolean;
  /** A symbol for such a number; null where a register holds none. */
  symbolIn(register: number): SymNode<SymKind> | null;
}

/** Numbers in registers, and in lists and tuples there, that are worked out of sizes which may be others the next time. */
export class RecordedSizes {
  readonly #sizes = new Map<number, SymNode<SymKind>>();
  readonly #sizesIn = new WeakMap<List | Tuple, SizedItems>();
  /** What stays open in launches of numbers of sizes. */
  readonly #open = new Map<SymNode<SymKind>, SizedNumber>();
  /** Inputs that the instruction which runs goes by the expressions of. */
  #taken: ReadonlySet<number> = new Set();
  /** What the instruction that runs works out of sizes, for its outputs. */
  #made: MadeOfSizes = [];

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
    this.#taken = new Set();
    if (!isStep && mayTakeSizes(instruction)) for (const register of inputs) this.#openUp(register);
    const { env } = this.numbers;
    if (!env) return;
    const values = inputs.map((register) => this.#symbolic(register));
    const isAbout = values.some((value, at) => value !== this.frame.get(inputs[at]));
    const hasTensors = values.some((value) => value instanceof Tensor && value.isSymbolic);
    if (!isAbout && !hasTensors) return;
    const made = sizesMadeBy(instruction, values);
    if (made) {
      this.#made = made;
      this.#taken = new Set(inputs.keys());
      env.isPaused = true;
    } else if (!isStep && isAbout) {
      const taken = giveSizes(instruction, values);
      this.#taken = taken;
      values.forEach((value, at) => {
        // A number that is given is compared itself, or taken as it is; of others launches tell whether they stay open.
        const staysOpen = this.numbers.isGiven(inputs[at]) || mayLaunch(instruction);
        if (!taken.has(at) && !(value instanceof SymNode && staysOpen)) settleIn(value);
      });
    }
  }

  /** Whether the instruction that runs takes the expression of an input in the place of the number. */
  takes(register: number, at: number): boolean {
    return this.#taken.has(at) && this.#sizes.has(register);
  }

  /** The instruction has run. */
  after(): void {
    if (this.numbers.env) this.numbers.env.isPaused = false;
    takeSizesBack();
  }

  #openUp(register: number): void {
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
      const isListed = value instanceof List || value instanceof Tuple;
      if (Array.isArray(made) && isListed && made.some((item) => item instanceof SymNode))
        this.#sizesIn.set(value, made);
    });
  }

  give(register: number, size: SymNode<SymKind>): void {
    this.#sizes.set(register, size);
  }

  clear(register: number): void {
    this.#sizes.delete(register);
  }

  /** The expression that a register holds the number of; null where it holds no such number. */
  in(register: number): SymNode<SymKind> | null {
    return this.#sizes.get(register) ?? null;
  }

  /** An input as a number that stays open in what the instruction launches; null where it is none, or its expression is taken. */
  openIn(register: number, at: number): SizedNumber | null {
    const size = this.#sizes.get(register);
    if (!size || this.#taken.has(at)) return null;
    let open = this.#open.get(size);
    if (!open) this.#open.set(size, (open = new SizedNumber(size)));
    return open;
  }

  /** The expressions that a list or a tuple holds the numbers of; null where it holds no such numbers. */
  inList(list: List | Tuple): SizedItems | null {
    return this.#sizesIn.get(list) ?? null;
  }

  /** What a register holds: an expression, or a list of some, where that is worked out of sizes. */
  #symbolic(register: number): SymbolicValue {
    const value = this.frame.get(register);
    if (value instanceof List || value instanceof Tuple) return this.#sizesIn.get(value) ?? value;
    return this.#sizes.get(register) ?? value;
  }
}

/** Has what is recorded hold for the numbers alone that a value is worked out of. */
function settleIn(value: SymbolicValue | SizedItems[number]): void {
  if (value instanceof SymNode) settle(value);
  else if (Array.isArray(value)) value.forEach(settleIn);
}

/** Whether what was recorded holds for one number of a symbol alone. */
export const isSettled = ({ guards }: ShapeEnv, symbol: SymNode): boolean =>
  [...guards].some(([text, { node }]) => text.includes('== ') && symbolsIn(node).every((each) => each === symbol));

/** The symbols, and what else is not told the symbols of, that an expression is worked out of. */
function symbolsIn(node: SymNode<SymKind>): SymNode<SymKind>[] {
  const operands = node.env.operands.get(node);
  if (operands) return operands.flatMap(symbolsIn);
  return [...node.terms.values()]
    .flatMap(({ factors }) => factors)
    .flatMap((factor) => ((factor as SymNode) === node ? node : symbolsIn(factor)));
}
