import { afterEach, expect, it } from 'vitest';
import { script, setJitOptions, tensor, type Tensor } from '../../index.ts';

afterEach(() => setJitOptions({ enabled: true, webAssembly: true }));

/** What becomes of the state: a tensor without dimensions, which is a number to others where it lies on the host. */
const states = { element: 'v[-1]', copied: 'v[3].clone()', mean: 'v.mean()', vector: 'v[3:4]' };

const source = (state: string): string => `
class Running(nn.Module):
    def __init__(self, s: Tensor):
        super().__init__()
        self.register_buffer('s', s)
    def forward(self, x):
        v = x * 0.5 + self.s
        self.s = ${state}
        return v, self.s
`;

/** Both results of five calls, and the state as the page finds it. */
async function outcomes(state: string, length: number): Promise<number[][]> {
  const unit = await script<'Running'>(source(state), { device: 'cpu', worker: false });
  const model = await unit.construct('Running', [tensor([1])]);
  const found: number[][] = [];
  for (let call = 0; call < 5; call++) {
    const x = tensor(Float32Array.from({ length }, (_, at) => ((at + call) % 7) - 3));
    const [v, s] = (await model.forward(x)) as [Tensor, Tensor];
    found.push([...v.data, ...s.data, ...((await model.attribute('s')) as Tensor).data].map(Number));
  }
  // Another one is put in its place by the page.
  await model.setAttribute('s', tensor(7, { dtype: 'float32' }));
  const [v] = (await model.forward(tensor(new Float32Array(length)))) as [Tensor];
  return [...found, [...v.data].map(Number)];
}

it.each(Object.entries(states))('a state is what the call before made of it: %s', async (_, state) => {
  for (const length of [5, 1000, 1200]) {
    await setJitOptions({ enabled: false, webAssembly: false });
    const wanted = await outcomes(state, length);
    await setJitOptions({ enabled: true, webAssembly: true });
    const found = await outcomes(state, length);
    for (const [call, values] of wanted.entries()) {
      const apart = values.findIndex((value, at) => !(Math.abs(value - found[call][at]) < 1e-4));
      expect(apart, `${length} elements, call ${call + 1}`).toBe(-1);
    }
  }
});
