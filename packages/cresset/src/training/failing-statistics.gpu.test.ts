import { afterAll, expect, test } from 'vitest';
import { optim, script, setJitOptions, shutdown, tensor, type ScriptModule, type Tensor } from '../index.ts';

// What goes by positions is worked out within the call, so that nobody knows beforehand whether they are in range.
const PROGRAM = `
class Measured(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = nn.BatchNorm1d(8)
        self.embedding = nn.Embedding(20, 8)
        self.behind = nn.BatchNorm1d(8)
        self.last = nn.Linear(8, 10)
        self.scale = nn.Parameter(torch.ones([]))
        self.register_buffer('seen', torch.zeros(8))
        self.register_buffer('found', torch.zeros(3, 8))

    def forward(self, x: Tensor) -> Tensor:
        table = self.before(self.embedding.weight * 2.0)
        self.seen.add_(table.detach().sum(0))
        rows = self.embedding(x * 3 - x * 2)
        with torch.no_grad():
            self.found[1].mul_(0.5).add_(rows.mean(0))
        return self.last(self.behind(rows) * self.scale + table[0])

class Apart(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.norm = nn.BatchNorm1d(8)
        self.last = nn.Linear(8, 10)

    def forward(self, x: Tensor) -> Tensor:
        rows = self.embedding(x * 3 - x * 2)
        return self.last(self.norm(self.embedding.weight).mean(0) + rows)
`;

type Name = 'Measured' | 'Apart';

const ints = (values: readonly number[]): Tensor => tensor([...values], { dtype: 'int64' });
const tokens = Array.from({ length: 32 }, (_, at) => (7 * at) % 20);
const classes = Array.from({ length: 32 }, (_, at) => (3 * at) % 10);

afterAll(() => shutdown());

type Place = 'webgpu' | 'webassembly' | 'host';

/** @param place `host` is the one that comes to the operator that fails, and no further, as PyTorch does */
async function made(name: Name, place: Place): Promise<ScriptModule> {
  const device = place === 'webgpu' ? 'webgpu' : 'cpu';
  setJitOptions({ webAssembly: place === 'webassembly' });
  const unit = await script(PROGRAM, { device, worker: false });
  const model = await (unit as unknown as Record<Name, () => Promise<ScriptModule>>)[name]();
  setJitOptions({ webAssembly: undefined });
  await model.train();
  return model;
}

async function expectAlike(model: ScriptModule, other: ScriptModule): Promise<void> {
  const expected = await other.stateDict();
  for (const [name, { data }] of await model.stateDict()) {
    const wanted = expected.get(name)!.data as ArrayLike<number | bigint>;
    Array.from(data as ArrayLike<number | bigint>).forEach((value, at) => {
      expect(Math.abs(Number(value) - Number(wanted[at])), name).toBeLessThan(1e-4);
    });
  }
}

test.each(['Measured', 'Apart'] as const)(
  'statistics of a step of %s that fails are those that were taken on the way to what fails, whether it is the first or replayed',
  async (name) => {
    const host = await made(name, 'host');
    const models = [await made(name, 'webgpu'), await made(name, 'webassembly')];
    for (const model of models) await model.loadStateDict(await host.stateDict());
    const options = { optimizer: optim.SGD({ lr: 0.1 }), loss: 'cross_entropy' } as const;
    const trainers = await Promise.all([host, ...models].map((model) => model.trainer(options)));
    const compare = async (): Promise<void> => {
      for (const model of models) await expectAlike(model, host);
    };
    const fail = async (positions: readonly number[], targets: readonly number[], message: string): Promise<void> => {
      for (const trainer of trainers) {
        await expect(trainer.step(ints(positions), ints(targets))).rejects.toThrow(message);
      }
      await compare();
    };
    const failTwice = async (): Promise<void> => {
      await fail(tokens.with(2, 20), classes, 'index out of range in self');
      await fail(tokens, classes.with(3, 10), 'Target 10 is out of bounds.');
    };
    await failTwice();
    for (let at = 0; at < 6; at++) {
      for (const trainer of trainers) await trainer.step(ints(tokens), ints(classes));
      await compare();
      if (at === 0 || at === 3) await failTwice();
    }
    for (const model of [host, ...models]) await model.dispose();
  },
);
