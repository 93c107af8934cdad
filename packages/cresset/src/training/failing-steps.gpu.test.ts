import { afterAll, expect, test } from 'vitest';
import { optim, registerOperator, script, shutdown, tensor, type ScriptModule, type Tensor } from '../index.ts';

const PROGRAM = `
class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 64)
        self.first = nn.Linear(64, 64)
        self.last = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.relu(self.first(self.embedding(x))))

class Computed(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = Tokens()

    def forward(self, x: Tensor) -> Tensor:
        return self.tokens(x * 3 - x * 2)
`;

type Name = 'Tokens' | 'Computed';

/** What is out of range of `Tokens` is known before a step begins, of `Computed` on the device alone. */
const KINDS = [
  { name: 'Tokens', optimizer: optim.SGD({ lr: 0.1, momentum: 0.9 }) },
  { name: 'Computed', optimizer: optim.AdamW({ lr: 1e-2 }) },
] as const;

const BAD = [
  {
    tokensOf: (of: readonly number[]) => of,
    classesOf: (of: readonly number[]) => of.with(3, 10),
    message: 'Target 10 is out of bounds.',
  },
  {
    tokensOf: (of: readonly number[]) => of.with(2, 20),
    classesOf: (of: readonly number[]) => of,
    message: 'index out of range in self',
  },
];

const ints = (values: readonly number[]): Tensor => tensor([...values], { dtype: 'int64' });
const tokens = Array.from({ length: 32 }, (_, at) => (7 * at) % 20);
const classes = Array.from({ length: 32 }, (_, at) => (3 * at) % 10);

afterAll(() => shutdown());

async function made(name: Name): Promise<ScriptModule> {
  const unit = await script(PROGRAM, { device: 'webgpu', worker: false });
  return (unit as unknown as Record<Name, () => Promise<ScriptModule>>)[name]();
}

/** Every parameter, as it is now. */
async function parametersOf(model: ScriptModule): Promise<Record<string, number[]>> {
  const state = await model.stateDict();
  return Object.fromEntries([...state].map(([name, { data }]) => [name, Array.from(data as Float32Array)]));
}

async function twins(name: Name): Promise<readonly [ScriptModule, ScriptModule]> {
  const [model, other] = [await made(name), await made(name)];
  await other.loadStateDict(await model.stateDict());
  return [model, other];
}

async function expectAlike(model: ScriptModule, other: ScriptModule): Promise<void> {
  const expected = await parametersOf(other);
  for (const [name, values] of Object.entries(await parametersOf(model))) {
    values.forEach((value, at) => expect(Math.abs(value - expected[name][at]), name).toBeLessThan(1e-4));
  }
}

test.each(KINDS)(
  'a step of $name that fails on the device is one that was not asked for, whether it is the first or replayed',
  async ({ name, optimizer }) => {
    for (const { tokensOf, classesOf, message } of BAD) {
      const [model, other] = await twins(name);
      const options = { optimizer, loss: 'cross_entropy' } as const;
      const [trainer, same] = [await model.trainer(options), await other.trainer(options)];
      const fail = async (): Promise<void> => {
        const before = [await parametersOf(model), await trainer.stateDict()];
        await expect(trainer.step(ints(tokensOf(tokens)), ints(classesOf(classes)))).rejects.toThrow(message);
        expect([await parametersOf(model), await trainer.stateDict()]).toEqual(before);
      };
      await fail();
      for (let at = 0; at < 6; at++) {
        await trainer.step(ints(tokens), ints(classes));
        await same.step(ints(tokens), ints(classes));
        if (at === 0 || at === 3) await fail();
      }
      await expectAlike(model, other);
      await model.dispose();
      await other.dispose();
    }
  },
);

const OWN = `
class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full([64, 4], 0.5))

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        return (ops.failing_ns.looked(x @ self.weight, at) ** 2).mean()
`;

test('a step whose derivatives of an operator of the page fail, and nothing before them, changes nothing', async () => {
  await registerOperator('failing_ns::looked(Tensor x, Tensor at) -> Tensor', {
    lowering: 'x * 2 + at * 0',
    backward: 'def backward(grad, at):\n    return grad * 2 * torch.index_select(torch.ones([4]), 0, at), None\n',
  });
  const unit = await script(OWN, { device: 'webgpu', worker: false });
  const model = await (unit as unknown as { Own(): Promise<ScriptModule> }).Own();
  const trainer = await model.trainer({ optimizer: optim.AdamW({ lr: 1e-2 }) });
  const x = tensor(new Float32Array(64 * 64).fill(0.1), [64, 64]);
  const fail = async (): Promise<void> => {
    const before = [await parametersOf(model), await trainer.stateDict()];
    await expect(trainer.step([x, ints([0, 1, 4, 3])])).rejects.toThrow('index out of range');
    expect([await parametersOf(model), await trainer.stateDict()]).toEqual(before);
  };
  await fail();
  let least = Infinity;
  for (let at = 0; at < 5; at++) {
    const { loss } = await trainer.step([x, ints([0, 1, 2, 3])]);
    expect(loss).toBeLessThan(least);
    least = loss;
    if (at === 0 || at === 3) await fail();
  }
  await model.dispose();
});

test('gradients that were added up stay as they were where a step fails that would add to them, or use them', async () => {
  const [model, other] = await twins('Tokens');
  const options = { optimizer: KINDS[0].optimizer, loss: 'cross_entropy' } as const;
  const [trainer, same] = [await model.trainer(options), await other.trainer(options)];
  const bad = ints(classes.with(3, 10));
  const accumulate = { accumulate: true };
  await expect(trainer.step(ints(tokens), bad, accumulate)).rejects.toThrow('Target 10');
  for (let at = 0; at < 3; at++) {
    await trainer.step(ints(tokens), ints(classes), accumulate);
    await same.step(ints(tokens), ints(classes), accumulate);
    await expect(trainer.step(ints(tokens), bad, accumulate)).rejects.toThrow('Target 10');
  }
  await expect(trainer.step(ints(tokens), bad)).rejects.toThrow('Target 10');
  await trainer.step(ints(tokens), ints(classes));
  await same.step(ints(tokens), ints(classes));
  await expectAlike(model, other);
  await model.dispose();
  await other.dispose();
});

test('a step that is aborted was not made, or made whole, and the next one is right', async () => {
  const [model, other] = await twins('Tokens');
  const options = { optimizer: KINDS[0].optimizer, loss: 'cross_entropy' } as const;
  const [trainer, same] = [await model.trainer(options), await other.trainer(options)];
  const step = (of: typeof trainer, signal?: AbortSignal) =>
    of.step(ints(tokens), ints(classes), signal ? { signal } : {});
  for (let made = 0; made < 3; made++) for (const each of [trainer, same]) await step(each);
  // At once; while the step is on its way to the device; when it is there.
  for (const turns of [0, 1, 3, 6]) {
    const before = await parametersOf(model);
    const controller = new AbortController();
    const work = step(trainer, controller.signal).catch((error: Error) => error.name);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    controller.abort();
    if (turns === 0) expect(await work).toBe('AbortError');
    await work;
    const isMade = JSON.stringify(await parametersOf(model)) !== JSON.stringify(before);
    if (isMade) await step(same);
    for (const each of [trainer, same]) await step(each);
    await expectAlike(model, other);
  }
  await model.dispose();
  await other.dispose();
});
