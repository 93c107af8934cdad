import type { Program } from './program.ts';

/** A product of two square matrices. */
const product = (name: string, size: number): Program => ({
  name,
  about: `matrix product ${size} × ${size} × ${size}`,
  inputs: { x: { shape: [size, size] } },
  weights: { weight: { shape: [size, size] } },
  output: [size, size],
  rtol: 1e-4,
  atol: 1e-4,
  torch: 'def forward(self, x):\n    return torch.matmul(x, self.weight)',
  onnx: (graph) => graph.node('MatMul', ['x', 'weight']),
  tensorflow: { run: (tf, { x, weight }) => tf.matMul(x, weight) },
});

/** Programs of one kernel or a few, as large as such kernels are in models. */
export const kernels: readonly Program[] = [
  product('matmul_256', 256),
  product('matmul', 512),
  product('matmul_1024', 1024),
  {
    name: 'convolution',
    about: 'convolution 3 × 3, 64 to 64 channels, 56 × 56, with bias and ReLU',
    inputs: { x: { shape: [1, 64, 56, 56] } },
    weights: { weight: { shape: [64, 64, 3, 3] }, bias: { shape: [64] } },
    output: [1, 64, 56, 56],
    rtol: 1e-4,
    atol: 1e-4,
    torch: 'def forward(self, x):\n    return torch.relu(torch.conv2d(x, self.weight, self.bias, padding=1))',
    onnx: (graph) => {
      const attributes = { pads: [1, 1, 1, 1], kernel_shape: [3, 3] };
      return graph.node('Relu', [graph.node('Conv', ['x', 'weight', 'bias'], attributes)]);
    },
    tensorflow: {
      layout: { x: [0, 2, 3, 1], weight: [2, 3, 1, 0] },
      answerLayout: [0, 3, 1, 2],
      run: (tf, { x, weight, bias }) => tf.relu(tf.add(tf.conv2d(x, weight, 1, 'same'), bias)),
    },
  },
  {
    name: 'pointwise',
    about: 'eight pointwise operators in a row on 1024 × 1024',
    inputs: { x: { shape: [1024, 1024], scale: 4 } },
    weights: { scale: { shape: [1024] }, shift: { shape: [1024] } },
    output: [1024, 1024],
    rtol: 1e-4,
    atol: 1e-5,
    torch: `def forward(self, x):
    y = torch.tanh(x * self.scale + self.shift)
    return torch.exp(y) / (torch.sigmoid(x) + 1.0) - x * y`,
    onnx: (graph) => {
      const y = graph.node('Tanh', [graph.node('Add', [graph.node('Mul', ['x', 'scale']), 'shift'])]);
      const sum = graph.node('Add', [graph.node('Sigmoid', ['x']), graph.scalar('one', 'float32', 1)]);
      const quotient = graph.node('Div', [graph.node('Exp', [y]), sum]);
      return graph.node('Sub', [quotient, graph.node('Mul', ['x', y])]);
    },
    tensorflow: {
      run: (tf, { x, scale, shift }) => {
        const y = tf.tanh(tf.add(tf.mul(x, scale), shift));
        return tf.sub(tf.div(tf.exp(y), tf.add(tf.sigmoid(x), 1)), tf.mul(x, y));
      },
    },
  },
  {
    name: 'softmax',
    about: 'softmax of 1024 rows of 1024',
    inputs: { x: { shape: [1024, 1024], scale: 8 } },
    weights: {},
    output: [1024, 1024],
    rtol: 1e-4,
    atol: 1e-7,
    torch: 'def forward(self, x):\n    return torch.softmax(x, -1)',
    onnx: (graph) => graph.node('Softmax', ['x'], { axis: -1 }),
    tensorflow: { run: (tf, { x }) => tf.softmax(x, -1) },
  },
  {
    name: 'layer_norm',
    about: 'layer norm of 1024 rows of 768',
    inputs: { x: { shape: [1024, 768] } },
    weights: { weight: { shape: [768] }, bias: { shape: [768] } },
    output: [1024, 768],
    rtol: 1e-4,
    atol: 1e-5,
    torch: 'def forward(self, x):\n    return torch.layer_norm(x, [768], self.weight, self.bias, 1e-5)',
    onnx: (graph) => graph.node('LayerNormalization', ['x', 'weight', 'bias'], { axis: -1, epsilon: { float: 1e-5 } }),
    tensorflow: {
      run: (tf, { x, weight, bias }) => {
        const { mean, variance } = tf.moments(x, -1, true);
        return tf.add(tf.mul(tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5))), weight), bias);
      },
    },
  },
];
