import { expect, it, vi } from 'vitest';
import { failure } from '../../../test-setup/failure.ts';
import type { Tensor as CoreTensor } from './tensor.ts';

/** Both editions as a page has them that imports both: nothing is shared. */
async function bothEditions() {
  const core = await import('./index.ts');
  vi.resetModules();
  const full = await import('./full.ts');
  expect(full.CressetError).not.toBe(core.CressetError);
  return { core, full };
}

it('a tensor, an error and a module of one edition are known by the other', async () => {
  const { core, full } = await bothEditions();
  const given = core.tensor([1, 2]);
  expect(given).toBeInstanceOf(full.Tensor);
  expect(full.tensor([1])).toBeInstanceOf(core.Tensor);
  expect({}).not.toBeInstanceOf(core.Tensor);

  const unit = await full.script<'double_' | 'fail' | 'take'>(
    `
def double_(x: Tensor):
    return x.mul_(2.0)

def fail(x: Tensor):
    raise ValueError("no")

class Box:
    def __init__(self, n: int):
        self.n = n

def take(box: Box) -> int:
    return box.n
`,
    { worker: false, device: 'cpu' },
  );
  const result = (await unit.double_(given)) as CoreTensor;
  expect(result).toBeInstanceOf(core.Tensor);
  expect(given.tolist()).toEqual([2, 4]);

  const error = await failure(unit.fail(given));
  expect(error).toBeInstanceOf(core.CressetError);
  expect(error).toBeInstanceOf(core.TorchScriptError);
  expect(await failure(unit.take(1))).not.toBeInstanceOf(core.TorchScriptError);
  expect(new Error('other')).not.toBeInstanceOf(core.CressetError);

  vi.resetModules();
  const other = await import('./full.ts');
  const stranger = await (
    await other.script('class Box:\n    def __init__(self, n: int):\n        self.n = n\n', {
      worker: false,
      device: 'cpu',
    })
  ).construct('Box', [1]);
  expect((await failure(unit.take(stranger as never))).message).toContain('object of another program');
});

it('an option that there is not is named', async () => {
  const { core, full } = await bothEditions();
  const bytes = new Uint8Array(4);
  const wrong = [
    core.load(bytes, { device: 'gpu' as 'cpu' }),
    core.load(bytes, { Device: 'cpu' } as object),
    core.loadCheckpoint(bytes, { device: 'cpu' } as object),
    full.estimate(bytes, { onProgress: () => {} } as object),
    full.script('', { file: 'x' } as object),
    full.createModule('Net', { worker: 1 as unknown as boolean }),
    full.trace((x) => x, [], { argumentName: ['x'] } as object),
    full.registerOperator('a::b(Tensor x) -> Tensor', { hots: () => {} } as object),
  ];
  for (const each of wrong) {
    const { code, message } = await failure(each);
    expect([code, message]).toEqual(['ARGUMENT', expect.stringMatching(/option '\w+'/)]);
  }
  expect(() => core.tensor([1], { shap: [1] } as object)).toThrow("tensor has no option 'shap'; it has shape, dtype");
  expect(() => core.setJitOptions({ loglevel: 'x' } as object)).toThrow("setJitOptions has no option 'loglevel'");
});
