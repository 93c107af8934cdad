import { Tensor } from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  cast,
  constant,
  param,
  reduce,
  select,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
  type Kernel,
} from '@cresset/tensorexpr';

/** A kernel to time, with what it stores to. */
export interface KernelCase {
  readonly name: string;
  readonly kernel: Kernel;
  readonly output: Tensor;
  /** Floating-point operations, or bytes moved where it is a matter of memory. */
  readonly flops?: number;
  readonly bytes?: number;
}

function random(...sizes: number[]): Tensor {
  const count = sizes.reduce((a, b) => a * b, 1);
  return Tensor.fromArray(
    Float32Array.from({ length: count }, () => Math.random() - 0.5),
    sizes,
    'float32',
  );
}

function linear(m: number, n: number, k: number, transposed: boolean, batch = 1): KernelCase {
  const a = new TensorView(random(batch, m, k));
  const b = new TensorView(transposed ? random(n, k) : random(k, n));
  const output = Tensor.empty([batch, m, n], 'float32');
  const out = new TensorView(output);
  const [z, i, j] = out.axes('bmn');
  const s = axis('k', a.sizes[2]);
  return {
    name: `${transposed ? 'linear' : 'matmul'} ${batch > 1 ? `${batch}x` : ''}${m}x${n}x${k}`,
    output,
    flops: 2 * m * n * k * batch,
    kernel: {
      kind: 'contraction',
      label: transposed ? 'aten::linear' : 'aten::mm',
      batch: [z],
      m: i,
      n: j,
      k: s,
      left: a.at([z, i, s]),
      right: transposed ? b.at([j, s]) : b.at([s, j]),
      stores: [{ operand: out.operand, offset: out.offsetAt([z, i, j]), value: accumulator }],
    },
  };
}

function convolution(
  cin: number,
  cout: number,
  size: number,
  kernelSize: number,
  stride: number,
  groups = 1,
): KernelCase {
  const padding = kernelSize >> 1;
  const outSize = Math.floor((size + 2 * padding - kernelSize) / stride) + 1;
  const x = new TensorView(random(1, cin, size, size));
  const w = new TensorView(random(cout, cin / groups, kernelSize, kernelSize));
  const output = Tensor.empty([1, cout, outSize, outSize], 'float32');
  const out = new TensorView(output);
  const number = (value: number): Expr => param('i32', value);
  const g = axis('g', number(groups));
  const m = axis('m', number(cout / groups));
  const n = axis('n', number(outSize * outSize));
  const k = axis('k', number((cin / groups) * kernelSize * kernelSize));
  const divide = (a: Expr, b: number): Expr => binary('truncdiv', a, number(b));
  const modulo = (a: Expr, b: number): Expr => binary('fmod', a, number(b));
  const area = kernelSize * kernelSize;
  const channel = binary('add', binary('mul', g, number(cin / groups)), divide(k, area));
  const ky = divide(modulo(k, area), kernelSize);
  const kx = modulo(k, kernelSize);
  const oy = divide(n, outSize);
  const ox = modulo(n, outSize);
  const position = (o: Expr, kk: Expr): Expr =>
    binary('add', binary('sub', binary('mul', o, number(stride)), number(padding)), kk);
  const iy = position(oy, ky);
  const ix = position(ox, kx);
  const inside = (i: Expr): Expr => binary('and', binary('ge', i, constant('i32', 0)), binary('lt', i, number(size)));
  const zero = constant('i32', 0);
  const outChannel = binary('add', binary('mul', g, number(cout / groups)), m);
  return {
    name: `conv ${kernelSize}x${kernelSize} ${cin}->${cout} ${size}x${size} /${stride}${groups > 1 ? ` groups ${groups}` : ''}`,
    output,
    flops: (2 * cout * outSize * outSize * cin * area) / groups,
    kernel: {
      kind: 'contraction',
      label: 'aten::conv2d',
      batch: [g],
      m,
      n,
      k,
      left: w.at([outChannel, divide(k, area), ky, kx]),
      right: select(binary('and', inside(iy), inside(ix)), x.at([zero, channel, iy, ix]), constant('float', 0)),
      stores: [{ operand: out.operand, offset: out.offsetAt([zero, outChannel, oy, ox]), value: accumulator }],
    },
  };
}

function softmax(rows: number, columns: number): KernelCase {
  const x = new TensorView(random(rows, columns));
  const output = Tensor.empty([rows, columns], 'float32');
  const out = new TensorView(output);
  const [i, j] = out.axes();
  const r = axis('r', x.sizes[1]);
  const largest = reduce('max', [r], x.at([i, r]));
  const total = reduce('sum', [r], unary('exp', binary('sub', x.at([i, r]), largest)));
  const value = binary('div', unary('exp', binary('sub', x.at([i, j]), largest)), total);
  return {
    name: `softmax ${rows}x${columns}`,
    output,
    bytes: 8 * rows * columns,
    kernel: nest('aten::softmax', [i], [j], out, [i, j], value),
  };
}

function nest(
  label: string,
  axes: AxisExpr[],
  innerAxes: AxisExpr[],
  out: TensorView,
  at: Expr[],
  value: Expr,
): Kernel {
  return { kind: 'nest', label, axes, innerAxes, stores: [{ operand: out.operand, offset: out.offsetAt(at), value }] };
}

function pointwise(name: string, sizes: number[], body: (x: Expr) => Expr, biased = false): KernelCase {
  const x = new TensorView(random(...sizes));
  const bias = new TensorView(random(sizes.at(-1)!));
  const output = Tensor.empty(sizes, 'float32');
  const out = new TensorView(output);
  const axes = out.axes();
  const element = biased ? binary('add', x.at(axes), bias.at([axes.at(-1)!])) : x.at(axes);
  const count = sizes.reduce((a, b) => a * b, 1);
  return {
    name: `${name} ${sizes.join('x')}`,
    output,
    bytes: 8 * count,
    kernel: nest(`aten::${name}`, axes, [], out, axes, body(element)),
  };
}

function total(sizes: number[], reduced: number[], fn: 'sum' | 'argmax' = 'sum'): KernelCase {
  const x = new TensorView(random(...sizes));
  const axes = x.axes();
  const kept = axes.filter((_, dim) => !reduced.includes(dim));
  const output = Tensor.empty(
    sizes.filter((_, dim) => !reduced.includes(dim)),
    fn === 'sum' ? 'float32' : 'int64',
  );
  const out = new TensorView(output);
  const inner = axes.filter((_, dim) => reduced.includes(dim));
  return {
    name: `${fn} ${sizes.join('x')} over ${reduced}`,
    output,
    bytes: 4 * sizes.reduce((a, b) => a * b, 1),
    kernel: nest(`aten::${fn}`, kept, [], out, kept, reduce(fn, inner, x.at(axes))),
  };
}

/** A product with one row: a nest with a sum, as matrix-vector products are lowered. */
function vector(n: number, k: number, transposed: boolean): KernelCase {
  const a = new TensorView(random(k));
  const b = new TensorView(transposed ? random(n, k) : random(k, n));
  const output = Tensor.empty([n], 'float32');
  const out = new TensorView(output);
  const [j] = out.axes('n');
  const s = axis('k', a.sizes[0]);
  const product = binary('mul', a.at([s]), transposed ? b.at([j, s]) : b.at([s, j]));
  return {
    name: `${transposed ? 'linear' : 'matmul'} 1x${n}x${k}`,
    output,
    flops: 2 * n * k,
    kernel: nest('aten::mv', [j], [], out, [j], reduce('sum', [s], product)),
  };
}

const gelu = (x: Expr): Expr =>
  binary(
    'mul',
    binary('mul', x, constant('float', 0.5)),
    binary('add', constant('float', 1), unary('erf', binary('mul', x, constant('float', Math.SQRT1_2)))),
  );

export const kernelCases: readonly (() => KernelCase)[] = [
  () => linear(512, 512, 512, false),
  () => linear(1024, 1024, 1024, false),
  () => linear(512, 512, 512, true),
  () => linear(128, 768, 768, true),
  () => vector(1024, 1024, true),
  () => vector(4096, 1024, true),
  () => vector(512, 128, true),
  () => vector(1024, 1024, false),
  () => linear(8, 1024, 1024, true),
  () => linear(64, 64, 64, false, 16),
  () => convolution(64, 64, 56, 3, 1),
  () => convolution(3, 64, 112, 7, 2),
  () => convolution(256, 64, 28, 1, 1),
  () => convolution(64, 64, 56, 3, 1, 64),
  () => softmax(1024, 1024),
  () => softmax(16, 65536),
  () => pointwise('relu', [1024, 1024], (x) => binary('max', x, constant('float', 0))),
  () => pointwise('gelu', [1024, 1024], gelu),
  () => pointwise('tanh', [64, 128, 100], (x) => unary('tanh', x), true),
  () => pointwise('to', [1024, 1024], (x) => cast('float', cast('i32', x))),
  () => total([1024, 1024], [1]),
  () => total([1024, 1024], [0]),
  () => total([1024, 1024], [0, 1]),
  () => total([1024, 1024], [0, 1], 'argmax'),
];

/** Too much for an adapter in software. */
export const largeKernelCases: readonly (() => KernelCase)[] = [
  () => linear(2048, 2048, 2048, false),
  () => linear(4096, 4096, 4096, false),
  () => linear(4096, 4096, 4096, true),
  () => softmax(8192, 2048),
  () => pointwise('gelu', [8192, 8192], gelu),
];
