import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type CompilationUnit,
  freeze,
  load,
  script,
  shutdown,
  tensor,
  type ScriptModule,
  type Tensor,
} from '../index.ts';

const SOURCE = `
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3)
        self.norm = nn.BatchNorm2d(3)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(torch.relu(self.norm(self.conv(x))))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.scale = 3.0
        self.calls = 0
        self.register_buffer('seen', torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.seen.add_(1)
        return self.block(x) * self.scale + self.seen

    @torch.jit.export
    def halved(self, x: Tensor) -> Tensor:
        return x / self.scale
`;

const input = (): Tensor =>
  tensor(
    Float32Array.from({ length: 50 }, (_, index) => Math.sin(index)),
    { shape: [1, 2, 5, 5] },
  );

let unit: CompilationUnit;
let net: ScriptModule;

beforeAll(async () => {
  unit = await script(SOURCE, { device: 'cpu', worker: false });
  net = await (unit as unknown as { Net(): Promise<ScriptModule> }).Net();
  const running = net.namedBuffers().filter(({ name }) => name.startsWith('block.norm.running'));
  for (const { name } of running) await net.setAttribute(name, tensor([0.5, 1.5, 2.5]));
});

afterAll(() => shutdown());

test('a module in training is not frozen', async () => {
  await expect(freeze(net)).rejects.toMatchObject({ code: 'FREEZE' });
  await expect(freeze(net)).rejects.toThrow('Please call .eval() on your module before freezing.');
});

test('weights are constants, batch norm is in them, and what is written to stays', async () => {
  await net.eval();
  const frozen = await freeze(net);
  const graph = await frozen.graph();
  expect(graph).not.toContain('batch_norm');
  expect(graph).not.toContain('dropout');
  expect(graph.match(/GetAttr\[name="(\w+)"\]/g)).toEqual([
    'GetAttr[name="calls"]',
    'GetAttr[name="seen"]',
    'GetAttr[name="seen"]',
  ]);
  expect(frozen.methods()).toEqual(['forward']);
  expect(frozen.namedParameters()).toEqual([]);
  expect(frozen.namedBuffers().map(({ name }) => name)).toEqual(['seen']);

  const exact = await freeze(net, { optimizeNumerics: false });
  expect(await exact.graph()).toContain('batch_norm');

  const results: number[][] = [];
  for (const model of [net, frozen, exact])
    results.push(Array.from(((await model.forward(input())) as Tensor).data as Float32Array));
  expect(results[2]).toEqual(results[0]);
  results[1].forEach((value, index) => expect(value).toBeCloseTo(results[0][index], 4));
});

test('passes by name show what else its graph could be', async () => {
  const frozen = await freeze(net, { optimizeNumerics: false });
  const folded = await frozen.graph('forward', { passes: ['fold_frozen_conv_bn', 'remove_inplace_ops'] });
  expect(folded).toContain('aten::conv2d');
  expect(folded).not.toContain('batch_norm');
  // The model itself is as it was.
  expect(await frozen.graph()).toContain('batch_norm');
  await expect(frozen.graph('forward', { passes: ['inline', 'fold'] })).rejects.toMatchObject({ code: 'NO_PASS' });
  await expect(frozen.graph('forward', { passes: ['fold'] })).rejects.toThrow(
    "there is no pass 'fold'; there are autocast,",
  );
});

test('its memory is its own', async () => {
  const frozen = await freeze(net);
  const before = ((await net.parameter('seen')).data as Float32Array)[0];
  await frozen.forward(input());
  expect(((await net.parameter('seen')).data as Float32Array)[0]).toBe(before);
  const again = await freeze(frozen);
  await frozen.dispose();
  await expect(again.forward(input())).resolves.toBeDefined();
});

test('what is asked for is kept, and can be changed', async () => {
  const frozen = await freeze(net, { preserve: ['halved', 'scale', 'block.norm'] });
  expect([...frozen.methods()].sort()).toEqual(['forward', 'halved']);
  expect(frozen.namedParameters().map(({ name }) => name)).toEqual(['block.norm.weight', 'block.norm.bias']);
  await frozen.setAttribute('scale', 4);
  expect(((await frozen.call('halved', [tensor([8])])) as Tensor).data[0]).toBe(2);
  await expect(freeze(net, { preserve: ['block.nothing'] })).rejects.toThrow('Unknown name: block.nothing');
});

test('it is saved as any other', async () => {
  const frozen = await freeze(net);
  const expected = (await frozen.forward(input())) as Tensor;
  const loaded = await load(await (await freeze(net)).save(), { device: 'cpu', worker: false });
  expect((await loaded.forward(input())) as Tensor).toEqual(expected);
});

const ARITHMETIC = `
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, bias=False)
        self.register_buffer('shift', torch.ones(1, 3, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sub((self.conv(x) * 2 + self.shift) / 4.0, self.shift, alpha=3)

class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 5)
        self.norm = nn.BatchNorm1d(5)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x.view(10, 5))
        return self.norm(y) * 2 + y

class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('seen', torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.seen.add_(1)
        return x + self.seen

class Forking(nn.Module):
    def __init__(self):
        super().__init__()
        self.counter = Counter()
        self.norm = nn.BatchNorm2d(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(torch.jit.wait(torch.jit.fork(self.counter, x)))
`;

test.each([
  ['Scaled', 'what a convolution is multiplied with, and what is added, are in its weights', ['aten::conv2d']],
  [
    'Shared',
    'a layer that somebody else reads keeps its weights',
    ['aten::view', 'aten::linear', 'aten::batch_norm', 'aten::mul', 'aten::add'],
  ],
  ['Forking', 'what a fork writes to is no constant', ['aten::add_', 'aten::add', 'aten::wait', 'aten::batch_norm']],
])('%s: %s', async (name, _, operators) => {
  const program = await script(ARITHMETIC, { device: 'cpu', worker: false });
  const make = (): Promise<ScriptModule> => (program as unknown as Record<string, () => Promise<ScriptModule>>)[name]();
  const model = await (await make()).eval();
  const frozen = await freeze(model);
  const found = [...(await frozen.graph()).matchAll(/aten::\w+/g)].map(([operator]) => operator);
  expect(found.filter((each) => !/^aten::(dim|size|ne|format|len)$/.test(each)).sort()).toEqual([...operators].sort());
  for (let call = 0; call < 2; call++) {
    const [want, got] = [await model.forward(input()), await frozen.forward(input())] as Tensor[];
    got.data.forEach((value, index) => expect(Number(value)).toBeCloseTo(Number(want.data[index]), 4));
  }
});
