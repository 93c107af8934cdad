import { describe, expect, it } from 'vitest';
import {
  createModule,
  type CressetError,
  load,
  registerOperator,
  script,
  tensor,
  TorchScriptError,
  type Tensor,
} from '../index.ts';
import { failure } from '../../../../test-setup/failure.ts';

const cpu = { device: 'cpu' } as const;

describe('registerOperator', () => {
  it('runs a function of the page in the middle of a program', async () => {
    const calls: unknown[][] = [];
    await registerOperator('my_ns::scaled(Tensor x, float alpha=2.0, *, str mode="linear") -> Tensor', {
      async host(x: Tensor, alpha: number, mode: string) {
        calls.push([x.shape, alpha, mode]);
        await new Promise((resolve) => setTimeout(resolve, 1));
        return tensor(
          Float32Array.from(x.data as Float32Array, (value) => value * alpha),
          x.shape,
        );
      },
    });
    const { twice } = await script<'twice'>(
      `
def twice(x):
    total = x * 0
    for i in range(2):
        total += ops.my_ns.scaled(x, float(i + 1), mode='cubic')
    return torch.ops.my_ns.scaled(total)
`,
      cpu,
    );
    expect(((await twice(tensor([1, 2]))) as Tensor).tolist()).toEqual([6, 12]);
    expect(calls).toEqual([
      [[2], 1, 'cubic'],
      [[2], 2, 'cubic'],
      [[2], 2, 'linear'],
    ]);
  });

  it('gives several results, none, lists, and writes to arguments', async () => {
    await registerOperator('my_ns::parts(Tensor[] xs, int n) -> (Tensor first, int count)', {
      host: (xs: Tensor[], n: number) => [xs[0], BigInt(xs.length + n)],
    });
    const seen: number[] = [];
    await registerOperator('my_ns::note(int value) -> ()', { host: (value: number) => void seen.push(value) });
    await registerOperator('my_ns::fill_(Tensor(a!) x, Scalar value) -> Tensor(a!)', {
      host(x: Tensor, value: number) {
        (x.data as Float32Array).fill(value);
        return x;
      },
    });
    const { run } = await script<'run'>(
      `
def run(x):
    first, count = ops.my_ns.parts([x, x], 3)
    ops.my_ns.note(count)
    y = ops.my_ns.fill_(x[0], 7.0)
    y += 1
    return first, x
`,
      cpu,
    );
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    const [first, after] = (await run(x)) as [Tensor, Tensor];
    expect(seen).toEqual([5]);
    expect(first.tolist()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(after.tolist()).toEqual([
      [8, 8],
      [3, 4],
    ]);
    expect(x.tolist()).toEqual([
      [8, 8],
      [3, 4],
    ]);
  });

  it('names what is wrong, at the line of the program', async () => {
    await registerOperator('my_ns::broken(Tensor x, int how) -> Tensor', {
      host(x: Tensor, how: number): unknown {
        if (how === 0) throw new RangeError('no such thing');
        return how === 1 ? 'text' : how === 2 ? tensor([1, 2, 3]) : x;
      },
      shape: (x: Tensor) => x.shape,
    } as never);
    await registerOperator('my_ns::two(Tensor x) -> (Tensor, Tensor)', { host: (x: Tensor) => x });
    const { run, two } = await script<'run' | 'two'>(
      `
def run(x, how: int):
    return ops.my_ns.broken(x, how)

def two(x):
    a, b = ops.my_ns.two(x)
    return a
`,
      { ...cpu, filename: 'mine.py' },
    );
    const x = tensor([1]);
    expect(((await run(x, 3)) as Tensor).tolist()).toEqual([1]);
    const thrown = await failure(run(x, 0));
    expect(thrown).toBeInstanceOf(TorchScriptError);
    expect(thrown).toMatchObject({ code: 'OPERATOR_HOST', reason: 'my_ns::broken: no such thing' });
    expect(thrown.message).toContain('File "mine.py", line 3, in run');
    expect(await failure(run(x, 1))).toMatchObject({
      code: 'OPERATOR_RESULT',
      reason: 'my_ns::broken: its function gave something that is no Tensor, as its schema says',
    });
    expect((await failure(run(x, 2))).message).toContain('gave a tensor of shape [3] where its shape rule says [1]');
    expect((await failure(two(x))).message).toContain('gave no array of the 2 results that its schema has');
  });

  it('holds results against a shape rule in TorchScript', async () => {
    await registerOperator('my_ns::rows(Tensor x) -> Tensor', {
      host: (x: Tensor) => tensor(new Float32Array(x.shape[0]), [x.shape[0]]),
      shape:
        'def rows(x: List[int]) -> List[int]:\n    assert len(x) == 2, "rows() takes a matrix"\n    return x[1:]\n',
    });
    const { run } = await script<'run'>('def run(x):\n    return ops.my_ns.rows(x)\n', cpu);
    expect((await failure(run(tensor([1, 2])))).message).toContain('rows() takes a matrix');
    expect((await failure(run(tensor([[1, 2, 3]])))).message).toContain('[1] where its shape rule says [3]');
    expect(((await run(tensor([[1]]))) as Tensor).shape).toEqual([1]);
  });

  it('is in terms of others where it has a lowering', async () => {
    await registerOperator('my_ns::normed(Tensor x, float eps=0.5) -> Tensor', {
      lowering: `
def normed(x: Tensor, eps: float) -> Tensor:
    return F.relu(centred(x)) / (x.std(unbiased=False) + eps)

def centred(x: Tensor) -> Tensor:
    return x - x.mean()
`,
    });
    await registerOperator('my_ns::swish(Tensor x, float alpha=1.0) -> Tensor', {
      lowering: 'x * sigmoid(alpha * x) if x > -100 else 0',
    });
    await registerOperator('my_ns::cubed(Tensor x, Tensor y) -> Tensor', {
      lowering: ['add', ['mul', 'x', ['mul', 'x', 'x']], ['where', ['gt', 'y', 0], 'y', -1]],
    });
    const { run, cubed } = await script<'run' | 'cubed'>(
      `
def run(x):
    return ops.my_ns.normed(x), ops.my_ns.swish(x, alpha=2.0)

def cubed(x, y):
    return ops.my_ns.cubed(x, y)
`,
      cpu,
    );
    const [normed, swish] = (await run(tensor([-1, 1]))) as [Tensor, Tensor];
    expect(normed.tolist()).toEqual([0, Math.fround(1 / 1.5)]);
    const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
    (swish.tolist() as number[]).forEach((value, index) => {
      const x = [-1, 1][index];
      expect(value).toBeCloseTo(x * sigmoid(2 * x), 6);
    });
    const ints = tensor([2n, -3n]);
    const result = (await cubed(ints, tensor([[1n], [-5n]]))) as Tensor;
    expect(result.dtype).toBe('int64');
    expect(result.tolist()).toEqual([
      [9, -26],
      [7, -28],
    ]);
  });

  it('is called by programs that were saved', async () => {
    await registerOperator('saved_ns::plus.Tensor(Tensor x, int n=1) -> Tensor', {
      host: (x: Tensor, n: number) =>
        tensor(
          Float32Array.from(x.data as Float32Array, (value) => value + n),
          x.shape,
        ),
    });
    const net = await createModule('Net', cpu);
    await net.define('def forward(self, x):\n    return ops.saved_ns.plus(x, 4) + ops.saved_ns.plus(x)\n');
    const bytes = await net.save();
    expect(await net.code('forward')).toContain('ops.saved_ns.plus(x, 4)');
    const loaded = await load(bytes, cpu);
    expect(((await loaded.forward(tensor([1]))) as Tensor).tolist()).toEqual([7]);
  });

  it('ends with the call where that is aborted', async () => {
    /** Of the calls of the operator that began, what ends each. */
    const ends: (() => void)[] = [];
    await registerOperator('my_ns::endless(Tensor x) -> Tensor', {
      host: (x: Tensor) => new Promise<Tensor>((resolve) => ends.push(() => resolve(x))),
    });
    const { run } = await script<'run'>('def run(x):\n    return ops.my_ns.endless(x)\n', cpu);
    const controller = new AbortController();
    const call = run.run([tensor([1])], { signal: controller.signal });
    await expect.poll(() => ends.length).toBe(1);
    controller.abort();
    expect((await failure(call)).name).toBe('AbortError');
    // The next call does not wait for what was given up.
    const next = run(tensor([2]));
    await expect.poll(() => ends.length).toBe(2);
    ends[1]!();
    expect(((await next) as Tensor).tolist()).toEqual([2]);
  });

  it('refuses what it cannot take', async () => {
    const host = (x: Tensor): Tensor => x;
    expect((await failure(registerOperator('my_ns::f(Tensor x -> Tensor', { host }))).code).toBe('IR_PARSE');
    expect((await failure(registerOperator('aten::f(Tensor x) -> Tensor', { host }))).code).toBe('OPERATOR_NAME');
    expect((await failure(registerOperator('my_ns::f(Tensor x) -> Tensor', {}))).code).toBe('OPERATOR_NAME');
    const expression = (lowering: string): Promise<CressetError> =>
      failure(registerOperator('my_ns::f(Tensor x) -> Tensor', { lowering }));
    expect((await expression('x + y')).message).toBe("my_ns::f has no argument 'y'");
    expect((await expression('frobnicate(x)')).message).toBe("there is no scalar function 'frobnicate'");
    expect((await expression('x +')).message).toContain("expected ident but found 'newline' here");
    expect((await expression('def f(x):\n    return nope(x)\n')).message).toContain('undefined value nope');
    expect((await expression('def f(x, y):\n    return x\n')).message).toContain(
      'takes 2 arguments, and the operator 1',
    );
    const unknown = await failure(script('def f(x):\n    return ops.my_ns.f(x)\n', cpu));
    expect(unknown.message).toContain('Unknown builtin op: my_ns::f');
  });
});
