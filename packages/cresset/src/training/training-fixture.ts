import { readFileSync } from 'node:fs';
import { load, tensor, type ScriptModule, type Tensor } from '../index.ts';

const file = (name: string): URL => new URL(`./fixtures/${name}`, import.meta.url);

/** What `scripts/fixtures/make-training-fixtures.py` wrote, a text or a file's bytes. */
export const fixture = <Content>(name: string): Content => JSON.parse(readFileSync(file(name), 'utf8')) as Content;

export const fixtureBytes = (name: string): Uint8Array => readFileSync(file(name));

/** A model of the fixtures, with the weights from which PyTorch began. */
export const fresh = (name: string, device: 'cpu' | 'webgpu' = 'cpu'): Promise<ScriptModule> =>
  load(fixtureBytes(`${name}.pt`), { device, worker: false });

const sines = (count: number, step: number): Float32Array =>
  Float32Array.from({ length: count }, (_, index) => Math.sin(step * index));

/** The batches of the fixtures, by their number. */
export const batches = {
  mlp(at: number): readonly [Tensor, Tensor] {
    const values = sines(60, 0.7 + 0.01 * at);
    const classes = Array.from({ length: 10 }, (_, row) => {
      const sum = values.slice(6 * row, 6 * row + 6).reduce((total, value) => total + value, 0);
      return ((Math.floor(sum * 3) % 4) + 4) % 4;
    });
    return [tensor(values, [10, 6]), tensor(classes, { dtype: 'int64' })];
  },
  transformer(at: number): readonly [Tensor, Tensor] {
    const tokens = Array.from({ length: 36 }, (_, index) => (7 * index * index + 3 * index + at) % 20);
    const columns = (from: number): Tensor =>
      tensor(
        tokens.filter((_, index) => index % 9 >= from && index % 9 < from + 8),
        { shape: [4, 8], dtype: 'int64' },
      );
    return [columns(0), columns(1)];
  },
  digits(at: number): readonly [Tensor, Tensor] {
    const classes = [0, 1, 2, 3].map((row) => (row + at) % 10);
    return [tensor(sines(4 * 28 * 28, 0.31 + 0.01 * at), [4, 1, 28, 28]), tensor(classes, { dtype: 'int64' })];
  },
} as const;

/** A loss of what the transformer gives. */
export const TOKEN_LOSS = `
def loss(logits, target):
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())
`;

/** The largest difference of two lists of numbers, relative to the second. */
export function distance(found: ArrayLike<number>, expected: readonly number[]): number {
  if (found.length !== expected.length) return Infinity;
  return Math.max(...expected.map((value, at) => Math.abs(found[at] - value) / Math.abs(value)));
}

/** How far losses are from PyTorch's, relative to these: the farthest of the first 50, and the last. */
export const distances = (found: readonly number[], expected: readonly number[]): { first: number; last: number } => ({
  first: distance(found.slice(0, 50), expected.slice(0, 50)),
  last: distance(found.slice(-1), expected.slice(found.length - 1, found.length)),
});
