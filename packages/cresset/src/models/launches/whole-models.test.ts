import { readModule } from '@cresset/archive';
import { registerAllParts, RuntimeContext, ScriptModule } from '@cresset/runtime';
import { Tensor } from '@cresset/tensor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NullGpu } from '../../../../../test-setup/null-gpu.ts';
import { script, shutdown, type ScriptModule as PageModule } from '../../index.ts';
import { tensorOf } from '../python-functions-fixture.ts';

/** Models of usual make, as wide and deep as the smallest published ones, so that what is counted is what people will count. */
const SOURCE = `
class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(x.size()))

class PostNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.attention = Attention(width, 4)
        self.norm1 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(F.gelu(self.up(x))))

class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(1000, 128)
        self.places = nn.Embedding(64, 128)
        self.norm = nn.LayerNorm(128)
        self.layers = nn.ModuleList([PostNorm(128) for _ in range(4)])
        self.pooler = nn.Linear(128, 128)
        self.head = nn.Linear(128, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.norm(self.words(tokens) + self.places(torch.arange(tokens.size(1))))
        for layer in self.layers:
            x = layer(x)
        return self.head(torch.tanh(self.pooler(x[:, 0])))

class PreNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, 3)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))

class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 192, 16, stride=16)
        self.token = nn.Parameter(torch.zeros(1, 1, 192))
        self.places = nn.Parameter(torch.zeros(1, 17, 192))
        self.layers = nn.ModuleList([PreNorm(192) for _ in range(12)])
        self.norm = nn.LayerNorm(192)
        self.head = nn.Linear(192, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], 1) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])

class ConvNorm(nn.Module):
    def __init__(self, channels: int, out: int, size: int, stride: int, groups: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, size, stride=stride, padding=size // 2, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(out)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(x))

class Inverted(nn.Module):
    def __init__(self, channels: int, out: int, stride: int, times: int):
        super().__init__()
        self.widens = times > 1
        self.adds = stride == 1 and channels == out
        self.expand = ConvNorm(channels, channels * times, 1, 1, 1)
        self.depth = ConvNorm(channels * times, channels * times, 3, stride, channels * times)
        self.project = ConvNorm(channels * times, out, 1, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu6(self.expand(x)) if self.widens else x
        y = self.project(F.relu6(self.depth(y)))
        return x + y if self.adds else y

class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = ConvNorm(3, 32, 3, 2, 1)
        self.blocks = nn.Sequential(
            Inverted(32, 16, 1, 1),
            Inverted(16, 24, 2, 6), Inverted(24, 24, 1, 6),
            Inverted(24, 32, 2, 6), Inverted(32, 32, 1, 6), Inverted(32, 32, 1, 6),
            Inverted(32, 64, 2, 6), Inverted(64, 64, 1, 6), Inverted(64, 64, 1, 6), Inverted(64, 64, 1, 6),
            Inverted(64, 96, 1, 6), Inverted(96, 96, 1, 6), Inverted(96, 96, 1, 6),
            Inverted(96, 160, 2, 6), Inverted(160, 160, 1, 6), Inverted(160, 160, 1, 6),
            Inverted(160, 320, 1, 6))
        self.last = ConvNorm(320, 1280, 1, 1, 1)
        self.head = nn.Linear(1280, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu6(self.last(self.blocks(F.relu6(self.stem(x)))))
        return self.head(F.adaptive_avg_pool2d(x, [1, 1]).flatten(1))

class Recurrent(nn.Module):
    def __init__(self, gates: int):
        super().__init__()
        self.w1 = nn.Parameter(torch.zeros(gates * 64, 32))
        self.u1 = nn.Parameter(torch.zeros(gates * 64, 64))
        self.w2 = nn.Parameter(torch.zeros(gates * 64, 64))
        self.u2 = nn.Parameter(torch.zeros(gates * 64, 64))
        self.b = nn.Parameter(torch.zeros(gates * 64))

    def weights(self) -> List[Tensor]:
        return [self.w1, self.u1, self.b, self.b, self.w2, self.u2, self.b, self.b]

class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = Recurrent(4)

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros(2, x.size(1), 64)
        return torch.lstm(x, [state, state], self.layers.weights(), True, 2, 0.0, False, False, False)[0]

class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = Recurrent(3)

    def forward(self, x: Tensor) -> Tensor:
        state = torch.zeros(2, x.size(1), 64)
        return torch.gru(x, state, self.layers.weights(), True, 2, 0.0, False, False, False)[0]

class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.zeros(512, 16))
        self.start = nn.Parameter(torch.zeros(512, 16))

    def forward(self, x: Tensor) -> Tensor:
        h = self.start
        ys: List[Tensor] = []
        for t in range(x.size(0)):
            step = x[t].unsqueeze(1)
            h = h * torch.exp(step * self.a) + step
            ys.append((h * step).sum(1))
        return torch.stack(ys)
`;

const names = ['Bert', 'VisionTransformer', 'MobileNet', 'Lstm', 'Gru', 'Scan'] as const;
type Name = (typeof names)[number];
const files = new Map<Name, Uint8Array<ArrayBuffer>>();

beforeAll(async () => {
  const unit = (await script(SOURCE, { device: 'cpu', worker: false })) as unknown as Record<
    Name,
    () => Promise<PageModule>
  >;
  for (const name of names) {
    const model = await unit[name]();
    await model.eval();
    files.set(name, await model.save());
  }
  registerAllParts();
}, 120_000);
afterAll(() => shutdown());

const inputs: Readonly<Record<Name, () => Tensor>> = {
  Bert: () =>
    Tensor.fromArray(
      BigInt64Array.from({ length: 32 }, (_, at) => BigInt((at * 37) % 1000)),
      [1, 32],
      'int64',
    ),
  VisionTransformer: () => tensorOf([1, 3, 64, 64]),
  MobileNet: () => tensorOf([1, 3, 64, 64]),
  Lstm: () => tensorOf([64, 1, 32]),
  Gru: () => tensorOf([64, 1, 32]),
  Scan: () => tensorOf([64, 512]),
};

/** Dispatches of the sixteenth call, which replays. */
async function dispatchesOf(name: Name, software: boolean, maxStorageBuffers: number): Promise<number> {
  const gpu = new NullGpu();
  const device = gpu.open({ software, maxStorageBuffers });
  const { module, unit } = await readModule(files.get(name)!);
  const model = new ScriptModule(module, unit, new RuntimeContext({ device }));
  const before = { ...gpu.calls };
  for (let run = 0; run < 16; run++) {
    Object.assign(before, gpu.calls);
    const given = inputs[name]();
    const result = (await model.call('forward', [given], { resultToHost: true })) as Tensor;
    given.dispose();
    result.dispose();
  }
  const { calls } = gpu;
  const dispatches = calls.dispatches - before.dispatches;
  expect(model.lastRun).toMatchObject({ replayed: dispatches, readbacks: 1, hostFallback: [] });
  const { passes, submits, writes } = before;
  expect(calls).toEqual({
    ...before,
    dispatches: calls.dispatches,
    passes: passes + 1,
    submits: submits + 1,
    writes: writes + 1,
  });
  model.dispose();
  device.dispose();
  return dispatches;
}

describe('a replayed call of a whole model is few dispatches, one submit and one upload', () => {
  // Queries, keys and values are one launch, with the norm before them: their results lie in one buffer where a kernel may have few, and so do small parameters.
  it.each([
    ['Bert', { software: [29, 29, 29], hardware: [30, 30, 30] }],
    ['VisionTransformer', { software: [75, 75, 75], hardware: [63, 63, 63] }],
    ['MobileNet', { software: [36, 36, 36], hardware: [36, 36, 36] }],
    ['Lstm', { software: [4, 4, 4], hardware: [4, 4, 4] }],
    ['Gru', { software: [4, 4, 4], hardware: [4, 4, 4] }],
    // The first step, which finds a parameter; the states of all others, what is read from them, and that in order.
    ['Scan', { software: [4, 4, 4], hardware: [4, 4, 4] }],
  ] as const)(
    '%s, with 8, 10 and 16 buffers to a kernel',
    async (name, expected) => {
      for (const [adapter, wanted] of Object.entries(expected)) {
        const counted = [8, 10, 16].map((buffers) => dispatchesOf(name, adapter === 'software', buffers));
        expect(await Promise.all(counted), adapter).toEqual(wanted);
      }
    },
    120_000,
  );
});
