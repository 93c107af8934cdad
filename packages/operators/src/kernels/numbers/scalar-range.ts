import { Complex } from '@cresset/ir';
import { isComplex, isFloatingPoint, Tensor, type ScalarType } from '@cresset/tensor';
import { readScalar, scalarToNumber } from '../elements.ts';
import { check } from '../errors.ts';
import type { PointwiseArguments, Scalar } from '../../table/row.ts';

/** The largest number of a dtype, and how C++ names it. Integers go one further down, unsigned ones down to minus that. */
const limits: Partial<Record<ScalarType, readonly [largest: number, name: string]>> = {
  uint8: [255, 'uint8_t'],
  int8: [127, 'int8_t'],
  int16: [32767, 'int16_t'],
  int32: [2147483647, 'int'],
  int64: [2 ** 63, 'int64_t'],
  float16: [65504, 'c10::Half'],
  bfloat16: [3.3895313892515355e38, 'c10::BFloat16'],
  float32: [3.4028234663852886e38, 'float'],
};

/**
 * As `checkScalarFits`, for the numbers among operands of a pointwise operator that computes in this dtype. They are not looked at where it is float32:
 * recordings keep such open, and what is beyond becomes infinite.
 */
export function checkOperandsFit(dtype: ScalarType, args: PointwiseArguments, ...names: readonly string[]): void {
  if (dtype === 'float32' || !limits[dtype]) return;
  for (const name of names) {
    const value = args[name] as unknown;
    if (isScalar(value)) checkScalarFits(value, dtype);
  }
}

const isScalar = (value: unknown): value is Scalar =>
  value instanceof Complex || ['number', 'bigint', 'boolean'].includes(typeof value);

/** As `checkScalarFits`, for a value that may be a tensor: it is read where that does not wait for a device. */
export function checkValueFits(value: Scalar | Tensor, dtype: ScalarType): void {
  if (isScalar(value)) checkScalarFits(value, dtype);
  else if (value instanceof Tensor && value.storage.isOnHost)
    checkScalarFits(readScalar(value, value.storageOffset), dtype);
}

/** Throws where a number is not one of the dtype that it is written to (c10::Scalar::to). */
export function checkScalarFits(value: Scalar, dtype: ScalarType): void {
  const limit = limits[dtype];
  if (!limit || isComplex(dtype)) return;
  const [largest, name] = limit;
  const isFloat = isFloatingPoint(dtype);
  const number = scalarToNumber(value);
  const fits = isFloat
    ? !Number.isFinite(number) || Math.abs(number) <= largest
    : number <= largest && number >= (dtype === 'uint8' ? -largest : -largest - 1);
  const isReal = !(value instanceof Complex) || value.im === 0;
  check(fits && isReal, `value cannot be converted to type ${name} without overflow`);
}
