import { type ReduceExpr, type ReduceFunction } from '@cresset/tensorexpr';
import { blockSize, IntegerRangeError, type Precision, type Register } from './blocks.ts';
import type { Lane } from './lanes.ts';

const neutral: Record<ReduceFunction, number> = {
  sum: 0,
  prod: 1,
  max: -Infinity,
  min: Infinity,
  any: 0,
  all: 1,
  argmax: 0,
  argmin: 0,
};

/** The smallest and largest int64, neutral for max and min. */
const longLimits = { max: -(2n ** 63n), min: 2n ** 63n - 1n } as const;

type Combine = (a: number, b: number) => number;

const combines: Record<Exclude<ReduceFunction, 'argmax' | 'argmin'>, Combine> = {
  sum: (a, b) => a + b,
  prod: (a, b) => a * b,
  max: (a, b) => (a >= b ? a : Math.max(a, b)),
  min: (a, b) => (a <= b ? a : Math.min(a, b)),
  any: (a, b) => (b !== 0 ? 1 : a),
  all: (a, b) => (b === 0 ? 0 : a),
};

/** The running values of a reduction for a block of groups: doubles, or bigints where int64 is computed exactly. */
export class ReduceAccumulator {
  readonly #fn: ReduceFunction;
  readonly #values: Float64Array | BigInt64Array;
  readonly #positions: Float64Array;
  readonly #checked: boolean;

  constructor({ fn, body }: ReduceExpr, { exact }: Precision) {
    const isLong = body.type === 'i64';
    this.#fn = fn;
    this.#values = isLong && exact ? new BigInt64Array(blockSize) : new Float64Array(blockSize);
    this.#positions = new Float64Array(blockSize);
    this.#checked = isLong && !exact && (fn === 'sum' || fn === 'prod');
  }

  reset(count: number): void {
    if (this.#values instanceof BigInt64Array) {
      const start = this.#fn === 'max' || this.#fn === 'min' ? longLimits[this.#fn] : BigInt(neutral[this.#fn]);
      this.#values.fill(start, 0, count);
    } else {
      this.#values.fill(neutral[this.#fn], 0, count);
    }
    this.#positions.fill(0, 0, count);
  }

  /** Combines rows of values, elements `position` and on of groups `group` and on, with what their groups have so far. */
  fold(lane: Lane, rows: number, columns: number, group: number, position: number): void {
    const { array, at, row, column } = lane;
    const fn = this.#fn;
    const values = this.#values;
    if (values instanceof BigInt64Array) {
      const longs = array as BigInt64Array;
      for (let r = 0; r < rows; r++) {
        for (let c = 0; c < columns; c++) {
          this.#combineLong(group + r, BigInt(longs[at + r * row + c * column]), position + c);
        }
      }
      return;
    }
    const source = array as Float64Array;
    if (fn === 'argmax' || fn === 'argmin') {
      for (let r = 0; r < rows; r++) {
        for (let c = 0; c < columns; c++) this.#compete(group + r, source[at + r * row + c * column], position + c);
      }
    } else if (fn === 'sum') {
      sumRows(values, source, lane, rows, columns, group);
    } else {
      const combine = combines[fn];
      for (let r = 0; r < rows; r++) {
        let i = at + r * row;
        let value = values[group + r];
        for (let c = 0; c < columns; c++, i += column) value = combine(value, source[i]);
        values[group + r] = value;
      }
    }
    if (this.#checked) this.#check(group, rows);
  }

  /** Puts the results of `count` groups into a register of the reduction's type. */
  copyTo(register: Register, count: number): void {
    const isPosition = this.#fn === 'argmax' || this.#fn === 'argmin';
    for (let at = 0; at < count; at++) this.#put(register, at, isPosition ? this.#positions[at] : this.#values[at]);
  }

  #put(register: Register, at: number, value: number | bigint): void {
    if (register instanceof BigInt64Array) register[at] = BigInt(value);
    else register[at] = Number(value);
  }

  #check(group: number, count: number): void {
    for (let at = group; at < group + count; at++) {
      if (!(Math.abs(this.#values[at] as number) <= Number.MAX_SAFE_INTEGER)) throw new IntegerRangeError();
    }
  }

  /** The first NaN wins, then the first extreme value. */
  #compete(at: number, value: number, position: number): void {
    const values = this.#values as Float64Array;
    const best = values[at];
    const wins = this.#fn === 'argmax' ? value > best : value < best;
    if (position !== 0 && !wins && !(Number.isNaN(value) && !Number.isNaN(best))) return;
    if (position !== 0 && Number.isNaN(best)) return;
    values[at] = value;
    this.#positions[at] = position;
  }

  #combineLong(at: number, value: bigint, position: number): void {
    const values = this.#values as BigInt64Array;
    const held = values[at];
    switch (this.#fn) {
      case 'sum':
        values[at] = held + value;
        return;
      case 'prod':
        values[at] = held * value;
        return;
      case 'any':
        if (value !== 0n) values[at] = 1n;
        return;
      case 'all':
        if (value === 0n) values[at] = 0n;
        return;
      case 'max':
      case 'argmax':
      case 'min':
      case 'argmin': {
        const wins = this.#fn.endsWith('max') ? value > held : value < held;
        if (position !== 0 && !wins) return;
        values[at] = value;
        this.#positions[at] = position;
      }
    }
  }
}

/** Sums of rows; where neighbours in memory belong to different rows, row by row of them instead of jumping through memory. */
function sumRows(
  values: Float64Array,
  source: Float64Array,
  { at, row, column }: Lane,
  rows: number,
  columns: number,
  group: number,
): void {
  if (Math.abs(row) < Math.abs(column)) {
    for (let c = 0; c < columns; c++) {
      let i = at + c * column;
      for (let r = group; r < group + rows; r++, i += row) values[r] += source[i];
    }
    return;
  }
  for (let r = 0; r < rows; r++) {
    let i = at + r * row;
    let sum = values[group + r];
    for (let c = 0; c < columns; c++, i += column) sum += source[i];
    values[group + r] = sum;
  }
}
