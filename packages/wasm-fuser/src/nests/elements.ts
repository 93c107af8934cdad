import { CressetError } from '@cresset/ir';
import { elementSize, type ScalarType } from '@cresset/tensor';
import type { ExprType } from '@cresset/tensorexpr';
import { f32, f32x4, f64, i32, i32x4, i64, v128, type Code } from '../code.ts';
import { ofHalfBits, toBfloatBits, toHalfBits, type Keep } from './float-functions.ts';
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

/** What four elements are to kernels, of their bits as integers of 32. */
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

/** One element; floats in all lanes. */
export function loadOne(dtype: ScalarType, type: ExprType, address: Code, keep: Keep): Value {
  if (dtype === 'float32') return { form: 'lanes', code: v128.loadSplat(address) };
  if (dtype === 'float64') return { form: 'lanes', code: f32x4.splat(f32.ofDouble(f64.load(address))) };
  const bits = scalarLoads[dtype]!(address);
  if (type === 'float') return { form: 'lanes', code: fromBits(dtype, i32x4.splat(bits), keep) };
  return { form: 'scalar', code: dtype === 'bool' ? i32.ne(bits, i32.const(0)) : bits };
}

/** Four elements beside each other, so many bytes after an address. */
export function loadSide(dtype: ScalarType, address: Code, keep: Keep, offset = 0): Code {
  switch (dtype) {
    case 'float32':
    case 'int32':
      return v128.load(address, offset);
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
      return fromBits(dtype, v128.loadHalves(address, offset), keep);
    default: {
      const first = keep(i32x4.splat(address));
      const size = elementSize(dtype);
      return gather(
        dtype,
        [0, 1, 2, 3].map((lane) => i32.add(i32x4.extract(first, 0), i32.const(offset + lane * size))),
        keep,
      );
    }
  }
}

/** Elements of four addresses. */
export function gather(dtype: ScalarType, addresses: readonly Code[], keep: Keep): Code {
  const [first, ...others] = addresses;
  if (dtype === 'float32' || dtype === 'int32') {
    return others.reduce<Code>((vector, address, at) => v128.loadLane(address, vector, at + 1), v128.loadSplat(first));
  }
  if (dtype === 'float64') {
    const value = (address: Code): Code => f32.ofDouble(f64.load(address));
    return others.reduce<Code>(
      (vector, address, at) => f32x4.replace(vector, at + 1, value(address)),
      f32x4.splat(value(first)),
    );
  }
  const load = scalarLoads[dtype]!;
  const bits = others.reduce<Code>(
    (vector, address, at) => i32x4.replace(vector, at + 1, load(address)),
    i32x4.splat(load(first)),
  );
  return fromBits(dtype, bits, keep);
}

/** The bits of four values that are stored as integers of fewer bits; values themselves where an element has 32. */
function toBits(dtype: ScalarType, value: Code, keep: Keep): Code {
  switch (dtype) {
    case 'bool':
      return v128.and(value, v128.words(1, 1, 1, 1));
    case 'float16':
      return toHalfBits(keep(value), keep);
    case 'bfloat16':
      return toBfloatBits(keep(value), keep);
    default:
      return value;
  }
}

/** Writes one element. */
export function storeOne(dtype: ScalarType, address: Code, { form, code }: Value, keep: Keep): Code {
  const bits = form === 'lanes' ? toBits(dtype, code, keep) : code;
  return storeLane(dtype, address, form === 'lanes' ? keep(bits) : bits, form === 'lanes' ? 0 : null);
}

function storeLane(dtype: ScalarType, address: Code, bits: Code, lane: number | null): Code {
  if (dtype === 'int64') return i64.store(address, bits);
  if (dtype === 'float64') return f64.store(address, f64.ofFloat(f32x4.extract(bits, lane ?? 0)));
  if (dtype === 'float32') return f32.store(address, f32x4.extract(bits, lane ?? 0));
  const one = lane === null ? bits : i32x4.extract(bits, lane);
  const size = elementSize(dtype);
  return (size === 1 ? i32.storeByte : size === 2 ? i32.storeHalf : i32.store)(address, one);
}

/** The bytes of four lanes that elements of so many bytes have, one after the other. */
const narrowed = (bits: Code, size: number): Code =>
  v128.shuffleBytes(
    bits,
    bits,
    Array.from({ length: 16 }, (_, byte) => 4 * (Math.floor(byte / size) % 4) + (byte % size)),
  );

/** Writes four elements beside each other. */
export function storeSide(dtype: ScalarType, address: Code, value: Code, keep: Keep): Code {
  const size = elementSize(dtype);
  if (size === 8) {
    const places = [0, 1, 2, 3].map((lane) => i32.add(address, i32.const(lane * size)));
    return scatter(dtype, places, value, keep);
  }
  const bits = toBits(dtype, value, keep);
  if (size === 4) return v128.store(address, bits);
  const bytes = narrowed(keep(bits), size);
  return size === 1 ? v128.storeLane(address, bytes, 0) : v128.storeTwoLanes(address, bytes, 0);
}

/** Writes elements at four addresses. */
export function scatter(dtype: ScalarType, addresses: readonly Code[], value: Code, keep: Keep): Code {
  const bits = keep(toBits(dtype, value, keep));
  return addresses.map((address, lane) => storeLane(dtype, address, bits, lane));
}
