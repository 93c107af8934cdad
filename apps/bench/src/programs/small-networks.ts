import type { OnnxGraph } from '../onnx/onnx-model.ts';
import type { TensorFlow, TensorFlowTensor } from '../contestants/tensorflow-api.ts';
import type { PatternSpec, Program } from './program.ts';

const perceptron: Program = {
  name: 'perceptron',
  about: 'linear layers of 784, 1024, 1024 and 10 with ReLU, one picture',
  inputs: { x: { shape: [1, 784] } },
  weights: {
    weight1: { shape: [1024, 784], scale: 0.25 },
    bias1: { shape: [1024] },
    weight2: { shape: [1024, 1024], scale: 0.25 },
    bias2: { shape: [1024] },
    weight3: { shape: [10, 1024], scale: 0.25 },
    bias3: { shape: [10] },
  },
  output: [1, 10],
  rtol: 1e-4,
  atol: 1e-4,
  torch: `def forward(self, x):
    x = torch.relu(torch.nn.functional.linear(x, self.weight1, self.bias1))
    x = torch.relu(torch.nn.functional.linear(x, self.weight2, self.bias2))
    return torch.nn.functional.linear(x, self.weight3, self.bias3)`,
  onnx(graph: OnnxGraph) {
    const layer = (x: string, at: number): string => graph.node('Gemm', [x, `weight${at}`, `bias${at}`], { transB: 1 });
    const relu = (x: string): string => graph.node('Relu', [x]);
    return layer(relu(layer(relu(layer('x', 1)), 2)), 3);
  },
  tensorflow: {
    run(tf: TensorFlow, { x, ...weights }) {
      const layer = (value: TensorFlowTensor, at: number): TensorFlowTensor =>
        tf.add(tf.matMul(value, weights[`weight${at}`], false, true), weights[`bias${at}`]);
      return layer(tf.relu(layer(tf.relu(layer(x, 1)), 2)), 3);
    },
  },
};

/** The network of PyTorch's own example of handwritten digits. */
const digits: Program = {
  name: 'digits',
  about: 'two convolutions 3 × 3 on 28 × 28 pixels, a pool and two linear layers, as in the example of PyTorch',
  inputs: { x: { shape: [1, 1, 28, 28] } },
  weights: {
    conv1: { shape: [32, 1, 3, 3] },
    bias1: { shape: [32] },
    conv2: { shape: [64, 32, 3, 3], scale: 0.25 },
    bias2: { shape: [64] },
    linear1: { shape: [128, 9216], scale: 0.125 },
    bias3: { shape: [128] },
    linear2: { shape: [10, 128], scale: 0.25 },
    bias4: { shape: [10] },
  },
  output: [1, 10],
  rtol: 1e-4,
  atol: 1e-5,
  torch: `def forward(self, x):
    x = torch.relu(torch.conv2d(x, self.conv1, self.bias1))
    x = torch.max_pool2d(torch.relu(torch.conv2d(x, self.conv2, self.bias2)), 2)
    x = torch.relu(torch.nn.functional.linear(torch.flatten(x, 1), self.linear1, self.bias3))
    return torch.log_softmax(torch.nn.functional.linear(x, self.linear2, self.bias4), 1)`,
  onnx(graph: OnnxGraph) {
    const convolution = (x: string, at: number): string =>
      graph.node('Relu', [graph.node('Conv', [x, `conv${at}`, `bias${at}`], { kernel_shape: [3, 3] })]);
    const pool = { kernel_shape: [2, 2], strides: [2, 2] };
    const features = graph.node('MaxPool', [convolution(convolution('x', 1), 2)], pool);
    const flat = graph.node('Flatten', [features], { axis: 1 });
    const hidden = graph.node('Relu', [graph.node('Gemm', [flat, 'linear1', 'bias3'], { transB: 1 })]);
    return graph.node('LogSoftmax', [graph.node('Gemm', [hidden, 'linear2', 'bias4'], { transB: 1 })], { axis: 1 });
  },
  tensorflow: {
    layout: { x: [0, 2, 3, 1], conv1: [2, 3, 1, 0], conv2: [2, 3, 1, 0] },
    run(tf: TensorFlow, { x, conv1, bias1, conv2, bias2, linear1, bias3, linear2, bias4 }) {
      const convolution = (
        value: TensorFlowTensor,
        weight: TensorFlowTensor,
        bias: TensorFlowTensor,
      ): TensorFlowTensor => tf.relu(tf.add(tf.conv2d(value, weight, 1, 'valid'), bias));
      const pooled = tf.maxPool(convolution(convolution(x, conv1, bias1), conv2, bias2), 2, 2, 'valid');
      const flat = tf.reshape(tf.transpose(pooled, [0, 3, 1, 2]), [1, 9216]);
      const hidden = tf.relu(tf.add(tf.matMul(flat, linear1, false, true), bias3));
      return tf.logSoftmax(tf.add(tf.matMul(hidden, linear2, false, true), bias4), -1);
    },
  },
};

const steps = 64;
const hidden = 128;

const layerWeights = (layer: number): Readonly<Record<string, PatternSpec>> => ({
  [`input${layer}`]: { shape: [4 * hidden, hidden], scale: 0.25 },
  [`state${layer}`]: { shape: [4 * hidden, hidden], scale: 0.25 },
  [`inputBias${layer}`]: { shape: [4 * hidden] },
  [`stateBias${layer}`]: { shape: [4 * hidden] },
});

const recurrence: Program = {
  name: 'lstm',
  about: `LSTM of two layers, ${steps} steps of one sequence, ${hidden} features`,
  inputs: { x: { shape: [steps, 1, hidden] } },
  weights: { ...layerWeights(0), ...layerWeights(1) },
  output: [steps, 1, hidden],
  rtol: 1e-4,
  atol: 1e-5,
  torch: `def forward(self, x):
    start = torch.zeros([2, 1, ${hidden}])
    weights = [self.input0, self.state0, self.inputBias0, self.stateBias0, self.input1, self.state1, self.inputBias1, self.stateBias1]
    return torch.lstm(x, [start, start], weights, True, 2, 0.0, False, False, False)[0]`,
  onnx(graph: OnnxGraph) {
    const first = graph.integers('first', [0]);
    const second = graph.integers('second', [1]);
    const quarters = graph.integers('quarters', [hidden, hidden, hidden, hidden]);
    /** ONNX has the gates of input, output and forgetting first. */
    const inOrder = (weight: string): string => {
      const [input, forget, cell, output] = graph.nodeWithOutputs('Split', [weight, quarters], 4, { axis: 0 });
      return graph.node('Concat', [input, output, forget, cell], { axis: 0 });
    };
    const layer = (x: string, at: number): string => {
      const [input, state] = [`input${at}`, `state${at}`].map((weight) =>
        graph.node('Unsqueeze', [inOrder(weight), first]),
      );
      const biases = [`inputBias${at}`, `stateBias${at}`].map(inOrder);
      const bias = graph.node('Unsqueeze', [graph.node('Concat', biases, { axis: 0 }), first]);
      const y = graph.node('LSTM', [x, input, state, bias], { hidden_size: hidden });
      return graph.node('Squeeze', [y, second]);
    };
    return layer(layer('x', 0), 1);
  },
  tensorflow: {
    run(tf: TensorFlow, { x, ...weights }) {
      const layer = (rows: TensorFlowTensor, at: number): TensorFlowTensor => {
        const bias = tf.add(weights[`inputBias${at}`], weights[`stateBias${at}`]);
        const inputs = tf.add(tf.matMul(rows, weights[`input${at}`], false, true), bias);
        let h = tf.zeros([1, hidden]);
        let c = tf.zeros([1, hidden]);
        const ys: TensorFlowTensor[] = [];
        for (let t = 0; t < steps; t++) {
          const products = tf.matMul(h, weights[`state${at}`], false, true);
          const gates = tf.add(tf.slice(inputs, [t, 0], [1, 4 * hidden]), products);
          const [input, forget, cell, output] = tf.split(gates, 4, 1);
          c = tf.add(tf.mul(tf.sigmoid(forget), c), tf.mul(tf.sigmoid(input), tf.tanh(cell)));
          h = tf.mul(tf.sigmoid(output), tf.tanh(c));
          ys.push(tf.reshape(h, [hidden]));
        }
        return tf.stack(ys, 0);
      };
      return tf.reshape(layer(layer(tf.reshape(x, [steps, hidden]), 0), 1), [steps, 1, hidden]);
    },
  },
};

/** Networks as others write them, for one picture or sequence at a time: what a call costs beside its arithmetic counts. */
export const smallNetworks: readonly Program[] = [perceptron, digits, recurrence];
