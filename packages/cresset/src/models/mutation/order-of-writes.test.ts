import { afterEach, describe, expect, it } from 'vitest';
import { load, script, setJitOptions, tensor, type Tensor } from '../../index.ts';

const cpu = { device: 'cpu', worker: false } as const;

afterEach(() => setJitOptions({ enabled: true, webAssembly: true }));

/** What is read through a list, and a write to what the list holds, in one order or the other. */
const functions = {
  concatenated: 'v = torch.cat([y, x])\n    y.zero_()\n    return v * 2',
  stacked: 'v = torch.stack([y, x])\n    x.mul_(3)\n    return (v + 1) * 2',
  summed: "v = torch.einsum('i,i->i', x, y)\n    x.zero_()\n    return v * 2",
  splitted: 'l = torch.split(x, 1)\n    v = l[0] * 2\n    x.zero_()\n    return v + 1',
  filled: 'l = [x * 1, y * 1]\n    v = torch.cat(l)\n    l[0].add_(0.5)\n    return v * 2 + torch.cat(l)',
  shared:
    'l = [x * 1, y]\n    for i in range(3):\n        l[0].add_(i)\n        y = y + torch.stack(l).sum(0)\n    return y',
  dropped: 'v = torch.dropout(x, 0.5, False)\n    w = v * 2\n    x.zero_()\n    return w + 1',
  widened: 'v = torch.atleast_1d(x)\n    w = v * 2\n    x.zero_()\n    return w + v',
};
type Name = keyof typeof functions;

const source = Object.entries(functions)
  .map(([name, body]) => `def ${name}(x: Tensor, y: Tensor):\n    ${body}\n`)
  .join('\n');

const given = (length: number): [Tensor, Tensor] => [
  tensor(Float32Array.from({ length }, (_, at) => (at % 7) + 1)),
  tensor(Float32Array.from({ length }, (_, at) => (at % 5) + 3)),
];

// Of x = [1, 2] and y = [3, 4], as PyTorch has it without its optimisations: it merges the stacks of `shared` itself.
const wanted: Partial<Record<Name, unknown>> = {
  concatenated: [6, 8, 2, 4],
  summed: [6, 16],
  splitted: [3],
  filled: [3.5, 6.5, 9, 12],
  shared: [19, 26],
  dropped: [3, 5],
  widened: [2, 4],
};

describe('what reads a list reads it before who writes to what it holds', () => {
  it.each([2, 999, 1001, 4000])('with %i elements, on every call', async (length) => {
    await setJitOptions({ enabled: false, webAssembly: false });
    const plain = await script<Name>(source, cpu);
    const expected = new Map<Name, unknown>();
    for (const name of Object.keys(functions) as Name[]) {
      const [x, y] = given(length);
      const result = (await plain[name](x, y)) as Tensor;
      expected.set(
        name,
        [result, x, y].map((each) => each.tolist()),
      );
    }
    if (length === 2)
      for (const [name, value] of Object.entries(wanted))
        expect((expected.get(name as Name) as unknown[])[0]).toEqual(value);
    await setJitOptions({ enabled: true, webAssembly: true });
    const unit = await script<Name>(source, cpu);
    for (let call = 0; call < 3; call++) {
      for (const name of Object.keys(functions) as Name[]) {
        const [x, y] = given(length);
        const result = (await unit[name](x, y)) as Tensor;
        expect(
          [result, x, y].map((each) => each.tolist()),
          `${name}, call ${call}`,
        ).toEqual(expected.get(name));
      }
    }
  });

  it('in a module that keeps the end of what it was given, saved and loaded', async () => {
    const unit = await script<'Streaming'>(
      `
class Streaming(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('s', torch.zeros(8))
    def forward(self, x):
        h = torch.cat([self.s, x])
        self.s.copy_(x[-8:])
        return h * 2
`,
      cpu,
    );
    const authored = await unit.construct('Streaming', []);
    const model = await load(await authored.save(), cpu);
    let kept = new Array<number>(8).fill(0);
    for (let call = 1; call <= 4; call++) {
      const chunk = Array.from({ length: 1200 }, (_, at) => (at % 13) * call);
      const result = (await model.forward(tensor(Float32Array.from(chunk)))) as Tensor;
      expect(result.tolist()).toEqual([...kept, ...chunk].map((each) => each * 2));
      kept = chunk.slice(-8);
    }
  });
});
