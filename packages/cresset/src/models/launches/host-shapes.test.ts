import { Graph, setJitOptions, type JitOptions } from '@cresset/ir';
import { registerAllParts } from '@cresset/runtime';
import type { Tensor } from '@cresset/tensor';
import { beforeAll, expect, it, vi } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

/** Thousands of runs take long on a busy machine, milliseconds. */
const patience = 1_200_000;

beforeAll(registerAllParts);

const source = `
def f(x: Tensor, w: Tensor):
    y = torch.relu(x @ w + 1.0) * x
    if x.size(0) % 2 == 0:
        y = torch.cat([y, y[1:]], 0)
    return torch.softmax(y, 0).sum(1)
`;

const executors: readonly JitOptions['executor'][] = [undefined, 'simple', 'profiling'];

// On a device the recordings are what must not pile up (replay.test.ts).
it.each(executors)(
  'keeps a bound on the host over ten thousand runs with changing shapes: executor %s',
  async (executor) => {
    setJitOptions({ executor });
    const copies = vi.spyOn(Graph.prototype, 'copy');
    try {
      // What a program holds is counted anew whenever it made a limit's worth of tensors.
      const functions = new PythonFunctions(source, { memoryLimit: 64 << 10 });
      const w = tensorOf([4, 4], 2);
      const kinds = new Set<number>();
      let half = 0;
      for (let run = 0; run < 10_000; run++) {
        const rows = 2 + ((run * 797) % 499);
        kinds.add(rows);
        const result = await functions.call('f', [tensorOf([rows, 4]), w]);
        expect((result as Tensor).sizes).toEqual([rows % 2 === 0 ? 2 * rows - 1 : rows]);
        if (run === 5000) half = copies.mock.calls.length;
      }
      expect(kinds.size).toBe(499);
      // Every plan is made of a copy of the graph.
      expect(half).toBeGreaterThan(0);
      expect(half).toBeLessThan(kinds.size);
      expect(copies).toHaveBeenCalledTimes(half);
    } finally {
      copies.mockRestore();
      setJitOptions({ executor: undefined });
    }
  },
  patience,
);
