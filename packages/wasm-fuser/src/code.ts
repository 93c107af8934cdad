/**
 * Instructions as bytes, nested as they were put together; `moduleBytes` flattens them. Operands come before the instruction that takes
 * them, so that an instruction is a function from code to code: `i32.add(x.get, i32.const(4))`.
 */
export type Code = number | readonly Code[];

/** An unsigned number as LEB128. */
export function unsigned(value: number): Code {
  const bytes: number[] = [];
  for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value];
}

/** A signed 32-bit number as LEB128. */
export function signed(value: number): Code {
  const bytes: number[] = [];
  for (; value < -64 || value > 63; value >>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value & 127];
}

type One = (x: Code) => Code;
type Two = (x: Code, y: Code) => Code;
type Load = (address: Code, offset?: number) => Code;
type Store = (address: Code, value: Code, offset?: number) => Code;

const one =
  (...opcode: Code[]): One =>
  (x) => [x, opcode];
const two =
  (...opcode: Code[]): Two =>
  (x, y) => [x, y, opcode];
/** Nothing is said of alignment: an engine takes none for granted. */
const load =
  (...opcode: Code[]): Load =>
  (address, offset = 0) => [address, opcode, 0, unsigned(offset)];
const store =
  (...opcode: Code[]): Store =>
  (address, value, offset = 0) => [address, value, opcode, 0, unsigned(offset)];

/** The prefix of the instructions of 128 bits. */
const simd = (opcode: number): Code => [0xfd, unsigned(opcode)];

export const i32 = {
  const: (value: number): Code => [0x41, signed(value)],
  load: load(0x28),
  add: two(0x6a),
  sub: two(0x6b),
  mul: two(0x6c),
  and: two(0x71),
  shl: (x: Code, bits: number): Code => [x, i32.const(bits), 0x74],
  eqz: one(0x45),
  eq: two(0x46),
  lt: two(0x48),
  gt: two(0x4a),
  /** `x` where it is smaller than `y`, `y` elsewhere; both are read twice. */
  min: (x: Code, y: Code): Code => [x, y, i32.lt(x, y), 0x1b],
};

export const f32 = { load: load(0x2a), store: store(0x38) };

export const v128 = {
  load: load(simd(0)),
  store: store(simd(11)),
  /** One value in all four lanes. */
  loadSplat: load(simd(9)),
  /** The four 32-bit lanes of `x` (0 to 3) and `y` (4 to 7) that are named. */
  shuffle: (x: Code, y: Code, lanes: readonly number[]): Code => [
    x,
    y,
    simd(13),
    lanes.map((lane) => [0, 1, 2, 3].map((byte) => 4 * lane + byte)),
  ],
  /** `vector` with one lane from memory. */
  loadLane: (address: Code, vector: Code, lane: number): Code => [address, vector, simd(0x54 + 2), 0, 0, lane],
  zero: [simd(12), new Array<number>(16).fill(0)] as Code,
};

export const f32x4 = {
  add: two(simd(0xe4)),
  mul: two(simd(0xe6)),
  /** `x · y + sum`, rounded once where the engine has an instruction for that. */
  multiplyAdd: (x: Code, y: Code, sum: Code, isRelaxed: boolean): Code =>
    isRelaxed ? [x, y, sum, simd(0x105)] : f32x4.add(sum, f32x4.mul(x, y)),
};

/** Runs `then` where the condition is not 0, else `otherwise`. */
export const when = (condition: Code, then: Code, otherwise?: Code): Code => [
  condition,
  0x04,
  0x40,
  then,
  otherwise === undefined ? [] : [0x05, otherwise],
  0x0b,
];

/** Runs `body` and again as long as `condition` holds after it. */
export const repeatWhile = (body: Code, condition: Code): Code => [0x03, 0x40, body, condition, 0x0d, 0, 0x0b];

/** A parameter of a function or a value that it keeps. */
export class Local {
  readonly get: Code;

  constructor(readonly index: number) {
    this.get = [0x20, unsigned(index)];
  }

  set(value: Code): Code {
    return [value, 0x21, unsigned(this.index)];
  }

  /** Adds a number, or what code gives, to a local of type `i32`. */
  advance(by: Code): Code {
    return this.set(i32.add(this.get, typeof by === 'number' ? i32.const(by) : by));
  }
}

/** Runs `body` for `index` from `start` in steps of `step` as long as it is below `end`. */
export const countUp = (index: Local, start: Code, end: Code, step: Code, body: Code): Code => [
  index.set(start),
  when(i32.lt(index.get, end), repeatWhile([body, index.advance(step)], i32.lt(index.get, end))),
];
