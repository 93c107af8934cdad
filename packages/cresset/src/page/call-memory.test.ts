import { describe, expect, it, vi } from 'vitest';
import { createModule, setJitOptions, tensor, type ScriptModule, type Tensor } from '../index.ts';

const SIZE = 40_000;
const numbers = (from: number): Tensor => tensor(Float32Array.from({ length: SIZE }, (_, at) => from + at));
const first = (value: unknown): number => (value as Tensor).data[0] as number;

/** How many of the arrays are as long as a tensor. */
const copiesIn = (arrays: readonly unknown[]): number =>
  arrays.filter((each) => (each as Uint8Array).byteLength === 4 * SIZE).length;

async function moduleOf(body: string): Promise<ScriptModule> {
  const module = await createModule('Net', { device: 'cpu', worker: false });
  await module.registerBuffer('kept', tensor(new Float32Array(SIZE)));
  await module.define(body);
  return module;
}

// With a device and without.
describe.each([true, false])('memory of arguments and results, WebAssembly: %s', (webAssembly) => {
  const withModule = async (body: string, work: (module: ScriptModule) => Promise<void>): Promise<void> => {
    setJitOptions({ webAssembly });
    try {
      await using module = await moduleOf(body);
      await work(module);
    } finally {
      setJitOptions({ webAssembly: undefined });
    }
  };

  it('belongs to the caller from call to call', () =>
    withModule('def forward(self, x, y):\n    return x * 2 + y\n', async (module) => {
      const [x, y] = [numbers(0), numbers(10)];
      const slice = vi.spyOn(Uint8Array.prototype, 'slice');
      const results: unknown[] = [];
      try {
        for (let call = 0; call < 5; call++) {
          (x.data as Float32Array)[0] = call;
          const answer = module.forward(x, y);
          (x.data as Float32Array)[0] = -1000;
          results.push(await answer);
        }
        // The arguments of the first call, and each result. Without a device what was given stays with the program for as long as it likes.
        if (webAssembly) expect(copiesIn(slice.mock.contexts)).toBe(2 + 5);
      } finally {
        slice.mockRestore();
      }
      expect(results.map(first)).toEqual([10, 12, 14, 16, 18]);
      expect(first(y)).toBe(10);
      expect((results[4] as Tensor).data[SIZE - 1]).toBe(3 * (SIZE - 1) + 10);
    }));

  it('of a result that was disposed of is a later one’s', () =>
    withModule('def forward(self, x, y):\n    return x * 2 + y\n', async (module) => {
      const [x, y] = [numbers(0), numbers(10)];
      const slice = vi.spyOn(Uint8Array.prototype, 'slice');
      let kept: Tensor | null = null;
      try {
        for (let call = 0; call < 6; call++) {
          (x.data as Float32Array)[0] = call;
          const result = (await module.forward(x, y)) as Tensor;
          expect(first(result)).toBe(2 * call + 10);
          expect(result.data[SIZE - 1]).toBe(3 * (SIZE - 1) + 10);
          const array = result.data;
          if (call === 2) kept = result;
          else result.dispose();
          // Nobody sees another result in an array of one that is gone.
          if (call !== 2) expect(array.length).toBe(0);
        }
        // Two for the arguments of the first call, and one for its result and for that after the one which was kept.
        if (webAssembly) expect(copiesIn(slice.mock.contexts)).toBe(4);
      } finally {
        slice.mockRestore();
      }
      expect(first(kept)).toBe(14);
    }));

  it('is not shared by two results', () =>
    withModule('def forward(self, x):\n    y = x + 1\n    return y, y, y[1:], x\n', async (module) => {
      const x = numbers(0);
      for (let call = 0; call < 4; call++) {
        const results = (await module.forward(x)) as readonly Tensor[];
        expect(results.map(first)).toEqual([1, 1, 2, 0]);
        (results[0].data as Float32Array)[0] = 7;
        expect(results.map(first)).toEqual([7, 1, 2, 0]);
        expect(new Set(results.map(({ data }) => data.buffer)).size).toBe(4);
      }
      expect(first(x)).toBe(0);
    }));

  it('of an argument that the program keeps is its own', () =>
    withModule(
      'def forward(self, x, keeps: bool):\n    before = self.kept\n    if keeps:\n        self.kept = x\n    return before\n',
      async (module) => {
        await module.forward(numbers(1), true);
        for (let call = 0; call < 4; call++) expect(first(await module.forward(numbers(50 + call), false))).toBe(1);
        expect(first(await module.forward(numbers(2), true))).toBe(1);
        for (let call = 0; call < 4; call++) expect(first(await module.forward(numbers(60 + call), false))).toBe(2);
      },
    ));

  it('of a result that the program keeps is not given away', () =>
    withModule('def forward(self, x):\n    self.kept = self.kept + x\n    return self.kept\n', async (module) => {
      const x = numbers(1);
      for (let call = 1; call < 6; call++) {
        const result = (await module.forward(x)) as Tensor;
        expect(first(result)).toBe(call);
        (result.data as Float32Array).fill(-1);
      }
    }));

  it('of what the program wrote to comes back', () =>
    withModule('def forward(self, x):\n    x.add_(1)\n    return x\n', async (module) => {
      const x = numbers(0);
      for (let call = 1; call < 5; call++) {
        const result = await module.forward(x);
        expect([first(result), first(x)]).toEqual([call, call]);
      }
    }));
});
