import { bfloatToNumber, halfToNumber, numberToBfloat, numberToHalf, type ScalarType } from '@cresset/tensor';

/** Rounds a number to the nearest one a floating dtype has. */
export function roundingTo(dtype: ScalarType): (value: number) => number {
  switch (dtype) {
    case 'float16':
      return (value) => halfToNumber(numberToHalf(value));
    case 'bfloat16':
      return (value) => bfloatToNumber(numberToBfloat(value));
    case 'float32':
    case 'complex64':
      return Math.fround;
    default:
      return (value) => value;
  }
}
