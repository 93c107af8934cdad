import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { tensor, type Input, type Tensor } from '../index.ts';

/** Values and messages of cases that PyTorch made of Python files, and how they are compared. */

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  int32: Int32Array,
  int64: BigInt64Array,
  bool: Uint8Array,
} as const;

/** What `make-cases.py` and `make-function-cases.py` write of a value. */
export type Encoded =
  | null
  | boolean
  | string
  | { readonly int: number }
  | { readonly float: string }
  | { readonly items: readonly Encoded[] }
  | { readonly entries: readonly (readonly [Encoded, Encoded])[] }
  | { readonly complex: readonly [re: number, im: number] }
  | { readonly tensor: keyof typeof ARRAYS; readonly shape: readonly number[]; readonly data: string };

/** The cases of a file that has one on each line. */
export function casesIn<Case>(file: URL): readonly Case[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Case);
}

export function decoded(value: Encoded): Input {
  if (typeof value !== 'object' || value === null) return value;
  if ('int' in value) return value.int;
  if ('float' in value) return Number(value.float.replace('inf', 'Infinity'));
  if ('items' in value) return value.items.map(decoded);
  if ('entries' in value) return new Map(value.entries.map(([key, item]) => [decoded(key) as string, decoded(item)]));
  if ('complex' in value) return { re: value.complex[0], im: value.complex[1] };
  const bytes = Uint8Array.from(atob(value.data), (character) => character.charCodeAt(0));
  const data = new ARRAYS[value.tensor](bytes.buffer);
  return tensor(data, { shape: [...value.shape], dtype: value.tensor });
}

/** Numbers of a tensor, or what else a value is, to be compared. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Map) return [...value].map(([key, item]) => [plain(key), plain(item)]);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null && 'shape' in value) {
    const { shape, dtype, data } = value as Tensor;
    return { shape: [...shape], dtype, data: Array.from(data as Float32Array, Number) };
  }
  return value;
}

export function expectAlike(got: unknown, wanted: unknown): void {
  if (typeof wanted === 'number' && !Number.isFinite(wanted)) {
    expect(got).toBe(wanted);
  } else if (typeof wanted === 'number' && !Number.isInteger(wanted)) {
    expect(Math.abs((got as number) - wanted)).toBeLessThanOrEqual(2e-5 + 2e-5 * Math.abs(wanted));
  } else if (typeof wanted === 'number') {
    expect(got === wanted || Math.abs((got as number) - wanted) <= 2e-5).toBe(true);
  } else if (typeof wanted === 'object' && wanted !== null) {
    expect(Object.keys(got as object)).toEqual(Object.keys(wanted));
    for (const [key, item] of Object.entries(wanted)) expectAlike((got as Record<string, unknown>)[key], item);
  } else {
    expect(got).toEqual(wanted);
  }
}

/** A graph as it is compared: its values are numbered in order of appearance, and mangling counts what was there before. */
export function numbered(graph: string): string {
  const names = new Map<string, number>();
  return graph
    .replaceAll(/___torch_mangle_\d+\./g, '')
    .replaceAll(/%[\w.]+/g, (name) => `%${names.get(name) ?? names.set(name, names.size).get(name)!}`)
    .trim();
}

/** A message as it is compared: the white space around it is Python's and PyTorch's to differ in. */
export function trimmed(message: string): string {
  return message.trim().replace(/[.:]$/, '');
}

export async function failure(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('it does not fail');
}
