/**
 * Instructions as bytes, nested as they were put together; a module's `bytes()` flattens them. Operands come before the instruction that takes
 * them, so that an instruction is a function from code to code: `i32.add(x.get, i32.const(4))`.
 */
export type Code = number | KnownVector | readonly Code[];

/** An unsigned number as LEB128. */
export function unsigned(value: number): Code {
  if (value < 128) return value;
  const bytes: number[] = [];
  for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value];
}

/** A signed 32-bit number as LEB128. */
export function signed(value: number): Code {
  if (value >= -64 && value <= 63) return value & 127;
  const bytes: number[] = [];
  for (; value < -64 || value > 63; value >>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value & 127];
}

/** A signed 64-bit number as LEB128. */
function signedLong(value: bigint): Code {
  const bytes: number[] = [];
  for (; value < -64n || value > 63n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
  return [...bytes, Number(value & 127n)];
}

type One = (x: Code) => Code;
type Two = (x: Code, y: Code) => Code;
type Load = (address: Code, offset?: number) => Code;
type Store = (address: Code, value: Code, offset?: number) => Code;

// An opcode of one byte is a number, which is written without a call.
const one =
  (opcode: Code): One =>
  (x) => [x, opcode];
const two =
  (opcode: Code): Two =>
  (x, y) => [x, y, opcode];
/** Nothing is said of alignment: an engine takes none for granted. */
const load =
  (opcode: Code): Load =>
  (address, offset = 0) => [address, opcode, 0, unsigned(offset)];
const store =
  (opcode: Code): Store =>
  (address, value, offset = 0) => [address, value, opcode, 0, unsigned(offset)];

/** The prefix of the instructions of 128 bits. */
const simd = (opcode: number): Code => [0xfd, unsigned(opcode)];

/** The instructions that integers of both sizes have; `zero` is the first of their comparisons, `sum` that of their arithmetic. */
const integers = (zero: number, sum: number) => ({
  eqz: one(zero),
  eq: two(zero + 1),
  ne: two(zero + 2),
  // As numbers with a sign, and without one, as addresses are.
  lt: two(zero + 3),
  ltUnsigned: two(zero + 4),
  gt: two(zero + 5),
  gtUnsigned: two(zero + 6),
  le: two(zero + 7),
  leUnsigned: two(zero + 8),
  ge: two(zero + 9),
  geUnsigned: two(zero + 10),
  add: two(sum),
  sub: two(sum + 1),
  mul: two(sum + 2),
  /** Traps where `y` is 0, and where the quotient is none of the type. */
  div: two(sum + 3),
  divUnsigned: two(sum + 4),
  /** Traps where `y` is 0. */
  rem: two(sum + 5),
  remUnsigned: two(sum + 6),
  and: two(sum + 7),
  or: two(sum + 8),
  xor: two(sum + 9),
  shiftLeft: two(sum + 10),
  shiftRight: two(sum + 11),
  shiftRightUnsigned: two(sum + 12),
});

export const i32 = {
  ...integers(0x45, 0x6a),
  const: (value: number): Code => [0x41, signed(value)],
  load: load(0x28),
  loadByte: load(0x2d),
  loadSignedByte: load(0x2c),
  loadHalf: load(0x2f),
  loadSignedHalf: load(0x2e),
  store: store(0x36),
  storeByte: store(0x3a),
  storeHalf: store(0x3b),
  shl: (x: Code, bits: number): Code => [x, i32.const(bits), 0x74],
  /** `x` where it is smaller than `y`, `y` elsewhere; both are read twice. */
  min: (x: Code, y: Code): Code => [x, y, i32.lt(x, y), 0x1b],
  ofLong: one(0xa7),
};

export const i64 = {
  ...integers(0x50, 0x7c),
  const: (value: bigint): Code => [0x42, signedLong(value)],
  load: load(0x29),
  store: store(0x37),
  ofInteger: one(0xac),
  ofUnsigned: one(0xad),
  /** Towards zero; 0 for NaN, and the nearest number where it is out of range. */
  ofFloat: one([0xfc, 4]),
  ofDouble: one([0xfc, 6]),
};

export const f32 = {
  load: load(0x2a),
  store: store(0x38),
  ofLong: one(0xb4),
  ofDouble: one(0xb6),
};

export const f64 = { load: load(0x2b), store: store(0x39), ofLong: one(0xb9), ofFloat: one(0xbb) };

const toLane =
  (opcode: number) =>
  (address: Code, vector: Code, lane: number): Code => [address, vector, simd(opcode), 0, 0, lane];

export const v128 = {
  load: load(simd(0)),
  /** Four numbers of 16 bits as numbers of 32. */
  loadSignedHalves: load(simd(3)),
  loadHalves: load(simd(4)),
  store: store(simd(11)),
  /** One value in all four lanes. */
  loadSplat: load(simd(9)),
  /** 64 bits in both halves. */
  loadSplatPair: load(simd(10)),
  /** 32 bits, and zeros. */
  loadWord: load(simd(0x5c)),
  /** The four 32-bit lanes of `x` (0 to 3) and `y` (4 to 7) that are named. */
  shuffle: (x: Code, y: Code, lanes: readonly number[]): Code =>
    v128.shuffleBytes(
      x,
      y,
      lanes.flatMap((lane) => [0, 1, 2, 3].map((byte) => 4 * lane + byte)),
    ),
  shuffleBytes: (x: Code, y: Code, bytes: readonly number[]): Code => [x, y, simd(13), bytes],
  /** `vector` with one lane from memory. */
  loadLane: toLane(0x56),
  loadHalf: toLane(0x57),
  storeShort: toLane(0x59),
  storeLane: toLane(0x5a),
  storeTwoLanes: toLane(0x5b),
  zero: [simd(12), new Array<number>(16).fill(0)] as Code,
  words: (...words: readonly number[]): Code => new KnownVector(words),
  not: one(simd(0x4d)),
  and: two(simd(0x4e)),
  /** `x` without the bits of `y`. */
  andNot: two(simd(0x4f)),
  or: two(simd(0x50)),
  xor: two(simd(0x51)),
  /** Bits of `x` where those of `mask` are set, of `y` elsewhere. */
  select: (x: Code, y: Code, mask: Code): Code => [x, y, mask, simd(0x52)],
  anyTrue: one(simd(0x53)),
};

/** Four known words. Functions have them in locals: processors have no such numbers in instructions, and V8 makes them anew wherever they are. */
export class KnownVector {
  constructor(private readonly words: readonly number[]) {}

  /** The same for all that are the same. */
  get key(): string {
    return this.words.join();
  }

  get instruction(): Code {
    const bytes = this.words.map((word) => [word & 255, (word >> 8) & 255, (word >> 16) & 255, (word >> 24) & 255]);
    return [simd(12), bytes];
  }
}

export const i32x4 = {
  splat: one(simd(17)),
  extract: (x: Code, lane: number): Code => [x, simd(27), lane],
  replace: (x: Code, lane: number, value: Code): Code => [x, value, simd(28), lane],
  eq: two(simd(0x37)),
  ne: two(simd(0x38)),
  lt: two(simd(0x39)),
  gt: two(simd(0x3b)),
  gtUnsigned: two(simd(0x3c)),
  le: two(simd(0x3d)),
  ge: two(simd(0x3f)),
  extendBytes: one([simd(0x89), simd(0xa9)]),
  extendSignedBytes: one([simd(0x87), simd(0xa7)]),
  /** As eight of 16 bits, the nearest where one is none of these. */
  narrow: two(simd(0x85)),
  /** Of eight of 16 bits on each side: products, of which neighbours are added. */
  dotShorts: two(simd(0xba)),
  abs: one(simd(0xa0)),
  neg: one(simd(0xa1)),
  allTrue: one(simd(0xa3)),
  shiftLeft: two(simd(0xab)),
  shiftRight: two(simd(0xac)),
  shiftRightUnsigned: two(simd(0xad)),
  add: two(simd(0xae)),
  sub: two(simd(0xb1)),
  mul: two(simd(0xb5)),
  min: two(simd(0xb6)),
  max: two(simd(0xb8)),
  /** Towards zero; 0 for NaN, and the nearest number where it is out of range. */
  ofFloats: one(simd(0xf8)),
  ofDoubles: one(simd(0xfc)),
};

export const i64x2 = {
  shiftLeft: two(simd(0xcb)),
  add: two(simd(0xce)),
  sub: two(simd(0xd1)),
  shiftRight: two(simd(0xcc)),
  /** The lower two of four integers. */
  ofIntegers: one(simd(0xc7)),
};

/** What floats of both sizes have; `lane` is the instruction that takes one out, `eq` the first comparison, `abs` the first function. */
function floats(lane: number, eq: number, abs: number, fused: number) {
  const add = two(simd(abs + 4));
  const mul = two(simd(abs + 6));
  return {
    splat: one(simd(lane < 32 ? 19 : 20)),
    extract: (x: Code, at: number): Code => [x, simd(lane), at],
    replace: (x: Code, at: number, value: Code): Code => [x, value, simd(lane + 1), at],
    eq: two(simd(eq)),
    ne: two(simd(eq + 1)),
    lt: two(simd(eq + 2)),
    gt: two(simd(eq + 3)),
    le: two(simd(eq + 4)),
    ge: two(simd(eq + 5)),
    abs: one(simd(abs)),
    neg: one(simd(abs + 1)),
    sqrt: one(simd(abs + 3)),
    add,
    sub: two(simd(abs + 5)),
    mul,
    div: two(simd(abs + 7)),
    /** NaN where either is. */
    min: two(simd(abs + 8)),
    max: two(simd(abs + 9)),
    /** `y < x ? y : x` and `x < y ? y : x`: one instruction each, which gives `x` where either is NaN or both are zeros. */
    lesser: two(simd(abs + 10)),
    greater: two(simd(abs + 11)),
    /** `x · y + sum`, rounded once where the engine has an instruction for that. */
    multiplyAdd: (x: Code, y: Code, sum: Code, isRelaxed: boolean): Code =>
      isRelaxed ? [x, y, sum, simd(fused)] : add(sum, mul(x, y)),
  };
}

const floatBits = new DataView(new ArrayBuffer(8));

export const f32x4 = {
  ...floats(31, 0x41, 0xe0, 0x105),
  const: (value: number): Code => {
    floatBits.setFloat32(0, value);
    const word = floatBits.getInt32(0);
    return word === 0 ? v128.zero : v128.words(word, word, word, word);
  },
  ceil: one(simd(0x67)),
  floor: one(simd(0x68)),
  trunc: one(simd(0x69)),
  /** Halves go to even numbers. */
  nearest: one(simd(0x6a)),
  ofIntegers: one(simd(0xfa)),
  /** The lower two of four; zeros beside them. */
  ofDoubles: one(simd(0x5e)),
};

export const f64x2 = {
  ...floats(33, 0x47, 0xec, 0x107),
  const: (value: number): Code => {
    floatBits.setFloat64(0, value);
    const [high, low] = [0, 4].map((at) => floatBits.getInt32(at));
    return high === 0 && low === 0 ? v128.zero : v128.words(low, high, low, high);
  },
  ceil: one(simd(0x74)),
  floor: one(simd(0x75)),
  trunc: one(simd(0x7a)),
  /** Halves go to even numbers. */
  nearest: one(simd(0x94)),
  /** Of the lower two of four. */
  ofIntegers: one(simd(0xfe)),
  ofFloats: one(simd(0x5f)),
};

/** `x` where the condition is not 0, else `y`: both are computed. */
export const choose = (condition: Code, x: Code, y: Code): Code => [x, y, condition, 0x1b];

/** As `when`, for code that gives four lanes. */
export const whenVector = (condition: Code, then: Code, otherwise: Code): Code => [
  condition,
  0x04,
  0x7b,
  then,
  0x05,
  otherwise,
  0x0b,
];

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
  readonly get: readonly [instruction: number, index: Code];

  constructor(readonly index: number) {
    this.get = [0x20, unsigned(index)];
  }

  set(value: Code): Code {
    return [value, 0x21, this.get[1]];
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
