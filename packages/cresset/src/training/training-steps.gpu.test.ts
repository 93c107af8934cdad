import { afterAll, describe, expect, test } from 'vitest';
import { memory, optim, script, shutdown, tensor, type ScriptModule, type Tensor } from '../index.ts';
import { fresh, batches, TOKEN_LOSS } from './training-fixture.ts';

const PROGRAM = `
class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.second = nn.Linear(64, 64)
        self.third = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.third(torch.relu(self.second(torch.relu(self.first(x)))))

class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 16, 3, padding=1)
        self.last = nn.Linear(256, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(torch.relu(self.first(x)), 2)
        x = F.max_pool2d(torch.relu(self.second(x)), 2)
        return self.last(x.flatten(1))
`;

const LOSS = `
def loss(scores, target):
    return F.cross_entropy(scores, target)
`;

afterAll(() => shutdown());

const sines = (...shape: number[]): Tensor => {
  const count = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length: count }, (_, at) => Math.sin(0.7 * at)),
    shape,
  );
};
const labels = (count: number): Tensor =>
  tensor(
    Array.from({ length: count }, (_, at) => (3 * at) % 10),
    { dtype: 'int64' },
  );

type Made = Readonly<Record<'Mlp' | 'Pictures', () => Promise<ScriptModule>>>;

const made = async (name: keyof Made): Promise<ScriptModule> =>
  ((await script(PROGRAM, { device: 'webgpu', worker: false })) as unknown as Made)[name]();

const models = {
  mlp: { open: () => made('Mlp'), loss: LOSS, batch: () => [sines(64, 32), labels(64)] as const },
  pictures: { open: () => made('Pictures'), loss: LOSS, batch: () => [sines(16, 1, 16, 16), labels(16)] as const },
  transformer: { open: () => fresh('transformer', 'webgpu'), loss: TOKEN_LOSS, batch: () => batches.transformer(0) },
};

/** Bytes of the perceptron's. */
const parameters = 4 * (32 * 64 + 64 + 64 * 64 + 64 + 64 * 10 + 10);

// The first: memory of a device is counted for all that uses it, and what other models held is freed when it is collected.
test('the memory of a thousand steps is that of ten', async () => {
  const model = await made('Mlp');
  const before = (await model.memory()).heldBytes;
  const trainer = await model.trainer({ optimizer: optim.Adam({ lr: 1e-3 }), loss: LOSS });
  const [x, target] = models.mlp.batch();
  const bytes: { readonly deviceBytes: number; readonly pooledBytes: number; readonly held: number }[] = [];
  let last = Infinity;
  for (let at = 1; at <= 1000; at++) {
    const { loss } = await trainer.step(x, target);
    if (at === 10) last = loss;
    if (at % 330 === 10) {
      const { deviceBytes, pooledBytes } = await memory();
      bytes.push({ deviceBytes, pooledBytes, held: (await model.memory()).heldBytes });
    }
    if (at === 1000) expect(loss).toBeLessThan(last / 2);
  }
  expect(bytes).toHaveLength(4);
  const [ten, ...later] = bytes;
  for (const { deviceBytes, pooledBytes, held } of later) {
    expect(held).toBe(ten.held);
    // What the first step recorded is given up when it is collected: a buffer in use becomes one of the pool, of a rounded size.
    expect(deviceBytes).toBeLessThanOrEqual(ten.deviceBytes);
    expect(deviceBytes + pooledBytes).toBeLessThan(1.01 * (ten.deviceBytes + ten.pooledBytes));
  }
  // Two tensors for each parameter are the optimiser's.
  expect((await model.memory()).heldBytes - before).toBe(2 * parameters);
  await trainer.dispose();
  expect((await model.memory()).heldBytes).toBe(before);
  await model.dispose();
});

test('what the optimiser keeps in one buffer is a tensor for each parameter to whoever asks, and comes back from a file', async () => {
  const [model, other] = [await made('Mlp'), await made('Mlp')];
  const options = { optimizer: optim.Adam({ lr: 1e-2 }), loss: LOSS };
  const trainer = await model.trainer(options);
  const [x, target] = models.mlp.batch();
  for (let at = 0; at < 4; at++) await trainer.step(x, target);
  await other.loadStateDict(await model.stateDict());
  const next = await other.trainer(options);
  const file = await trainer.save();
  // Two floats for each element of a parameter, once.
  expect(file.byteLength).toBeGreaterThan(2 * parameters);
  expect(file.byteLength).toBeLessThan(2 * parameters + 20_000);
  await next.load(file);
  expect((await next.stateDict()).state).toEqual((await trainer.stateDict()).state);
  for (let at = 0; at < 4; at++)
    expect((await next.step(x, target)).loss).toBeCloseTo((await trainer.step(x, target)).loss, 4);
  expect(other.lastRun).toMatchObject({ dispatches: 6, replayed: 6 });
  for (const each of [model, other]) await each.dispose();
});

describe.each(Object.keys(models) as (keyof typeof models)[])('of %s', (name) => {
  const { open, loss, batch } = models[name];
  // With eight storage buffers to a launch as with more.
  const counted = { mlp: [3, 6], pictures: [4, 9], transformer: [11, 29] }[name];
  // The host looks up few rows of parameters that lie there; of those that were trained the device does.
  const afterwards = { mlp: 3, pictures: 4, transformer: 12 }[name];

  test('a step is one submit, one readback and few dispatches, all of them replayed', async () => {
    const model = await open();
    const [x, target] = batch();
    for (let call = 0; call < 4; call++) await model.forward(x);
    const forward = model.lastRun!.dispatches;
    const trainer = await model.trainer({ optimizer: optim.AdamW({ lr: 1e-3 }), loss });
    for (let at = 0; at < 5; at++) await trainer.step(x, target);
    const { dispatches, replayed, submits, readbacks, hostFallback, hostSmall } = model.lastRun!;
    expect([forward, dispatches]).toEqual(counted);
    expect({ replayed, submits, readbacks, hostFallback, hostSmall }).toEqual({
      replayed: dispatches,
      submits: 1,
      readbacks: 1,
      hostFallback: [],
      hostSmall: [],
    });
    await trainer.dispose();
    await model.requiresGrad_(false);
    for (let call = 0; call < 4; call++) await model.forward(x);
    expect(model.lastRun).toMatchObject({ dispatches: afterwards, replayed: afterwards });
    await model.dispose();
  });
});
