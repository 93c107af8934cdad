import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createModule, freeze, load, memory, shutdown, tensor, type LoadOptions, type Tensor } from '../../index.ts';
import { collectGarbage } from '../../../../../test-setup/collect-garbage.ts';

const dtypes = ['bool', 'uint8', 'int8', 'int16', 'float16', 'bfloat16'] as const;
const FORWARD = `
def forward(self, rows: Tensor, mask: Tensor, picture: Tensor, x: Tensor) -> List[Tensor]:
    picked = self.int8[rows].float() + self.uint8[1:, ::2].float().sum()
    y = torch.where(mask, x, self.bfloat16.float())
    weight = self.int8.float() * self.scale.unsqueeze(1)
    z = F.linear(x, weight) + F.linear(x, self.float16.float()) + x @ self.bfloat16.float().t()
    seen = F.conv2d(picture.float() / 256.0, self.filters.float())
    counts = self.int16.sum(1) + self.bool.sum(1)
    return [picked, y, z, seen, counts, self.bfloat16 * 2, self.float16.t() + 1, picture.bitwise_not()]

def sums(self) -> List[Tensor]:
    return [self.bool.sum(), self.uint8.sum(), self.int8.sum(), self.int16.sum(), self.float16.float().sum(), self.bfloat16.float().sum()]
`;
// Too many for the host, and an odd number of them.
const [ROWS, COLUMNS] = [61, 129];
const shape = [ROWS, COLUMNS];

const integers = (count: number, from: number, to: number): number[] =>
  Array.from({ length: count }, (_, at) => from + ((at * 37) % (to - from)));

/** Elements of a dtype, of numbers that it has. */
function elements(dtype: (typeof dtypes)[number], count: number): Tensor {
  const of = [ROWS, count / ROWS];
  if (dtype === 'bool') return tensor(integers(count, 0, 2), { dtype, shape: of });
  if (dtype === 'uint8') return tensor(integers(count, 0, 256), { dtype, shape: of });
  if (dtype === 'int8') return tensor(integers(count, -128, 128), { dtype, shape: of });
  if (dtype === 'int16') return tensor(integers(count, -32768, 32768), { dtype, shape: of });
  const values = integers(count, -64, 64).map((value) => value / 32);
  return tensor(values, { dtype, shape: of });
}

let file: Uint8Array;
const rows = tensor([6, 0, 3], { dtype: 'int64' });
const mask = tensor(integers(ROWS * COLUMNS, 0, 2), { dtype: 'bool', shape });
const picture = tensor(integers(2 * 39 * 41, 0, 256), { dtype: 'uint8', shape: [1, 2, 39, 41] });
const x = tensor(
  integers(ROWS * COLUMNS, -32, 32).map((value) => value / 8),
  { shape },
);
const inputs = [rows, mask, picture, x];
const webgpu: LoadOptions = { device: 'webgpu', worker: false, lazy: false };

/** The program, or one whose tensors have elements of a word each. */
async function savedNet(isWide: boolean): Promise<Uint8Array> {
  const net = await createModule('Net', { device: 'cpu', worker: false });
  for (const dtype of dtypes) {
    const narrow = elements(dtype, ROWS * COLUMNS);
    const wide = dtype.includes('float') ? 'float32' : 'int32';
    const numbers = Array.from({ length: ROWS * COLUMNS }, (_, at) => at % 100);
    await net.registerBuffer(dtype, isWide ? tensor(numbers, { dtype: wide, shape }) : narrow);
  }
  const scale = integers(ROWS, 1, 9).map((value) => value / 8);
  await net.registerBuffer('scale', tensor(scale));
  const filters = integers(3 * 2 * 9, -16, 16).map((value) => value / 16);
  await net.registerBuffer('filters', tensor(filters, { dtype: 'float16', shape: [3, 2, 3, 3] }));
  await net.define(FORWARD);
  const bytes = await net.save();
  await net.dispose();
  return bytes;
}

beforeAll(async () => {
  file = await savedNet(false);
});
afterAll(() => shutdown());

const values = (result: unknown): unknown[] =>
  (result as Tensor[]).map(({ data, dtype, shape: sizes }) => [
    dtype,
    [...sizes],
    Array.from(data as ArrayLike<number>, Number),
  ]);

/** Bytes that are held once all that earlier tests left has been given back. */
async function settledBytes(): Promise<number> {
  collectGarbage();
  await new Promise((resolve) => setImmediate(resolve));
  return (await memory()).deviceBytes;
}

describe('elements narrower than a word', () => {
  it('take as many bytes on the device as in the file', async () => {
    const held: number[] = [];
    for (const bytes of [file, await savedNet(true)]) {
      await using read = await load(bytes, webgpu);
      const before = await settledBytes();
      await read.call('sums', []);
      held.push((await settledBytes()) - before);
    }
    const count = ROWS * COLUMNS;
    const [bytes, halves] = [1, 2].map((size) => 4 * Math.ceil((count * size) / 4));
    expect(held[1] - held[0]).toBe(6 * 4 * count - 3 * (bytes + halves));
  });

  it.each(dtypes)('take as many bytes where they are computed: a million of %s', async (dtype) => {
    const net = await createModule('Computed', { device: 'webgpu', worker: false });
    await net.registerBuffer('kept', tensor([0], { dtype }));
    const made = dtype === 'bool' ? 'x > y' : `(x + y).to(torch.${dtype})`;
    await net.define(
      `def forward(self, x: Tensor, y: Tensor) -> Tensor:\n    self.kept = ${made}\n    return x.sum()\n`,
    );
    const given = [[1000, 1], [1000]].map((of) => tensor(integers(1000, 0, 100), { dtype: 'float32', shape: of }));
    const before = await settledBytes();
    for (let call = 0; call < 4; call++) await net.forward(...given);
    const size = dtype === 'bool' || dtype.endsWith('int8') ? 1 : 2;
    // And what is given, a thousand numbers twice.
    expect(Math.abs((await settledBytes()) - before - size * 1e6)).toBeLessThan(16e3);
    await net.dispose();
  });

  it('are what they are on the host, call after call', async () => {
    await using host = await load(file, { device: 'cpu', worker: false });
    const wanted = values(await host.forward(...inputs));
    await using model = await load(file, webgpu);
    // Sums of these numbers are exact, whatever the order.
    for (let call = 0; call < 4; call++) expect(values(await model.forward(...inputs))).toEqual(wanted);
    expect(model.lastRun!.dispatches).toBeGreaterThan(2);
    expect(model.lastRun!.replayed).toBe(model.lastRun!.dispatches);
  });

  it('are the same in frozen programs and when they are read as they are needed', async () => {
    await using model = await load(file, webgpu);
    const wanted = values(await model.forward(...inputs));
    await model.eval();
    await using frozen = await freeze(model);
    expect(values(await frozen.forward(...inputs))).toEqual(wanted);
    await using lazy = await load(new Blob([new Uint8Array(40 << 20), file as Uint8Array<ArrayBuffer>]), {
      ...webgpu,
      lazy: true,
    });
    for (let call = 0; call < 3; call++) expect(values(await lazy.forward(...inputs))).toEqual(wanted);
  });

  it('are written to by programs, before and after they were read', async () => {
    const source = `
def forward(self, mask: Tensor, x: Tensor, y: Tensor, n: int) -> List[Tensor]:
    first = self.state.float() + x.float()
    self.state.add_(n)
    x.mul_(2)
    y[:, 1].fill_(n)
    mask.logical_not_()
    self.kept[0] = self.kept[1] * 2
    return [first, self.state + 0, x + 0, mask.to(torch.int8), torch.where(mask, y, 0 * y), self.kept.t() + 0]
`;
    const net = await createModule('Written', { device: 'cpu', worker: false });
    await net.registerBuffer('state', elements('int8', ROWS * COLUMNS));
    await net.registerBuffer('kept', elements('bfloat16', ROWS * COLUMNS));
    await net.define(source);
    const bytes = await net.save();
    await net.dispose();
    const answers: unknown[][] = [];
    for (const options of [{ device: 'cpu', worker: false } as const, webgpu]) {
      await using model = await load(bytes, options);
      const own: unknown[] = [];
      for (let call = 0; call < 4; call++) {
        const given = [
          tensor(integers(ROWS * COLUMNS, 0, 2), { dtype: 'bool', shape }),
          elements('int16', ROWS * COLUMNS),
          elements('float16', ROWS * COLUMNS),
        ];
        own.push(values(await model.call('forward', [...given, BigInt(call + 1)])), values(given));
      }
      answers.push(own);
    }
    expect(answers[1]).toEqual(answers[0]);
  });
});
