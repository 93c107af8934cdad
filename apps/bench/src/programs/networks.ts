import { OnnxGraph } from '../onnx/onnx-model.ts';
import type { TensorFlow, TensorFlowTensor } from '../contestants/tensorflow-api.ts';
import type { Program } from './program.ts';

const heads = 8;
const headWidth = 32;
const sequence = 128;
const width = heads * headWidth;

const attention: Program = {
  name: 'attention',
  about: 'self-attention with 8 heads on a sequence of 128 × 256',
  inputs: { x: { shape: [1, sequence, width] } },
  weights: { projections: { shape: [width, 3 * width], scale: 0.5 }, out: { shape: [width, width], scale: 0.5 } },
  output: [1, sequence, width],
  rtol: 1e-4,
  atol: 1e-5,
  torch: `def heads(self, x):
    return x.view(1, ${sequence}, ${heads}, ${headWidth}).transpose(1, 2)
def forward(self, x):
    q, k, v = torch.matmul(x, self.projections).chunk(3, -1)
    scores = torch.matmul(self.heads(q), self.heads(k).transpose(-2, -1)) * ${1 / Math.sqrt(headWidth)}
    y = torch.matmul(torch.softmax(scores, -1), self.heads(v))
    return torch.matmul(y.transpose(1, 2).reshape(1, ${sequence}, ${width}), self.out)`,
  onnx(graph: OnnxGraph) {
    const shape = graph.integers('split_heads', [1, sequence, heads, headWidth]);
    const joined = graph.integers('joined_heads', [1, sequence, width]);
    const split = (value: string, perm: readonly number[]): string =>
      graph.node('Transpose', [graph.node('Reshape', [value, shape])], { perm });
    const sizes = graph.integers('split', [width, width, width]);
    const projected = graph.node('MatMul', ['x', 'projections']);
    const [q, k, v] = graph.nodeWithOutputs('Split', [projected, sizes], 3, { axis: -1 });
    const products = graph.node('MatMul', [split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1])]);
    const scaled = graph.node('Mul', [products, graph.scalar('scale', 'float32', 1 / Math.sqrt(headWidth))]);
    const y = graph.node('MatMul', [graph.node('Softmax', [scaled], { axis: -1 }), split(v, [0, 2, 1, 3])]);
    const merged = graph.node('Reshape', [graph.node('Transpose', [y], { perm: [0, 2, 1, 3] }), joined]);
    return graph.node('MatMul', [merged, 'out']);
  },
  tensorflow: {
    run(tf: TensorFlow, { x, projections, out }) {
      const rows = (value: TensorFlowTensor, weight: TensorFlowTensor): TensorFlowTensor =>
        tf.matMul(tf.reshape(value, [sequence, width]), weight);
      const split = (value: TensorFlowTensor): TensorFlowTensor =>
        tf.transpose(tf.reshape(value, [1, sequence, heads, headWidth]), [0, 2, 1, 3]);
      const [q, k, v] = tf.split(rows(x, projections), 3, -1).map(split);
      const scores = tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(headWidth));
      const y = tf.matMul(tf.softmax(scores, -1), v);
      return tf.reshape(rows(tf.transpose(y, [0, 2, 1, 3]), out), [1, sequence, width]);
    },
  },
};

const classifier: Program = {
  name: 'classifier',
  about: 'a small convolutional network on 28 × 28 pixels, such as tells digits',
  inputs: { x: { shape: [1, 1, 28, 28] } },
  weights: {
    conv1: { shape: [16, 1, 5, 5] },
    bias1: { shape: [16] },
    conv2: { shape: [32, 16, 5, 5], scale: 0.25 },
    bias2: { shape: [32] },
    linear: { shape: [10, 1568], scale: 0.25 },
    bias3: { shape: [10] },
  },
  output: [1, 10],
  rtol: 1e-4,
  atol: 1e-6,
  torch: `def forward(self, x):
    x = torch.max_pool2d(torch.relu(torch.conv2d(x, self.conv1, self.bias1, padding=2)), 2)
    x = torch.max_pool2d(torch.relu(torch.conv2d(x, self.conv2, self.bias2, padding=2)), 2)
    return torch.softmax(torch.nn.functional.linear(x.flatten(1), self.linear, self.bias3), -1)`,
  onnx(graph: OnnxGraph) {
    const layer = (x: string, weight: string, bias: string): string => {
      const attributes = { pads: [2, 2, 2, 2], kernel_shape: [5, 5] };
      const y = graph.node('Relu', [graph.node('Conv', [x, weight, bias], attributes)]);
      return graph.node('MaxPool', [y], { kernel_shape: [2, 2], strides: [2, 2] });
    };
    const features = graph.node('Flatten', [layer(layer('x', 'conv1', 'bias1'), 'conv2', 'bias2')], { axis: 1 });
    return graph.node('Softmax', [graph.node('Gemm', [features, 'linear', 'bias3'], { transB: 1 })], { axis: -1 });
  },
  tensorflow: {
    layout: { x: [0, 2, 3, 1], conv1: [2, 3, 1, 0], conv2: [2, 3, 1, 0] },
    run(tf: TensorFlow, { x, conv1, bias1, conv2, bias2, linear, bias3 }) {
      const layer = (value: TensorFlowTensor, weight: TensorFlowTensor, bias: TensorFlowTensor): TensorFlowTensor =>
        tf.maxPool(tf.relu(tf.add(tf.conv2d(value, weight, 1, 'same'), bias)), 2, 2, 'valid');
      const features = tf.transpose(layer(layer(x, conv1, bias1), conv2, bias2), [0, 3, 1, 2]);
      return tf.softmax(tf.add(tf.matMul(tf.reshape(features, [1, 1568]), linear, false, true), bias3), -1);
    },
  },
};

const steps = 160;
const channels = 256;
const state = 16;

/** What a state space model does with a sequence, step by step: in ONNX a `Loop`. */
const selectiveScan: Program = {
  name: 'selective_scan',
  about: `selective scan, ${steps} steps over ${channels} × ${state}`,
  inputs: {
    x: { shape: [steps, channels] },
    delta: { shape: [steps, channels] },
    b: { shape: [steps, state] },
    c: { shape: [steps, state] },
  },
  weights: { a: { shape: [channels, state] } },
  output: [steps, channels],
  rtol: 1e-3,
  atol: 1e-5,
  torch: `def forward(self, x, delta, b, c):
    h = torch.zeros([${channels}, ${state}])
    ys = torch.jit.annotate(List[Tensor], [])
    for t in range(x.size(0)):
        d = delta[t].unsqueeze(-1)
        h = h * torch.exp(d * self.a) * 0.9 + d * x[t].unsqueeze(-1) * b[t]
        ys.append((h * c[t]).sum(-1))
    return torch.stack(ys)`,
  onnx(graph: OnnxGraph) {
    const body = new OnnxGraph('step', 'step_');
    body.input('step', 'int64', []);
    body.input('continues', 'bool', []);
    body.input('h', 'float32', [channels, state]);
    const row = (name: string): string => body.node('Gather', [name, 'step'], { axis: 0 });
    const last = body.integers('last', [-1]);
    const d = body.node('Unsqueeze', [row('delta'), last]);
    const decay = body.node('Mul', [
      body.node('Exp', [body.node('Mul', [d, 'a'])]),
      body.scalar('decay', 'float32', 0.9),
    ]);
    const added = body.node('Mul', [body.node('Mul', [d, body.node('Unsqueeze', [row('x'), last])]), row('b')]);
    const h = body.node('Add', [body.node('Mul', ['h', decay]), added]);
    const y = body.node('ReduceSum', [body.node('Mul', [h, row('c')]), last], { keepdims: 0 });
    body.output(body.node('Identity', ['continues']), 'bool', []);
    body.output(h, 'float32', [channels, state]);
    body.output(y, 'float32', [channels]);
    const zeros = { dtype: 'float32', shape: [channels, state], data: new Float32Array(channels * state) } as const;
    const inputs = [
      graph.scalar('steps', 'int64', steps),
      graph.scalar('true', 'bool', 1),
      graph.weight('zeros', zeros),
    ];
    return graph.nodeWithOutputs('Loop', inputs, 2, { body })[1];
  },
  tensorflow: {
    run(tf: TensorFlow, { x, delta, b, c, a }) {
      const row = (value: TensorFlowTensor, t: number, size: number): TensorFlowTensor =>
        tf.slice(value, [t, 0], [1, size]);
      let h = tf.zeros([channels, state]);
      const ys: TensorFlowTensor[] = [];
      for (let t = 0; t < steps; t++) {
        const d = tf.reshape(row(delta, t, channels), [channels, 1]);
        const input = tf.mul(tf.mul(d, tf.reshape(row(x, t, channels), [channels, 1])), row(b, t, state));
        h = tf.add(tf.mul(tf.mul(h, tf.exp(tf.mul(d, a))), 0.9), input);
        ys.push(tf.sum(tf.mul(h, row(c, t, state)), -1));
      }
      return tf.stack(ys, 0);
    },
  },
};

export const networks: readonly Program[] = [classifier, attention, selectiveScan];
