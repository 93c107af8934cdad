import { CressetError, scalarTypeCode } from '@cresset/ir';
import type { ScalarType } from '@cresset/tensor';

/** Element types by torch.export's own numbers (schema.ScalarType), which are not c10's. */
const SCALAR_TYPES: ReadonlyMap<bigint, ScalarType> = new Map<bigint, ScalarType>([
  [1n, 'uint8'],
  [2n, 'int8'],
  [3n, 'int16'],
  [4n, 'int32'],
  [5n, 'int64'],
  [6n, 'float16'],
  [7n, 'float32'],
  [8n, 'float64'],
  [9n, 'complex32'],
  [10n, 'complex64'],
  [11n, 'complex128'],
  [12n, 'bool'],
  [13n, 'bfloat16'],
  [28n, 'uint16'],
  [29n, 'float8_e4m3fn'],
  [30n, 'float8_e5m2'],
  [31n, 'float8_e4m3fnuz'],
  [32n, 'float8_e5m2fnuz'],
  [34n, 'uint32'],
  [35n, 'uint64'],
]);

/** Layouts by schema.Layout, as c10's numbers. */
const LAYOUTS: ReadonlyMap<bigint, bigint> = new Map([
  [1n, 1n],
  [2n, 2n],
  [3n, 4n],
  [4n, 5n],
  [5n, 6n],
  [6n, 3n],
  [7n, 0n],
]);

/** Memory formats by schema.MemoryFormat, as c10's numbers. */
const MEMORY_FORMATS: ReadonlyMap<bigint, bigint> = new Map([
  [1n, 0n],
  [2n, 2n],
  [3n, 3n],
  [4n, 1n],
]);

function known<T>(table: ReadonlyMap<bigint, T>, code: unknown, what: string): T {
  const found = typeof code === 'bigint' ? table.get(code) : undefined;
  if (found === undefined)
    throw new CressetError('EXPORT_UNSUPPORTED', `the program has ${what} number ${String(code)}, which is not known`);
  return found;
}

/** The element type with a number of the file. */
export const scalarTypeOf = (code: unknown): ScalarType => known(SCALAR_TYPES, code, 'an element type of');

/** As programs have it: an int. */
export const scalarTypeInt = (code: unknown): bigint => BigInt(scalarTypeCode(scalarTypeOf(code)));
export const layoutInt = (code: unknown): bigint => known(LAYOUTS, code, 'a layout of');
export const memoryFormatInt = (code: unknown): bigint => known(MEMORY_FORMATS, code, 'a memory format of');
