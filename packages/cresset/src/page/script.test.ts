import { describe, expect, it } from 'vitest';
import {
  createModule,
  load,
  moduleDict,
  moduleList,
  script,
  sequential,
  tensor,
  CompilationUnit,
  type ScriptFunction,
  type Tensor,
} from '../index.ts';
import { failure } from '../../../../test-setup/failure.ts';

const cpu = { device: 'cpu' } as const;

describe('script', () => {
  it('compiles functions that see each other and the functional library', async () => {
    const unit = await script<'twice' | 'activate'>(
      `
def activate(x: Tensor) -> Tensor:
    return F.relu(twice(x)) + math.pi

def twice(x, times: int = 2):
    return x * times
`,
      cpu,
    );
    expect(unit.functions).toEqual(['activate', 'twice']);
    expect(((await unit.twice(tensor([1, 2]))) as Tensor).tolist()).toEqual([2, 4]);
    expect(((await unit.twice.run([tensor([1, 2])], { kwargs: { times: 5 } })) as Tensor).tolist()).toEqual([5, 10]);
    expect(((await unit.activate(tensor([-1, 1]))) as Tensor).tolist()).toEqual([
      Math.fround(Math.PI),
      Math.fround(2 + Math.fround(Math.PI)),
    ]);
    expect(await unit.twice.schema()).toBe('twice(Tensor x, int times=2) -> Tensor');
    expect(await unit.twice.code()).toContain(
      'def twice(x: Tensor,\n    times: int=2) -> Tensor:\n  return torch.mul(x, times)\n',
    );
    expect(await unit.twice.graph()).toContain('aten::mul(%x.1, %times.1)');
    expect(
      await unit.twice.graph({ passes: ['inline', 'functional_to_inplace_activation', 'erase_number_types'] }),
    ).toBe((await unit.twice.graph()).replace('%times.1 : int', '%times.1 : Long(device=cpu)'));
    const { twice } = unit;
    await expect(twice.save({ extra: {} } as object)).rejects.toThrow(
      "save has no option 'extra'; it has extraFiles, as",
    );
    await unit.dispose();
    const saving = twice.save();
    await expect(saving).rejects.toMatchObject({ code: 'MODEL_DISPOSED' });
  });

  it("tells PyTorch's error with the line and a caret, and adds nothing", async () => {
    const unit = new CompilationUnit(cpu) as CompilationUnit & Record<'f' | 'g', ScriptFunction>;
    await unit.define('def f(x):\n    return x + 1\n');
    const error = await failure(unit.define('def g(x):\n    y = f(x)\n    return nope(y)\n'));
    expect(error.message).toContain('undefined value nope');
    expect(error.message).toContain('    return nope(y)\n           ~~~~ <--- HERE');
    expect(unit.functions).toEqual(['f']);
    expect((await failure(unit.define('def f(x):\n    return x\n'))).message).toContain("method 'f' already defined");
    await unit.define('def g(x):\n    return f(x) * 10\n');
    expect(((await unit.g(tensor([1]))) as Tensor).tolist()).toEqual([20]);
    expect(() => unit.function('h')).toThrow("'CompilationUnit' has no attribute 'h'");
  });

  it('makes objects of classes, which are given to functions again', async () => {
    const unit = await script(
      `
class Counter:
    def __init__(self, start: int):
        self.count = start
        self.seen: List[int] = []

    def add(self, n: int) -> int:
        self.count += n
        self.seen.append(n)
        return self.count

def total(counter: Counter, extra: int) -> int:
    return counter.add(extra) + len(counter.seen)
`,
      cpu,
    );
    expect(unit.classes).toEqual(['Counter']);
    const counter = await unit.construct('Counter', [10]);
    expect(await counter.call('add', [5])).toBe(15);
    expect(await unit.function('total')(counter, 1)).toBe(18);
    expect(await counter.attribute('seen')).toEqual([5, 1]);
    await counter.setAttribute('count', 0);
    expect(await counter.call('add', [1])).toBe(1);
    expect((await failure(counter.setAttribute('count', 'many'))).code).toBe('ARGUMENT_TYPE');
    const other = await unit.construct('Counter', [1]);
    await counter.dispose();
    expect((await failure(counter.call('add', [1]))).code).toBe('NO_MODULE');
    expect(await unit.function('total')(other, 1)).toBe(3);
  });

  it('gives back what a function writes to its arguments, through views and twice the same tensor', async () => {
    const { update, same, read } = await script<'update' | 'same' | 'read'>(
      `
def update(x: Tensor, y: Tensor):
    x[0].add_(10)
    return y.sum()

def same(x: Tensor, y: Tensor):
    x.mul_(2)
    return y.clone()

def read(x: Tensor):
    return x + 1
`,
      cpu,
    );
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    const y = tensor([1, 1]);
    const elements = y.data;
    expect(((await update(x, y)) as Tensor).item()).toBe(2);
    expect(x.tolist()).toEqual([
      [11, 12],
      [3, 4],
    ]);
    expect(y.data.buffer).toBe(elements.buffer);
    expect(((await same(y, y)) as Tensor).tolist()).toEqual([2, 2]);
    expect(y.tolist()).toEqual([2, 2]);
    const failing = await script<'fails'>('def fails(x: Tensor):\n    x += 1\n    raise ValueError("too late")\n', cpu);
    expect((await failure(failing.fails(y))).message).toContain('too late');
    expect(y.tolist()).toEqual([3, 3]);
    const before = y.data.buffer;
    await read(y);
    expect(y.data.buffer).toBe(before);
  });
});

describe('createModule', () => {
  it('puts a module together, runs it, saves it and loads it again', async () => {
    const linear = await createModule('Linear', cpu);
    await linear.registerParameter(
      'weight',
      tensor([
        [1, 2],
        [3, 4],
      ]),
    );
    await linear.define('def forward(self, x):\n    return x @ self.weight.t()\n');

    const net = await createModule<'helper'>('Net', cpu);
    await net.registerBuffer('mean', tensor([1, 1]));
    await net.registerAttribute('calls', 'Dict[str, int]', new Map([['forward', 0]]));
    await net.registerConstant('scale', 3, 'int');
    await net.registerModule('layers', moduleList([linear, linear]));
    await net.registerModule('named', moduleDict({ first: linear }));
    await net.registerModule('both', sequential([linear, linear]));
    await net.define(`
def helper(self, x, s: float = 2.0):
    return x * s * self.scale

def forward(self, x):
    self.calls['forward'] += 1
    for layer in self.layers:
        x = layer(x)
    for name, layer in self.named.items():
        x = layer(x) if name == 'first' else x
    return self.helper(self.both(x) - self.mean), len(self.layers)
`);
    const [y, count] = (await net.forward(tensor([[1, 0]]))) as [Tensor, number];
    expect(y.tolist()).toEqual([[6408, 14_016]]);
    expect(count).toBe(2);
    expect(await net.attribute('calls')).toEqual(new Map([['forward', 1]]));
    expect(net.namedParameters().map(({ name }) => name)).toContain('layers.0.weight');
    expect(await net.code('helper')).toBe(
      'def helper(self,\n    x: Tensor,\n    s: float=2.) -> Tensor:\n  return torch.mul(torch.mul(x, s), 3)\n',
    );

    const bytes = await net.save({ extraFiles: { 'notes.txt': 'hello' } });
    const loaded = await load(bytes, cpu);
    expect(new TextDecoder().decode(loaded.extraFiles.get('notes.txt'))).toBe('hello');
    expect(((await loaded.forward(tensor([[1, 0]]))) as [Tensor, number])[0].tolist()).toEqual(y.tolist());
    expect(await loaded.attribute('calls')).toEqual(new Map([['forward', 2]]));
    expect(await loaded.attribute('training')).toBe(true);
    await loaded.eval();
    expect(await loaded.attribute('layers.1.training')).toBe(false);
    const again = await load(await loaded.save(), cpu);
    expect(await again.code()).toBe(await loaded.code());
    expect(await again.attribute('calls')).toEqual(new Map([['forward', 2]]));
  });

  it('refuses as PyTorch does, and is as it was then', async () => {
    const net = await createModule('Net', cpu);
    await net.registerParameter('weight', tensor([1]));
    expect((await failure(net.registerBuffer('weight', tensor([1])))).message).toContain(
      "attempting to add an attribute 'weight' to __torch__.Net but a field of the same name already exists",
    );
    expect((await failure(net.registerAttribute('n', 'Flot', 1))).message).toContain("Unknown type name 'Flot'");
    expect((await failure(net.registerAttribute('n', 'int', 'one'))).code).toBe('ARGUMENT_TYPE');
    const error = await failure(
      net.define('def good(self, x):\n    return x\ndef bad(self, x):\n    return self.nope + 1\n'),
    );
    expect(error.message).toContain("Module 'Net' has no attribute 'nope' ");
    expect(error.message).toContain('    return self.nope + 1\n           ~~~~~~~~~ <--- HERE');
    expect(net.methods()).toEqual([]);
    await net.define('def good(self, x):\n    return x * self.weight\n');
    expect(net.methods()).toEqual(['good']);
    const again = await failure(net.define('def good(self, x):\n    return x\n'));
    expect(again.message).toBe("Can't redefine method: good on class: __torch__.Net");
    expect((await failure(net.define('class Other:\n    pass\n'))).message).toContain(
      "expected def but found 'class' here",
    );
    expect((await failure(net.setAttribute('nope', 1))).message).toBe(
      "__torch__.Net does not have an attribute with name 'nope'",
    );
    const extra = await failure(net.call('good', [tensor([1])], { kwargs: { y: 2 } }));
    expect(extra.message).toBe(
      'good() expected at most 2 argument(s) but received 3 argument(s). Declaration: good(__torch__.Net self, Tensor x) -> Tensor',
    );
  });
});

describe('modules in source', () => {
  const source = `
class Scale(nn.Module):
    def __init__(self, size: int, factor: float = 2.0):
        super().__init__()
        self.weight = nn.Parameter(torch.full([size], factor))

    def forward(self, x):
        return x * self.weight

class Net(torch.nn.Module):
    history: List[int]
    kind: Final[str] = 'net'

    def __init__(self, size: int):
        super(Net, self).__init__()
        self.size = size
        self.history = []
        self.register_buffer('shift', torch.ones(size))
        self.layers = nn.ModuleList([Scale(size, float(i + 1)) for i in range(3)])
        self.tail = nn.Sequential(Scale(size), Scale(size, 0.5))
        self.named = nn.ModuleDict({'first': Scale(size)})

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            x = layer(x)
            self.history.append(index)
        return self.tail(x) + self.shift + self.named['first'](x) * len(self.layers)

    @torch.jit.ignore
    def plot(self):
        return matplotlib.plot(self.history)
`;

  it('are made by their __init__, called, and saved with what it gave them', async () => {
    const unit = await script(source, cpu);
    expect(unit.classes).toEqual(['Scale', 'Net']);
    const net = await unit.construct('Net', [2]);
    expect(((await net.forward(tensor([1, 10]))) as Tensor).tolist()).toEqual([43, 421]);
    expect(await net.attribute('history')).toEqual([0, 1, 2]);
    expect(net.namedParameters().map(({ name }) => name)).toEqual([
      'layers.0.weight',
      'layers.1.weight',
      'layers.2.weight',
      'tail.0.weight',
      'tail.1.weight',
      'named.first.weight',
    ]);
    expect(net.namedBuffers()).toMatchObject([{ name: 'shift', shape: [2] }]);
    expect(net.methods()).toEqual(['forward']);
    const other = await unit.construct('Net', [3]);
    expect(await other.attribute('history')).toEqual([]);

    const saved = await load(await net.save(), cpu);
    expect(((await saved.forward(tensor([1, 10]))) as Tensor).tolist()).toEqual([43, 421]);
    expect(await saved.attribute('history')).toEqual([0, 1, 2, 0, 1, 2]);
    expect(await saved.attribute('training')).toBe(true);
    expect(await saved.code()).not.toContain('__init__');
  });

  it('can stand below an authored module', async () => {
    const unit = await script(source, cpu);
    const outer = await createModule('Outer', { ...cpu, uses: unit });
    await outer.registerModule('inner', await unit.construct('Scale', [2]));
    await outer.define('def forward(self, x):\n    return self.inner(x) + 1\n');
    expect(((await outer.forward(tensor([1, 2]))) as Tensor).tolist()).toEqual([3, 5]);
  });

  it('are as large as their arguments say', async () => {
    const unit = await script(
      `
class Deep(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.layers = nn.ModuleList([Scale(2, i + 1.0) for i in range(n) if i != 1])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
${source}`,
      cpu,
    );
    for (const [n, result] of [
      [1, 1],
      [4, 12],
    ] as const) {
      const net = await unit.construct('Deep', [n]);
      expect(((await net.forward(tensor([1, 1]))) as Tensor).tolist()).toEqual([result, result]);
    }
  });
});

describe('layers of torch.nn in source', () => {
  it('are made with the shapes that PyTorch gives them', async () => {
    const unit = await script(
      `
class Net(nn.Module):
    def __init__(self, classes: int):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 6, [3, 1], stride=2, bias=False), nn.GroupNorm(2, 6), nn.GELU(), nn.AdaptiveAvgPool2d(1),
        )
        self.embedding = nn.Embedding(10, 6)
        self.head = nn.Sequential(nn.Flatten(), nn.LayerNorm(6), nn.Dropout(0.1), nn.Linear(6, classes), nn.Softmax(-1))

    def forward(self, x, token):
        return self.head(self.features(x) + self.embedding(token)[:, :, None, None])
`,
      cpu,
    );
    const net = await unit.construct('Net', [3]);
    await net.eval();
    const scores = (await net.forward(tensor(new Float32Array(2 * 144), [2, 1, 12, 12]), tensor([1n, 2n]))) as Tensor;
    expect(scores.shape).toEqual([2, 3]);
    for (const row of scores.tolist() as unknown as number[][]) expect(row.reduce((a, b) => a + b)).toBeCloseTo(1, 5);
    const shapes = Object.fromEntries(net.namedParameters().map(({ name, shape }) => [name, shape]));
    expect(shapes).toMatchObject({
      'features.0.weight': [4, 1, 3, 3],
      'features.0.bias': [4],
      'features.4.weight': [6, 4, 3, 1],
    });
    expect(shapes).not.toHaveProperty('features.4.bias');
    expect(net.namedBuffers().map(({ name }) => name)).toContain('features.1.running_var');
    const weight = await net.parameter('head.3.weight');
    expect(Math.max(...Array.from(weight.data as Float32Array, Math.abs))).toBeLessThanOrEqual(1 / Math.sqrt(6));
    const again = await load(await net.save(), cpu);
    const inputs = [tensor(new Float32Array(2 * 144), [2, 1, 12, 12]), tensor([1n, 2n])];
    expect(((await again.forward(...inputs)) as Tensor).tolist()).toEqual(scores.tolist());
  });

  it('names a layer that is not there', async () => {
    const unit = await script(
      'class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.rnn = nn.Mamba(3)\n',
      cpu,
    );
    const error = await failure(unit.construct('Net'));
    expect(error.message).toContain("module 'torch.nn' has no attribute 'Mamba'");
    expect(error.message).toContain('File "<string>", line 4');
    expect(error.message).toContain('self.rnn = nn.Mamba(3)\n        ~~~~~~~~~~~~~~~~~~~~~~ <--- HERE');
  });
});
