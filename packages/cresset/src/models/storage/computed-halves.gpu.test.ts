import { afterAll, expect, it } from 'vitest';
import { collectGarbage } from '../../../../../test-setup/collect-garbage.ts';
import { createModule, load, memory, shutdown, tensor, type Tensor } from '../../index.ts';

const [ROWS, COLUMNS] = [129, 257];
const source = (dtype: string): string => `
def forward(self, x: Tensor) -> Tensor:
    hidden = F.linear(x.to(torch.${dtype}), self.weight)
    self.kept = hidden.softmax(-1) @ self.weight
    self.mixed = self.kept + hidden.mean(-1, keepdim=True) * self.weight[0]
    return self.mixed.float().sum()
`;

afterAll(() => shutdown());

async function saved(dtype: 'float16' | 'float32'): Promise<Uint8Array> {
  const net = await createModule('Net', { device: 'cpu', worker: false });
  const values = Array.from({ length: COLUMNS * COLUMNS }, (_, at) => (((at * 37) % 64) - 32) / 1024);
  await net.registerBuffer('weight', tensor(values, { dtype, shape: [COLUMNS, COLUMNS] }));
  for (const name of ['kept', 'mixed']) await net.registerBuffer(name, tensor([0], { dtype }));
  await net.define(source(dtype));
  const bytes = await net.save();
  await net.dispose();
  return bytes;
}

async function settledBytes(): Promise<number> {
  collectGarbage();
  await new Promise((resolve) => setImmediate(resolve));
  return (await memory()).deviceBytes;
}

const x = tensor(
  Array.from({ length: ROWS * COLUMNS }, (_, at) => (((at * 29) % 128) - 64) / 64),
  { shape: [ROWS, COLUMNS] },
);

it('a model of float16 holds half of what one of float32 does, and gives the numbers of the host', async () => {
  const held: number[] = [];
  const [half, single] = [await saved('float16'), await saved('float32')];
  for (const bytes of [single, half]) {
    await using model = await load(bytes, { device: 'webgpu', worker: false, lazy: false });
    const before = await settledBytes();
    for (let call = 0; call < 4; call++) await model.forward(x);
    expect(model.lastRun!.replayed).toBe(model.lastRun!.dispatches);
    held.push((await settledBytes()) - before);
  }
  // The weight, which goes up with the first call, and what is kept of a run.
  const [weight, own] = [COLUMNS * COLUMNS, 2 * ROWS * COLUMNS];
  const words = (bytes: number): number => 4 * Math.ceil(bytes / 4);
  expect(held[0]).toBe(4 * (weight + own));
  expect(held[1]).toBe(words(2 * weight) + 2 * words(own));
  const answers: (readonly number[])[] = [];
  for (const device of ['cpu', 'webgpu'] as const) {
    await using model = await load(half, { device, worker: false });
    for (let call = 0; call < 3; call++) await model.forward(x);
    const kept = (await model.stateDict()).get('kept') as Tensor;
    answers.push(Array.from(kept.data as ArrayLike<number>, Number));
  }
  const most = Math.max(...answers[0].map(Math.abs));
  answers[0].forEach((value, at) => expect(Math.abs(value - answers[1][at])).toBeLessThan(2e-3 * most));
});
