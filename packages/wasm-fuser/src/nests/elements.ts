import { CressetError } from '@cresset/ir';
import { elementSize, isFloatingPoint, type ScalarType } from '@cresset/tensor';
import type { ExprType } from '@cresset/tensorexpr';
import { i32, i32x4, i64, v128, type Code } from '../code.ts';
import { ofHalfBits, toBfloatBits, toHalfBits } from './functions/float-functions.ts';
import type { Floats, Keep } from './functions/floats.ts';
import type { Value } from './scope.ts';

/** Elements lie as on the host: bits of the size of one, as a power of two. */
export function elementShift(dtype: ScalarType): number {
  const shift = Math.log2(elementSize(dtype));
  if (!(dtype in scalarLoads) && dtype !== 'float32' && dtype !== 'float64') {
    throw new CressetError('DEVICE_DTYPE', `kernels do not know elements of dtype ${dtype}`);
  }
  return shift;
}

type Load = (address: Code, offset?: number) => Code;

/** The bits of an element as an integer. */
const scalarLoads: Partial<Record<ScalarType, Load>> = {
  bool: i32.loadByte,
  uint8: i32.loadByte,
  int8: i32.loadSignedByte,
  int16: i32.loadSignedHalf,
  uint16: i32.loadHalf,
  float16: i32.loadHalf,
  bfloat16: i32.loadHalf,
  int32: i32.load,
  int64: i64.load,
};

/** Loads and stores elements as values of a kernel, whose floats are of one size, wherever their elements have another. */
export class Elements {
  constructor(private readonly floats: Floats) {}

  /** Floats of a narrower element as the kernel's. */
  #widened(dtype: ScalarType, vector: Code): Code {
    return isFloatingPoint(dtype) ? this.floats.ofSingles(vector) : vector;
  }

  /** One element; floats everywhere in a vector. */
  one(dtype: ScalarType, type: ExprType, address: Code, keep: Keep): Value {
    const { floats } = this;
    if (dtype === floats.dtype) return { form: 'lanes', code: floats.load(address) };
    if (dtype === 'float32') return { form: 'lanes', code: floats.ofSingles(v128.loadSplat(address)) };
    const bits = scalarLoads[dtype]!(address);
    if (type === 'float')
      return { form: 'lanes', code: this.#widened(dtype, fromBits(dtype, i32x4.splat(bits), keep)) };
    return { form: 'scalar', code: dtype === 'bool' ? i32.ne(bits, i32.const(0)) : bits };
  }

  /** As many elements beside each other as a vector has, so many bytes after an address. */
  side(dtype: ScalarType, address: Code, keep: Keep, offset = 0): Code {
    const { floats } = this;
    switch (dtype) {
      case floats.dtype:
      case 'int32':
        return v128.load(address, offset);
      case 'float32':
        return floats.ofSingles(v128.load(address, offset));
      case 'int8':
        return i32x4.extendSignedBytes(v128.loadWord(address, offset));
      case 'bool':
      case 'uint8':
        return fromBits(dtype, i32x4.extendBytes(v128.loadWord(address, offset)), keep);
      case 'int16':
        return v128.loadSignedHalves(address, offset);
      case 'uint16':
      case 'float16':
      case 'bfloat16':
        return this.#widened(dtype, fromBits(dtype, v128.loadHalves(address, offset), keep));
      default: {
        const first = keep(i32x4.splat(address));
        const size = elementSize(dtype);
        const places = Array.from({ length: floats.lanes }, (_, lane) =>
          i32.add(i32x4.extract(first, 0), i32.const(offset + lane * size)),
        );
        return this.gathered(dtype, places, keep);
      }
    }
  }

  /** Elements of as many addresses. */
  gathered(dtype: ScalarType, [first, ...others]: readonly Code[], keep: Keep): Code {
    const { floats } = this;
    if (dtype === floats.dtype)
      return others.reduce<Code>((vector, address, at) => floats.loadLane(address, vector, at + 1), floats.load(first));
    if (dtype === 'float32' || dtype === 'int32') {
      const vector = others.reduce<Code>(
        (some, address, at) => v128.loadLane(address, some, at + 1),
        v128.loadSplat(first),
      );
      return this.#widened(dtype, vector);
    }
    const load = scalarLoads[dtype]!;
    const bits = others.reduce<Code>(
      (vector, address, at) => i32x4.replace(vector, at + 1, load(address)),
      i32x4.splat(load(first)),
    );
    return this.#widened(dtype, fromBits(dtype, bits, keep));
  }

  /** The bits of values that are stored as integers of fewer bits; values themselves where an element has 32, or is one of the kernel's floats. */
  #toBits(dtype: ScalarType, value: Code, keep: Keep): Code {
    if (dtype === this.floats.dtype) return value;
    switch (dtype) {
      case 'bool':
        return v128.and(value, v128.words(1, 1, 1, 1));
      case 'float32':
        return this.floats.toSingles(value);
      case 'float16':
        return toHalfBits(keep(this.floats.toSingles(value)), keep);
      case 'bfloat16':
        return toBfloatBits(keep(this.floats.toSingles(value)), keep);
      default:
        return value;
    }
  }

  /** Writes one element. */
  storeOne(dtype: ScalarType, address: Code, { form, code }: Value, keep: Keep): Code {
    if (form === 'scalar') return this.#storeInteger(dtype, address, code);
    return this.#storeLane(dtype, address, keep(this.#toBits(dtype, code, keep)), 0);
  }

  #storeLane(dtype: ScalarType, address: Code, bits: Code, lane: number): Code {
    if (dtype === this.floats.dtype) return this.floats.storeLane(address, bits, lane);
    if (elementSize(dtype) === 4) return v128.storeLane(address, bits, lane);
    return this.#storeInteger(dtype, address, i32x4.extract(bits, lane));
  }

  #storeInteger(dtype: ScalarType, address: Code, one: Code): Code {
    const stores: Partial<Record<number, typeof i32.store>> = { 1: i32.storeByte, 2: i32.storeHalf, 4: i32.store };
    return (stores[elementSize(dtype)] ?? i64.store)(address, one);
  }

  /** Writes as many elements beside each other as a vector has. */
  storeSide(dtype: ScalarType, address: Code, value: Code, keep: Keep): Code {
    const { lanes } = this.floats;
    const size = elementSize(dtype);
    const bits = this.#toBits(dtype, value, keep);
    if (size * lanes === 16) return v128.store(address, bits);
    const bytes = size < 4 ? narrowed(keep(bits), size) : bits;
    const store = { 2: v128.storeShort, 4: v128.storeLane, 8: v128.storeTwoLanes }[size * lanes]!;
    return store(address, bytes, 0);
  }

  /** Writes elements at as many addresses. */
  scatter(dtype: ScalarType, addresses: readonly Code[], value: Code, keep: Keep): Code {
    const bits = keep(this.#toBits(dtype, value, keep));
    return addresses.map((address, lane) => this.#storeLane(dtype, address, bits, lane));
  }
}

/** What elements are to kernels, of their bits as integers of 32. */
function fromBits(dtype: ScalarType, bits: Code, keep: Keep): Code {
  switch (dtype) {
    case 'bool':
      return i32x4.ne(bits, v128.zero);
    case 'float16':
      return ofHalfBits(keep(bits), keep);
    case 'bfloat16':
      return i32x4.shiftLeft(bits, i32.const(16));
    default:
      return bits;
  }
}

/** The bytes of four lanes that elements of so many bytes have, one after the other. */
const narrowed = (bits: Code, size: number): Code =>
  v128.shuffleBytes(
    bits,
    bits,
    Array.from({ length: 16 }, (_, byte) => 4 * (Math.floor(byte / size) % 4) + (byte % size)),
  );
