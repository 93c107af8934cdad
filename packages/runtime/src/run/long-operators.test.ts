import { script } from '@cresset/frontend';
import { ClassType } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { numelOf, ScriptObject, Tensor, type IValue } from '@cresset/tensor';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { initializeRuntime } from '../initialize.ts';
import { ScriptModule } from '../script-module.ts';
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

/** No program has more. */
const OPERATORS = 5;

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
    const rests = vi.spyOn(globalThis, 'setTimeout');
    const inTurns = await start(program, args(), new AbortController().signal);
    // The interpreter rests after each operator: so many more are within one.
    expect(rests.mock.calls.length).toBeGreaterThan(OPERATORS + 1);
    rests.mockClear();
    const atOnce = await start(program, args(), null);
    expect((inTurns as Tensor).contiguousArray()).toEqual((atOnce as Tensor).contiguousArray());
    expect(rests).not.toHaveBeenCalled();
  });
});
