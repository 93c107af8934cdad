import type { TensorSpec } from '../values.ts';
import { distinctShapes, distinctSizes } from './random-sizes.ts';
import type { CallValue, Sequence, Sequences, Workload } from './workload.ts';

/** Sequences of one call each, the first of which are known. */
function single<Size>(sizes: readonly Size[], known: number, inputs: (size: Size) => readonly CallValue[]): Sequences {
  const all = sizes.map((size) => ({ before: [], calls: [{ method: 'forward', inputs: inputs(size) }] }));
  return { known: all.slice(0, known), fresh: all.slice(known) };
}

const sentences: Workload = {
  name: 'sentences',
  about: 'an encoder of 4 layers as BERT on 1 to 8 sentences of 5 to 64 tokens, those that are shorter filled up',
  model: 'encoder',
  ...single(
    distinctShapes(2, 20, [
      [1, 8],
      [5, 64],
    ]),
    8,
    ([batch, length]) => [
      { shape: [batch, length], seed: 100 * batch + length, below: 2048 },
      // Each sentence is a token shorter than the one before.
      {
        shape: [batch, length],
        zeros: Array.from({ length: batch }, (_, at) => Math.min(at, length - 1)),
        side: 'right',
      },
    ],
  ),
  onnx: 'same',
  checked: 1,
  rtol: 1e-3,
  atol: 1e-4,
};

const images: Workload = {
  name: 'images',
  about: 'a residual network of 13 convolutions on images of 48 to 160 pixels each way',
  model: 'images',
  ...single(
    distinctShapes(3, 16, [
      [48, 160],
      [48, 160],
    ]),
    6,
    ([height, width]) => [{ shape: [1, 3, height, width], seed: height, scale: 2 }],
  ),
  onnx: 'same',
  checked: 1,
  rtol: 1e-3,
  atol: 1e-4,
};

const spectra = (frames: number): TensorSpec => ({ shape: [1, 80, frames], seed: frames, scale: 2 });

const speech: Workload = {
  name: 'speech',
  about: 'an encoder of speech, two convolutions and 4 layers, on 0.8 to 4 s',
  model: 'speech',
  ...single(distinctSizes(4, 16, [80, 400]), 6, (frames) => [spectra(frames)]),
  onnx: 'same',
  checked: 1,
  rtol: 1e-3,
  atol: 1e-3,
};

const chunkSizes = distinctSizes(5, 20, [4, 40]);

const heard = (sizes: readonly number[]): Sequence => ({
  before: [{ method: 'begin', inputs: [] }],
  calls: sizes.map((frames) => ({ method: 'forward', inputs: [spectra(frames)] })),
});

/** With the state of listener.py going in and out; the first chunk begins with none. */
function heardOutside(sizes: readonly number[]): Sequence {
  const none = (shape: readonly number[]): TensorSpec => ({ shape, fill: 0, dtype: 'float32' });
  const beginning = [none([1, 80, 4]), none([2, 1, 192]), none([2, 1, 192])];
  const carried = [1, 2, 3].map((place) => ({ carried: place }));
  const calls = sizes.map((frames, at) => ({
    method: 'forward',
    inputs: [spectra(frames), ...(at === 0 ? beginning : carried)],
  }));
  return { before: [], calls };
}

const streaming: Workload = {
  name: 'streaming',
  about: 'speech in chunks of 4 to 40 frames, with a state that the module keeps: a convolution and two layers of LSTM',
  model: 'listener',
  known: [heard(chunkSizes.slice(0, 8))],
  fresh: [heard(chunkSizes.slice(8))],
  onnx: { known: [heardOutside(chunkSizes.slice(0, 8))], fresh: [heardOutside(chunkSizes.slice(8))] },
  checked: 1,
  rtol: 1e-3,
  atol: 1e-4,
};

const detection: Workload = {
  name: 'detection',
  about: 'boxes in an image of 128 × 128, as many as there are, the weaker of those that overlap made weaker',
  model: 'detector',
  ...single(distinctSizes(6, 16, [1, 60]), 6, (seed) => [{ shape: [1, 3, 128, 128], seed, scale: 0.5 + seed / 10 }]),
  onnx: 'same',
  checked: 2,
  rtol: 1e-3,
  atol: 1e-3,
};

const training: Workload = {
  name: 'training',
  about: 'steps of training a small network on 3 to 40 pictures',
  model: 'classifier',
  ...single(distinctSizes(7, 16, [3, 40]), 6, (batch) => [
    { shape: [batch, 1, 28, 28], seed: batch, scale: 2 },
    { shape: [batch], seed: 50 + batch, below: 10 },
  ]),
  onnx: null,
  learningRate: 0.05,
  checked: 1,
  rtol: 1e-3,
  atol: 1e-4,
};

export const networkWorkloads: readonly Workload[] = [sentences, images, speech, streaming, detection, training];
