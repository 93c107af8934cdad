import { describe, expect, it } from 'vitest';
import { load, script, tensor, type InputExpectations, type Tensor } from '../index.ts';

/** What `forward` of a module with this `__init__` and `forward` tells. */
async function expectedOf(init: string, parameters: string, body: string): Promise<InputExpectations> {
  const indented = (text: string): string => text.trim().replaceAll('\n', '\n        ');
  const unit = await script<'Net'>(
    `
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        ${indented(init)}
    def forward(self, ${parameters}):
        ${indented(body)}
`,
    { worker: false, device: 'cpu' },
  );
  return (await unit.construct('Net')).expectedInputs();
}

const shapesOf = ({ inputs }: InputExpectations): unknown[] => inputs.map(({ shape }) => shape);

describe('expectedInputs', { timeout: 60_000 }, () => {
  it('tells what the first layer of each kind wants', async () => {
    const layers: [string, string, unknown][] = [
      ['nn.Conv2d(3, 8, 3)', 'self.a(x)', [null, 3, null, null]],
      ['nn.Conv1d(5, 8, 3)', 'self.a(x)', [null, 5, null]],
      ['nn.Conv2d(4, 8, 3, groups=2)', 'self.a(x)', [null, 4, null, null]],
      ['nn.Linear(7, 2)', 'self.a(x)', [null, 7]],
      ['nn.LayerNorm([2, 6])', 'self.a(x)', [null, 2, 6]],
      ['nn.Conv2d(1, 8, 3)', 'self.a(x.unsqueeze(1))', [null, null, null]],
      ['nn.Conv2d(3, 8, 3)', 'self.a((x / 255.0 - 0.5).permute([0, 3, 1, 2]))', [null, null, null, 3]],
      ['nn.Conv1d(6, 8, 3)', 'self.a(F.relu(x).transpose(1, 2))', [null, null, 6]],
      ['nn.Conv2d(3, 8, 3)', 'self.a(F.pad(x, [1, 1, 2, 2]))', [null, 3, null, null]],
      ['nn.Linear(784, 10)', 'self.a(x.view(-1, 784))', [null, 784]],
      ['nn.Linear(784, 10)', 'self.a(torch.flatten(x, 1))', [null, 784]],
    ];
    for (const [layer, call, shape] of layers) {
      const expected = await expectedOf(`self.a = ${layer}`, 'x', `return ${call}`);
      expect([layer, call, ...shapesOf(expected)]).toEqual([layer, call, shape]);
      expect(expected.inputs[0]).toMatchObject({ name: 'x', dtype: 'float32' });
      expect(expected.isPure).toBe(true);
    }
  });

  it('follows convolutions and pooling back from the layer that wants one size', async () => {
    const shapes = [
      ['nn.Conv2d(1, 4, 3)', 'self.b(torch.flatten(F.relu(self.a(x)), 1))', 4 * 26 * 26, [null, 1, 28, 28]],
      [
        'nn.Conv2d(3, 4, 3, padding=1)',
        'self.b(F.max_pool2d(self.a(x), 2).view(x.size(0), -1))',
        4 * 8 * 8,
        [null, 3, 16, 16],
      ],
      ['nn.Conv1d(2, 4, 5, stride=2)', 'self.b(self.a(x).flatten(1))', 4 * 10, [null, 2, 23]],
    ] as const;
    for (const [layer, call, features, shape] of shapes) {
      const init = `self.a = ${layer}\nself.b = nn.Linear(${features}, 2)`;
      expect(shapesOf(await expectedOf(init, 'x', `return ${call}`))).toEqual([shape]);
    }
  });

  it('tells indices from numbers, and what they are below', async () => {
    const { inputs } = await expectedOf(
      'self.a = nn.Embedding(50, 4)',
      'ids, rows, mask, x',
      'return torch.where(mask, self.a(ids).sum() + x.index_select(0, rows), x)',
    );
    expect(inputs.map(({ name, dtype, below }) => [name, dtype, below])).toEqual([
      ['ids', 'int64', 50],
      ['rows', 'int64', null],
      ['mask', 'bool', null],
      ['x', null, null],
    ]);
  });

  it('knows a receiver by its place, whatever the author called it', async () => {
    const unit = await script<'Net'>(
      `
class Net(nn.Module):
    def __init__(this):
        super().__init__()
        this.a = nn.Linear(7, 2)
    def forward(s, x, n: int = 2):
        return s.a(x) * n
`,
      { worker: false, device: 'cpu' },
    );
    const module = await unit.construct('Net');
    const { inputs } = await module.expectedInputs();
    expect(inputs.map(({ name, shape }) => [name, shape])).toEqual([
      ['x', [null, 7]],
      ['n', null],
    ]);
    expect(await module.schema()).toBe('forward(__torch__.Net s, Tensor x, int n=2) -> Tensor');
    const copy = await load(await module.save(), { worker: false, device: 'cpu' });
    expect(await copy.code('forward')).toContain('def forward(s,\n    x: Tensor,\n    n: int=2) -> Tensor:\n  a = s.a');
    const results = await Promise.all([module, copy].map((each) => each.forward(tensor(new Float32Array(7), [1, 7]))));
    expect((results[0] as Tensor).tolist()).toEqual((results[1] as Tensor).tolist());
    await copy.dispose();
    await unit.dispose();
  });

  it('tells what checks name', async () => {
    const expected = await expectedOf(
      'self.n = 3',
      'x, rate: int',
      `
if rate != 16000:
    raise ValueError("rate")
if x.dim() != 3:
    raise ValueError("dim")
assert x.size(1) == 4
if x.shape[2] != 512:
    raise ValueError("length")
return x * rate`,
    );
    expect(expected.inputs).toMatchObject([
      { name: 'x', shape: [null, 4, 512] },
      { name: 'rate', shape: null, value: 16000 },
    ]);
    expect(expected.sizes).toEqual(expect.arrayContaining([16000, 512, 4]));
  });

  it('tells what a check of several conditions names', async () => {
    const body = `
if x.dim() != 4 or x.size(1) != 2:
    raise ValueError("shape")
assert x.size(2) == 6 and not x.size(3) != 7
return x`;
    expect(shapesOf(await expectedOf('self.n = 3', 'x', body))).toEqual([[null, 2, 6, 7]]);
  });

  it('tells of nothing that it does not know, and of programs that keep state', async () => {
    const expected = await expectedOf(
      'self.register_buffer("state", torch.zeros(1))',
      'x, y: List[str]',
      'self.state.add_(x.sum())\nreturn self.state',
    );
    expect(shapesOf(expected)).toEqual([null, null]);
    expect(expected.isPure).toBe(false);
  });
});
