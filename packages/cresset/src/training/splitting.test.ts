import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { optim, script, setJitOptions, shutdown, tensor, type ScriptModule, type Tensor } from '../index.ts';

afterAll(() => shutdown());
afterEach(() => setJitOptions({ gradients: undefined, executor: undefined, smallWork: undefined }));

const PROGRAM = `
class Gates(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.Linear(8, 16)
        self.state = nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.size(0), 16)
        for i in range(4):
            a = self.rows(x) + self.state(h)
            h = torch.sigmoid(a) * torch.tanh(a) + h * 0.5
        return h

class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)
        self.last = nn.Linear(64, 16)
        self.after = nn.LayerNorm(16)

    def forward(self, x: Tensor) -> Tensor:
        y = F.max_pool2d(torch.relu(self.norm(self.first(x.view(-1, 1, 8, 8)))), 2)
        return self.after(F.gelu(self.last(y.flatten(1))))

class Chosen(nn.Module):
    """Looks at elements, so that no step is a graph."""
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 16)
        self.norm = nn.BatchNorm1d(16)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.tanh(self.first(x)) * torch.sigmoid(self.first(x))
        if bool(x.sum() > 0.0):
            y = self.norm(torch.tanh(self.second(y)) * y)
        # Ties have half of the gradient each.
        return torch.max(y, y * 1.0) * 2.0 + torch.sigmoid(y)

class Forces(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 16)

    def forward(self, x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        a = self.inner(x)
        energy = (torch.tanh(a) * torch.sigmoid(a) * a).sum()
        forces = torch.autograd.grad([energy], [x], create_graph=True)[0]
        assert forces is not None
        forces.square().sum().backward()
        return forces

    @torch.jit.export
    def looked_up(self, table: Tensor, at: Tensor) -> Tensor:
        return torch.tanh(torch.sigmoid(F.embedding(at, table)) * 2.0)
`;

const LOSS = 'def loss(given, target):\n    return ((given - target).square() * torch.sigmoid(given)).mean()\n';

type Name = 'Gates' | 'Layers' | 'Chosen' | 'Forces';

/** A model on the host's device, which does everything there is a kernel for. */
async function made(name: Name): Promise<ScriptModule> {
  setJitOptions({ smallWork: -1 });
  const unit = await script(PROGRAM, { device: 'cpu', worker: false });
  return (unit as unknown as Record<Name, () => Promise<ScriptModule>>)[name]();
}

const sines = (shape: readonly number[], step: number): Tensor =>
  tensor(
    Float32Array.from({ length: shape.reduce((product, size) => product * size) }, (_, at) => Math.sin(step * at)),
    [...shape],
  );
const numbers = (value: Tensor): number[] => Array.from(value.data, Number);

/** What the calls of a model come to, each with its gradients, and how many launches the last one made. */
async function gradientsOf(
  name: Name,
  state: Awaited<ReturnType<ScriptModule['stateDict']>>,
  batches: readonly Tensor[],
): Promise<{ readonly found: number[][]; readonly launches: number }> {
  const model = await made(name);
  await model.loadStateDict(state);
  await model.train();
  const found: number[][] = [];
  for (const batch of batches) {
    const target = sines([batch.shape[0], 16], 0.3);
    const { loss, output, grads, inputGrads } = await model.grad(batch, { loss: LOSS, target });
    found.push([loss!], numbers(output as Tensor), numbers(inputGrads[0]!), ...[...grads.values()].map(numbers));
  }
  found.push(...[...(await model.stateDict()).values()].map(numbers));
  const launches = model.lastRun!.dispatches;
  await model.dispose();
  return { found, launches };
}

function expectClose(found: readonly number[][], expected: readonly number[][]): void {
  expect(found.map(({ length }) => length)).toEqual(expected.map(({ length }) => length));
  found.forEach((values, at) => {
    const worst = Math.max(0, ...values.map((value, k) => Math.abs(value - expected[at][k])));
    expect(worst).toBeLessThan(2e-6 + 2e-5 * Math.max(0, ...expected[at].map(Math.abs)));
  });
}

describe.each(['Gates', 'Layers', 'Chosen'] as const)('gradients of %s', (name) => {
  const width = name === 'Layers' ? 64 : 8;
  const sizes = [6, 6, 6, 6, 4, 4, 5, 6];
  // Chosen takes the other branch with every third one.
  const batches = sizes.map((size, at) => sines([size, width], at % 3 === 2 ? -0.7 : 0.1 + 0.01 * at));

  test.each([
    ['by the rule', {}],
    ['as one graph', { gradients: 'graph' }],
    ['by groups', { gradients: 'groups' }],
    ['by groups, simple', { gradients: 'groups', executor: 'simple' }],
  ] as const)('are those of operators, with fewer launches: %s', async (way, options) => {
    const model = await made(name);
    const state = await model.stateDict();
    await model.dispose();
    setJitOptions({ gradients: 'operators' });
    const tape = await gradientsOf(name, state, batches);
    setJitOptions({ gradients: undefined, ...options });
    const other = await gradientsOf(name, state, batches);
    expectClose(other.found, tape.found);
    // Where elements decide, there is no graph of the whole.
    if (name === 'Chosen' && way === 'as one graph') expect(other.launches).toBe(tape.launches);
    else expect(other.launches).toBeLessThan(tape.launches);
  });
});

test('a call that comes again is one program, from its third time on', async () => {
  const model = await made('Gates');
  const launches: (readonly number[])[] = [];
  for (let call = 0; call < 5; call++) {
    await model.grad(sines([6, 8], 0.1), { loss: LOSS, target: sines([6, 16], 0.3) });
    launches.push([model.lastRun!.dispatches, model.lastRun!.replayed]);
  }
  expect(launches[1]).toEqual(launches[0]);
  const [[taped], , [recorded], [launched, replayed], last] = launches;
  expect(recorded).toBeLessThan(taped / 4);
  expect(launched).toBeLessThanOrEqual(recorded);
  expect(replayed).toBe(launched);
  expect(last).toEqual([launched, launched]);
  await model.dispose();
});

test('a call that is no graph is recorded by operators twice, and by groups from then on', async () => {
  const model = await made('Chosen');
  const launches: number[] = [];
  for (let call = 0; call < 8; call++) {
    await model.grad(sines([6, 8], 0.1), { loss: LOSS, target: sines([6, 16], 0.3) });
    launches.push(model.lastRun!.dispatches);
  }
  expect(launches[1]).toBe(launches[0]);
  // Groups are watched before they are optimised.
  expect(launches[7]).toBeLessThan(launches[0] * 0.9);
  expect(launches[7]).toBe(launches[6]);
  await model.dispose();
});

test('a trainer whose steps are no graph trains as the tape does', async () => {
  const losses: number[][] = [];
  const state = await (await made('Chosen')).stateDict();
  for (const gradients of ['operators', undefined] as const) {
    setJitOptions({ gradients });
    const model = await made('Chosen');
    await model.loadStateDict(state);
    await model.train();
    const trainer = await model.trainer({ optimizer: optim.SGD({ lr: 0.1 }), loss: LOSS });
    const found: number[] = [];
    for (let at = 0; at < 8; at++) {
      found.push((await trainer.step(sines([6, 8], at % 3 === 2 ? -0.7 : 0.1), sines([6, 16], 0.3))).loss);
    }
    losses.push(found, numbers((await model.stateDict()).get('norm.running_mean')!));
    await model.dispose();
  }
  expectClose(losses.slice(2), losses.slice(0, 2));
  expect(losses[0][6]).toBeLessThan(losses[0][0]);
});

test('a program that asks for gradients itself, and for those of gradients, has those of operators', async () => {
  const found: number[][][] = [];
  const state = await (await made('Forces')).stateDict();
  for (const gradients of ['operators', undefined] as const) {
    setJitOptions({ gradients });
    const model = await made('Forces');
    await model.loadStateDict(state);
    const results: number[][] = [];
    for (let call = 0; call < 6; call++) {
      results.push(numbers((await model.forward(sines([5, 8], 0.1 + 0.01 * call))) as Tensor));
    }
    found.push(results);
    await model.dispose();
  }
  expectClose(found[1], found[0]);
});

test('a position out of range is told as the tape tells it', async () => {
  const model = await made('Forces');
  const call = (at: number): Promise<unknown> =>
    model.grad([sines([5, 8], 0.1), tensor([0, at, 2], { dtype: 'int64' })], {
      method: 'looked_up',
      gradient: sines([3, 8], 0.3),
    });
  for (let times = 0; times < 5; times++) await call(4);
  await expect(call(5)).rejects.toThrow('index out of range in self');
  await call(4);
  await model.dispose();
});
