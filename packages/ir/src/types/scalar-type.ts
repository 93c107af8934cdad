/** Name of a tensor element type. */
export type ScalarTypeName =
  | 'uint8'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'float16'
  | 'float32'
  | 'float64'
  | 'complex32'
  | 'complex64'
  | 'complex128'
  | 'bool'
  | 'qint8'
  | 'quint8'
  | 'qint32'
  | 'bfloat16'
  | 'quint4x2'
  | 'quint2x4'
  | 'bits1x8'
  | 'bits2x4'
  | 'bits4x2'
  | 'bits8'
  | 'bits16'
  | 'float8_e5m2'
  | 'float8_e4m3fn'
  | 'float8_e5m2fnuz'
  | 'float8_e4m3fnuz'
  | 'uint16'
  | 'uint32'
  | 'uint64';

/** Every element type, at the index that is its numeric code in PyTorch (c10::ScalarType), with c10's own name. */
const SCALAR_TYPES: readonly (readonly [ScalarTypeName, string])[] = [
  ['uint8', 'Byte'],
  ['int8', 'Char'],
  ['int16', 'Short'],
  ['int32', 'Int'],
  ['int64', 'Long'],
  ['float16', 'Half'],
  ['float32', 'Float'],
  ['float64', 'Double'],
  ['complex32', 'ComplexHalf'],
  ['complex64', 'ComplexFloat'],
  ['complex128', 'ComplexDouble'],
  ['bool', 'Bool'],
  ['qint8', 'QInt8'],
  ['quint8', 'QUInt8'],
  ['qint32', 'QInt32'],
  ['bfloat16', 'BFloat16'],
  ['quint4x2', 'QUInt4x2'],
  ['quint2x4', 'QUInt2x4'],
  ['bits1x8', 'Bits1x8'],
  ['bits2x4', 'Bits2x4'],
  ['bits4x2', 'Bits4x2'],
  ['bits8', 'Bits8'],
  ['bits16', 'Bits16'],
  ['float8_e5m2', 'Float8_e5m2'],
  ['float8_e4m3fn', 'Float8_e4m3fn'],
  ['float8_e5m2fnuz', 'Float8_e5m2fnuz'],
  ['float8_e4m3fnuz', 'Float8_e4m3fnuz'],
  ['uint16', 'UInt16'],
  ['uint32', 'UInt32'],
  ['uint64', 'UInt64'],
];

const CODES: ReadonlyMap<ScalarTypeName, number> = new Map(SCALAR_TYPES.map(([name], code) => [name, code]));
const NAMES_BY_IR: ReadonlyMap<string, ScalarTypeName> = new Map(SCALAR_TYPES.map(([name, ir]) => [ir, name]));

/** PyTorch's numeric code of an element type, as programs hold it (`dtype=6` is float32). */
export function scalarTypeCode(name: ScalarTypeName): number {
  return CODES.get(name)!;
}

/** The element type with a numeric code, or undefined where there is none. */
export function scalarTypeFromCode(code: number | bigint): ScalarTypeName | undefined {
  return SCALAR_TYPES[Number(code)]?.[0];
}

/** The name of an element type in IR text: `Float`, `Long`, … (PyTorch: toString(ScalarType)). */
export function scalarTypeIrName(name: ScalarTypeName): string {
  return SCALAR_TYPES[CODES.get(name)!]![1];
}

/** The element type with a name in IR text (`Float` → `float32`), or undefined. */
export function scalarTypeFromIrName(irName: string): ScalarTypeName | undefined {
  return NAMES_BY_IR.get(irName);
}
