import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createModule,
  estimate,
  freeze,
  load,
  memory,
  optim,
  shutdown,
  tensor,
  type LoadOptions,
  type Tensor,
} from '../../index.ts';
import { collectGarbage } from '../../../../../test-setup/collect-garbage.ts';
import { failure } from '../../../../../test-setup/failure.ts';

const FEATURES = 96;
const VOCABULARY = 51;

/** Numbers of many magnitudes, below and above what float16 has in full precision. */
const numbers = (count: number, seed: number): Float32Array =>
  Float32Array.from({ length: count }, (_, at) => Math.sin(seed + 0.7 * at) * 10 ** (((at * 7) % 9) - 7));

const weights = {
  embedding: [VOCABULARY, FEATURES],
  filters: [FEATURES, 1, 3],
  first: [FEATURES, FEATURES],
  // A number of elements that is odd.
  odd: [33, 33],
  large: [FEATURES, FEATURES],
  small: [FEATURES],
} as const;
const SAME = ['filters', 'large', 'small'];
/** Bytes that the others take less. */
const SAVED = [VOCABULARY * FEATURES, FEATURES * FEATURES, 33 * 33].reduce(
  (sum, count) => sum + 4 * count - 4 * Math.ceil(count / 2),
  0,
);

const FORWARD = `
def forward(self, tokens: Tensor, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    y = F.embedding(tokens, self.embedding)
    y = F.conv1d(y.t().unsqueeze(0), self.filters, padding=1, groups=${FEATURES}).squeeze(0).t()
    y = F.gelu(F.linear(y, self.first, self.small))
    z = torch.softmax(x @ self.odd, -1) * self.odd[3]
    return y, z, y @ self.large
`;

const elements = (name: keyof typeof weights): Float32Array => {
  const [...shape] = weights[name];
  const values = numbers(
    shape.reduce<number>((product, size) => product * size, 1),
    name.length,
  );
  if (name === 'large') values[5] = 1e5;
  return values;
};

let file: Uint8Array;
const tokens = tensor(
  Array.from({ length: 20 }, (_, at) => (at * 13) % VOCABULARY),
  { dtype: 'int64' },
);
const x = tensor(numbers(4 * 33, 1), [4, 33]);
const target = tensor(numbers(4 * 33, 3), [4, 33]);
const webgpu: LoadOptions = { device: 'webgpu', worker: false, lazy: false };

beforeAll(async () => {
  const net = await createModule('Net', { device: 'cpu', worker: false });
  for (const name of Object.keys(weights) as (keyof typeof weights)[])
    await net.registerParameter(name, tensor(elements(name), [...weights[name]]));
  await net.define(FORWARD);
  file = await net.save();
  await net.dispose();
});
afterAll(() => shutdown());

type Answers = readonly number[][];
const values = (result: unknown): Answers => (result as Tensor[]).map(({ data }) => [...(data as Float32Array)]);

/** The nearest number of float16, ties to even, by arithmetic. */
function rounded(value: number): number {
  const magnitude = Math.abs(value);
  const step = 2 ** (Math.max(-14, Math.floor(Math.log2(magnitude))) - 10);
  const down = Math.floor(magnitude / step);
  const rest = magnitude / step - down;
  return Math.sign(value) * (down + (rest > 0.5 || (rest === 0.5 && down % 2 === 1) ? 1 : 0)) * step;
}

/** Bytes that are held once all that earlier tests left has been given back. */
async function settledBytes(): Promise<number> {
  collectGarbage();
  await new Promise((resolve) => setImmediate(resolve));
  return (await memory()).deviceBytes;
}

describe("weights: 'float16'", () => {
  it('halves what weights take and what goes up, and leaves those alone that it would change too much', async () => {
    const bytes: number[] = [];
    for (const precision of ['float32', 'float16'] as const) {
      await using model = await load(file, { ...webgpu, weights: precision });
      const before = await settledBytes();
      await model.forward(tokens, x);
      bytes.push((await settledBytes()) - before);
    }
    expect(bytes[0] - bytes[1]).toBe(SAVED);
  });

  it('is what an estimate counts with, as far as it knows without reading elements', async () => {
    const place = { device: 'webgpu', worker: false } as const;
    const whole = await estimate(file, place);
    const narrow = await estimate(file, { ...place, weights: 'float16' });
    const ofLarge = 2 * FEATURES * FEATURES;
    expect(whole.deviceBytes - narrow.deviceBytes).toBe(SAVED + ofLarge);
    expect([whole.largestTensor!.bytes, narrow.largestTensor!.bytes]).toEqual([2 * ofLarge, ofLarge]);
    expect((await estimate(file, { ...place, device: 'cpu', weights: 'float16' })).deviceBytes).toBe(whole.weightBytes);
  });

  it('computes with the rounded numbers in float32, which is what is told and saved, call after call', async () => {
    await using model = await load(file, { ...webgpu, weights: 'float16' });
    await using alike = await createModule('Net', { device: 'webgpu', worker: false });
    for (const name of Object.keys(weights) as (keyof typeof weights)[]) {
      const exact = elements(name);
      const wanted = [...exact].map((value) => (SAME.includes(name) ? value : rounded(value)));
      expect([...((await model.parameter(name)).data as Float32Array)]).toEqual(wanted);
      await alike.registerParameter(name, tensor(wanted, [...weights[name]]));
    }
    await alike.define(FORWARD);
    for (let call = 0; call < 4; call++) {
      const answers = values(await model.forward(tokens, x));
      expect(answers).toEqual(values(await alike.forward(tokens, x)));
    }
    expect(model.lastRun!.replayed).toBe(model.lastRun!.dispatches);
    await using saved = await load(await model.save(), webgpu);
    expect(values(await saved.forward(tokens, x))).toEqual(values(await model.forward(tokens, x)));
    await alike.dispose();
  });

  it('has float32 of what a program writes to, from then on, in what was recorded before too', async () => {
    const net = await createModule('Written', { device: 'cpu', worker: false });
    await net.registerParameter('weight', tensor(elements('first'), [FEATURES, FEATURES]));
    await net.define(`
def forward(self, x: Tensor) -> Tensor:
    return x @ self.weight

def add(self, value: float) -> Tensor:
    self.weight.add_(value)
    return self.weight * 1.0

def add_between(self, x: Tensor) -> Tensor:
    y = x @ self.weight
    self.weight.add_(1.0)
    return y + x @ self.weight
`);
    const bytes = await net.save();
    await net.dispose();
    const row = tensor(numbers(FEATURES, 2), [1, FEATURES]);
    const steps = async (precision: 'float16' | 'float32', given: Uint8Array): Promise<Answers> => {
      await using model = await load(given, { ...webgpu, weights: precision });
      const results: Tensor[] = [];
      const call = async (name: string, argument: Tensor | number): Promise<void> => {
        results.push((await model.call(name, [argument])) as Tensor);
      };
      for (let time = 0; time < 3; time++) await call('forward', row);
      await call('add', 0.3000001);
      for (let time = 0; time < 3; time++) await call('forward', row);
      for (let time = 0; time < 3; time++) await call('add_between', row);
      results.push(await model.parameter('weight'));
      return values(results);
    };
    // What float16 begins with, as float32.
    await using narrow = await load(bytes, { ...webgpu, weights: 'float16' });
    const wanted = await steps('float32', await narrow.save());
    expect(await steps('float16', bytes)).toEqual(wanted);
  });

  it('trains from the rounded numbers on, in float32', async () => {
    const net = await createModule('Trained', { device: 'cpu', worker: false });
    await net.registerParameter('weight', tensor(elements('odd'), [33, 33]));
    await net.define('def forward(self, x: Tensor) -> Tensor:\n    return x @ self.weight\n');
    const bytes = await net.save();
    await net.dispose();
    await using narrow = await load(bytes, { ...webgpu, weights: 'float16' });
    const alike = await narrow.save();
    const outcomes: number[][] = [];
    for (const [given, precision] of [
      [bytes, 'float16'],
      [alike, 'float32'],
    ] as const) {
      await using model = await load(given, { ...webgpu, weights: precision });
      const trainer = await model.trainer({ optimizer: optim.SGD({ lr: 1e-2 }), loss: 'mse_loss' });
      const losses: number[] = [];
      for (let step = 0; step < 3; step++) losses.push((await trainer.step(x, target)).loss);
      expect(new Set(losses).size).toBe(3);
      outcomes.push([...losses, ...((await model.parameter('weight')).data as Float32Array)]);
    }
    expect(outcomes[0]).toEqual(outcomes[1]);
  });

  it('has constants of frozen programs so, and weights of files that are read when they are needed', async () => {
    await using model = await load(file, webgpu);
    await model.eval();
    await using frozen = await freeze(model);
    const bytes = await frozen.save();
    const exact = values(await model.forward(tokens, x));
    for (const given of [file, bytes]) {
      const held: number[] = [];
      for (const precision of ['float32', 'float16'] as const) {
        const before = await settledBytes();
        // Bytes in front of it make a file one of which little is read at once.
        await using lazy = await load(new Blob([new Uint8Array(40 << 20), given as Uint8Array<ArrayBuffer>]), {
          ...webgpu,
          lazy: true,
          weights: precision,
        });
        for (let call = 0; call < 3; call++) {
          const answers = values(await lazy.forward(tokens, x));
          answers.forEach((answer, at) => {
            const most = Math.max(...exact[at].map(Math.abs));
            // Products of rounded factors, of which there are three in a row at most.
            answer.forEach((value, place) => expect(Math.abs(value - exact[at][place])).toBeLessThan(2 ** -7 * most));
          });
        }
        held.push((await settledBytes()) - before);
      }
      expect(held[0] - held[1]).toBe(SAVED);
    }
  });

  it('is none of the CPU, and nothing else', async () => {
    await using host = await load(file, { device: 'cpu', worker: false, weights: 'float16' });
    expect([...((await host.parameter('first')).data as Float32Array)]).toEqual([...elements('first')]);
    const error = await failure(load(file, { weights: 'int8' } as unknown as LoadOptions));
    expect(error.message).toMatch(/weights/);
  });
});
