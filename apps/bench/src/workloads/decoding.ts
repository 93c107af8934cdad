import type { TensorSpec } from '../values.ts';
import { distinctSizes } from './random-sizes.ts';
import type { CallValue, Sequence, Workload, WorkloadCall } from './workload.ts';

// The sizes of decoder.py.
const LAYERS = 8;
const KEY_HEADS = 4;
const WIDTH = 64;
const VOCABULARY = 2048;

const tokens = (seed: number, count: number, batch = 1): TensorSpec => ({
  shape: [batch, count],
  seed,
  below: VOCABULARY,
});

const ones = (columns: number, batch = 1): TensorSpec => ({ shape: [batch, columns], fill: 1, dtype: 'int64' });

const pairs = (pair: (at: number) => readonly [CallValue, CallValue]): CallValue =>
  Array.from({ length: LAYERS }, (_, at) => ({ tuple: pair(at) }));

const nothing: TensorSpec = { shape: [1, KEY_HEADS, 0, WIDTH], fill: 0, dtype: 'float32' };

/** Without a cache. */
const noPast = pairs(() => [nothing, nothing]);

/** The cache that the call before gave, behind its scores. */
const carriedPast = pairs((at) => [{ carried: 1 + 2 * at }, { carried: 2 + 2 * at }]);

const prefillOf = (length: number): WorkloadCall => ({
  method: 'forward',
  inputs: [tokens(length, length), ones(length), noPast],
});

/** A sentence that one token after the other is put to, with the cache going in and out of each call. */
function decoded(prompt: number, count: number): Sequence {
  const calls = Array.from({ length: count }, (_, at) => ({
    method: 'forward',
    inputs: [tokens(1000 + prompt + at, 1), ones(prompt + at + 1), carriedPast],
  }));
  return { before: [prefillOf(prompt)], calls };
}

const decode: Workload = {
  name: 'decode',
  about: 'a decoder of 8 layers, a token a call, its cache going in and out as tensors that grow',
  model: 'decoder',
  known: [decoded(8, 24)],
  fresh: [decoded(40, 24)],
  onnx: 'same',
  checked: 1,
  rtol: 1e-3,
  atol: 1e-3,
};

const prefillSizes = distinctSizes(1, 35, [5, 65]);

const prefills = (lengths: readonly number[]): readonly Sequence[] =>
  lengths.map((length) => ({ before: [], calls: [prefillOf(length)] }));

const prefill: Workload = {
  name: 'prefill',
  about: 'the same decoder on sentences of 5 to 65 tokens, each of another length',
  model: 'decoder',
  known: prefills(prefillSizes.slice(25)),
  fresh: prefills(prefillSizes.slice(0, 25)),
  onnx: 'same',
  checked: 1,
  rtol: 1e-3,
  atol: 1e-3,
};

export const decodingWorkloads: readonly Workload[] = [decode, prefill];
