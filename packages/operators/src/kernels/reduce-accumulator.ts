import { type ReduceExpr, type ReduceFunction } from '@cresset/tensorexpr';
import { blockSize, IntegerRangeError, type Precision, type Register } from './blocks.ts';

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

  /** Combines the first value of the accumulator with `count` values, the elements from `position` on of one group. */
  fold(block: Register, count: number, position: number): void {
    if (this.#values instanceof BigInt64Array) {
      for (let at = 0; at < count; at++) this.#combineLong(0, block[at] as bigint, position + at);
      return;
    }
    const source = block as Float64Array;
    const values = this.#values;
    if (this.#fn === 'argmax' || this.#fn === 'argmin') {
      for (let at = 0; at < count; at++) this.#compete(0, source[at], position + at);
    } else if (this.#fn === 'sum') {
      let sum = values[0];
      for (let at = 0; at < count; at++) sum += source[at];
      values[0] = sum;
    } else {
      const combine = combines[this.#fn];
      let value = values[0];
      for (let at = 0; at < count; at++) value = combine(value, source[at]);
      values[0] = value;
    }
    this.#check(1);
  }

  /** Combines each value of the accumulator with one of `block`, all of them element `position` of their groups. */
  combine(block: Register, count: number, position: number): void {
    if (this.#values instanceof BigInt64Array) {
      for (let at = 0; at < count; at++) this.#combineLong(at, block[at] as bigint, position);
      return;
    }
    const source = block as Float64Array;
    const values = this.#values;
    if (this.#fn === 'argmax' || this.#fn === 'argmin') {
      for (let at = 0; at < count; at++) this.#compete(at, source[at], position);
    } else if (this.#fn === 'sum') {
      for (let at = 0; at < count; at++) values[at] += source[at];
    } else {
      const combine = combines[this.#fn];
      for (let at = 0; at < count; at++) values[at] = combine(values[at], source[at]);
    }
    this.#check(count);
  }

  /** Puts the results of `count` groups into a register of the reduction's type. */
  copyTo(register: Register, count: number): void {
    const isPosition = this.#fn === 'argmax' || this.#fn === 'argmin';
    for (let at = 0; at < count; at++) this.#put(register, at, isPosition ? this.#positions[at] : this.#values[at]);
  }

  /** Fills a register with the one result of a group. */
  broadcastTo(register: Register): void {
    this.copyTo(register, 1);
    if (register instanceof BigInt64Array) register.fill(register[0]);
    else register.fill(register[0]);
  }

  #put(register: Register, at: number, value: number | bigint): void {
    if (register instanceof BigInt64Array) register[at] = BigInt(value);
    else register[at] = Number(value);
  }

  #check(count: number): void {
    if (!this.#checked) return;
    for (let at = 0; at < count; at++) {
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
