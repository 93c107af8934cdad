import { script } from '@cresset/frontend';
import { ClassType } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { numelOf, ScriptObject, Tensor, type IValue } from '@cresset/tensor';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { initializeRuntime } from '../initialize.ts';
import { ScriptModule } from '../script-module.ts';
import { Execution } from './execution.ts';
import { RuntimeContext } from './runtime-context.ts';

beforeAll(() => {
  initializeRuntime();
  registerAllOperators();
});

// A clock on which every look is late: work in pieces rests after each of them, however fast the machine is.
beforeEach(() => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 1000));
});
afterEach(() => void vi.restoreAllMocks());

function tensor(...sizes: number[]): Tensor {
  const values = Float32Array.from({ length: numelOf(sizes) }, (_, at) => ((at * 37) % 101) / 101);
  return Tensor.fromArray(values, sizes, 'float32');
}

/** A matrix, or several, that nothing is special about. */
function noise(...sizes: number[]): Tensor {
  let state = 1;
  const next = (): number => (state = (state * 48271) % 2147483647) / 2147483647 - 0.5;
  return Tensor.fromArray(Float32Array.from({ length: numelOf(sizes) }, next), sizes, 'float32');
}

function ascending(size: number): Tensor {
  return Tensor.fromArray(
    Float32Array.from({ length: size }, (_, at) => at / size),
    [size],
    'float32',
  );
}

const programs: readonly (readonly [name: string, signature: string, body: string, args: () => IValue[]])[] = [
  ['a product', 'a: Tensor, b: Tensor', 'torch.mm(a, b)', () => [tensor(256, 256), tensor(256, 512)]],
  ['a batch of products', 'a: Tensor, b: Tensor', 'torch.bmm(a, b)', () => [tensor(128, 64, 64), tensor(128, 64, 64)]],
  [
    'a product of large integers',
    'a: Tensor, b: Tensor',
    'torch.mm(a.long() + 4611686018427387904, b.long() + 1)',
    () => [tensor(128, 128), tensor(128, 128)],
  ],
  ['pointwise', 'a: Tensor, b: Tensor', 'a * b + torch.exp(a)', () => [tensor(1 << 18), tensor(1 << 18)]],
  ['pointwise in place', 'a: Tensor, b: Tensor', 'a.mul_(b)', () => [tensor(1 << 20), tensor(1 << 20)]],
  ['a sum', 'a: Tensor, b: Tensor', 'a.sum() + b[0]', () => [tensor(1 << 20), tensor(1)]],
  ['sums of rows', 'a: Tensor, b: Tensor', '(a * a).sum(1)', () => [tensor(1 << 10, 1 << 8), tensor(1)]],
  ['a convolution', 'a: Tensor, b: Tensor', 'torch.conv2d(a, b)', () => [tensor(1, 32, 66, 66), tensor(64, 32, 3, 3)]],
  [
    'a transposed convolution',
    'a: Tensor, b: Tensor',
    'torch.conv_transpose2d(a, b)',
    () => [tensor(1, 32, 66, 66), tensor(32, 32, 3, 3)],
  ],
  ['sorting', 'a: Tensor, b: Tensor', 'torch.sort(a)[0]', () => [tensor(1 << 18), tensor(1)]],
  ['sorting of rows', 'a: Tensor, b: Tensor', 'torch.sort(a)[0]', () => [tensor(1 << 11, 1 << 8), tensor(1)]],
  [
    'a contraction',
    'a: Tensor, b: Tensor',
    'torch.einsum("ij,kj->ik", a, b)',
    () => [tensor(256, 256), tensor(512, 256)],
  ],
  [
    'resampling',
    'a: Tensor, b: Tensor',
    'torch.upsample_bicubic2d(a, [2048, 1024], False, None)',
    () => [tensor(1, 3, 256, 256), tensor(1)],
  ],
  [
    'attention',
    'a: Tensor, b: Tensor',
    'torch.scaled_dot_product_attention(a, b, b)',
    () => [tensor(1, 8, 256, 64), tensor(1, 8, 256, 64)],
  ],
  ['singular values', 'a: Tensor, b: Tensor', 'torch.svd(a)[1]', () => [noise(100, 80), tensor(1)]],
  ['a batch of inverses', 'a: Tensor, b: Tensor', 'torch.inverse(a)', () => [noise(256, 24, 24), tensor(1)]],
  ['eigenvalues', 'a: Tensor, b: Tensor', 'torch.linalg_eigvals(a)', () => [noise(100, 100), tensor(1)]],
  [
    'eigenvalues of a symmetric matrix',
    'a: Tensor, b: Tensor',
    'torch.linalg_eigvalsh(a)',
    () => [noise(96, 96), tensor(1)],
  ],
  ['least squares', 'a: Tensor, b: Tensor', 'torch.linalg_lstsq(a, b)[0]', () => [noise(100, 64), noise(100, 2)]],
  ['a QR factorisation', 'a: Tensor, b: Tensor', 'torch.linalg_qr(a)[1]', () => [noise(256, 192), tensor(1)]],
  ['an exponential of a matrix', 'a: Tensor, b: Tensor', 'torch.matrix_exp(a)', () => [noise(192, 192), tensor(1)]],
  [
    'a chain of products',
    'a: Tensor, b: Tensor',
    'torch.linalg_multi_dot([a, b, a])',
    () => [noise(300, 300), noise(300, 300)],
  ],
  [
    'a Cholesky factorisation',
    'a: Tensor, b: Tensor',
    'torch.linalg_cholesky(a @ a.t() + torch.eye(256) * 100)',
    () => [noise(256, 256), tensor(1)],
  ],
  [
    'a solution of a system',
    'a: Tensor, b: Tensor',
    'torch.linalg_solve(a, b)',
    () => [noise(256, 256), noise(256, 64)],
  ],
  ['softmax', 'a: Tensor, b: Tensor', 'torch.softmax(a, 1)', () => [tensor(1 << 11, 1 << 10), tensor(1)]],
  ['softmax across', 'a: Tensor, b: Tensor', 'torch.log_softmax(a, 0)', () => [tensor(1 << 10, 1 << 11), tensor(1)]],
  ['a layer norm', 'a: Tensor, b: Tensor', 'torch.layer_norm(a, [1024])', () => [tensor(1 << 12, 1 << 10), tensor(1)]],
  ['a group norm', 'a: Tensor, b: Tensor', 'torch.group_norm(a, 4)', () => [tensor(16, 32, 96, 96), tensor(1)]],
  ['running sums of one line', 'a: Tensor, b: Tensor', 'torch.cumsum(a, 0)', () => [tensor(5 << 20), tensor(1)]],
  ['running sums', 'a: Tensor, b: Tensor', 'torch.cumsum(a.long(), 1)', () => [tensor(5, 1 << 20), tensor(1)]],
  ['running maxima', 'a: Tensor, b: Tensor', 'torch.cummax(a, 0)[1]', () => [tensor(5 << 20), tensor(1)]],
  [
    'a copy in another order',
    'a: Tensor, b: Tensor',
    'a.t().contiguous()',
    () => [tensor(5 << 10, 1 << 10), tensor(1)],
  ],
  ['a conversion', 'a: Tensor, b: Tensor', 'a.to(torch.long)', () => [tensor(5 << 20), tensor(1)]],
  ['joining', 'a: Tensor, b: Tensor', 'torch.cat([a, a, a], 1)', () => [tensor(1 << 9, 1 << 10), tensor(1)]],
  ['a Fourier transform', 'a: Tensor, b: Tensor', 'torch.fft_fft(a)', () => [tensor(1 << 18), tensor(1)]],
  [
    'a Fourier transform of any length',
    'a: Tensor, b: Tensor',
    'torch.fft_rfft(a)',
    () => [tensor(100_003), tensor(1)],
  ],
  [
    'Fourier transforms of short pieces',
    'a: Tensor, b: Tensor',
    'torch.stft(a, 256, 64, 256, return_complex=True)',
    () => [tensor(2, 1 << 14), tensor(1)],
  ],
  [
    'a recurrent layer',
    'a: Tensor, b: Tensor',
    'torch.gru(a, torch.zeros(1, 1, 8), [b, b[:, :8], b[:, 0], b[:, 0]], True, 1, 0.0, False, False, False)[0]',
    () => [tensor(64, 1, 16), tensor(24, 16)],
  ],
  ['a pool', 'a: Tensor, b: Tensor', 'torch.max_pool2d(a, [3, 3])', () => [tensor(4, 16, 256, 256), tensor(1)]],
  [
    'an average pool',
    'a: Tensor, b: Tensor',
    'torch.avg_pool2d(a, [4, 4])',
    () => [tensor(4, 16, 300, 300), tensor(1)],
  ],
  ['distances', 'a: Tensor, b: Tensor', 'torch.cdist(a, b)', () => [tensor(512, 64), tensor(512, 64)]],
  ['distances within', 'a: Tensor, b: Tensor', 'torch.pdist(a)', () => [tensor(512, 64), tensor(1)]],
  [
    'the highest of each row',
    'a: Tensor, b: Tensor',
    'torch.topk(a, 4)[0]',
    () => [tensor(1 << 10, 1 << 8), tensor(1)],
  ],
  ['the values that there are', 'a: Tensor, b: Tensor', 'torch._unique(a)[0]', () => [tensor(1 << 18), tensor(1)]],
  ['counts in bins', 'a: Tensor, b: Tensor', 'torch.histc(a, 10)', () => [tensor(1 << 20), tensor(1)]],
  ['a histogram', 'a: Tensor, b: Tensor', 'torch.histogram(a, 10)[0]', () => [tensor(1 << 18), tensor(1)]],
  ['a search', 'a: Tensor, b: Tensor', 'torch.searchsorted(b, a)', () => [tensor(1 << 18), ascending(1 << 10)]],
  [
    'elements gathered',
    'a: Tensor, b: Tensor',
    'torch.gather(a, 0, (a * 100).long())',
    () => [tensor(1 << 11, 1 << 11), tensor(1)],
  ],
  [
    'elements scattered',
    'a: Tensor, b: Tensor',
    'torch.zeros(101).scatter_add(0, (a * 100).long(), a)',
    () => [tensor(1 << 20), tensor(1)],
  ],
  [
    'slices picked',
    'a: Tensor, b: Tensor',
    'torch.index_select(a, 0, b.long())',
    () => [tensor(4, 1 << 18), tensor(64)],
  ],
  ['elements picked', 'a: Tensor, b: Tensor', 'a[(b * 100).long()]', () => [tensor(101, 4096), tensor(1 << 10)]],
  [
    'rows of a table',
    'a: Tensor, b: Tensor',
    'torch.embedding(a, (b * 100).long())',
    () => [tensor(101, 1024), tensor(1 << 15)],
  ],
  [
    'bags of rows',
    'a: Tensor, b: Tensor',
    'torch.embedding_bag(a, (b * 100).long(), torch.arange(0, 16384, 16))[0]',
    () => [tensor(101, 256), tensor(1 << 14)],
  ],
  ['a median', 'a: Tensor, b: Tensor', 'torch.median(a)', () => [tensor(1 << 17), tensor(1)]],
  ['medians of rows', 'a: Tensor, b: Tensor', 'torch.median(a, 1)[1]', () => [tensor(1 << 8, 1 << 8), tensor(1)]],
  ['the commonest value', 'a: Tensor, b: Tensor', 'torch.mode(a, 0)[1]', () => [tensor(1 << 18), tensor(1)]],
  ['a quantile', 'a: Tensor, b: Tensor', 'torch.quantile(a, b)', () => [tensor(1 << 17), ascending(4)]],
  ['the highest of one line', 'a: Tensor, b: Tensor', 'torch.topk(a, 9000)[1]', () => [tensor(1 << 18), tensor(1)]],
  [
    'an element in its order',
    'a: Tensor, b: Tensor',
    'torch.kthvalue(a, 70000, 0)[1]',
    () => [tensor(1 << 18), tensor(1)],
  ],
  [
    'slices added',
    'a: Tensor, b: Tensor',
    'torch.zeros(101, 4096).index_add(0, (b * 100).long(), a)',
    () => [tensor(128, 4096), tensor(128)],
  ],
  [
    'slices filled',
    'a: Tensor, b: Tensor',
    'torch.index_fill(a, 0, (b * 100).long(), 3)',
    () => [tensor(101, 1 << 13), tensor(128)],
  ],
  ['elements of a mask', 'a: Tensor, b: Tensor', 'torch.masked_select(a, a > 0.5)', () => [tensor(3 << 20), tensor(1)]],
  ['positions', 'a: Tensor, b: Tensor', 'torch.nonzero(a)', () => [tensor(1 << 9, 1 << 9), tensor(1)]],
  [
    'samples of a grid',
    'a: Tensor, b: Tensor',
    'torch.grid_sampler(a, b * 2 - 1, 0, 0, False)',
    () => [tensor(1, 3, 64, 64), tensor(1, 256, 256, 2)],
  ],
  [
    'blocks of an image',
    'a: Tensor, b: Tensor',
    'torch.im2col(a, [3, 3], [1, 1], [1, 1], [1, 1])',
    () => [tensor(1, 4, 256, 256), tensor(1)],
  ],
  [
    'a loss of alignments',
    'a: Tensor, b: Tensor',
    'torch.ctc_loss(torch.log_softmax(a, 2), (b * 30).long() + 1, [128], [16])',
    () => [noise(128, 1, 64), tensor(1, 16)],
  ],
  ['counts', 'a: Tensor, b: Tensor', 'torch.bincount((a * 100).long())', () => [tensor(1 << 20), tensor(1)]],
  ['draws', 'a: Tensor, b: Tensor', 'torch.rand([1 << 18])', () => [tensor(1), tensor(1)]],
  ['a permutation', 'a: Tensor, b: Tensor', 'torch.randperm(1 << 18)', () => [tensor(1), tensor(1)]],
  ['what a dropout leaves', 'a: Tensor, b: Tensor', 'torch.dropout(a, 0.5, True)', () => [tensor(1 << 18), tensor(1)]],
  [
    'a comparison',
    'a: Tensor, b: Tensor',
    'torch.ones(1) * int(torch.equal(a, b))',
    () => [tensor(1 << 18), tensor(1 << 18)],
  ],
  ['a range', 'a: Tensor, b: Tensor', 'torch.arange(0, 1 << 20)', () => [tensor(1), tensor(1)]],
  ['a norm of one group', 'a: Tensor, b: Tensor', 'torch.layer_norm(a, [1 << 22])', () => [tensor(1 << 22), tensor(1)]],
  [
    'a global pool',
    'a: Tensor, b: Tensor',
    'torch.adaptive_avg_pool2d(a, [1, 1])',
    () => [tensor(64, 64, 32, 32), tensor(1)],
  ],
  [
    'numbers as integers',
    'a: Tensor, b: Tensor',
    'torch.dequantize(torch.quantize_per_tensor(a, 0.01, 3, torch.quint8))',
    () => [tensor(1 << 19), tensor(1)],
  ],
  [
    'a product of quantised numbers',
    'a: Tensor, b: Tensor',
    'torch.dequantize(torch.ops.quantized.mul(torch.quantize_per_tensor(a, 0.01, 3, torch.quint8), torch.quantize_per_tensor(b, 0.01, 3, torch.quint8), 0.01, 0))',
    () => [tensor(1 << 19), tensor(1 << 19)],
  ],
  [
    'integers moved',
    'a: Tensor, b: Tensor',
    'torch.dequantize(torch.flip(torch.quantize_per_tensor(a, 0.01, 3, torch.quint8), [0]))',
    () => [tensor(1 << 19), tensor(1)],
  ],
  ['equal parts', 'a: Tensor, b: Tensor', 'torch.split(a, 1)[-1]', () => [tensor(1 << 17), tensor(1)]],
  ['chunks', 'a: Tensor, b: Tensor', 'torch.chunk(a, 131072)[5]', () => [tensor(1 << 18), tensor(1)]],
  ['sections', 'a: Tensor, b: Tensor', 'torch.tensor_split(a, 100000)[7]', () => [tensor(1 << 18), tensor(1)]],
  [
    'parts of sizes',
    'a: Tensor, b: Tensor',
    'torch.split(a, [1 for i in range(65536)])[3]',
    () => [tensor(1 << 16), tensor(1)],
  ],
  ['rows', 'a: Tensor, b: Tensor', 'torch.unbind(a)[9]', () => [tensor(1 << 17, 2), tensor(1)]],
  [
    'tensors of one shape',
    'a: Tensor, b: Tensor',
    'torch.broadcast_tensors(torch.unbind(a))[9]',
    () => [tensor(1 << 16, 2), tensor(1)],
  ],
  [
    'a list of numbers',
    'a: Tensor, b: Tensor',
    'torch.tensor(torch.jit.annotate(List[List[float]], a.tolist()))',
    () => [tensor(1 << 15, 2), tensor(1)],
  ],
  [
    'the boxes kept',
    'a: Tensor, b: Tensor',
    'torch.ops.torchvision.nms(torch.cat([a, a + 0.1], 1), b, 0.9)',
    () => [noise(4096, 2), noise(4096)],
  ],
];

function start(
  [, signature, body]: (typeof programs)[number],
  args: IValue[],
  signal: AbortSignal | null,
): Promise<IValue> {
  const unit = script(`def f(${signature}):\n    return ${body}\n`);
  const module = new ScriptModule(new ScriptObject(new ClassType('__torch__.M')), unit, new RuntimeContext());
  return module.callFunction(unit.getFunction('__torch__.f'), args, { signal });
}

describe.each(programs)('%s', (...program) => {
  const [, , , args] = program;

  it('ends where the run is aborted meanwhile, with the reason', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const outcome = start(program, args(), controller.signal);
    // The run begins in a microtask, and does nothing after a turn in which it was aborted.
    setTimeout(() => controller.abort(reason), 0);
    await expect(outcome).rejects.toMatchObject({ code: 'ABORTED', cause: reason });
  });

  it('comes to the same in turns as at once', async () => {
    // Each operator that takes its time begins once, and goes on once after each rest within it.
    const begun = vi.spyOn(Execution.prototype, 'inTurns');
    const rests = vi.spyOn(globalThis, 'setTimeout');
    const atOnce = await start(program, args(), null);
    expect(rests).not.toHaveBeenCalled();
    const operators = begun.mock.calls.length;
    begun.mockClear();
    const inTurns = await start(program, args(), new AbortController().signal);
    expect(begun.mock.calls.length).toBeGreaterThan(operators);
    expect(bytesOf(inTurns).equals(bytesOf(atOnce))).toBe(true);
  });
});

function bytesOf(value: IValue): Buffer {
  const { buffer, byteOffset, byteLength } = (value as Tensor).contiguousArray();
  return Buffer.from(buffer, byteOffset, byteLength);
}
