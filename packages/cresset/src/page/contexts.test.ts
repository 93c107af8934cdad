import { describe, expect, it } from 'vitest';
import { createModule, load, script, tensor, type ScriptModule, type Tensor } from '../index.ts';

const cpu = { device: 'cpu', worker: false } as const;

async function moduleOf(forward: string): Promise<ScriptModule> {
  const module = await createModule('Net', cpu);
  return module.define(forward, { filename: 'net.py' });
}

/** Calls a module, and what comes of saving and loading it. */
async function outputs(module: ScriptModule, ...inputs: Tensor[]): Promise<unknown[]> {
  const again = await load(await module.save(), cpu);
  const results = [await module.forward(...inputs), await again.forward(...inputs)];
  await again.dispose();
  return results;
}

describe('torch.profiler.record_function', () => {
  const source = `
def forward(self, x):
    with torch.profiler.record_function("outer"):
        y = x * 2
        with torch.profiler.record_function("inner", "of them"):
            y = y + x
    return y`;

  it('changes no result, saved and loaded', async () => {
    const module = await moduleOf(source);
    const [own, loaded] = (await outputs(module, tensor([1, 2, 3]))) as [Tensor, Tensor];
    expect([...own.data]).toEqual([3, 6, 9]);
    expect([...loaded.data]).toEqual([3, 6, 9]);
    await module.dispose();
  });

  it('shows in the trace of a profile, around its operators', async () => {
    const module = await moduleOf(source);
    const { traceEvents } = (await module.profile([tensor([1, 2, 3])])).trace;
    const spanOf = (name: string): [number, number] => {
      const { ts, dur } = traceEvents.find((event) => event.name === name)!;
      return [ts!, ts! + dur!];
    };
    const ranges = traceEvents.filter(({ cat }) => cat === 'user_annotation').map(({ name }) => name);
    expect(ranges.sort()).toEqual(['inner', 'outer']);
    const [outer, inner, sum] = ['outer', 'inner', 'aten::add.Tensor'].map(spanOf);
    for (const [around, within] of [
      [outer, inner],
      [inner, sum],
    ]) {
      expect(around[0]).toBeLessThanOrEqual(within[0]);
      expect(around[1]).toBeGreaterThanOrEqual(within[1]);
    }
    await module.dispose();
  });

  it('is entered and left by operators, where a program was traced', async () => {
    const module = await moduleOf(`
def forward(self, x):
    range = torch.ops.profiler._record_function_enter_new("traced", None)
    old = torch.ops.profiler._record_function_enter("older")
    y = x + 1
    torch.ops.profiler._record_function_exit(old)
    torch.ops.profiler._record_function_exit(range)
    return y`);
    const [, loaded] = (await outputs(module, tensor([1]))) as [Tensor, Tensor];
    expect([...loaded.data]).toEqual([2]);
    const { traceEvents } = (await module.profile([tensor([1])])).trace;
    expect(traceEvents.filter(({ cat }) => cat === 'user_annotation').map(({ name }) => name)).toEqual([
      'older',
      'traced',
    ]);
    await module.dispose();
  });
});

describe('torch.autocast in source', () => {
  it.each([
    ['torch.autocast("cpu")', 15],
    ['torch.autocast(device_type="cpu", dtype=torch.float16, enabled=True)', 5],
    ['torch.autocast("cpu", enabled=False)', 6],
    ['torch.amp.autocast("cuda")', 6],
    ['torch.cpu.amp.autocast()', 15],
    ['torch.cuda.amp.autocast(enabled=True)', 6],
  ])('with %s products on the CPU are of dtype %i', async (context, dtype) => {
    const module = await moduleOf(`
def forward(self, x):
    with ${context}:
        y = torch.mm(x, x)
    return y.dtype, torch.mm(x, x).dtype`);
    for (const result of await outputs(module, tensor([1, 2, 3, 4], [2, 2]))) expect(result).toEqual([dtype, 6]);
    await module.dispose();
  });

  it('is refused as a decorator', async () => {
    const source = '@torch.autocast("cpu")\ndef f(x):\n    return x\n\ndef g(x):\n    return f(x)';
    await expect(script(source, cpu)).rejects.toThrow('@autocast() decorator is not supported in script mode');
  });
});

describe('torch.jit._awaitable', () => {
  it('runs a call when it is first waited for, and once', async () => {
    const module = await moduleOf(`
def count(self, log: List[str], name: str) -> int:
    log.append(name)
    return len(log)

def forward(self, x):
    log: List[str] = []
    first = torch.jit._awaitable(self.count, log, "first")
    never = torch.jit._awaitable(self.count, log, "never")
    second = torch.jit._awaitable(self.count, log, "second")
    sum = 10 * torch.jit._awaitable_wait(second) + torch.jit._awaitable_wait(first) + torch.jit._awaitable_wait(second)
    return log, sum`);
    for (const result of await outputs(module, tensor([1]))) expect(result).toEqual([['second', 'first'], 13]);
    await module.dispose();
  });

  it('is waited for by whoever takes something from it, and hands on an error', async () => {
    const unit = await script(
      `
from torch._awaits import _Await as Await

class Pair:
    def __init__(self, x: Tensor):
        self.x = x

    def twice(self):
        return 2 * self.x

def make(x: Tensor) -> Pair:
    if x.numel() == 0:
        raise ValueError("there is nothing")
    return Pair(x)

def take(pair: Await[Pair]):
    return pair.twice() + pair.x

def f(x: Tensor):
    return take(torch.jit._awaitable(make, x)) + torch.jit._awaitable_wait(torch.jit._awaitable_nowait(x))
`,
      cpu,
    );
    expect([...((await unit.function('f')(tensor([1, 2]))) as Tensor).data]).toEqual([4, 8]);
    await expect(unit.function('f')(tensor([]))).rejects.toThrow('there is nothing');
    await unit.dispose();
  });
});
