import { expect, it, vi } from 'vitest';
import { failure } from '../../../test-setup/failure.ts';
import type { Tensor as OtherTensor } from './page/values/tensor.ts';

/** Two copies of the library, as a page has them that gets it from two bundles: nothing is shared. */
async function twoCopies() {
  const one = await import('./index.ts');
  vi.resetModules();
  const other = await import('./index.ts');
  expect(other.CressetError).not.toBe(one.CressetError);
  return { one, other };
}

it('a tensor, an error and a module of one copy are known by the other', async () => {
  const { one, other } = await twoCopies();
  const given = one.tensor([1, 2]);
  expect(given).toBeInstanceOf(other.Tensor);
  expect(other.tensor([1])).toBeInstanceOf(one.Tensor);
  expect({}).not.toBeInstanceOf(one.Tensor);

  const unit = await other.script<'double_' | 'fail' | 'take'>(
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
  const result = (await unit.double_(given)) as OtherTensor;
  expect(result).toBeInstanceOf(one.Tensor);
  expect(given.tolist()).toEqual([2, 4]);

  const error = await failure(unit.fail(given));
  expect(error).toBeInstanceOf(one.CressetError);
  expect(error).toBeInstanceOf(one.TorchScriptError);
  expect(await failure(unit.take(1))).not.toBeInstanceOf(one.TorchScriptError);
  expect(new Error('other')).not.toBeInstanceOf(one.CressetError);

  vi.resetModules();
  const third = await import('./index.ts');
  const stranger = await (
    await third.script('class Box:\n    def __init__(self, n: int):\n        self.n = n\n', {
      worker: false,
      device: 'cpu',
    })
  ).construct('Box', [1]);
  expect((await failure(unit.take(stranger as never))).message).toContain('object of another program');
});

it('an option that there is not is named', async () => {
  const { one, other } = await twoCopies();
  const bytes = new Uint8Array(4);
  const wrong = [
    one.load(bytes, { device: 'gpu' as 'cpu' }),
    one.load(bytes, { Device: 'cpu' } as object),
    one.loadCheckpoint(bytes, { device: 'cpu' } as object),
    other.estimate(bytes, { onProgress: () => {} } as object),
    other.script('', { file: 'x' } as object),
    other.createModule('Net', { worker: 1 as unknown as boolean }),
    other.trace((x) => x, [], { argumentName: ['x'] } as object),
    other.registerOperator('a::b(Tensor x) -> Tensor', { hots: () => {} } as object),
  ];
  for (const { code, message } of await Promise.all(wrong.map(failure))) {
    expect([code, message]).toEqual(['ARGUMENT', expect.stringMatching(/option '\w+'/)]);
  }
  expect(() => one.tensor([1], { shap: [1] } as object)).toThrow("tensor has no option 'shap'; it has shape, dtype");
  expect(() => one.setJitOptions({ loglevel: 'x' } as object)).toThrow("setJitOptions has no option 'loglevel'");
});
