import { setJitOptions } from '@cresset/ir';
import { OperatorCall } from '@cresset/operators';
import { registerAllParts } from '@cresset/runtime';
import { Tensor, type IValue } from '@cresset/tensor';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { NullGpu } from '../../../../../test-setup/null-gpu.ts';
import { intsOf, PythonFunctions, tensorOf } from '../python-functions-fixture.ts';

beforeAll(registerAllParts);
afterEach(() => void vi.restoreAllMocks());

const source = `
def masked(mask: Tensor, x: Tensor):
    bias = (1.0 - mask.float()) * -100.0
    y = torch.softmax(x @ x, -1)
    return (bias, torch.cat([bias, bias]), y)

def biased(mask: Tensor, x: Tensor, s: float):
    bias = torch.cat([mask.float() * s, mask[1:3].float()]).sum(0, keepdim=True)
    return torch.softmax(x @ x + bias, -1)

def windows(mask: Tensor, x: Tensor, n: int):
    for i in range(n):
        x = torch.softmax(x + mask.float() * (1.0 / (i + 1)), -1)
    return x

def chain(x: Tensor):
    y = x * 2.0
    y = y + 1.0
    return y.exp()
`;

const numbers = (tensor: Tensor): number[] => Array.from(tensor.contiguousArray() as Float32Array);
const itemsOf = (value: unknown): Tensor[] => (value as { items: Tensor[] }).items;

describe('small work that a program with a device does on the host', () => {
  it('is made ready once, and is what it was with other elements', async () => {
    const functions = new PythonFunctions(source, { device: new NullGpu().open() });
    const host = new PythonFunctions(source, {});
    const kept: { readonly got: Tensor[]; readonly want: number[][] }[] = [];
    const looked: string[][] = [];
    const smallOnes = ['aten::to.dtype', 'aten::neg', 'aten::add.Scalar', 'aten::mul.Scalar'];
    let first: unknown;
    for (let run = 0; run < 5; run++) {
      const mask = (): Tensor => intsOf(1, run, 0, 1, run % 2);
      // Whoever is not ready looks at the arguments of the call.
      const looks = vi.spyOn(OperatorCall.prototype, 'unboxed', 'get');
      const got = itemsOf(await functions.call('masked', [mask(), tensorOf([64, 64])])).slice(0, 2);
      const names = looks.mock.contexts.map((call) => (call as unknown as OperatorCall).row.schema.split('(')[0]);
      looked.push(smallOnes.filter((name) => names.includes(name)));
      looks.mockRestore();
      const { hostSmall, hostFallback } = functions.module.lastRun!;
      expect(hostFallback).toEqual([]);
      expect(hostSmall).toEqual((first ??= hostSmall));
      // Programs without a device hand memory on meanwhile.
      const want = itemsOf(await host.call('masked', [mask(), tensorOf([64, 64])]));
      await host.call('chain', [tensorOf([5])]);
      kept.push({ got, want: want.slice(0, 2).map(numbers) });
    }
    expect(looked).toEqual([smallOnes, [], [], [], []]);
    const { dispatches, replayed } = functions.module.lastRun!;
    const { stretches } = functions.explain('masked');
    expect([replayed, stretches.length]).toEqual([dispatches, 1]);
    expect(stretches[0].onHost).toEqual(functions.module.lastRun!.hostSmall);
    // What was handed out is nobody else's afterwards.
    for (const { got, want } of kept) expect(got.map(numbers)).toEqual(want);
  });

  it('is none where the switch says so', async () => {
    setJitOptions({ smallWork: -1 });
    try {
      const functions = new PythonFunctions(source, { device: new NullGpu().open() });
      for (let run = 0; run < 3; run++) await functions.call('masked', [intsOf(1, 0, 1), tensorOf([64, 64])]);
      expect(functions.module.lastRun!.hostSmall).toEqual([]);
      expect(functions.explain('masked').stretches.map(({ onHost }) => onHost)).toEqual([[]]);
    } finally {
      setJitOptions({ smallWork: undefined });
    }
  });

  it('is a part of what is replayed: nothing is lowered, made or sent that the run before had not', async () => {
    const gpu = new NullGpu();
    const device = gpu.open();
    const functions = new PythonFunctions(source, { device });
    const run = async (name: string, ...others: IValue[]) => {
      const given = [intsOf(1, 0, 1, 1), ...others];
      const result = (await functions.call(name, given)) as Tensor;
      for (const value of [...given, result]) if (value instanceof Tensor) value.dispose();
    };
    let scale = 64;
    for (const [name, others] of [
      ['biased', () => [tensorOf([64, 64]), (scale /= 2)]],
      ['windows', () => [tensorOf([4096, 4]), 7n]],
    ] as [string, () => IValue[]][]) {
      for (let warm = 0; warm < 4; warm++) await run(name, ...others());
      const calls = { ...gpu.calls };
      const { prepared } = device.counters;
      await run(name, ...others());
      const { dispatches, replayed, hostSmall } = functions.module.lastRun!;
      expect(replayed).toBe(dispatches);
      expect(hostSmall).not.toEqual([]);
      expect(device.counters.prepared - prepared).toBe(0);
      const { buffers, bindGroups, submits } = gpu.calls;
      expect([buffers - calls.buffers, bindGroups - calls.bindGroups, submits - calls.submits]).toEqual([0, 0, 1]);
    }
  });
});
