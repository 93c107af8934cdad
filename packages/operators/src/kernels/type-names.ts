import type { ScalarType } from '@cresset/tensor';

const cppNames: Partial<Record<ScalarType, string>> = {
  uint8: 'unsigned char',
  int8: 'signed char',
  int16: 'short int',
  int32: 'int',
  int64: 'long int',
  float16: 'c10::Half',
  float32: 'float',
  float64: 'double',
  complex32: 'c10::complex<c10::Half>',
  complex64: 'c10::complex<float>',
  complex128: 'c10::complex<double>',
  bool: 'bool',
  bfloat16: 'c10::BFloat16',
};

/** The C++ name of a dtype, as messages that print a `TypeMeta` have it: `long int`. */
export function cppTypeName(dtype: ScalarType): string {
  return cppNames[dtype] ?? dtype;
}
