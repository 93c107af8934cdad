import { registerAllOperators } from '@cresset/operators';
import { beforeAll, describe, expect, it } from 'vitest';
import { leaf, numbersOf, TapedProgram } from './tape-fixture.ts';

beforeAll(registerAllOperators);

const program = (body: string): TapedProgram =>
  new TapedProgram(
    `def f(x):\n${body
      .trim()
      .split('\n')
      .map((line) => `    ${line}\n`)
      .join('')}`,
  );

async function gradientOf(body: string, values: readonly number[]): Promise<number[] | null> {
  const taped = program(body);
  const x = leaf(values);
  const outputs = await taped.call(x);
  const [gradient] = await taped.differentiate({ outputs: [outputs[0]], gradients: [null], inputs: [x] });
  return numbersOf(gradient);
}

describe('in place', () => {
  it('writes to a part of a tensor', async () => {
    expect(await gradientOf('y = x * 2.\ny[0] = x[1] * 3.\nreturn (y * y).sum()', [1, 2])).toEqual([0, 52]);
  });

  it('adds in a loop', async () => {
    const body = 'y = torch.zeros_like(x)\nfor i in range(3):\n    y.add_(x * float(i))\nreturn y.sum()';
    expect(await gradientOf(body, [1, 2])).toEqual([3, 3]);
  });

  it('fills places by index', async () => {
    expect(await gradientOf('y = x.clone()\ny[torch.tensor([0])] = 5.\nreturn (y * x).sum()', [1, 2])).toEqual([5, 4]);
  });

  it('writes to a view of a view, which others see', async () => {
    const body = 'y = x * 1.\nv = y.view([2, 2])\nw = v[1]\nw.mul_(x[0])\nreturn (v * v).sum()';
    expect(await gradientOf(body, [2, 3, 5, 7])).toEqual([4 + 2 * 2 * (25 + 49), 6, 40, 56]);
  });

  it('a tensor that needed none comes to need a gradient', async () => {
    const body = 'y = torch.zeros_like(x)\nv = y[0]\ny.copy_(x * x)\nreturn v * 3.';
    expect(await gradientOf(body, [2, 3])).toEqual([12, 0]);
  });

  it.each([
    [
      'y = x * 2.\nz = y * y\ny.add_(1.)\nreturn z.sum()',
      'modified by an inplace operation: [torch.DoubleTensor [1]], which is output 0 of Add1, is at version 1; expected version 0',
    ],
    ['x.add_(1.)\nreturn x.sum()', 'a leaf Variable that requires grad is being used in an in-place operation.'],
    [
      'x[0].mul_(2.)\nreturn x.sum()',
      'a view of a leaf Variable that requires grad is being used in an in-place operation.',
    ],
    [
      'y = x * 2.\na, b = y.split([1, 0])\na.add_(1.)\nreturn y.sum()',
      'is a view and is being modified inplace. This view is the output of a function that returns multiple views.',
    ],
    [
      'y = x * 2.\na, b = y.split([1, 0])\ny.add_(1.)\nreturn a.sum()',
      'is a view and its base or another view of its base has been modified inplace. This view is the output of a function that returns multiple views.',
    ],
    [
      'y = x * 2.\nz = y * y\ny[0] = 1.\nreturn z.sum()',
      'which is output 0 of torch::autograd::CopySlices, is at version 1; expected version 0',
    ],
    [
      'y = x * 2.\ny.requires_grad_(False)\nreturn y.sum()',
      'you can only change requires_grad flags of leaf variables.',
    ],
  ])('refuses: %s', async (body, message) => {
    await expect(gradientOf(body, [1])).rejects.toThrow(message);
  });

  it('an addition needs nothing that is written to later', async () => {
    expect(await gradientOf('y = x * 2.\nz = y.view([1]) + 1.\ny.add_(x)\nreturn (z + y).sum()', [1])).toEqual([5]);
  });
});

describe('gradients', () => {
  it('are of values as they were, though no register holds them any more', async () => {
    expect(await gradientOf('return (x * x.sum()).sum()', [2, 3, 5])).toEqual([20, 20, 20]);
    expect(await gradientOf('return (x.prod() + x.prod(0)).sum()', [2, 3, 5])).toEqual([30, 20, 12]);
  });

  it('of a trace by index names go to the diagonal', async () => {
    expect(await gradientOf("return torch.einsum('ii->', [x.view([2, 2]) * x.view([2, 2])])", [2, 3, 5, 7])).toEqual([
      4, 0, 0, 14,
    ]);
  });

  it('are added up in leaves, and the graph is given up', async () => {
    const taped = program('return (x * x).sum()');
    const x = leaf([1, 2]);
    const [y] = await taped.call(x);
    const task = { outputs: [y], gradients: [null], inputs: null };
    await taped.differentiate({ ...task, retainGraph: true });
    expect(numbersOf(x.grad)).toEqual([2, 4]);
    await taped.differentiate(task);
    expect(numbersOf(x.grad)).toEqual([4, 8]);
    await expect(taped.differentiate(task)).rejects.toThrow('Trying to backward through the graph a second time');
  });

  it('have gradients themselves', async () => {
    const taped = program('return (x * x * x).sum()');
    const x = leaf([1, 2]);
    const [y] = await taped.call(x);
    const [first] = await taped.differentiate({ outputs: [y], gradients: [null], inputs: [x], createGraph: true });
    expect(numbersOf(first)).toEqual([3, 12]);
    const ones = leaf([1, 1]);
    const [second] = await taped.differentiate({
      outputs: [first!],
      gradients: [ones],
      inputs: [x],
      createGraph: true,
    });
    expect(numbersOf(second)).toEqual([6, 12]);
    const [third] = await taped.differentiate({ outputs: [second!], gradients: [ones], inputs: [x] });
    expect(numbersOf(third)).toEqual([6, 6]);
  });

  it('are asked for within a program', async () => {
    const body =
      'y = (x * x).sum()\ng = torch.autograd.grad([y], [x], create_graph=True)[0]\nassert g is not None\nreturn (g * g).sum()';
    expect(await gradientOf(body, [1, 2])).toEqual([8, 16]);
  });

  it('are added up within a program, of one scalar and no other', async () => {
    const taped = program('(x * 3.).sum().backward()\nreturn x');
    const x = leaf([1, 2]);
    await taped.call(x);
    expect(numbersOf(x.grad)).toEqual([3, 3]);
    await expect(program('(x * 3.).backward()\nreturn x').call(x)).rejects.toThrow(
      'grad can be implicitly created only for scalar outputs',
    );
  });

  it.each([
    ['return x.detach() * x', [1, 2]],
    ['with torch.no_grad():\n    y = x * x\nreturn y + x', [1, 1]],
  ])('stop where nothing is recorded: %s', async (body, expected) => {
    const taped = program(body);
    const x = leaf([1, 2]);
    const outputs = await taped.call(x);
    const [gradient] = await taped.differentiate({ outputs: [outputs[0]], gradients: [leaf([1, 1])], inputs: [x] });
    expect(numbersOf(gradient)).toEqual(expected);
  });

  it('are kept by what is no leaf where it is told to', async () => {
    const taped = program('y = x * 2.\ny.retain_grad()\n(y * y).sum().backward()\nreturn y');
    const [y] = await taped.call(leaf([1, 2]));
    expect(numbersOf(y.grad)).toEqual([4, 8]);
  });

  it('need something that requires them', async () => {
    const taped = program('return x * 2.');
    const x = leaf([1]);
    x.requiresGrad = false;
    const [y] = await taped.call(x);
    await expect(taped.differentiate({ outputs: [y], gradients: [null], inputs: null })).rejects.toThrow(
      'element 0 of tensors does not require grad and does not have a grad_fn',
    );
  });
});
