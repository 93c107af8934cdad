import { afterAll, afterEach, expect, test } from 'vitest';
import { script, setJitOptions, shutdown, tensor, type ScriptModule, type Tensor } from '../index.ts';

afterAll(() => shutdown());
afterEach(() => setJitOptions({ executor: undefined, fuseOnCpu: undefined, smallWork: undefined }));

const PROGRAM = `
class Groups(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def chain(self, x: Tensor, y: Tensor) -> Tensor:
        a, b = torch.chunk(torch.tanh(x * y), 2, 1)
        c = torch.sigmoid(a) * b + a
        return torch.cat([c * 2.0, torch.relu(c) - b], 1)

    @torch.jit.export
    def product(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.tanh(torch.mm(x, y.t()) * 0.1) + torch.sigmoid(x.sum(1, keepdim=True) * 2.0)
`;

const sines = (step: number, rows: number): Tensor =>
  tensor(
    Float32Array.from({ length: rows * 8 }, (_, at) => Math.sin(step * at)),
    [rows, 8],
  );

/** What calls with batches of these rows give, the graph that ran last, and how many launches that call made. */
async function calls(
  name: 'chain' | 'product',
  rows: readonly number[],
): Promise<{ readonly found: number[][]; readonly graph: string; readonly launches: number }> {
  setJitOptions({ smallWork: -1 });
  const unit = await script(PROGRAM, { device: 'cpu', worker: false });
  const model = await (unit as unknown as { Groups(): Promise<ScriptModule> }).Groups();
  const found: number[][] = [];
  for (const count of rows) {
    const result = (await model.call(name, [sines(0.3, count), sines(0.7, count)])) as Tensor;
    found.push(Array.from(result.data as Float32Array));
  }
  const graph = await model.graph(name, { optimized: true });
  const launches = model.lastRun!.dispatches;
  await unit.dispose();
  return { found, graph, launches };
}

test.each([
  ['profiling', 'prim::TensorExprGroup'],
  ['simple', 'prim::FusionGroup'],
] as const)(
  'groups of PyTorch run in few kernels of a device where they are asked for: %s',
  async (executor, group) => {
    const rows = [6, 6, 6, 6, 4, 4, 4, 6];
    for (const name of ['chain', 'product'] as const) {
      const expected = await calls(name, rows);
      setJitOptions({ executor, fuseOnCpu: true });
      const { found, graph, launches } = await calls(name, rows);
      expect(graph).toContain(group);
      found.forEach((values, call) =>
        values.forEach((value, at) => expect(value).toBeCloseTo(expected.found[call][at], 5)),
      );
      // One by one they are nine, and five.
      expect(launches).toBeLessThanOrEqual(4);
      setJitOptions({ executor: undefined, fuseOnCpu: undefined });
    }
  },
);

test('bytecode is a listing of what PyTorch compiles a graph to', async () => {
  const unit = await script<'f'>('def f(x, n: int):\n    if n > 2:\n        x = torch.tanh(x)\n    return x + n\n', {
    device: 'cpu',
    worker: false,
  });
  const text = await unit.function('f').bytecode();
  expect(text).toMatch(/^graph\(%x\.1 : Tensor,/);
  expect(text.slice(text.indexOf('\n\n') + 2).replaceAll(/ # .*/g, '')).toBe(
    'STOREN 1 2,LOAD 2,LOADC 1,OP 0,JF 4,LOAD 1,OP 1,JMP 2,LOAD 1,STORE 3,DROPR 1,MOVE 3,MOVE 2,LOADC 0,OP 2,RET'
      .split(',')
      .map((line, at) => `${at} ${line}\n`)
      .join(''),
  );
  expect(await unit.function('f').bytecode({ passes: ['inline'] })).toContain('RET');
  await unit.dispose();
});
