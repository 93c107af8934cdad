import type { ScalarType } from './scalar-type.ts';

/** One of the formats of eight bits: `float8_e4m3fn` has 4 bits of exponent, 3 of mantissa, no infinity, one NaN. */
interface Float8Format {
  readonly mantissaBits: number;
  readonly bias: number;
  /** The largest code of a finite number, and what a number beyond it becomes: infinity, NaN, or the largest number. */
  readonly maxCode: number;
  readonly overflow: number;
  /** The code of NaN; the formats with `uz` have no negative zero, whose code it is. */
  readonly nan: number;
}

const formats: Partial<Record<ScalarType, Float8Format>> = {
  float8_e4m3fn: { mantissaBits: 3, bias: 7, maxCode: 0x7e, overflow: 0x7e, nan: 0x7f },
  float8_e5m2: { mantissaBits: 2, bias: 15, maxCode: 0x7b, overflow: 0x7c, nan: 0x7f },
  float8_e4m3fnuz: { mantissaBits: 3, bias: 8, maxCode: 0x7f, overflow: 0x80, nan: 0x80 },
  float8_e5m2fnuz: { mantissaBits: 2, bias: 16, maxCode: 0x7f, overflow: 0x80, nan: 0x80 },
};

/** The value of a bit pattern of a float8 dtype; undefined for any other dtype. */
export function float8ToNumber(dtype: ScalarType): ((bits: number) => number) | undefined {
  const format = formats[dtype];
  if (!format) return undefined;
  const { mantissaBits, bias, maxCode, nan } = format;
  return (bits) => {
    const code = bits & 0x7f;
    const sign = bits & 0x80 ? -1 : 1;
    if (bits === nan || code > maxCode) return dtype === 'float8_e5m2' && code === 0x7c ? sign * Infinity : NaN;
    const exponent = code >> mantissaBits;
    const fraction = (code & ((1 << mantissaBits) - 1)) / (1 << mantissaBits);
    return sign * (exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias));
  };
}

const single = new Float32Array(1);
const word = new Uint32Array(single.buffer);

/** The bit pattern of a float8 dtype that is nearest to a number, ties to even; undefined for any other dtype. */
export function numberToFloat8(dtype: ScalarType): ((value: number) => number) | undefined {
  const format = formats[dtype];
  if (!format) return undefined;
  const { mantissaBits, bias, maxCode, overflow, nan } = format;
  return (value) => {
    if (Number.isNaN(value)) return nan;
    single[0] = Math.abs(value);
    const sign = value < 0 || Object.is(value, -0) ? 0x80 : 0;
    const exponent = Math.max((word[0] >>> 23) - 127, 1 - bias);
    const scaled = single[0] / 2 ** (exponent - mantissaBits);
    const floor = Math.floor(scaled);
    const rest = scaled - floor;
    const rounded = floor + (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? 1 : 0);
    const code = (exponent + bias - 1) * (1 << mantissaBits) + rounded;
    if (!(code <= maxCode)) return overflow === 0x80 ? overflow : sign | overflow;
    return code === 0 && nan === 0x80 ? 0 : sign | code;
  };
}
