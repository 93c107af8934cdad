import { CressetError } from '@cresset/ir';
import type { ScalarType } from '@cresset/tensor';
import { exprTypeOf, type ExprType } from '@cresset/tensorexpr';

/** What a value of this type is in WGSL; an i64 is two words, the low one first. */
export const wgslTypes: Readonly<Record<ExprType, string>> = {
  float: 'f32',
  i32: 'i32',
  i64: 'vec2<u32>',
  bool: 'bool',
};

/** The element type of a storage buffer that holds elements of `dtype`. */
export function storedType(dtype: ScalarType): string {
  switch (dtype) {
    case 'float64':
    case 'float32':
    case 'float16':
    case 'bfloat16':
      return 'f32';
    case 'int64':
      return 'vec2<u32>';
    case 'bool':
      return 'u32';
    case 'uint8':
    case 'int8':
    case 'int16':
    case 'int32':
      return 'i32';
    default:
      throw new CressetError('DEVICE_DTYPE', `tensors of dtype ${dtype} cannot be used on a WebGPU device`);
  }
}

/** As `storedType` where elements are changed by several threads; one of int64 is two of these. */
export function atomicType(dtype: ScalarType): string {
  return storedType(dtype) === 'i32' ? 'atomic<i32>' : 'atomic<u32>';
}

/** A loaded word as a value of the type it is computed with. */
export function fromStored(dtype: ScalarType, word: string): string {
  return exprTypeOf(dtype) === 'bool' ? `(${word} != 0u)` : word;
}

/** One of the elements that share a word, as a word of its own would have it. Float32 that shares one lies as float16. */
export function unpacked(dtype: ScalarType, word: string, index: string): string {
  switch (dtype) {
    case 'bool':
      return `((${word} >> (8u * u32(${index}))) & 0xffu)`;
    case 'uint8':
      return `i32((${word} >> (8u * u32(${index}))) & 0xffu)`;
    case 'int8':
      return `(bitcast<i32>(${word} << (24u - 8u * u32(${index}))) >> 24u)`;
    case 'int16':
      return `(bitcast<i32>(${word} << (16u - 16u * u32(${index}))) >> 16u)`;
    case 'bfloat16':
      return `bitcast<f32>((${word} >> (16u * u32(${index}))) << 16u)`;
    default:
      return `unpack2x16float(${word})[${index}]`;
  }
}

/** What `toStored` has of an element, as the lowest bits of a word that it shares with others; all other bits are zero. */
export function packed(dtype: ScalarType, stored: string): string {
  switch (dtype) {
    case 'bool':
      return stored;
    case 'uint8':
      return `u32(${stored})`;
    case 'int8':
      return `(u32(${stored}) & 0xffu)`;
    case 'int16':
      return `(u32(${stored}) & 0xffffu)`;
    case 'bfloat16':
      return `(bitcast<u32>(${stored}) >> 16u)`;
    default:
      return `pack2x16float(vec2<f32>(${stored}, 0.0))`;
  }
}

/** A value, already of the dtype's computing type, as the word to store. */
export function toStored(dtype: ScalarType, value: string): string {
  switch (dtype) {
    case 'bool':
      return `select(0u, 1u, ${value})`;
    case 'uint8':
      return `(${value} & 0xff)`;
    case 'int8':
      return `extractBits(${value}, 0u, 8u)`;
    case 'int16':
      return `extractBits(${value}, 0u, 16u)`;
    case 'float16':
      return `round_to_half(${value})`;
    case 'bfloat16':
      return `round_to_bfloat(${value})`;
    default:
      return value;
  }
}

const word = new Float32Array(1);

/** A constant of this type. Values that are not finite come from a function: WGSL has no way to write them. */
export function literal(type: ExprType, value: number | bigint | boolean): string {
  switch (type) {
    case 'bool':
      return value ? 'true' : 'false';
    case 'i32': {
      const number = typeof value === 'bigint' ? Number(BigInt.asIntN(32, value)) : Number(value) | 0;
      return number === -2147483648 ? 'i32(-2147483648)' : String(number);
    }
    case 'i64': {
      const bits = BigInt(typeof value === 'number' ? Math.trunc(value) : value);
      return `vec2<u32>(${BigInt.asUintN(32, bits)}u, ${BigInt.asUintN(32, bits >> 32n)}u)`;
    }
    case 'float':
      return floatLiteral(Number(value));
  }
}

const largestSingle = 3.4028234663852886e38;

function floatLiteral(value: number): string {
  if (Number.isNaN(value)) return 'nan()';
  word[0] = value;
  const single = word[0];
  if (!Number.isFinite(single)) return single > 0 ? 'infinity()' : '-infinity()';
  if (Object.is(single, -0)) return '-0.0';
  let text = '';
  for (let digits = 1; digits <= 17; digits++) {
    text = String(Number(single.toPrecision(digits)));
    // The shortest digits of the largest float32 are more than it.
    if (Math.fround(Number(text)) === single && Math.abs(Number(text)) <= largestSingle) break;
  }
  return /[.e]/.test(text) ? text : `${text}.0`;
}
