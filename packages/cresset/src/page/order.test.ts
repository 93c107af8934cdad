import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { createModule, shutdown, tensor, type AuthoredModule, type DeviceTensor, type Tensor } from '../index.ts';

afterAll(() => shutdown());

const SOURCE = `
def forward(self, x):
    self.calls += 1
    return x * self.scale + self.weight

def note(self, by: int):
    self.scale = self.scale + by
    return self.calls
`;

type Net = AuthoredModule & { readonly note: (by: bigint) => Promise<unknown> };

async function make(): Promise<Net> {
  const net = await createModule<'note'>('Net', { device: 'cpu', worker: false });
  await net.registerParameter('weight', tensor([1, 2]));
  await net.registerAttribute('scale', 'int', 1n);
  await net.registerAttribute('calls', 'int', 0n);
  return net.define(SOURCE) as unknown as Promise<Net>;
}

const data = (value: unknown): number[] => Array.from((value as Tensor).data as Float32Array);
const numbers = (by: number): Tensor => tensor([by, -by]);

/** What may be asked of a module, by name: some of it needs parts of the page or of the engine that come later. */
const questions: Readonly<Record<string, (net: Net, by: number) => Promise<unknown>>> = {
  call: async (net, by) => data(await net.forward(numbers(by))),
  note: async (net, by) => net.note(BigInt(by)),
  setAttribute: (net, by) => net.setAttribute('scale', BigInt(by)),
  attribute: (net) => net.attribute('scale'),
  parameter: async (net) => data(await net.parameter('weight')),
  loadStateDict: async (net, by) => net.loadStateDict({ weight: numbers(by) }),
  save: async (net) => (await net.save()).length,
  code: (net) => net.code('note'),
  mode: async (net, by) => void (await net.train(by % 2 === 0)),
  gradients: async (net, by) => data((await net.grad(numbers(by), { gradient: tensor([1, 1]) })).grads.get('weight')),
  explain: async (net) => (await net.explain('note')).operators.length,
  passes: async (net) => (await net.passes('note')).length,
};

it('requests that nobody awaits come to what they come to when each is awaited', { timeout: 120_000 }, async () => {
  const asked = fc.array(
    fc.record({
      module: fc.nat({ max: 2 }),
      question: fc.constantFrom(...Object.keys(questions)),
      by: fc.integer({ min: 1, max: 9 }),
    }),
    { minLength: 2, maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(asked, async (steps) => {
      const [awaited, at] = [await Promise.all([make(), make(), make()]), await Promise.all([make(), make(), make()])];
      const wanted: unknown[] = [];
      for (const { module, question, by } of steps) wanted.push(await questions[question](awaited[module], by));
      const got = await Promise.all(steps.map(({ module, question, by }) => questions[question](at[module], by)));
      expect(got).toEqual(wanted);
      await Promise.all([...awaited, ...at].map((net) => net.dispose()));
    }),
    { numRuns: 25 },
  );
});

it('what is asked before an object is disposed of is answered', async () => {
  const net = await make();
  const [bytes, gradients] = [net.save(), net.grad(numbers(1), { gradient: tensor([1, 1]) })];
  const stayed = (await net.call('forward', [numbers(3)], { outputs: 'device' })) as DeviceTensor;
  const again = net.forward(stayed);
  stayed.dispose();
  await net.dispose();
  expect((await bytes).length).toBeGreaterThan(1000);
  expect(data((await gradients).grads.get('weight'))).toEqual([1, 1]);
  expect(data(await again)).toEqual([5, 1]);
  await expect(net.forward(numbers(1))).rejects.toMatchObject({ code: 'MODEL_DISPOSED' });
});
