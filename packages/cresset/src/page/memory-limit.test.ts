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
  // The argument takes 256 kB, and its elements as doubles twice that.
  const narrow = await script<'order'>(source, { device: 'cpu', memoryLimit: 700 * KILOBYTE });
  const error = (await failure(narrow.order(x))) as TorchScriptError;
  expect(error.code).toBe('MEMORY_LIMIT');
  expect(error.reason).toMatch(/tried to allocate 524288 bytes beside 2621\d\d bytes/);
  expect(error.message).toContain('torch.mode(x)');
  await narrow.dispose();
});

it.each([0, -1, Number.NaN])('refuses a limit of %s', async (memoryLimit) => {
  const error = await failure(script(SOURCE, { device: 'cpu', memoryLimit }));
  expect(error.code).toBe('ARGUMENT');
  expect(error.message).toContain("option 'memoryLimit' of script has to be a number above 0");
});
