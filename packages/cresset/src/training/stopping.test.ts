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
