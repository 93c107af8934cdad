import { numelOf, type ScalarType, type Tensor } from '@cresset/tensor';
import type { Expr, LoadExpr } from '@cresset/tensorexpr';
import { BlockProgram, withIntegerFallback } from './block-evaluator.ts';
import { blockReader, blockSize, blockWriter, IntegerRangeError, makeRegister, type Register } from './blocks.ts';
import { broadcastStrides } from '../broadcast.ts';
import { laneOf, rowLoops, rowStep, type Lane, type Step } from './lanes.ts';
import { finish, TURN_SIZE, type Pieces } from './pieces.ts';
import { iterationSpace, type VisitRun } from './tensor-iterator.ts';

/** What an elementwise loop has to know of a tensor before it runs. */
export interface Layout {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly dtype: ScalarType;
}

/** A tensor in the index space of a loop: its lane, and what brings elements there or away where steps do not find them in its memory. */
interface Walker {
  readonly lane: Lane;
  readonly isDirect: boolean;
  readonly row: number;
  readonly column: number;
  readonly outer: readonly number[];
  visit: VisitRun | null;
}

/**
 * An expression over host loads, made ready for every element of tensors with these layouts, to which those of the loads broadcast.
 * Making it takes many times as long as running it on a few elements.
 */
export class ElementwiseLoop {
  readonly #expr: Expr;
  readonly #loads: readonly LoadExpr[];
  readonly #double: boolean;
  readonly #outputType: ScalarType;
  /** Sizes of all dimensions but the last two, which are rows and columns. */
  readonly #outer: readonly number[];
  readonly #rows: number;
  readonly #columns: number;
  /** Strides of the output and of the loads. */
  readonly #strides: readonly (readonly number[])[];
  #program!: BlockProgram;
  #walkers!: Walker[];
  /** Copies what is known without a step of its own. */
  #copy: Step | null = null;
  #pieceRows = 0;
  #pieceColumns = 0;

  constructor(output: Layout, expr: Expr, loads: readonly LoadExpr[], layouts: readonly Layout[], double: boolean) {
    this.#expr = expr;
    this.#loads = loads;
    this.#double = double;
    this.#outputType = output.dtype;
    const { sizes } = output;
    const walks = layouts.map((layout) => ({
      strides: broadcastStrides(layout.sizes, layout.strides, sizes),
      offset: 0,
    }));
    const space = iterationSpace(sizes, [{ strides: output.strides, offset: 0 }, ...walks]);
    const rank = space.sizes.length;
    this.#outer = space.sizes.slice(0, -2);
    this.#rows = rank > 1 ? space.sizes[rank - 2] : 1;
    this.#columns = rank > 0 ? space.sizes[rank - 1] : 1;
    this.#strides = space.walks.map(({ strides }) => strides);
    withIntegerFallback((exact) => this.#compile(exact));
  }

  /** @param exact computes int64 with bigints */
  #compile(exact: boolean): void {
    const width = Math.min(this.#columns, blockSize);
    const shared = new Set<Expr>(this.#loads.filter((_, at) => this.#strides[at + 1].every((stride) => stride === 0)));
    const length = Math.min(blockSize, numelOf(this.#outer) * this.#rows * this.#columns);
    const precision = { double: this.#double, exact };
    const program = new BlockProgram([this.#expr], precision, length, width, shared);
    const [output, ...inputs] = this.#strides;
    const root = program.lane(this.#expr);
    const isMade = this.#expr.kind !== 'load' && root.column !== 0;
    const target = isMade ? root : laneOf(makeRegister(this.#expr.type, precision, length), width);
    this.#walkers = [
      this.#walker(output, target, isDirect(this.#outputType, true)),
      ...this.#loads.map((load, at) => {
        const isUsed = program.has(load);
        const lane = isUsed ? program.lane(load) : laneOf(root.array, 0);
        return this.#walker(inputs[at], lane, !isUsed || isDirect(load.operand.dtype, this.#double));
      }),
    ];
    this.#copy = isMade ? null : rowStep(rowLoops.copy, target, root, root);
    this.#program = program;
    // Values of the program's own come in blocks that stay in the processor's first cache.
    const isWhole = program.stepCount < 2 && this.#walkers.every((walker) => walker.isDirect);
    this.#pieceColumns = Math.min(this.#columns, isWhole ? TURN_SIZE : blockSize);
    this.#pieceRows = Math.max(1, Math.min(this.#rows, Math.floor((isWhole ? TURN_SIZE : length) / this.#columns)));
  }

  #walker(strides: readonly number[], lane: Lane, direct: boolean): Walker {
    const column = strides.at(-1) ?? 0;
    const row = strides.length > 1 ? strides[strides.length - 2] : 0;
    if (direct) [lane.row, lane.column] = [row, column];
    return { lane, isDirect: direct, row, column, outer: strides.slice(0, -2), visit: null };
  }

  /** Computes all elements of `output` from those of `tensors`, one a load: of the layouts that the loop was made for. */
  run(output: Tensor, tensors: readonly Tensor[]): void {
    if (this.#outer.length === 0 && this.#rows <= this.#pieceRows && this.#columns <= this.#pieceColumns) {
      const offsets = offsetsOf(output, tensors);
      this.#exactly(output, tensors, () => this.#evaluate(offsets, 0, this.#rows, 0, this.#columns));
      this.#release();
      return;
    }
    finish(this.pieces(output, tensors));
  }

  /** As `run`, with stops on the way. */
  *pieces(output: Tensor, tensors: readonly Tensor[]): Pieces {
    const offsets = offsetsOf(output, tensors);
    const index = new Array<number>(this.#outer.length).fill(0);
    let done = 0;
    do {
      for (let row = 0; row < this.#rows; row += this.#pieceRows) {
        for (let column = 0; column < this.#columns; column += this.#pieceColumns) {
          const rows = Math.min(this.#pieceRows, this.#rows - row);
          const columns = Math.min(this.#pieceColumns, this.#columns - column);
          this.#exactly(output, tensors, () => this.#evaluate(offsets, row, rows, column, columns), done > 0);
          done += rows * columns;
          if (done < TURN_SIZE) continue;
          done = 0;
          yield;
        }
      }
    } while (this.#advance(index, offsets));
    this.#release();
  }

  /** Does `work`; once more, with bigints, where an int64 is beyond what doubles hold exactly. Earlier pieces may be stored over inputs. */
  #exactly(output: Tensor, tensors: readonly Tensor[], work: () => void, isBound = false): void {
    try {
      if (!isBound) this.#bind(output, tensors);
      work();
    } catch (error) {
      if (!(error instanceof IntegerRangeError)) throw error;
      this.#compile(true);
      this.#bind(output, tensors);
      work();
    }
  }

  #bind(output: Tensor, tensors: readonly Tensor[]): void {
    const [target, ...inputs] = this.#walkers;
    if (target.isDirect) target.lane.array = output.storageArrayForWriting();
    else target.visit = blockWriter(output, target.lane.array as Register);
    for (let at = 0; at < inputs.length; at++) {
      const { lane, isDirect } = inputs[at];
      const tensor = tensors[at];
      if (isDirect) lane.array = tensor.storageArray();
      else inputs[at].visit = blockReader(tensor, lane.array as Register);
      if (lane.column !== 0) continue;
      lane.at = isDirect ? tensor.storageOffset : 0;
      if (!isDirect) inputs[at].visit!(tensor.storageOffset, 0, 1, 0);
    }
    this.#program.begin();
  }

  /** Whoever keeps the loop keeps none of the tensors' memory. */
  #release(): void {
    for (const { lane, isDirect } of this.#walkers) if (isDirect) lane.array = nothing;
  }

  #evaluate(offsets: readonly number[], row: number, rows: number, column: number, columns: number): void {
    const walkers = this.#walkers;
    for (let at = walkers.length - 1; at > 0; at--) {
      const walker = walkers[at];
      const start = offsets[at] + row * walker.row + column * walker.column;
      if (walker.isDirect) walker.lane.at = start;
      else if (walker.lane.column !== 0) moveRows(walker, start, rows, columns);
    }
    const [output] = walkers;
    const start = offsets[0] + row * output.row + column * output.column;
    if (output.isDirect) output.lane.at = start;
    this.#program.evaluate(rows, columns);
    this.#copy?.(rows, columns);
    if (!output.isDirect) moveRows(output, start, rows, columns);
  }

  /** Goes on to the next index of the outer dimensions; false at the end. */
  #advance(index: number[], offsets: number[]): boolean {
    for (let dim = index.length - 1; dim >= 0; dim--) {
      const size = this.#outer[dim];
      const isLast = ++index[dim] === size;
      this.#walkers.forEach(({ outer }, at) => (offsets[at] += isLast ? outer[dim] * (1 - size) : outer[dim]));
      if (!isLast) return true;
      index[dim] = 0;
    }
    return false;
  }
}

const nothing = new Float32Array(0);

function offsetsOf(output: Tensor, tensors: readonly Tensor[]): number[] {
  const offsets = [output.storageOffset];
  for (const { storageOffset } of tensors) offsets.push(storageOffset);
  return offsets;
}

function moveRows({ visit, lane, row: stride, column }: Walker, start: number, rows: number, columns: number): void {
  for (let row = 0; row < rows; row++) visit!(start + row * stride, column, columns, row * lane.row);
}

/** Whether steps can read elements of this dtype where they lie, or write them there. */
export function isDirect(dtype: ScalarType, double: boolean): boolean {
  return dtype === 'float32' || dtype === 'bool' || dtype === 'int32' || (dtype === 'float64' && double);
}
