import { Tensor, type IValue } from '@cresset/tensor';
import { beforeAll, beforeEach, describe, expect, test, vi, type MockInstance } from 'vitest';
import { registerAllParts } from '../../all-parts.ts';
import { Program } from '../../executor/program-fixture.ts';
import { RuntimeContext } from '../../run/runtime-context.ts';
import { ComputingDevice } from '../fake-device-fixture.ts';

beforeAll(registerAllParts);

const row = (...values: number[]): Tensor => Tensor.fromArray(Float32Array.from(values), [values.length], 'float32');

const ofLength = (length: number): Tensor => row(...Array.from({ length }, (_, at) => at + 1));

async function numbers(value: IValue): Promise<number[]> {
  const { storage } = value as Tensor;
  await storage.toHost();
  return Array.from((value as Tensor).contiguousArray() as Float32Array);
}

let fake: ComputingDevice;
let prepareAll: MockInstance<ComputingDevice['recorder']['prepareAll']>;
let launch: MockInstance<ComputingDevice['recorder']['launch']>;

/** What a graph gives, but for its last result, whose last argument, of another length with each call, keeps it from being recorded any more. */
function unrecorded(text: string): (...args: IValue[]) => Promise<number[][]> {
  const context = new RuntimeContext({ print: () => undefined, device: fake.device, limits: { smallWork: -1 } });
  const program = new Program(text, context);
  let length = 0;
  return async (...args) => {
    for (; length < 3; length++) await program.run([...args.map(copied), ofLength(length + 1)]);
    const results = await program.run([...args, ofLength(++length)]);
    return Promise.all(results.slice(0, -1).map(numbers));
  };
}

const copied = (value: IValue): IValue =>
  value instanceof Tensor ? Tensor.fromArray(value.contiguousArray().slice(), value.sizes, value.dtype) : value;

beforeEach(() => {
  fake = new ComputingDevice();
  prepareAll = vi.spyOn(fake.recorder, 'prepareAll');
  launch = vi.spyOn(fake.recorder, 'launch');
});

describe('work that is done again', () => {
  test('is described once for tensors that lie alike, whichever they are', async () => {
    const call = unrecorded(`
graph(%w : Tensor, %x : Tensor):
  %1 : int = prim::Constant[value=1]()
  %x.1 : Tensor = aten::neg(%x)
  %a : Tensor = aten::neg(%w)
  %b : Tensor = aten::add(%a, %a, %1)
  %c : Tensor = aten::mul(%b, %a)
  return (%c, %x.1)
`);
    expect(await call(row(1, 2))).toEqual([[2, 8]]);
    const described = prepareAll.mock.calls.length;
    const { dispatches } = fake.counters;
    expect(await call(row(3, 4))).toEqual([[18, 32]]);
    // But for what is of another length.
    expect(prepareAll.mock.calls.length).toBe(described + 1);
    expect(fake.counters.dispatches).toBe(dispatches + 4);
    expect(launch.mock.calls.length).toBeGreaterThanOrEqual(4);
  });

  test('goes by which tensors are one storage, and writes to its arguments', async () => {
    const call = unrecorded(`
graph(%w : Tensor, %v : Tensor, %x : Tensor):
  %2 : float = prim::Constant[value=2.]()
  %x.1 : Tensor = aten::neg(%x)
  %a : Tensor = aten::neg(%w)
  %b : Tensor = aten::neg(%v)
  %c : Tensor = aten::mul_(%a, %2)
  %d : Tensor = aten::mul_(%c, %b)
  %e : Tensor = aten::mul_(%d, %d)
  return (%a, %e, %x.1)
`);
    for (const factor of [1, 2, 3]) {
      const squares = [1, 2].map((value) => (2 * factor * value * value) ** 2);
      expect(await call(row(factor, 2 * factor), row(1, 2))).toEqual([squares, squares]);
    }
    expect(launch).toHaveBeenCalled();
  });

  test('goes by the value of a tensor that is a number to it', async () => {
    const call = unrecorded(`
graph(%w : Tensor, %number : Tensor, %x : Tensor):
  %x.1 : Tensor = aten::neg(%x)
  %a : Tensor = aten::neg(%w)
  %b : Tensor = aten::mul(%a, %number)
  return (%b, %x.1)
`);
    const number = (value: number): Tensor => Tensor.fromArray(Float32Array.of(value), [], 'float32');
    for (const value of [2, 3, -0, 0, 2]) {
      expect(await call(row(1, 2), number(value))).toEqual([[-value, -2 * value]]);
    }
  });

  test('keeps no memory of those that it was done for first', async () => {
    const call = unrecorded(`
graph(%w : Tensor, %x : Tensor):
  %x.1 : Tensor = aten::neg(%x)
  %a : Tensor = aten::neg(%w)
  %b : Tensor = aten::mul(%a, %w)
  return (%b, %x.1)
`);
    await call(row(1, 2));
    for (const [kept, storages] of launch.mock.calls) {
      for (const [at, { operand }] of kept.bindings.entries()) {
        expect(operand.tensor.storage).not.toBe(storages[at]);
        expect(operand.tensor.storage.isOnHost).toBe(false);
        expect(operand.tensor.storage.byteLength).toBe(storages[at].byteLength);
      }
    }
    expect(launch.mock.calls.length).toBeGreaterThan(0);
  });
});
