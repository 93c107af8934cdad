import { afterAll, expect, test } from 'vitest';
import { memory, optim, script, shutdown, tensor, type ScriptModule } from '../index.ts';
import { failure } from '../../../../test-setup/failure.ts';

afterAll(() => shutdown());

const SIZE = 512;
const PROGRAM = `
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full([${SIZE}, ${SIZE}], 0.001))

    def forward(self, x: Tensor) -> Tensor:
        for i in range(48):
            x = torch.tanh(x @ self.weight)
        return x.sum()
`;

const x = tensor(
  Float32Array.from({ length: SIZE * SIZE }, (_, at) => (at % 7) / 7),
  [SIZE, SIZE],
);

async function open(): Promise<ScriptModule> {
  const unit = await script(PROGRAM, { device: 'cpu', worker: false });
  return (unit as unknown as { Net(): Promise<ScriptModule> }).Net();
}

/** Milliseconds of the processor, or by the clock where that says less, from an abort to the end of the work. */
async function millisecondsToEnd(work: Promise<unknown>, controller: AbortController): Promise<number> {
  const wall = performance.now();
  const cpu = process.cpuUsage();
  controller.abort();
  expect(await failure(work)).toMatchObject({ name: 'AbortError' });
  const { user, system } = process.cpuUsage(cpu);
  return Math.min(performance.now() - wall, (user + system) / 1000);
}

const afterwhile = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

test('gradients end within 200 ms of an abort, and leave nothing behind', async () => {
  const model = await open();
  for (const milliseconds of [50, 600, 600, 300]) {
    const controller = new AbortController();
    const work = model.grad([x], { signal: controller.signal });
    await afterwhile(milliseconds);
    expect(await millisecondsToEnd(work, controller)).toBeLessThan(200);
    // What was under way when the run ended ends after it.
    await expect.poll(async () => (await memory()).deviceBytes).toBe(4 * SIZE * SIZE);
  }
});

test('a first step of training does too, and changes nothing', async () => {
  const model = await open();
  const trainer = await model.trainer({ optimizer: optim.SGD({ lr: 1 }) });
  const controller = new AbortController();
  const work = trainer.step(x, undefined, { signal: controller.signal });
  await afterwhile(100);
  expect(await millisecondsToEnd(work, controller)).toBeLessThan(200);
  const weights = (await model.parameter('weight')).data as Float32Array;
  expect(weights.every((value) => value === Math.fround(0.001))).toBe(true);
});

/** Two parameters that a step changes at different times: the weight of the last product long before the one of all others. */
const TWO = `
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full([${SIZE}, ${SIZE}], 0.001))
        self.last = nn.Parameter(torch.full([${SIZE}, 4], 0.01))

    def forward(self, x: Tensor) -> Tensor:
        for i in range(6):
            x = torch.tanh(x @ self.weight)
        return (x @ self.last).sum()
`;

test('so does one that is replayed: it was not made, or made whole, and the next one is right', async () => {
  const unit = await script(TWO, { device: 'cpu', worker: false });
  const make = (unit as unknown as { Two(): Promise<ScriptModule> }).Two;
  const options = { optimizer: optim.SGD({ lr: 1e-4, momentum: 0.9 }) };
  const elementsOf = async (model: ScriptModule): Promise<number[]> =>
    Promise.all(['weight', 'last'].map(async (name) => ((await model.parameter(name)).data as Float32Array)[0]));
  // What parameters are after each step that is made.
  const expected: number[][] = [];
  const other = await make();
  const same = await other.trainer(options);
  let duration = 0;
  for (let step = 0; step < 8; step++) {
    expected.push(await elementsOf(other));
    const start = performance.now();
    await same.step(x);
    duration = performance.now() - start;
  }
  await other.dispose();

  const model = await make();
  const trainer = await model.trainer(options);
  let made = 0;
  for (; made < 3; made++) await trainer.step(x);
  for (const share of [0.1, 0.6, 0.8]) {
    const controller = new AbortController();
    let isOver = false;
    const work = trainer.step(x, undefined, { signal: controller.signal });
    work.then(
      () => (isOver = true),
      () => {},
    );
    await afterwhile(share * duration);
    if (!isOver) expect(await millisecondsToEnd(work, controller)).toBeLessThan(200);
    const now = await elementsOf(model);
    const distanceTo = (step: number): number =>
      Math.max(
        ...now.map((value, at) => Math.abs(value - expected[step][at]) / Math.abs(expected[1][at] - expected[0][at])),
      );
    const isMade = distanceTo(made + 1) < distanceTo(made);
    if (isMade) made++;
    expect(distanceTo(made)).toBeLessThan(1e-2);
    // So early there is nothing yet that could not be taken back.
    if (share === 0.1) expect(isMade).toBe(false);
    await trainer.step(x);
    made++;
    if (made > 5) break;
  }
});
