import type { TensorSpec } from '../values.ts';
import { distinctSizes, randomNumbers } from './random-sizes.ts';
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

/** Without a cache. */
function noPast(batch = 1): CallValue {
  const nothing: TensorSpec = { shape: [batch, KEY_HEADS, 0, WIDTH], fill: 0, dtype: 'float32' };
  return pairs(() => [nothing, nothing]);
}

/** The cache that the call before gave, behind its scores. */
const carriedPast = pairs((at) => [{ carried: 1 + 2 * at }, { carried: 2 + 2 * at }]);

const prefillOf = (length: number): WorkloadCall => ({
  method: 'forward',
  inputs: [tokens(length, length), ones(length), noPast()],
});

/** A sentence that one token after the other is put to, with the cache going in and out of each call. */
function decoded(prompt: number, count: number): Sequence {
  const calls = Array.from({ length: count }, (_, at) => ({
    method: 'forward',
    inputs: [tokens(1000 + prompt + at, 1), ones(prompt + at + 1), carriedPast],
  }));
  return { before: [prefillOf(prompt)], calls };
}

/** What all of them share. */
const decoder = { model: 'decoder', onnx: 'same', checked: 1, rtol: 1e-3, atol: 1e-3 } as const;

const decode: Workload = {
  ...decoder,
  name: 'decode',
  about: 'a decoder of 8 layers, a token a call, its cache going in and out as tensors that grow',
  known: [decoded(8, 24)],
  fresh: [decoded(40, 24)],
};

/** The same sentence, of which the module keeps the cache. */
function told(prompt: number, count: number): Sequence {
  const calls = Array.from({ length: count }, (_, at) => ({
    method: 'go_on',
    inputs: [tokens(1000 + prompt + at, 1)],
  }));
  return { before: [{ method: 'begin', inputs: [tokens(prompt, prompt)] }], calls };
}

const decodeStateful: Workload = {
  ...decoder,
  name: 'decode_stateful',
  about: 'the same with a cache that the module keeps; its twin in ONNX keeps none',
  known: [told(8, 24)],
  fresh: [told(40, 24)],
  onnx: { known: [decoded(8, 24)], fresh: [decoded(40, 24)] },
};

/** Tokens that the program looks for by itself, after a sentence. */
const generated = (prompt: number, count: number): Sequence => ({
  before: [],
  calls: [{ method: 'generate', inputs: [tokens(prompt, prompt), count] }],
});

/** As many calls as the program makes of the decoder. */
function generatedOutside(prompt: number, count: number): Sequence {
  const { before, calls } = decoded(prompt, count - 1);
  return { before: [], calls: [...before, ...calls] };
}

const decodeGenerate: Workload = {
  ...decoder,
  name: 'decode_generate',
  about: 'a call looks for 16 tokens in a loop of the program; with ONNX 16 calls, without looking for the likeliest',
  known: [generated(8, 16)],
  fresh: [generated(30, 16), generated(50, 16)],
  onnx: {
    known: [generatedOutside(8, 16)],
    fresh: [generatedOutside(30, 16), generatedOutside(50, 16)],
    isUnchecked: true,
  },
  isWhole: true,
  // Tokens are right or wrong.
  rtol: 0,
  atol: 0,
};

/** Sentences of several lengths that go on together: the shorter ones have a margin on the left. */
function decodedTogether(prompt: number, margins: readonly number[], count: number): Sequence {
  const batch = margins.length;
  const mask = (columns: number): TensorSpec => ({ shape: [batch, columns], zeros: margins, side: 'left' });
  const first = { method: 'forward', inputs: [tokens(prompt, prompt, batch), mask(prompt), noPast(batch)] };
  const calls = Array.from({ length: count }, (_, at) => ({
    method: 'forward',
    inputs: [tokens(1000 + prompt + at, 1, batch), mask(prompt + at + 1), carriedPast],
  }));
  return { before: [first], calls };
}

const decodeBatch: Workload = {
  ...decoder,
  name: 'decode_batch',
  about: 'four sentences at once, a token of each a call, the shorter ones with a margin',
  known: [decodedTogether(10, [0, 3, 5, 7], 16)],
  fresh: [decodedTogether(40, [0, 11, 4, 22], 16)],
};

/** Each call looks at four guessed tokens, of which one to four are kept. */
function guessed(prompt: number, count: number): Sequence {
  const random = randomNumbers(prompt);
  let kept = prompt;
  const calls = Array.from({ length: count }, (_, at) => {
    const call = { method: 'forward', inputs: [tokens(2000 + prompt + at, 4), ones(kept + 4), carriedPast] };
    kept += 1 + Math.floor(4 * random());
    return call;
  });
  return { before: [prefillOf(prompt)], calls };
}

const decodeSpeculative: Workload = {
  ...decoder,
  name: 'decode_speculative',
  about: 'four guessed tokens a call, of which the next call keeps one to four',
  known: [guessed(8, 12)],
  fresh: [guessed(60, 12)],
};

const prefillSizes = distinctSizes(1, 35, [5, 65]);

const prefills = (lengths: readonly number[]): readonly Sequence[] =>
  lengths.map((length) => ({ before: [], calls: [prefillOf(length)] }));

const prefill: Workload = {
  ...decoder,
  name: 'prefill',
  about: 'the same decoder on sentences of 5 to 65 tokens, each of another length',
  known: prefills(prefillSizes.slice(25)),
  fresh: prefills(prefillSizes.slice(0, 25)),
};

export const decodingWorkloads: readonly Workload[] = [
  decode,
  decodeStateful,
  decodeGenerate,
  decodeBatch,
  decodeSpeculative,
  prefill,
];
