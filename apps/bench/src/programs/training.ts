import type * as Jax from '@jax-js/jax';
import type { TensorFlow, TensorFlowTensor } from '../contestants/tensorflow-api.ts';
import type { PatternSpec } from './program.ts';

/**
 * A small classifier that is trained, said once for each library: a run is a step of stochastic gradient descent on the cross entropy of one batch,
 * from numbers in JavaScript to the loss there. All is float32.
 */
export interface TrainingProgram {
  readonly name: string;
  /** What it is, for people. */
  readonly about: string;
  /** The batch; the first size is how many pictures it has. */
  readonly x: PatternSpec;
  readonly classes: number;
  readonly weights: Readonly<Record<string, PatternSpec>>;
  readonly learningRate: number;
  /** After so many steps the loss has to be PyTorch's. */
  readonly steps: number;
  /** `forward` in TorchScript: scores of each class; weights are attributes of `self`. */
  readonly torch: string;
  readonly tensorflow: {
    /** Axes of the batch and of weights in TensorFlow's order; they are put in that order before anything is timed. */
    readonly layout?: Readonly<Record<string, readonly number[]>>;
    scores(tf: TensorFlow, x: TensorFlowTensor, weights: Readonly<Record<string, TensorFlowTensor>>): TensorFlowTensor;
  };
  /** Takes its arguments over, as functions of jax-js do. */
  jax(library: typeof Jax, x: Jax.Array, weights: Readonly<Record<string, Jax.Array>>): Jax.Array;
}

const perceptron: TrainingProgram = {
  name: 'train_perceptron',
  about: 'a step of training a perceptron, 784 to 256 to 128 to 10, on 64 pictures',
  x: { shape: [64, 784], scale: 2 },
  classes: 10,
  weights: {
    first: { shape: [784, 256], scale: 0.1 },
    bias1: { shape: [256], scale: 0.1 },
    second: { shape: [256, 128], scale: 0.2 },
    bias2: { shape: [128], scale: 0.1 },
    third: { shape: [128, 10], scale: 0.2 },
    bias3: { shape: [10], scale: 0.1 },
  },
  learningRate: 0.05,
  steps: 10,
  torch: `def forward(self, x):
    x = torch.relu(torch.matmul(x, self.first) + self.bias1)
    x = torch.relu(torch.matmul(x, self.second) + self.bias2)
    return torch.matmul(x, self.third) + self.bias3`,
  tensorflow: {
    scores(tf, x, { first, bias1, second, bias2, third, bias3 }) {
      const layer = (value: TensorFlowTensor, weight: TensorFlowTensor, bias: TensorFlowTensor): TensorFlowTensor =>
        tf.add(tf.matMul(value, weight), bias);
      return layer(tf.relu(layer(tf.relu(layer(x, first, bias1)), second, bias2)), third, bias3);
    },
  },
  jax({ numpy, nn }, x, { first, bias1, second, bias2, third, bias3 }) {
    const layer = (value: Jax.Array, weight: Jax.Array, bias: Jax.Array): Jax.Array =>
      numpy.matmul(value, weight).add(bias);
    return layer(nn.relu(layer(nn.relu(layer(x, first, bias1)), second, bias2)), third, bias3);
  },
};

const pictures = 32;

const convolutions: TrainingProgram = {
  name: 'train_convolutions',
  about: `a step of training two convolutions and a linear layer on ${pictures} pictures of 28 × 28`,
  x: { shape: [pictures, 1, 28, 28], scale: 2 },
  classes: 10,
  weights: {
    conv1: { shape: [16, 1, 3, 3] },
    bias1: { shape: [16], scale: 0.1 },
    conv2: { shape: [32, 16, 3, 3], scale: 0.25 },
    bias2: { shape: [32], scale: 0.1 },
    linear: { shape: [1568, 10], scale: 0.1 },
    bias3: { shape: [10], scale: 0.1 },
  },
  learningRate: 0.05,
  steps: 10,
  torch: `def forward(self, x):
    x = torch.relu(torch.conv2d(x, self.conv1, self.bias1, stride=2, padding=1))
    x = torch.relu(torch.conv2d(x, self.conv2, self.bias2, stride=2, padding=1))
    return torch.matmul(x.flatten(1), self.linear) + self.bias3`,
  tensorflow: {
    layout: { x: [0, 2, 3, 1], conv1: [2, 3, 1, 0], conv2: [2, 3, 1, 0] },
    scores(tf, x, { conv1, bias1, conv2, bias2, linear, bias3 }) {
      const layer = (value: TensorFlowTensor, weight: TensorFlowTensor, bias: TensorFlowTensor): TensorFlowTensor =>
        tf.relu(tf.add(tf.conv2d(value, weight, 2, 1), bias));
      const features = tf.transpose(layer(layer(x, conv1, bias1), conv2, bias2), [0, 3, 1, 2]);
      return tf.add(tf.matMul(tf.reshape(features, [pictures, 1568]), linear), bias3);
    },
  },
  jax({ numpy, nn, lax }, x, { conv1, bias1, conv2, bias2, linear, bias3 }) {
    const margins: [number, number][] = [
      [1, 1],
      [1, 1],
    ];
    const layer = (value: Jax.Array, weight: Jax.Array, bias: Jax.Array): Jax.Array =>
      nn.relu(lax.convWithGeneralPadding(value, weight, [2, 2], margins).add(bias.reshape([1, -1, 1, 1])));
    const features = layer(layer(x, conv1, bias1), conv2, bias2).reshape([pictures, 1568]);
    return numpy.matmul(features, linear).add(bias3);
  },
};

export const trainingPrograms: readonly TrainingProgram[] = [perceptron, convolutions];
