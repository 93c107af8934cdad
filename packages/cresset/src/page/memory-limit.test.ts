import { expect, it } from 'vitest';
import { failure } from '../../../../test-setup/failure.ts';
import { createModule, load, memory, script, tensor, TorchScriptError, type Tensor } from '../index.ts';

const KILOBYTE = 1024;
const SOURCE = `
def hoard(x: Tensor):
    kept: List[Tensor] = []
    while True:
        kept.append(x + 1)
    return kept

def add(x: Tensor):
    return x + 1
`;

it('ends a program that would take more memory than it may, and tells where', async () => {
  const unit = await script<'hoard' | 'add'>(SOURCE, { device: 'cpu', memoryLimit: 64 * KILOBYTE });
  const x = tensor(new Float32Array(KILOBYTE), [KILOBYTE]);
  const error = await failure(unit.hoard(x));
  expect(error).toBeInstanceOf(TorchScriptError);
  expect(error.code).toBe('MEMORY_LIMIT');
  expect((error as TorchScriptError).reason).toBe(
    'the program is at its memory limit: tried to allocate 4096 bytes beside 65536 bytes that it holds, and the limit is 65536 bytes',
  );
  expect(error.message).toContain('kept.append(x + 1)\n                    ~~~~~ <--- HERE');
  expect(((await unit.add(x)) as Tensor).data[5]).toBe(1);
  await unit.dispose();
});

it('counts the weights of a file, and tells what they take', async () => {
  const authored = await createModule('Weighted', { device: 'cpu' });
  await authored.registerParameter('weight', tensor(new Float32Array(KILOBYTE), [KILOBYTE]));
  await authored.define('def forward(self, x: Tensor):\n    return x + self.weight\n');
  const bytes = await authored.save();
  expect(await authored.memory()).toEqual({ heldBytes: 4 * KILOBYTE, limitBytes: null });
  await authored.dispose();

  const x = tensor(new Float32Array(KILOBYTE), [KILOBYTE]);
  const wide = await load(bytes, { device: 'cpu', memoryLimit: 12 * KILOBYTE });
  expect(await wide.memory()).toEqual({ heldBytes: 4 * KILOBYTE, limitBytes: 12 * KILOBYTE });
  expect(((await wide.forward(x)) as Tensor).shape).toEqual([KILOBYTE]);
  expect((await memory()).models).toBe(1);
  expect(wide.place.description).toMatch(/^WebAssembly/);
  await wide.dispose();
  const narrow = await load(bytes, { device: 'cpu', memoryLimit: 12 * KILOBYTE - 1 });
  expect((await failure(narrow.forward(x))).code).toBe('MEMORY_LIMIT');
  await narrow.dispose();
});

it('counts what an operator works in', async () => {
  const source = 'def order(x: Tensor):\n    return torch.topk(x, 1)[0] + torch.mode(x)[0]\n';
  const x = tensor(new Float32Array(64 * KILOBYTE), [64 * KILOBYTE]);
  const wide = await script<'order'>(source, { device: 'cpu', memoryLimit: 2048 * KILOBYTE });
  expect(((await wide.order(x)) as Tensor).shape).toEqual([1]);
  await wide.dispose();
  // The argument takes 256 kB, and as much again what it is worked out of.
  const narrow = await script<'order'>(source, { device: 'cpu', memoryLimit: 700 * KILOBYTE });
  const error = (await failure(narrow.order(x))) as TorchScriptError;
  expect(error.code).toBe('MEMORY_LIMIT');
  expect(error.reason).toMatch(/tried to allocate 262144 bytes beside 5243\d\d bytes/);
  expect(error.message).toContain('torch.mode(x)');
  await narrow.dispose();
});

const FLOATS = 64 * KILOBYTE;

it.each([
  ['fft', 'torch.view_as_real(torch.fft.fft(x))', [FLOATS]],
  ['stft', 'torch.stft(x, 256, return_complex=False)', [FLOATS]],
  ['inv', 'torch.linalg.inv(x + torch.eye(256))', [256, 256]],
  ['svdvals', 'torch.linalg.svdvals(x[:, :8])', [1024, 64]],
  ['matrix_exp', 'torch.linalg.matrix_exp(x[:128, :128])', [256, 256]],
  ['matrix_power', 'torch.linalg.matrix_power(x[:128, :128] / 100, (1 << 60) - 1)', [256, 256]],
  ['gru', 'torch.gru(x, x[:1], [x[:96, 0], x[96:192, 0]], False, 1, 0.0, False, False, False)[0]', [1024, 2, 32]],
  ['matmul', 'x @ x[:, :2]', [256, 256]],
  ['histc', 'torch.histc(x, 1 << 17)', [FLOATS]],
  ['resize_', 'x.clone().resize_([1 << 17])', [FLOATS]],
])('refuses %s the memory that it works in where that is too much', async (_, expression, sizes) => {
  const source = `def work(x: Tensor):\n    return ${expression}\n`;
  const x = tensor(
    Float32Array.from({ length: FLOATS }, (_each, at) => ((at * 37) % 101) / 101),
    sizes,
  );
  const tooMuch = await script<'work'>(source, { device: 'cpu', memoryLimit: 500 * KILOBYTE });
  expect((await failure(tooMuch.work(x))).code).toBe('MEMORY_LIMIT');
  await tooMuch.dispose();
  // What is given up on the way counts no longer: hundreds of steps, and of matrices, fit.
  const enough = await script<'work'>(source, { device: 'cpu', memoryLimit: 8192 * KILOBYTE });
  expect(((await enough.work(x)) as Tensor).shape).not.toHaveLength(0);
  await enough.dispose();
});

it.each([0, -1, Number.NaN])('refuses a limit of %s', async (memoryLimit) => {
  const error = await failure(script(SOURCE, { device: 'cpu', memoryLimit }));
  expect(error.code).toBe('ARGUMENT');
  expect(error.message).toContain("option 'memoryLimit' of script has to be a number above 0");
});
