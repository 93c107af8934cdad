import { registerAllParts } from '@cresset/runtime';
import { numelOf, Tensor } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, describe, expect, it } from 'vitest';
import { failure } from '../../../../test-setup/failure.ts';
import { PythonFunctions } from './python-functions-fixture.ts';

beforeAll(registerAllParts);

const matrix = (size: number): Tensor =>
  Tensor.fromArray(
    Float32Array.from({ length: numelOf([size, size]) }, (_, at) => ((at * 37) % 101) / 5050),
    [size, size],
    'float32',
  );

/** Milliseconds of the processor, or by the clock where that says less. */
async function millisecondsOf(work: Promise<unknown>): Promise<number> {
  const wall = performance.now();
  const cpu = process.cpuUsage();
  await work;
  const { user, system } = process.cpuUsage(cpu);
  return Math.min(performance.now() - wall, (user + system) / 1000);
}

/** Many products in a row after rows that are looked up, which are checked for their positions. */
const source = `
def f(x: Tensor, at: Tensor):
    y = torch.embedding(x, at)
${'    y = torch.tanh(y @ x + 1)\n'.repeat(24)}    return y

def g(x: Tensor):
    return torch.tanh(x @ x)
`;

describe('a long run on the device of the host', () => {
  // The first run computes step by step, the third replays a list of all launches.
  it.each([0, 2])('is ended by an abort within 200 ms, after %i runs, and is not gone on with', async (runs) => {
    const functions = new PythonFunctions(source, { device: new WasmDevice(), limits: { smallWork: -1 } });
    const x = matrix(768);
    const at = Tensor.fromArray(
      BigInt64Array.from({ length: 768 }, (_, each) => BigInt(each)),
      [768],
      'int64',
    );
    const call = (signal: AbortSignal | null = null) => functions.call('f', [x, at], { signal });
    const small = matrix(16);
    const want = (await functions.call('g', [small])) as Tensor;
    for (let run = 0; run < runs; run++) await call();
    const controller = new AbortController();
    const long = failure(call(controller.signal));
    const aborted = new Promise<void>((resolve) =>
      setTimeout(() => {
        controller.abort();
        resolve();
      }, 100),
    );
    await aborted;
    expect(await millisecondsOf(long)).toBeLessThan(200);
    expect(await long).toMatchObject({ code: 'ABORTED' });
    let got: unknown;
    expect(await millisecondsOf(functions.call('g', [small]).then((value) => (got = value)))).toBeLessThan(200);
    expect((got as Tensor).contiguousArray()).toEqual(want.contiguousArray());
  });
});
