import { readModule } from '@cresset/archive';
import { registerAllParts, RuntimeContext, ScriptModule } from '@cresset/runtime';
import type { ScriptObject, Tensor } from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { script, shutdown, type ScriptModule as PageModule } from '../../index.ts';
import { tensorOf } from '../python-functions-fixture.ts';

const SOURCE = `
class Inverted(nn.Module):
    def __init__(self, channels: int, wide: int, out: int):
        super().__init__()
        self.expand = nn.Conv2d(channels, wide, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(wide)
        self.depth = nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False)
        self.norm2 = nn.BatchNorm2d(wide)
        self.project = nn.Conv2d(wide, out, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(out)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu6(self.norm1(self.expand(x)))
        y = F.relu6(self.norm2(self.depth(y)))
        return x + self.norm3(self.project(y))

class Mobile(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Inverted(8, 48, 8)
        self.second = Inverted(8, 48, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))

class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(8)

    def forward(self, x: Tensor) -> Tensor:
        for i in range(2):
            y = F.relu(self.norm1(self.conv1(x)))
            y = self.norm2(self.conv2(y))
            y += x
            x = F.relu(y)
        return x

class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.ones(4, 64))
        self.state = torch.ones(64, 64)

    def forward(self, x: Tensor) -> Tensor:
        return x @ torch.softmax(torch.softmax(self.logits, 1), 0).t()

    @torch.jit.export
    def recur(self, x: Tensor) -> Tensor:
        y = x @ torch.softmax(torch.softmax(self.state, 1), 0)
        self.state = torch.tanh(x)
        return y

    @torch.jit.export
    def look(self, x: Tensor) -> Tensor:
        return x @ torch.softmax(torch.softmax(self.state, 1), 0)

    @torch.jit.export
    def renew(self, x: Tensor) -> Tensor:
        self.state = torch.tanh(x)
        return x
`;

type Name = 'Mobile' | 'Residual' | 'Attending';
const files = new Map<Name, Uint8Array<ArrayBuffer>>();

beforeAll(async () => {
  const unit = (await script(SOURCE, { device: 'cpu', worker: false })) as unknown as Record<
    Name,
    () => Promise<PageModule>
  >;
  for (const name of ['Mobile', 'Residual', 'Attending'] as const) {
    const model = await unit[name]();
    await model.eval();
    files.set(name, await model.save());
  }
  registerAllParts();
});
afterAll(() => shutdown());

let device: WebGpuDevice;
beforeEach(async () => {
  device = await requestWebGpuDevice();
});
afterEach(() => device.dispose());

interface Opened {
  readonly model: ScriptModule;
  readonly object: ScriptObject;
}

async function open(name: Name, on: ComputeDevice | null = device): Promise<Opened> {
  const { module: object, unit } = await readModule(files.get(name)!);
  const model = new ScriptModule(object, unit, new RuntimeContext({ device: on, limits: { smallWork: -1 } }));
  for (const norm of normsOf(object)) {
    ['running_mean', 'weight', 'bias'].forEach((each, at) => write(norm.getAttribute(each) as Tensor, at));
  }
  return { model, object };
}

function normsOf({ type, slots }: ScriptObject): ScriptObject[] {
  const own = slots.filter((slot) => typeof slot === 'object' && slot !== null && 'slots' in slot);
  if (own.length === 0 && type.hasAttribute('running_var')) return [{ type, slots } as ScriptObject];
  return (own as ScriptObject[]).flatMap((each) => (each.type.hasAttribute('running_var') ? each : normsOf(each)));
}

/** Writes other elements to a tensor, as the page does. */
function write(tensor: Tensor, seed: number): void {
  const elements = tensor.storage.hostArrayForWriting('float32') as Float32Array;
  elements.forEach((_, at) => (elements[at] = 1 + 0.5 * Math.sin(at + seed)));
}

async function run({ model }: Opened, sizes: readonly number[], method = 'forward'): Promise<number[]> {
  const given = tensorOf(sizes);
  const result = (await model.call(method, [given])) as Tensor;
  await result.storage.toHost();
  const elements = Array.from(result.contiguousArray() as Float32Array);
  given.dispose();
  result.dispose();
  return elements;
}

/** Runs a model and the same one on the host; gives what the run dispatched. */
async function dispatched(own: Opened, host: Opened, sizes: readonly number[], method?: string): Promise<number> {
  const want = await run(host, sizes, method);
  const got = await run(own, sizes, method);
  const tolerance = 1e-4 * Math.max(...want.map(Math.abs));
  got.forEach((value, at) => expect(Math.abs(value - want[at])).toBeLessThan(tolerance));
  return own.model.lastRun!.dispatches;
}

describe('what launches make of parameters alone', () => {
  it.each([
    // The 1×1 convolution that makes channels, and the depthwise one with the 1×1 one behind it; each pair by itself at first.
    ['Mobile', 16, 4],
    ['Mobile', 8, 4],
    ['Residual', 16, 4],
    ['Residual', 8, 4],
  ] as const)('%s makes as few dispatches with %i buffers to a kernel', async (name, buffers, dispatches) => {
    const { maxStorageBuffers } = device.capabilities;
    const capabilities = { ...device.capabilities, maxStorageBuffers: Math.min(buffers, maxStorageBuffers) };
    Object.defineProperty(device, 'capabilities', { value: capabilities });
    const [own, host] = [await open(name), await open(name, null)];
    for (let warm = 0; warm < 2; warm++) await dispatched(own, host, [1, 8, 9, 9]);
    expect(await dispatched(own, host, [1, 8, 9, 9])).toBe(dispatches);
    expect(own.model.lastRun).toMatchObject({ replayed: dispatches, submits: 1, uploads: 1, shaders: 0 });
  });

  it('is worked out again when somebody has written to one, or put another in its place, and then no more', async () => {
    const models = [await open('Mobile'), await open('Mobile', null)] as const;
    const call = (): Promise<number> => dispatched(...models, [1, 8, 9, 9]);
    for (let warm = 0; warm < 2; warm++) await call();
    const warm = await call();
    models.forEach(({ object }) => write(normsOf(object)[1].getAttribute('running_var') as Tensor, 5));
    expect([await call(), await call()]).toEqual([warm + 1, warm]);
    models.forEach(({ object }) => {
      const other = tensorOf([48], 3);
      write(other, 9);
      other.requiresGrad = true;
      normsOf(object)[4].setAttribute('bias', other);
    });
    expect([await call(), await call()]).toEqual([warm + 1, warm]);
    expect(models[0].model.lastRun!.replayed).toBe(warm);
  });

  it('is the same for every size of an input, and is freed with the model', async () => {
    const before = device.counters.liveBytes;
    const model = await open('Mobile');
    const live: number[] = [];
    for (const size of [9, 11, 13]) {
      for (let call = 0; call < 2; call++) await run(model, [1, 8, size, size]);
      live.push(device.counters.liveBytes - before);
    }
    expect(live).toEqual([live[0], live[0], live[0]]);
    expect(live[0]).toBeGreaterThan(0);
    model.model.dispose();
    expect(device.counters.liveBytes).toBe(before);
  });

  it('may be what whole launches make', async () => {
    const models = [await open('Attending'), await open('Attending', null)] as const;
    const counts: number[] = [];
    for (let call = 0; call < 3; call++) counts.push(await dispatched(...models, [5, 64]));
    expect(counts).toEqual([5, 1, 1]);
  });

  it('is nothing of an attribute that every call sets', async () => {
    const models = [await open('Attending'), await open('Attending', null)] as const;
    const counts: number[] = [];
    for (let call = 0; call < 3; call++) counts.push(await dispatched(...models, [64, 64], 'recur'));
    expect(counts).toEqual([4, 2, 2]);
    expect(models[0].model.lastRun!.replayed).toBe(2);
  });

  it('is nothing of an attribute that is another one with every call', async () => {
    const models = [await open('Attending'), await open('Attending', null)] as const;
    const counts: number[] = [];
    for (let call = 0; call < 16; call++) {
      await dispatched(...models, [64, 64], 'renew');
      counts.push(await dispatched(...models, [64, 64], 'look'));
    }
    // Worked out in every call until it is known that it has to be, and then by the launch that uses it.
    expect([counts[1], counts.at(-1)]).toEqual([3, 2]);
    expect(models[0].model.lastRun!.replayed).toBe(2);
  });
});
