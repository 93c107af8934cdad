import { registerAllParts } from '@cresset/runtime';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PythonFunctions } from '../python-functions-fixture.ts';
import { argumentsOf, compared, elements, onDevice, onHost, scanArguments } from './rolled-loops-fixture.ts';

beforeAll(registerAllParts);

describe('the trips of a loop', () => {
  it.each([
    // The products of the states, one kernel for all states and one for all sums; what is stacked lies in order.
    ['states', 3],
    ['last', 3],
    ['columns', 3],
    ['each', 2],
    ['rows_of_state', 2],
    ['two_states', 2],
    ['written', 3],
    ['integers', 2],
    // Two lists in one: what is joined lies by turns in two places.
    ['previous', 19],
    ['twice', 4],
  ])('are done at once: %s', async (name, launches) => {
    expect(await compared(new WasmDevice(), name, argumentsOf)).toBe(launches);
  });

  it.each(['crossed', 'written_over', 'read_back', 'in_squares'])('are not where one cannot tell: %s', async (name) => {
    expect(await compared(new WasmDevice(), name, argumentsOf)).toBeGreaterThan(4);
  });

  it.each(['changed_later', 'from_list', 'with_offsets'])(
    'stay what they are for whoever looks at them: %s',
    async (name) => {
      await compared(new WasmDevice(), name, argumentsOf);
    },
  );

  it('are not rolled for numbers that look even at the ends', async () => {
    expect(await compared(new WasmDevice(), 'shuffled', (run) => [...argumentsOf(run), 12n])).toBeGreaterThan(1);
  });

  it('are a kernel for the states and one for what is made of them', async () => {
    expect(await compared(new WasmDevice(), 'selective_scan', scanArguments)).toBe(3);
  });

  it('are as many as there are, whatever there were before', async () => {
    await compared(
      new WasmDevice(),
      'states',
      (run) => argumentsOf(run, [20, 20, 31, 20, 7, 31, 31, 20, 1, 2, 20][run]),
      11,
    );
  });

  it('raise what PyTorch raises', async () => {
    const device = onDevice(new WasmDevice());
    const host = onHost();
    for (const n of [30n, 30n, 30n, 31n, 31n, 31n, 30n]) {
      const args = [...argumentsOf(3), n];
      const outcome = (program: PythonFunctions) =>
        program.call('too_far', args).then(elements, (error: Error) => error.message);
      const [found, wanted] = [await outcome(device), await outcome(host)];
      if (typeof wanted === 'string') expect(found).toBe(wanted);
      else expect((found as number[])[5]).toBeCloseTo(wanted[5], 5);
    }
  });
});
