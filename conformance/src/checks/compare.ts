import { scalarTypeFromCode } from '@cresset/ir';
import {
  bfloatToNumber,
  Complex,
  DeviceValue,
  Dict,
  EnumValue,
  fromByteString,
  halfToNumber,
  hostArray,
  isComplex,
  isFloatingPoint,
  List,
  numelOf,
  Tensor,
  Tuple,
  type HostArray,
  type IValue,
  type ScalarType,
} from '@cresset/tensor';
import type { FileReader, JsonIValue, JsonTensor } from '../cases/case.ts';
import { decodeFloat, tensorBytes } from '../cases/ivalue-json.ts';

export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
  /** Values are random: only structure, dtypes and shapes count. */
  readonly shapeOnly: boolean;
}

/** Compares what a program returned with what PyTorch returned. Gives the first difference, or null where there is none. */
export async function difference(
  got: IValue,
  want: JsonIValue,
  tolerance: Tolerance,
  readFile: FileReader,
  path = 'output',
): Promise<string | null> {
  const mismatch = `${path}: expected ${kindOf(want)}, got ${kindOfValue(got)}`;
  if (want === null || typeof want === 'boolean') {
    if (got === want) return null;
    return typeof got === typeof want && want !== null ? `${path}: wrong bool` : mismatch;
  }
  if ('tensor' in want) {
    return got instanceof Tensor ? tensorDifference(got, want.tensor, tolerance, readFile, path) : mismatch;
  }
  if ('int' in want) {
    if (typeof got !== 'bigint') return mismatch;
    return tolerance.shapeOnly || got === BigInt(want.int) ? null : `${path}: wrong int`;
  }
  if ('float' in want) {
    if (typeof got !== 'number') return mismatch;
    return isClose(got, decodeFloat(want.float), tolerance) ? null : `${path}: wrong float`;
  }
  if ('complex' in want) {
    if (!(got instanceof Complex)) return mismatch;
    const [re, im] = want.complex.map(decodeFloat);
    return isClose(got.re, re, tolerance) && isClose(got.im, im, tolerance) ? null : `${path}: wrong complex`;
  }
  if ('str' in want) {
    if (typeof got !== 'string') return mismatch;
    return fromByteString(got) === want.str ? null : `${path}: wrong str`;
  }
  if ('device' in want) {
    if (!(got instanceof DeviceValue)) return mismatch;
    return got.toString() === want.device ? null : `${path}: wrong device`;
  }
  if ('dtype' in want) {
    if (typeof got !== 'bigint') return mismatch;
    return scalarTypeFromCode(got) === want.dtype ? null : `${path}: wrong dtype`;
  }
  if ('list' in want) {
    return got instanceof List ? sequenceDifference(got.items, want.list, tolerance, readFile, path) : mismatch;
  }
  if ('tuple' in want) {
    return got instanceof Tuple ? sequenceDifference(got.items, want.tuple, tolerance, readFile, path) : mismatch;
  }
  if ('object' in want) {
    if (!(got instanceof Tuple) || !got.type?.fieldNames) return mismatch;
    for (const [field, value] of want.object.fields) {
      const at = got.type.fieldNames.indexOf(field);
      const found = await difference(got.items[at] ?? null, value, tolerance, readFile, `${path} field`);
      if (found) return found;
    }
    return null;
  }
  if (!(got instanceof Dict)) return mismatch;
  const entries = [...got.entries];
  if (entries.length !== want.dict.length) return `${path}: wrong number of entries`;
  for (const [at, [key, value]] of want.dict.entries()) {
    const found =
      (await difference(entries[at][0], key, tolerance, readFile, `${path} key`)) ??
      (await difference(entries[at][1], value, tolerance, readFile, `${path} value`));
    if (found) return found;
  }
  return null;
}

async function sequenceDifference(
  got: readonly IValue[],
  want: readonly JsonIValue[],
  tolerance: Tolerance,
  readFile: FileReader,
  path: string,
): Promise<string | null> {
  if (got.length !== want.length) return `${path}: ${got.length} elements instead of ${want.length}`;
  for (let at = 0; at < got.length; at++) {
    const found = await difference(got[at], want[at], tolerance, readFile, `${path} element`);
    if (found) return found;
  }
  return null;
}

async function tensorDifference(
  got: Tensor,
  want: JsonTensor,
  tolerance: Tolerance,
  readFile: FileReader,
  path: string,
): Promise<string | null> {
  if (got.dtype !== want.dtype) return `${path}: dtype ${got.dtype} instead of ${want.dtype}`;
  if (got.sizes.length !== want.shape.length || got.sizes.some((size, dim) => size !== want.shape[dim])) {
    return `${path}: wrong shape`;
  }
  if (tolerance.shapeOnly) return null;
  await got.storage.toHost();
  const dtype = want.dtype as ScalarType;
  const bytes = await tensorBytes(want, readFile);
  const expected = hostArray(dtype, bytes.buffer, bytes.byteOffset, numelOf(want.shape));
  const actual = got.contiguousArray();
  const close = isFloatingPoint(dtype) || isComplex(dtype);
  const numberAt = elementReader(dtype);
  for (let at = 0; at < expected.length; at++) {
    const same = close ? isClose(numberAt(actual, at), numberAt(expected, at), tolerance) : actual[at] === expected[at];
    if (!same)
      return `${path}: wrong values (${dtype}), ${numberAt(actual, at)} instead of ${numberAt(expected, at)} at ${at}`;
  }
  return null;
}

/** Reads an element as a number, also one that is kept as the bits of a half. */
export function elementReader(dtype: ScalarType): (elements: HostArray, at: number) => number {
  if (dtype === 'float16' || dtype === 'complex32') return (elements, at) => halfToNumber(elements[at] as number);
  if (dtype === 'bfloat16') return (elements, at) => bfloatToNumber(elements[at] as number);
  return (elements, at) => elements[at] as number;
}

function isClose(got: number, want: number, { rtol, atol, shapeOnly }: Tolerance): boolean {
  if (shapeOnly || got === want) return true;
  if (Number.isNaN(want)) return Number.isNaN(got);
  // Infinite tolerance must not make every number equal to infinity.
  if (!Number.isFinite(want) || !Number.isFinite(got)) return false;
  return Math.abs(got - want) <= atol + rtol * Math.abs(want);
}

function kindOf(json: JsonIValue): string {
  if (json === null) return 'None';
  if (typeof json === 'boolean') return 'bool';
  return Object.keys(json)[0];
}

function kindOfValue(value: IValue): string {
  if (value === null) return 'None';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'float';
  if (typeof value === 'string') return 'str';
  if (typeof value === 'boolean') return 'bool';
  if (value instanceof EnumValue) return 'enum';
  return value === undefined ? 'nothing' : value.constructor.name.toLowerCase();
}
