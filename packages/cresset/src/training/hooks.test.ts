import { afterAll, expect, test } from 'vitest';
import { optim, script, shutdown, tensor, type ScriptModule, type Trainer } from '../index.ts';
import { failure } from '../../../../test-setup/failure.ts';

afterAll(() => shutdown());

const PROGRAM = `
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.bias = nn.Parameter(torch.tensor([0.0, 0.0]))

    def forward(self, x: Tensor) -> Tensor:
        return (self.weight * x + self.bias).sum()
`;

async function open(options = {}): Promise<{ model: ScriptModule; trainer: Trainer; weight: () => Promise<number[]> }> {
  const unit = await script(PROGRAM, { device: 'cpu', worker: false });
  const model = await (unit as unknown as { Net(): Promise<ScriptModule> }).Net();
  const trainer = await model.trainer({ optimizer: optim.SGD({ lr: 1 }), ...options });
  return { model, trainer, weight: async () => (await model.parameter('weight')).tolist() as number[] };
}

const x = tensor([3, 5]);

test('hooks see gradients in their order, and are called no longer once they were removed', async () => {
  const { trainer, weight } = await open();
  const doubled = await trainer.registerHook('weight', 'def hook(grad):\n    return grad * 2\n');
  await trainer.registerHook('weight', 'def hook(grad):\n    return grad + 1\n');
  await trainer.registerHook('weight', 'def hook(grad) -> None:\n    assert grad.dim() == 1\n');
  await trainer.step(x);
  expect(await weight()).toEqual([1 - 7, 2 - 11]);
  await doubled.remove();
  await trainer.step(x);
  expect(await weight()).toEqual([-6 - 4, -9 - 6]);
});

test('a hook comes before gradients are added up, and before they are clipped', async () => {
  const { trainer, weight } = await open({ clipGradValue: 4 });
  await trainer.registerHook('weight', 'def hook(grad):\n    return grad / 2\n');
  await trainer.step(x, undefined, { accumulate: true });
  await trainer.step(x);
  expect(await weight()).toEqual([1 - 3, 2 - 4]);
});

test('what a hook gives wrong, or where there can be none, is told in the words of PyTorch', async () => {
  const { model, trainer, weight } = await open();
  const wrong = async (body: string): Promise<string> => {
    const handle = await trainer.registerHook('weight', `def mine(grad):\n    return ${body}\n`);
    const { message } = await failure(trainer.step(x));
    await handle.remove();
    return message;
  };
  expect(await wrong('grad.sum()')).toContain("hook 'mine' has changed the size of value");
  expect(await wrong('grad.double()')).toContain(
    "hook 'mine' has changed the type of value (was torch.FloatTensor got torch.DoubleTensor)",
  );
  expect(await weight()).toEqual([1, 2]);
  expect((await failure(trainer.registerHook('no', 'def f(grad):\n    return grad\n'))).message).toBe(
    "there is no parameter 'no'",
  );
  await model.requiresGrad_(false);
  expect((await failure(trainer.registerHook('weight', 'def f(grad):\n    return grad\n'))).message).toContain(
    "cannot register a hook on a tensor that doesn't require gradient",
  );
  await expect(
    script('def f(x: Tensor):\n    x.register_hook(f)\n    return x\n', { device: 'cpu', worker: false }),
  ).rejects.toThrow("'Tensor' object has no attribute or method 'register_hook'.");
});

test('a step that is aborted leaves what the steps before and after it do', async () => {
  const { trainer, weight } = await open();
  const controller = new AbortController();
  const first = trainer.step(x);
  const second = trainer.step(x, undefined, { signal: controller.signal });
  const third = trainer.step(x);
  controller.abort();
  await first;
  await expect(second).rejects.toMatchObject({ name: 'AbortError' });
  await third;
  expect(await weight()).toEqual([1 - 6, 2 - 10]);
});
