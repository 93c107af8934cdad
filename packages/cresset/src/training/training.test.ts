import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import {
  load,
  loadCheckpoint,
  lrScheduler,
  optim,
  script,
  shutdown,
  tensor,
  type Output,
  type ScriptModule,
  type Tensor,
} from '../index.ts';
import { batches, distance, distances, fixture, fixtureBytes, fresh, TOKEN_LOSS } from './training-fixture.ts';

interface Whole {
  readonly mlp: readonly number[];
  readonly 'mlp state': Readonly<Record<string, readonly number[]>>;
  readonly transformer: readonly number[];
  readonly digits: readonly number[];
  readonly 'after state': readonly number[];
}

const whole = fixture<Whole>('training.json');
const DIGITS = new URL('../../../../apps/playground/public/models/digits.pt', import.meta.url);

afterAll(() => shutdown());

const numbers = (value: Output): number[] => Array.from((value as Tensor).data as Float32Array);

describe('losses are those of PyTorch', () => {
  test('of a perceptron with batch norm, whose statistics come to be the same', async () => {
    const model = await fresh('mlp');
    const trainer = await model.trainer({ optimizer: optim.SGD({ lr: 0.1, momentum: 0.9 }), loss: 'cross_entropy' });
    const losses: number[] = [];
    for (let at = 0; at < 50; at++) losses.push((await trainer.step(...batches.mlp(at))).loss);
    expect(distance(losses, whole.mlp)).toBeLessThan(1e-3);
    expect((await model.parameter('norm.num_batches_tracked')).item()).toBe(50);
    for (const name of ['norm.running_mean', 'norm.running_var', 'second.bias']) {
      expect(distance(numbers(await model.parameter(name)), whole['mlp state'][name])).toBeLessThan(1e-2);
    }
  });

  test('of a transformer, with a loss in source', async () => {
    const model = await fresh('transformer');
    const trainer = await model.trainer({ optimizer: optim.AdamW({ lr: 3e-3 }), loss: TOKEN_LOSS });
    const losses: number[] = [];
    for (let at = 0; at < 200; at++) losses.push((await trainer.step(...batches.transformer(at))).loss);
    const { first, last } = distances(losses, whole.transformer);
    expect(first).toBeLessThan(1e-3);
    expect(last).toBeLessThan(0.02);
    const { dispatches, replayed } = model.lastRun!;
    expect(replayed).toBe(dispatches);
  });

  test('of the digit classifier, by another method than forward', async () => {
    const model = await load(readFileSync(DIGITS), { device: 'cpu', worker: false });
    await model.train();
    await model.submodule('dropout').eval();
    const optimizer = optim.SGD({ lr: 0.005, momentum: 0.9 });
    const trainer = await model.trainer({ method: 'logits', optimizer, loss: 'cross_entropy' });
    const losses: number[] = [];
    for (let at = 0; at < 200; at++) losses.push((await trainer.step(...batches.digits(at))).loss);
    const { first, last } = distances(losses, whole.digits);
    expect(first).toBeLessThan(1e-3);
    expect(last).toBeLessThan(0.02);
  });
});

describe('a trained module', () => {
  test('is saved as it is, and computes the same', async () => {
    const model = await fresh('mlp');
    const trainer = await model.trainer({ optimizer: optim.AdamW({ lr: 0.02 }), loss: 'cross_entropy' });
    for (let at = 0; at < 3; at++) await trainer.step(...batches.mlp(at));
    await trainer.dispose();
    await model.eval();
    const [x] = batches.mlp(9);
    const expected = numbers(await model.forward(x));
    const loaded = await load(await model.save(), { device: 'cpu', worker: false });
    // Kernels that were made for the shapes of the steps round otherwise than those of a first call.
    expect(distance(numbers(await loaded.forward(x)), expected)).toBeLessThan(1e-4);
    expect(loaded.namedParameters().every(({ requiresGrad }) => requiresGrad)).toBe(true);
  });

  test('goes on with the state that PyTorch saved', async () => {
    const model = await fresh('mlp-after-5');
    const optimizer = optim.AdamW({ lr: 0.02, amsgrad: true });
    const trainer = await model.trainer({ optimizer, loss: 'cross_entropy' });
    await trainer.load(fixtureBytes('state.pt'));
    const losses: number[] = [];
    for (let at = 5; at < 10; at++) losses.push((await trainer.step(...batches.mlp(at))).loss);
    expect(distance(losses, whole['after state'])).toBeLessThan(1e-4);
  });

  test('goes on with the state that was saved here, groups among it', async () => {
    const model = await fresh('mlp');
    const options = { loss: 'cross_entropy', optimizer: optim.SGD({ lr: 0.1, momentum: 0.9 }) } as const;
    const trainer = await model.trainer(options);
    trainer.paramGroups[0].lr = 0.03;
    await trainer.step(...batches.mlp(0));
    const file = await trainer.save();
    const [state, copy] = [await trainer.stateDict(), await load(await model.save(), { device: 'cpu', worker: false })];
    expect(Object.keys(state.state)).toHaveLength(6);
    const tensors = await loadCheckpoint(file, { worker: false });
    expect([...tensors.keys()]).toEqual(Object.keys(state.state).map((index) => `state.${index}.momentum_buffer`));
    const others = [
      await copy.trainer(options),
      await (await load(await copy.save(), { device: 'cpu', worker: false })).trainer(options),
    ];
    await others[0].load(file);
    await others[1].loadStateDict(state);
    const { loss } = await trainer.step(...batches.mlp(1));
    const next = (await trainer.step(...batches.mlp(2))).loss;
    for (const other of others) {
      expect(other.lr).toBe(0.03);
      // A trainer's first step goes operator by operator and later ones are fused, which rounds otherwise.
      expect((await other.step(...batches.mlp(1))).loss).toBeCloseTo(loss, 6);
      expect((await other.step(...batches.mlp(2))).loss).toBeCloseTo(next, 5);
    }
    await expect(trainer.loadStateDict({ ...state, state: { 9: state.state[0] } })).rejects.toMatchObject({
      code: 'STATE_DICT',
    });
  });
});

const REGULARIZED = `
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.norm = nn.BatchNorm1d(6)
        self.dropout = nn.Dropout(0.4)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.dropout(F.relu(self.norm(self.linear(x))))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.head = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(F.dropout(x, 0.3, self.training))
`;

describe('checkpoints', () => {
  test('change neither losses nor statistics, whatever is drawn at random', async () => {
    const unit = await script(REGULARIZED, { device: 'cpu', worker: false });
    const made = await (unit as unknown as { Net(): Promise<ScriptModule> }).Net();
    const file = await made.save();
    const train = async (checkpoint: readonly string[]): Promise<{ losses: number[]; state: number[][] }> => {
      const model = await load(file, { device: 'cpu', worker: false });
      const trainer = await model.trainer({ optimizer: optim.SGD({ lr: 0.1 }), loss: 'cross_entropy', checkpoint });
      const losses: number[] = [];
      for (let at = 0; at < 4; at++) losses.push((await trainer.step(...batches.mlp(at))).loss);
      const names = ['norm.num_batches_tracked', 'norm.running_mean', 'norm.running_var', 'linear.weight'];
      const state = names.map(async (name) => numbers(await model.parameter(`layers.1.${name}`)));
      return { losses, state: await Promise.all(state) };
    };
    const kept = await train([]);
    expect(kept.state[0].map(Number)).toEqual([4]);
    expect(await train(['layers.0'])).toEqual(kept);
    expect(await train(['layers.0', 'layers.1', 'head'])).toEqual(kept);
  });

  test('are of modules that are there and are called', async () => {
    const model = await fresh('transformer');
    const optimizer = optim.SGD({ lr: 0.1 });
    await expect(model.trainer({ optimizer, checkpoint: ['blocks.2'] })).rejects.toMatchObject({ code: 'NO_MODULE' });
    await expect(model.trainer({ optimizer, checkpoint: ['blocks'] })).rejects.toMatchObject({
      code: 'METHOD_NOT_FOUND',
    });
  });
});

describe('a step', () => {
  test('that is aborted changes no parameter', async () => {
    const model = await fresh('mlp');
    const trainer = await model.trainer({ optimizer: optim.SGD({ lr: 0.1 }), loss: 'cross_entropy' });
    const before = numbers(await model.parameter('first.weight'));
    const controller = new AbortController();
    const step = trainer.step(...batches.mlp(0), { signal: controller.signal });
    controller.abort();
    await expect(step).rejects.toMatchObject({ name: 'AbortError' });
    expect(numbers(await model.parameter('first.weight'))).toEqual(before);
    expect((await trainer.step(...batches.mlp(0))).loss).toBeGreaterThan(0);
  });

  test('adds gradients up to those of the next', async () => {
    const [whole, halves] = [await fresh('transformer'), await fresh('transformer')];
    const sum = TOKEN_LOSS.replace(')\n', ", reduction='sum')\n");
    const options = { optimizer: optim.SGD({ lr: 1e-3 }), loss: sum };
    const [once, twice] = [await whole.trainer(options), await halves.trainer(options)];
    const [x, y] = batches.transformer(0);
    await once.step(x, y);
    const half = (of: Tensor, at: number): Tensor => tensor(of.data.slice(16 * at, 16 * at + 16), [2, 8]);
    await twice.step(half(x, 0), half(y, 0), { accumulate: true });
    await twice.step(half(x, 1), half(y, 1));
    const names = ['words.weight', 'blocks.1.down.bias'];
    for (const name of names) {
      const [one, two] = [numbers(await whole.parameter(name)), numbers(await halves.parameter(name))];
      two.forEach((value, at) => expect(value).toBeCloseTo(one[at], 5));
    }
  });

  test('gives what the method gave, and leaves alone what is frozen', async () => {
    const model = await fresh('mlp');
    await model.submodule('first').requiresGrad_(false);
    expect(
      model
        .namedParameters()
        .filter(({ requiresGrad }) => !requiresGrad)
        .map(({ name }) => name),
    ).toEqual(['first.weight', 'first.bias']);
    const before = numbers(await model.parameter('first.weight'));
    const scheduler = lrScheduler.ExponentialLR({ gamma: 0.5 });
    const trainer = await model.trainer({ optimizer: optim.SGD({ lr: 0.1 }), loss: 'cross_entropy', scheduler });
    expect(trainer.paramGroups[0].params).toEqual(['norm.weight', 'norm.bias', 'second.weight', 'second.bias']);
    const { output } = await trainer.step(...batches.mlp(0), { output: true });
    expect((output as Tensor).shape).toEqual([10, 4]);
    trainer.scheduler!.step();
    expect(trainer.lr).toBe(0.05);
    expect(numbers(await model.parameter('first.weight'))).toEqual(before);
  });

  test('fails with the errors of PyTorch', async () => {
    const model = await fresh('mlp');
    const [x, y] = batches.mlp(0);
    const optimizer = optim.SGD({ lr: 0.1 });
    const none = await model.trainer({ optimizer });
    await expect(none.step(x)).rejects.toThrow('grad can be implicitly created only for scalar outputs');
    await expect(none.step(x, y)).rejects.toThrow('there is a target, but no loss');
    const trainer = await model.trainer({ optimizer, loss: 'cross_entropy' });
    await expect(trainer.step(tensor([1, 2, 3]), y)).rejects.toMatchObject({ name: 'TorchScriptError' });
    await expect(model.trainer({ optimizer, loss: 'no_such_loss' })).rejects.toThrow();
    await trainer.dispose();
    await expect(trainer.step(x, y)).rejects.toMatchObject({ code: 'TRAINER_DISPOSED' });
  });
});

const PROGRAM = `
class Cubes(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([2.0, 3.0]))
        self.unused = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor, n: int = 3) -> Tensor:
        return self.weight * x ** n

    @torch.jit.export
    def total(self, x: Tensor) -> Tensor:
        return self.forward(x).sum()
`;

test('gradients of a call, by parameters and inputs', async () => {
  const unit = await script(PROGRAM, { device: 'cpu', worker: false });
  const model = await (unit as unknown as { Cubes(): Promise<ScriptModule> }).Cubes();
  const x = tensor([1, 2]);
  const { output, loss, grads, inputGrads } = await model.grad(x, { method: 'total' });
  expect([(output as Tensor).item(), loss]).toEqual([26, null]);
  expect([...grads].map(([name, each]) => [name, numbers(each)])).toEqual([['weight', [1, 8]]]);
  expect(inputGrads.map((each) => each && numbers(each))).toEqual([[6, 36]]);

  const product = await model.grad([x, 2], { gradient: tensor([1, 10]) });
  expect(numbers(product.grads.get('weight')!)).toEqual([1, 40]);
  expect(product.inputGrads.map((each) => each && numbers(each))).toEqual([[4, 120], null]);

  const squared = await model.grad(x, { loss: 'mse_loss', target: tensor([0, 0]) });
  expect(squared.loss).toBe((2 ** 2 + 24 ** 2) / 2);
  expect(numbers(squared.inputGrads[0]!)).toEqual([12, 24 * 36]);
  await expect(model.grad(x)).rejects.toThrow('grad can be implicitly created only for scalar outputs');
});
