import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, it } from 'vitest';
import { leaf, numbersOf, TapedProgram } from './tape-fixture.ts';

beforeAll(registerAllOperators);

const MATRIX = [1, 2, 3, 4, 5, 6];

/** The gradient of the sum of what a program gives, by its argument `[rows, columns]`. */
async function gradientOf(body: string, values: readonly number[], rows = 2): Promise<number[] | null> {
  const lines = body.split('\n').map((line) => `    ${line}\n`);
  const taped = new TapedProgram(`def f(x):\n${lines.join('')}`);
  const x = leaf(values, [rows, values.length / rows]);
  const [output] = await taped.call(x);
  const [gradient] = await taped.differentiate({ outputs: [output], gradients: [null], inputs: [x] });
  return numbersOf(gradient)?.map((value) => Math.round(value * 1e9) / 1e9 + 0) ?? null;
}

// The numbers are PyTorch's.
describe('gradients', () => {
  it.each([
    [
      'of a view that is turned in place, and of what it is a view of',
      'base = torch.stack([x, x * 3])\nv = base[1]\nv.transpose_(0, 1)\nreturn (v * torch.arange(6).reshape([3, 2])).sum() + (base[0] * 2).sum()',
      [2, 8, 14, 5, 11, 17],
    ],
    [
      'of another view of what is turned in place',
      'y = x * 1\nv = y.t()\ny.t_()\nreturn (v * 2 + y * torch.arange(6).reshape([3, 2])).sum()',
      [2, 4, 6, 3, 5, 7],
    ],
    [
      'through strides over memory that lies otherwise',
      'return (torch.as_strided(x.t(), [2, 2], [1, 2], 1) * torch.tensor([[1., 2.], [3., 4.]])).sum()',
      [0, 1, 3, 2, 4, 0],
    ],
    [
      'through a copy that no view can show',
      'return (torch.view_copy(x.t(), [2, 3]) * torch.arange(6).reshape([2, 3])).sum()',
      [0, 2, 4, 1, 3, 5],
    ],
    [
      'by positions from behind',
      'return torch.take_along_dim(x, torch.tensor([[-1], [0]]), 1).sum()',
      [0, 0, 1, 1, 0, 0],
    ],
    [
      'by a value that is put to one place twice',
      'return torch.index_fill(torch.zeros([2, 3]).to(7), 0, torch.tensor([0, 0]), x[0, 0]).sum()',
      [3, 0, 0, 0, 0, 0],
    ],
    [
      'of means of what has no spread',
      'return (torch.std_mean(x[:1], 0)[1] + torch.var_mean(x[1:], 0)[1]).sum()',
      [1, 1, 1, 1, 1, 1],
    ],
    ['of a product of a vector and a vector', 'return torch.nn.functional.linear(x[0], x[1])', [4, 5, 6, 1, 2, 3]],
    [
      'of bags in which a row counted from behind is left out',
      'return torch.nn.functional.embedding_bag(torch.tensor([[0, 1]]), x, mode="mean", padding_idx=-1).sum()',
      [1, 1, 1, 0, 0, 0],
    ],
    [
      'of what nobody knows to be written to',
      'y = x * 1\nz = y * y\nv = y.data[0]\nv.mul_(0)\ny.data.add_(1)\nreturn z.sum()',
      [2, 2, 2, 10, 12, 14],
    ],
    [
      'of a part that is written to, though another one is a view too',
      'y = x * 1\na, b = y.tensor_split(2, 1)\na.mul_(3)\nreturn (y * y).sum() + b.sum()',
      [18, 36, 7, 72, 90, 13],
    ],
    ['of what requires a gradient anyway', 'y = x * 2\ny.requires_grad_()\nreturn y.sum()', [2, 2, 2, 2, 2, 2]],
  ])('%s', async (_, body, expected) => {
    expect(await gradientOf(body, MATRIX)).toEqual(expected);
  });

  it.each([
    ['torch.linalg.matrix_norm(x, "nuc")', [2, 0, 0, 2]],
    ['torch.linalg.matrix_norm(x, "nuc")', [0, 0, 0, 0]],
    ['torch.linalg.svdvals(x).sum()', [3, 0, 0, 3]],
    ['torch.linalg.eigvalsh(x).sum()', [2, 0, 0, 2]],
    ['torch.linalg.eigvals(x).sum().abs()', [2, 0, 0, 2]],
  ])('of values of a matrix that are equal: %s of %j', async (body, values) => {
    expect(await gradientOf(`return ${body}`, values)).toEqual([1, 0, 0, 1]);
  });

  const again =
    'g = torch.autograd.grad([y], [x], create_graph=True)[0]\nassert g is not None\nreturn (g * torch.tensor([[1., 2.], [3., 5.]])).sum()';
  it.each([
    ['a determinant', 'return torch.det(x)', [1, 2, 3, 4], [4, -3, -2, 1]],
    ['a determinant of zero', 'return torch.det(x)', [1, 2, 2, 4], [0, 0, 0, 0]],
    ['a determinant of nothing but zeros', 'return torch.det(x)', [0, 0, 0, 0], [0, 0, 0, 0]],
    ['the slope of a determinant', `y = torch.det(x)\n${again}`, [1, 2, 3, 4], [5, -3, -2, 1]],
    ['the slope of a determinant of zero', `y = torch.det(x)\n${again}`, [1, 2, 2, 4], [5, -3, -2, 1]],
    [
      'slopes of determinants of which one is zero',
      `y = torch.det(torch.stack([x, x + torch.eye(2)])).sum()\n${again}`,
      [1, 2, 2, 4],
      [10, -6, -4, 2],
    ],
    ['the slope of powers of zero', `y = torch.pow(0, x).sum()\n${again}`, [0, 1, 2, 3], [NaN, NaN, NaN, NaN]],
  ])('of %s', async (_, body, values, expected) => {
    expect(await gradientOf(body, values)).toEqual(expected);
  });

  it.each([
    [
      '[3, 2], [2, 1], [1, 1], True, True, None',
      [
        0.5, 0.833333333, 1.166666667, 1.5, 1.833333333, 2.166666667, 3.333333333, 4.0, 4.666666667, 5.333333333, 6.0,
        6.666666667, 2.833333333, 3.166666667, 3.5, 3.833333333, 4.166666667, 4.5, 8.0, 8.666666667, 9.333333333, 10.0,
        10.666666667, 11.333333333, 5.166666667, 5.5, 5.833333333, 6.166666667, 6.5, 6.833333333,
      ],
    ],
    [
      '[3, 2], [2, 1], [1, 1], True, False, None',
      [
        1.0, 1.25, 1.75, 2.25, 2.75, 5.0, 5.166666667, 4.416666667, 5.25, 6.083333333, 6.916666667, 11.833333333,
        4.166666667, 3.166666667, 3.5, 3.833333333, 4.166666667, 6.833333333, 15.666666667, 11.416666667, 12.25,
        13.083333333, 13.916666667, 22.333333333, 11.5, 8.25, 8.75, 9.25, 9.75, 15.5,
      ],
    ],
    [
      '[2, 4], [1, 2], [1, 0], False, True, 5',
      [
        0.8, 0.8, 2.0, 2.0, 1.2, 1.2, 1.6, 1.6, 3.6, 3.6, 2.0, 2.0, 2.4, 2.4, 5.2, 5.2, 2.8, 2.8, 3.2, 3.2, 6.8, 6.8,
        3.6, 3.6, 4.0, 4.0, 8.4, 8.4, 4.4, 4.4,
      ],
    ],
    [
      '[1, 3], [2, 3], [0, 1], True, False, None',
      [
        0.5, 0.5, 0.666666667, 0.666666667, 0.666666667, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 1.666666667,
        1.666666667, 1.666666667, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.5, 3.5, 2.666666667, 2.666666667, 2.666666667,
        9.0,
      ],
    ],
  ])('of averages of windows that meet: %s', async (args, expected) => {
    const averaged = `y = F.avg_pool2d(x.reshape([1, 1, 5, 6]), ${args})`;
    const values = Array.from({ length: 30 }, (_, at) => at);
    const weighed = 'return (y.flatten() * (torch.arange(y.numel()) + 1)).sum()';
    expect(await gradientOf(`${averaged}\n${weighed}`, values)).toEqual(expected);
  });

  it('of averages of windows that meet along a long line take as long as the line', async () => {
    const body = 'return F.avg_pool1d(x.reshape([1, 1, -1]), [3], [1], [1]).sum()';
    const gradient = (await gradientOf(body, new Array<number>(60000).fill(1)))!;
    expect([gradient[0], gradient[30000]]).toEqual([0.666666667, 1]);
  });

  it.each([
    ['size=[900], mode="nearest"', 1],
    ['size=[901], mode="nearest-exact"', 1],
    ['size=[1400], mode="linear"', 1],
    ['size=[333], mode="linear", align_corners=True', 1],
    ['size=[1, 901], mode="bicubic"', 2],
    ['size=[1, 130], mode="bilinear", antialias=True', 2],
    ['size=[1, 130], mode="bicubic", antialias=True', 2],
  ])('of a long line that is resized, which is linear: %s', async (args, rank) => {
    const shape = [1, 1, 1, 700].slice(2 - rank).join(', ');
    const taped = new TapedProgram(`def f(x):
    y = F.interpolate(x.reshape([${shape}]), ${args})
    return (y.flatten() * torch.cos(torch.arange(y.numel(), dtype=7))).sum()
`);
    const x = leaf(
      Array.from({ length: 700 }, (_, at) => Math.sin(at)),
      [1, 700],
    );
    const [output] = await taped.call(x);
    const [gradient] = await taped.differentiate({ outputs: [output], gradients: [null], inputs: [x] });
    const product = numbersOf(gradient)!.reduce((sum, slope, at) => sum + slope * Math.sin(at), 0);
    expect(product).toBeCloseTo(numbersOf(output)![0], 9);
  });

  it('of a long line that is resized takes as long as the line', async () => {
    const body = 'return F.interpolate(x.reshape([1, 1, -1]), scale_factor=2.0, mode="linear").sum()';
    const gradient = (await gradientOf(body, new Array<number>(60000).fill(1)))!;
    expect([gradient[0], gradient[30000]]).toEqual([2, 2]);
  });

  it('averages over nothing have none, but means', async () => {
    const averages = (to: number): string => `return torch.adaptive_avg_pool1d(x.reshape([2, 0, 3]), [${to}]).sum()`;
    await expect(gradientOf(averages(2), [])).rejects.toThrow(
      'Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes [2, 0, 1, 2] with dimension 1 being empty',
    );
    expect(await gradientOf(averages(1), [])).toEqual([]);
  });

  it('a value that was kept may not be turned in place', async () => {
    await expect(gradientOf('y = x * 1\nz = y * y\ny.t_()\nreturn z.sum()', MATRIX)).rejects.toThrow(
      'one of the variables needed for gradient computation has been modified by an inplace operation: [torch.DoubleTensor [3, 2]], which is output 0 of T, is at version 1; expected version 0 instead',
    );
  });

  it('each time that it is turned counts, and what a step gave is shown as it was', async () => {
    const turned = 'y.unsqueeze_(0)\ny.squeeze_(0)\ny.t_()\ny.mul_(2)\nreturn z.sum()';
    await expect(gradientOf(`y = x * 1\nz = y * y\n${turned}`, MATRIX)).rejects.toThrow(
      'is at version 4; expected version 0 instead',
    );
    await expect(
      gradientOf('z = (x * 1).exp()\nz.unsqueeze_(0)\nz.squeeze_(0)\nz.t_()\nreturn z.sum()', MATRIX),
    ).rejects.toThrow('Tensor [2, 3]], which is output 0 of Exp, is at version 3; expected version 0 instead');
  });

  it('resizing goes by scales in the precision of the elements', async () => {
    const body =
      'y = F.interpolate(x.reshape([1, 1, 1, -1]), size=[1, 4], mode="bilinear", align_corners=True)\nreturn y[0, 0, 0, 1]';
    const [first] = (await gradientOf(body, [1, 2, 3], 1))!;
    expect(first).toBe(0.333333333);
  });
});
