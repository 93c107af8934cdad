import { registerAllParts, type RuntimeContextOptions } from '@cresset/runtime';
import { Tensor } from '@cresset/tensor';
import { expect } from 'vitest';
import { PythonFunctions } from './python-functions-fixture.ts';

const source = `
def floor(x: Tensor, y: Tensor):
    return x // y

def within(x: Tensor, y: Tensor):
    z = (x + 2) % (y - 1)
    return z.float() * 2 + 1

def truncated(x: Tensor, y: Tensor):
    return torch.div(x, y, rounding_mode='trunc')

def fmod(x: Tensor, y: Tensor):
    return torch.fmod(x, y)

def narrow(x: Tensor, y: Tensor):
    return x.to(torch.uint8) // y.to(torch.uint8)

def in_place(x: Tensor, y: Tensor):
    return (x + 1).floor_divide_(y)

def behind(x: Tensor, y: Tensor):
    a = x.float().reshape(50, -1)
    return torch.mm(a, a.t())[0] + x[:50] // y[:50]

def number(x: Tensor, n: int):
    return x // n

def masked(x: Tensor, y: Tensor):
    return torch.where(y > 0, x // y.clamp(min=1), x)
`;

const COUNT = 2000;
const longs = (of: (at: number) => number): Tensor =>
  Tensor.fromArray(
    BigInt64Array.from({ length: COUNT }, (_, at) => BigInt(of(at))),
    [COUNT],
    'int64',
  );

/** Integers in tensors are divided by zero, by the third time that a program runs: it is PyTorch's error wherever that is. */
export async function expectDivisionsByZeroRaise(options: RuntimeContextOptions): Promise<void> {
  registerAllParts();
  const functions = new PythonFunctions(source, options);
  const ones = longs(() => 3);
  for (const name of ['floor', 'within', 'truncated', 'fmod', 'narrow', 'in_place', 'behind']) {
    const call = (zeroAt: number) =>
      functions.call(name, [ones, longs((at) => (at === zeroAt ? 0 : 2) + (name === 'within' ? 1 : 0))]);
    for (let run = 0; run < 2; run++) await call(-1);
    await expect(call(17), name).rejects.toThrow('ZeroDivisionError');
    await call(-1);
  }
  for (const n of [2n, 3n]) await functions.call('number', [ones, n]);
  await expect(functions.call('number', [ones, 0n])).rejects.toThrow('ZeroDivisionError');
  expect(((await functions.call('number', [Tensor.empty([0], 'int64'), 0n])) as Tensor).sizes).toEqual([0]);
  await functions.call('masked', [ones, longs((at) => at % 3)]);
}
