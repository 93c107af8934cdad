import { registerAllParts } from '@cresset/runtime';
import type { IValue, Tensor } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { NullGpu } from '../../../../../test-setup/null-gpu.ts';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);

const size = 512;
const bytes = size * size * 4;

/** Bytes between the launches of a replayed run of a function of matrices, and what it dispatches. */
async function memoryOf(body: string): Promise<{ readonly matrices: number; readonly dispatches: number }> {
  const device = new NullGpu().open();
  const functions = new PythonFunctions(`def f(x: Tensor, w: Tensor):\n${body}`, { device });
  for (let run = 0; run < 3; run++) {
    const given = [tensorOf([size, size]), tensorOf([size, size])];
    const results = await functions.call('f', given);
    for (const value of [...given, ...itemsOf(results)]) value.dispose();
  }
  const { dispatches, replayed } = functions.module.lastRun!;
  expect(replayed).toBe(dispatches);
  return { matrices: device.recorder!.scratch.byteLength / bytes, dispatches };
}

const itemsOf = (value: IValue): Tensor[] =>
  'items' in (value as object) ? (value as { items: Tensor[] }).items : [value as Tensor];

describe('memory between the launches of a recording', () => {
  it('is that of an operand that nobody needs any more, where a sum is stored over it', async () => {
    const residual = (after: string): string => `
    a = x @ w
    b = torch.softmax(a, 0)
    c = a + b @ w
    d = torch.softmax(c, 0)
    return ${after}
`;
    expect(await memoryOf(residual('d @ w'))).toEqual({ matrices: 2, dispatches: 5 });
    // Somebody reads it later: the sum has memory of its own.
    expect(await memoryOf(residual('d @ w + a'))).toEqual({ matrices: 3, dispatches: 5 });
  });

  it('is not taken where other elements of it are read, or the same ones for something else', async () => {
    const transposed = `
    a = x @ w
    b = torch.softmax(a, 0)
    c = a.t() + b @ w
    return torch.softmax(c, 0) @ w
`;
    expect(await memoryOf(transposed)).toEqual({ matrices: 3, dispatches: 5 });
    const product = `
    a = x @ w
    b = torch.softmax(a, 0)
    c = a + b @ a
    return torch.softmax(c, 0) @ w
`;
    expect(await memoryOf(product)).toEqual({ matrices: 3, dispatches: 5 });
  });
});
