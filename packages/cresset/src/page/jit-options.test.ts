import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { load, script, setJitLogSink, setJitOptions, tensor, type Tensor } from '../index.ts';

const digits = new Uint8Array(
  readFileSync(new URL('../../../../apps/playground/public/models/digits.pt', import.meta.url)),
);

async function scores(): Promise<readonly number[]> {
  const model = await load(digits, { device: 'cpu' });
  const pixels = Float32Array.from({ length: 28 * 28 }, (_, index) => (index % 7) / 7);
  const result = (await model.forward(tensor(pixels, { shape: [1, 1, 28, 28] }))) as Tensor;
  const data = Array.from((await result.data) as Float32Array);
  await model.dispose();
  return data;
}

afterEach(() =>
  setJitOptions({
    enabled: undefined,
    executor: undefined,
    logLevel: undefined,
    optLimit: undefined,
    bailouts: undefined,
  }),
);

test('a program gives the same with and without the JIT, and the log shows what is left out', async () => {
  let log = '';
  setJitLogSink((text) => (log += text));
  setJitOptions({ logLevel: 'graph_executor:>inliner' });
  const optimised = await scores();
  expect(log).toContain('[DUMP graph_executor] Before optimization of forward:');
  expect(log).toContain('[UPDATE inliner] Changing');

  log = '';
  setJitOptions({ enabled: false });
  const plain = await scores();
  expect(log).toContain('[DUMP graph_executor] After graph_executor:');
  expect(log).not.toContain('inliner');
  plain.forEach((value, index) => expect(value).toBeCloseTo(optimised[index], 4));
});

test('a limit of nothing keeps a pass from doing anything', async () => {
  let log = '';
  setJitLogSink((text) => (log += text));
  setJitOptions({ logLevel: '>inliner', optLimit: 'inliner=0' });
  await scores();
  expect(log).toContain('prim::CallMethod');
  expect(log).not.toContain('UPDATE');
});

const optionals = `
def last(n: int):
    found: Optional[int] = None
    for i in range(n):
        found = i
    return found

def total(n: int):
    sums: Tuple[Optional[int], int] = (None, 0)
    while sums[1] < n:
        known, steps = sums
        sums = (steps if known is None else known + steps, steps + 1)
    return sums

def pairs(x, n: int):
    state: Optional[Tuple[Tensor, Tensor]] = None
    for i in range(n):
        for j in range(i):
            if state is None:
                state = (x, x)
            else:
                state = (state[0].unsqueeze(0), state[1] * 2)
    return state
`;

test.each(['simple', 'profiling'] as const)(
  'what a loop carries may begin as None: the %s executor',
  async (executor) => {
    setJitOptions({ executor, bailouts: true });
    const unit = await script<'last' | 'total' | 'pairs'>(optionals, { device: 'cpu' });
    for (let call = 0; call < 3; call++) {
      expect(await unit.last(3)).toBe(2);
      expect(await unit.last(0)).toBe(null);
      expect(await unit.total(4)).toEqual([6, 4]);
      const [first, second] = (await unit.pairs(tensor([1]), 3)) as readonly Tensor[];
      expect([first.shape, second.tolist()]).toEqual([[1, 1, 1], [4]]);
    }
    await unit.dispose();
  },
);

test.each(['simple', 'profiling'] as const)(
  'the %s executor gives the same, and shows its stages',
  async (executor) => {
    const expected = await scores();
    setJitOptions({ executor, bailouts: true });
    const model = await load(digits, { device: 'cpu' });
    const pixels = Float32Array.from({ length: 28 * 28 }, (_, index) => (index % 7) / 7);
    for (const count of [1, 1, 1, 2, 1]) {
      const images = tensor(
        Float32Array.from({ length: count * 28 * 28 }, (_, at) => pixels[at % pixels.length]),
        {
          shape: [count, 1, 28, 28],
        },
      );
      const data = Array.from((await ((await model.forward(images)) as Tensor).data) as Float32Array);
      expected.forEach((value, index) => expect(data[index]).toBeCloseTo(value, 4));
    }
    const { stages } = await model.explain();
    expect(stages.map(({ name }) => name)).toEqual(
      executor === 'simple' ? ['inlined', 'optimized'] : ['inlined', 'profiled', 'optimized'],
    );
    expect(await model.graph('forward', { optimized: true })).toBe(
      await model.graph('forward', { stage: 'optimized' }),
    );
    if (executor === 'profiling') {
      expect(await model.graph('forward', { stage: 'profiled' })).toContain(
        'prim::profile[profiled_type=Float(1, 1, 28, 28',
      );
    }
    await expect(model.graph('forward', { stage: 'fused' })).rejects.toMatchObject({ code: 'NO_STAGE' });
    await model.dispose();
  },
);

test('an executor that there is not is refused', () => {
  expect(() => setJitOptions({ executor: 'static' as 'simple' })).toThrow("has to be 'simple' or 'profiling'");
});
