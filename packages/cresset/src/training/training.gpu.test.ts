import { readFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import {
  load,
  memory,
  optim,
  registerOperator,
  script,
  shutdown,
  tensor,
  type ScriptModule,
  type TrainerOptions,
} from '../index.ts';
import { batches, distance, distances, fixture, fresh, TOKEN_LOSS } from './training-fixture.ts';

const whole = fixture<{
  readonly mlp: readonly number[];
  readonly transformer: readonly number[];
  readonly digits: readonly number[];
}>('training.json');
const DIGITS = new URL('../../../../apps/playground/public/models/digits.pt', import.meta.url);

afterAll(() => shutdown());

test('a perceptron, which is too small for the device, trains as in PyTorch', async () => {
  const model = await fresh('mlp', 'webgpu');
  const trainer = await model.trainer({ optimizer: optim.SGD({ lr: 0.1, momentum: 0.9 }), loss: 'cross_entropy' });
  const losses: number[] = [];
  for (let at = 0; at < 50; at++) losses.push((await trainer.step(...batches.mlp(at))).loss);
  expect(distance(losses, whole.mlp)).toBeLessThan(1e-3);
  await model.dispose();
});

test('a transformer trains on the device as in PyTorch, a submit and a readback a step', async () => {
  const model = await fresh('transformer', 'webgpu');
  const trainer = await model.trainer({ optimizer: optim.AdamW({ lr: 3e-3 }), loss: TOKEN_LOSS, clipGradNorm: 1e6 });
  const losses: number[] = [];
  const bytes: number[] = [];
  for (let at = 0; at < 200; at++) {
    const { loss, gradNorm } = await trainer.step(...batches.transformer(at));
    expect(gradNorm).toBeGreaterThan(0);
    losses.push(loss);
    bytes.push((await memory()).deviceBytes);
  }
  const { first, last } = distances(losses, whole.transformer);
  expect(first).toBeLessThan(1e-3);
  expect(last).toBeLessThan(0.02);
  const { submits, readbacks, hostFallback } = model.lastRun!;
  expect({ submits, readbacks, hostFallback }).toEqual({ submits: 1, readbacks: 1, hostFallback: [] });
  // What a step needs is given up with it; what the first one recorded is given up when it is collected, which may be later.
  expect(bytes.at(-1)).toBeLessThanOrEqual(bytes[10]);
  await model.dispose();
});

const SWISHING = `
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x: Tensor) -> Tensor:
        return x + ops.gpu_grad_ns.swish(self.linear(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer(), Layer()])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x.square().mean()
`;

test('gradients of a custom operator, of layers that are run again, and with a hook, are those of the host', async () => {
  await registerOperator('gpu_grad_ns::swish(Tensor x) -> Tensor', {
    lowering: 'x * sigmoid(x)',
    backward:
      'def backward(grad, x, result):\n    part = torch.sigmoid(x)\n    return grad * (part + result * (1 - part))\n',
  });
  const unit = await script(SWISHING, { device: 'cpu', worker: false });
  const file = await (await (unit as unknown as { Net(): Promise<ScriptModule> }).Net()).save();
  const x = tensor(
    Float32Array.from({ length: 256 * 64 }, (_, at) => Math.sin(0.7 * at)),
    [256, 64],
  );
  const train = async (
    device: 'cpu' | 'webgpu',
    options: Pick<TrainerOptions, 'checkpoint'>,
    hook?: string,
  ): Promise<number[]> => {
    const model = await load(file, { device, worker: false });
    const trainer = await model.trainer({ optimizer: optim.SGD({ lr: 0.05 }), ...options });
    const losses: number[] = [];
    for (let at = 0; at < 4; at++) {
      // What was known of steps before it is known no more.
      if (hook !== undefined && at === 2) await trainer.registerHook('layers.1.linear.weight', hook);
      losses.push((await trainer.step(x)).loss);
    }
    if (device === 'webgpu') expect(model.lastRun!.hostFallback).toEqual([]);
    await model.dispose();
    return losses;
  };
  const expected = await train('cpu', {});
  expect(distance(await train('webgpu', {}), expected)).toBeLessThan(1e-4);
  expect(distance(await train('webgpu', { checkpoint: ['layers.0', 'layers.1'] }), expected)).toBeLessThan(1e-4);
  const hook = 'def hook(grad):\n    return grad * -20\n';
  const hooked = await train('cpu', {}, hook);
  expect(distance(hooked, expected)).toBeGreaterThan(1e-3);
  expect(distance(await train('webgpu', {}, hook), hooked)).toBeLessThan(1e-4);
});

test('the digit classifier trains on the device as in PyTorch', async () => {
  const model = await load(readFileSync(DIGITS), { device: 'webgpu', worker: false });
  await model.train();
  await model.submodule('dropout').eval();
  const optimizer = optim.SGD({ lr: 0.005, momentum: 0.9 });
  const trainer = await model.trainer({ method: 'logits', optimizer, loss: 'cross_entropy' });
  const losses: number[] = [];
  for (let at = 0; at < 200; at++) losses.push((await trainer.step(...batches.digits(at))).loss);
  const { first, last } = distances(losses, whole.digits);
  expect(first).toBeLessThan(1e-3);
  expect(last).toBeLessThan(0.02);
  await model.dispose();
});
