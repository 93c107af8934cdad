import { expect, it } from 'vitest';
import { script, tensor, type Tensor } from '../../index.ts';

/** Groups and sequences whose sizes only the device knows: WebGPU gives what the host does. */

const programs = `
def experts(x, weights, ends: Tensor):
    return torch._grouped_mm(x * 1.0, weights, torch.cumsum(ends, 0, dtype=torch.int32))

def inner(x, y, ends: Tensor):
    return torch._grouped_mm(x, y, ends)

def encode(x, hidden, w, b, p, f, g, n):
    mask = (hidden == 0)
    aligned = torch._nested_tensor_from_mask_left_aligned(x, mask)
    nested = torch._nested_tensor_from_mask(x, mask, False)
    for _ in range(2):
        nested = torch._transformer_encoder_layer_fwd(nested, 16, 4, w, b, p, n, True, False, 1e-5, n, n, n, n, f, n, g, n)
    return torch.to_padded_tensor(nested, 0.5, x.size()), torch.to_padded_tensor(nested, -1.0), aligned
`;

const [onGpu, onHost] = await Promise.all(
  (['webgpu', 'cpu'] as const).map((device) => script<'experts' | 'inner' | 'encode'>(programs, { device })),
);

let seed = 3;
const filled = (...sizes: number[]): Tensor =>
  tensor(
    Float32Array.from({ length: sizes.reduce((a, b) => a * b) }, () => {
      seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
      return seed / 2 ** 31;
    }),
    sizes,
  );

const ends = (...values: number[]): Tensor => tensor(Int32Array.from(values), [values.length]);

async function compare(name: 'experts' | 'inner' | 'encode', ...inputs: Tensor[]): Promise<void> {
  const [got, want] = await Promise.all(
    [onGpu, onHost].map(async (unit) => [await unit[name](...inputs)].flat() as (Tensor | boolean)[]),
  );
  want.forEach((expected, at) => {
    if (typeof expected === 'boolean') {
      expect(got[at]).toBe(expected);
      return;
    }
    const result = got[at] as Tensor;
    expect(result.shape).toEqual(expected.shape);
    const [values, others] = [expected, result].map(({ data }) => Array.from(data as Float32Array));
    const worst = Math.max(...values.map((value, i) => Math.abs(value - others[i])));
    expect(worst, `${name}, result ${at}`).toBeLessThan(1e-4);
  });
  const { operators } = await onGpu[name].explain();
  const left = operators.filter((own) => own.placement === 'host' && /nested|padded|grouped/.test(own.name));
  expect(left).toEqual([]);
}

it.each([
  ['a few rows, each by itself', 12, [3, 0, 9]],
  ['groups of rows', 120, [50, 0, 70]],
])('grouped products: %s', async (_, rows, sizes) => {
  await compare('experts', filled(rows, 32), filled(3, 32, 48), ends(...sizes));
});

it('grouped products: groups of what is summed up', async () => {
  await compare('inner', filled(32, 64), filled(64, 48), ends(10, 10, 64));
});

it('sequences of different lengths go through layers and come out filled up', async () => {
  const [batch, longest] = [5, 24];
  const lengths = [24, 7, 1, 12, 20];
  const hidden = tensor(
    Float32Array.from({ length: batch * longest }, (_, at) =>
      at % longest < lengths[Math.floor(at / longest)] ? 0 : 1,
    ),
    [batch, longest],
  );
  const [w, p, f, g] = [filled(48, 16), filled(16, 16), filled(16, 16), filled(16, 16)];
  await compare('encode', filled(batch, longest, 16), hidden, w, filled(48), p, f, g, filled(16));
});
