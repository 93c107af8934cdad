import { declareScript } from '@cresset/frontend';
import { ClassType } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { initializeRuntime, RuntimeContext, ScriptModule } from '@cresset/runtime';
import { ScriptObject, Tensor, type IValue } from '@cresset/tensor';
import { requestWebGpuDevice, type WebGpuDevice } from '@cresset/webgpu';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

// Each branch of each function asks for a number that is computed on the GPU, so that every fork is suspended on the way.
const source = `
def halve_until_small(x: Tensor) -> Tensor:
    while bool((x.abs().sum() > 1000.0).item()):
        x = x * 0.5
    return x

def complain(x: Tensor) -> Tensor:
    if bool((x.sum() > 0.0).item()):
        raise ValueError("the sum is positive")
    return x

def side_by_side(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]:
    a = torch.jit.fork(halve_until_small, x)
    b = torch.jit.fork(halve_until_small, y)
    second = torch.jit.wait(b)
    return torch.jit.wait(a), second

def nested(x: Tensor) -> Tensor:
    inner = torch.jit.fork(halve_until_small, x)
    return torch.jit.wait(inner) + torch.jit.wait(inner)

def in_a_list(x: Tensor, n: int) -> Tensor:
    futures: List[Future[Tensor]] = []
    for i in range(n):
        futures.append(torch.jit.fork(nested, x * float(i)))
    results: List[Tensor] = []
    for future in futures:
        results.append(torch.jit.wait(future))
    return torch.stack(results)

def caught_at_wait(x: Tensor) -> Tensor:
    future = torch.jit.fork(complain, x)
    return torch.jit.wait(future)

def never_waited_for(x: Tensor) -> Tensor:
    future = torch.jit.fork(complain, x)
    return halve_until_small(x)
`;

let device: WebGpuDevice;
let program: ScriptModule;

beforeAll(() => {
  registerAllOperators();
  initializeRuntime();
});

beforeEach(async () => {
  device = await requestWebGpuDevice();
});

afterEach(() => {
  program.dispose();
  device.dispose();
});

async function call(name: string, ...args: IValue[]): Promise<IValue> {
  const { unit } = declareScript(source, { filename: 'fork.py', module: 'program' });
  program = new ScriptModule(
    new ScriptObject(new ClassType('__torch__.Functions')),
    unit,
    new RuntimeContext({ device }),
  );
  return program.callFunction(unit.getFunction(`__torch__.${name}`), args);
}

async function elements(value: IValue): Promise<number[]> {
  const tensor = value as Tensor;
  await tensor.storage.toHost();
  return Array.from(tensor.contiguousArray() as Float32Array);
}

const filled = (value: number): Tensor => Tensor.fromArray(new Float32Array(4096).fill(value), [4096], 'float32');

describe('fork and wait on WebGPU', () => {
  test('forks that wait for the GPU go on beside each other', async () => {
    const result = (await call('side_by_side', filled(1), filled(8))) as unknown as { items: IValue[] };
    expect((await elements(result.items[0]))[0]).toBe(0.125);
    expect((await elements(result.items[1]))[0]).toBe(0.125);
  });

  test('a future is waited for twice, forks fork, and futures lie in lists', async () => {
    const values = await elements(await call('in_a_list', filled(1), 4n));
    expect([0, 1, 2, 3].map((row) => values[row * 4096])).toEqual([0, 0.25, 0.25, 0.375]);
  });

  test('an exception comes out of the wait', async () => {
    await expect(call('caught_at_wait', filled(1))).rejects.toThrow('the sum is positive');
  });

  test('a fork that nobody waits for ends by itself, its exception with it', async () => {
    expect((await elements(await call('never_waited_for', filled(1))))[0]).toBe(0.125);
  });
});
