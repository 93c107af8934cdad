import { registerAllParts } from '@cresset/runtime';
import type { IValue } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { beforeAll, expect, it } from 'vitest';
import { PythonFunctions, tensorOf } from '../python-functions-fixture.ts';
import { expectAlike } from './alike-fixture.ts';

beforeAll(registerAllParts);

const source = `
def placed(x: Tensor, place: int):
    y = torch.tanh(x) + torch.arange(place, place + x.size(1)).float().unsqueeze(-1) * 0.01
    return torch.softmax(y, -1), place + x.size(1)

def masked(x: Tensor, place: int):
    n = x.size(1)
    mask = torch.full([n, place + n], -1e9).triu(place + 1)
    scores = torch.matmul(x, x.transpose(1, 2)).repeat(1, 1, 40)[:, :, : place + n]
    return torch.softmax(scores + mask, -1), [place, n, place - n]

def little(x: Tensor, place: int):
    few = torch.arange(place % 50 + 2).float()
    return torch.tanh(x) + few.sum(), few * 2

def along(x: Tensor, place: int):
    y = torch.tanh(x)
    for dim in range(3):
        y = y.narrow(dim, y.size(dim) - 1 - place % y.size(dim), 1 + place % y.size(dim)) * 2
    return y, y.select(place % 3, 0) + 1

def shifted(x: Tensor, place: int):
    z = torch.cat([x * place, torch.zeros([1, place, 64])], 1)
    if place > 20:
        z = z + place
    return torch.roll(z, place, 1), place % 7

def listed(x: Tensor, place: int):
    y = torch.tanh(x)
    sizes = y.size()
    sizes.append(place)
    places: List[int] = []
    places.append(place)
    return y * 2, sizes, places
`;

/** How many recordings each takes: the first, one with its number open, one with its size open too, and those of 0, 1 and a branch; where a list holds the number itself, those of the last ones. */
it.each([
  ['placed', 5],
  ['masked', 5],
  ['along', 6],
  ['little', 3],
  ['shifted', 3],
  ['listed', 3],
] as const)('a recording holds for any whole number that sizes are made of: %s', async (name, most) => {
  const device = new WasmDevice();
  const here = new PythonFunctions(source, { device });
  const there = new PythonFunctions(source, {});
  const places = [3, 7, 8, 9, 30, 31, 2, 1, 0, 12, 64, 100, 33, 13, 25];
  for (const [run, place] of places.entries()) {
    const args = (): IValue[] => [tensorOf([1, 24 + Number(run > 5), 64], run), BigInt(place)];
    await expectAlike(await here.call(name, args()), await there.call(name, args()), undefined, `${place}`);
  }
  const [{ recordings }] = here.explain(name).stretches;
  expect(recordings).toBe(most);
  device.dispose();
});

it('what had a size that moved, or was a number, may be none the next time', async () => {
  const optional = `
def f(x: Tensor, y: Optional[Tensor], place: Optional[int]):
    z = torch.tanh(x)
    if y is not None:
        z = z + torch.relu(y).mean()
    if place is not None:
        z = torch.cat([z, torch.zeros([place])])
    return z
`;
  const device = new WasmDevice();
  const here = new PythonFunctions(optional, { device });
  const there = new PythonFunctions(optional, {});
  const calls: [number | null, bigint | null][] = [
    [2000, 3n],
    [2001, 4n],
    [2002, 5n],
    [null, 6n],
    [2003, null],
    [null, null],
    [2004, 7n],
  ];
  for (const [run, [rows, place]] of calls.entries()) {
    const args = (): IValue[] => [tensorOf([1500], run), rows === null ? null : tensorOf([rows], run), place];
    await expectAlike(await here.call('f', args()), await there.call('f', args()), undefined, `${run}`);
  }
  device.dispose();
});
