import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { script, tensor, type Input, type Tensor } from '../index.ts';

const folder = new URL('../../../../conformance/python/', import.meta.url);

/** What `make-cases.py` writes of a value. */
type Encoded =
  | null
  | boolean
  | string
  | { readonly int: number }
  | { readonly float: string }
  | { readonly items: readonly Encoded[] }
  | { readonly entries: readonly (readonly [Encoded, Encoded])[] }
  | { readonly tensor: 'float32' | 'int64' | 'bool'; readonly shape: readonly number[]; readonly data: string };

interface Call {
  readonly method: string;
  readonly args: readonly Encoded[];
  readonly kwargs: Readonly<Record<string, Encoded>>;
  readonly result?: Encoded;
  readonly raises?: string;
}

interface Case {
  readonly id: string;
  readonly source?: string;
  /** A file that holds the source. */
  readonly file?: string;
  readonly make: readonly [name: string, args: readonly Encoded[], kwargs: Readonly<Record<string, Encoded>>];
  readonly refused?: string;
  readonly state?: Readonly<Record<string, Encoded>>;
  readonly parameters?: readonly (readonly [name: string, shape: readonly number[]])[];
  readonly calls?: readonly Call[];
}

const cases = readFileSync(new URL('cases.jsonl', folder), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case);

function decoded(value: Encoded): Input {
  if (typeof value !== 'object' || value === null) return value;
  if ('int' in value) return value.int;
  if ('float' in value) return Number(value.float.replace('inf', 'Infinity'));
  if ('items' in value) return value.items.map(decoded);
  if ('entries' in value) return new Map(value.entries.map(([key, item]) => [decoded(key) as string, decoded(item)]));
  const bytes = Uint8Array.from(Buffer.from(value.data, 'base64'));
  const data =
    value.tensor === 'float32'
      ? new Float32Array(bytes.buffer)
      : value.tensor === 'int64'
        ? new BigInt64Array(bytes.buffer)
        : bytes;
  return tensor(data, { shape: [...value.shape], dtype: value.tensor });
}

/** Numbers of a tensor, or what else a value is, to be compared. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Map) return [...value].map(([key, item]) => [plain(key), plain(item)]);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null && 'shape' in value) {
    const { shape, dtype, data } = value as Tensor;
    return { shape: [...shape], dtype, data: Array.from(data as Float32Array, Number) };
  }
  return value;
}

function expectAlike(got: unknown, wanted: unknown): void {
  if (typeof wanted === 'number' && !Number.isInteger(wanted)) {
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

/** A message as it is compared: the white space around it is Python's and PyTorch's to differ in. */
function trimmed(message: string): string {
  return message.trim().replace(/[.:]$/, '');
}

async function failure(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('it does not fail');
}

const cpu = { device: 'cpu' } as const;

describe('modules in source are what PyTorch makes of them', { timeout: 60_000 }, () => {
  it.each(cases.map((each) => [each.id, each] as const))('%s', async (_id, each) => {
    const source = each.source ?? readFileSync(new URL(each.file!, folder), 'utf8');
    const [name, args, kwargs] = each.make;
    const unit = await script(source, cpu);
    const making = unit.construct(name, args.map(decoded), {
      kwargs: Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, decoded(value)])),
    });
    if (each.refused !== undefined) {
      const message = trimmed(await failure(making));
      const wanted = trimmed(each.refused);
      expect(message.slice(0, wanted.length)).toBe(wanted);
      return;
    }
    const module = await making;
    // PyTorch names what is tied once.
    const parameters = module.namedParameters().map(({ name: path, shape }) => [path, [...shape]]);
    expect(parameters).toEqual(expect.arrayContaining([...each.parameters!]));
    if (each.state !== undefined) {
      const state = Object.entries(each.state).map(([key, value]) => [key, decoded(value) as Tensor] as const);
      await module.loadStateDict(Object.fromEntries(state));
      await module.eval();
    }
    for (const call of each.calls!) {
      const options = {
        kwargs: Object.fromEntries(Object.entries(call.kwargs).map(([key, value]) => [key, decoded(value)])),
      };
      const running = module.call(call.method, call.args.map(decoded), options);
      if (call.raises === undefined) expectAlike(plain(await running), plain(decoded(call.result!)));
      else expect(await failure(running)).toContain(call.raises.replace(/^(builtins\.)?\w+: /, ''));
    }
    await unit.dispose();
  });
});
