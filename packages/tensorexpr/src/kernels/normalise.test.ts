import { Tensor } from '@cresset/tensor';
import { describe, expect, test } from 'vitest';
import { accumulator, axis, binary, cast, constant, param, reduce, select } from '../expressions/builders.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { extentOf } from '../expressions/index-value.ts';
import type { Kernel, LoopNest } from './kernel.ts';
import { normalise, type NormalContraction } from './normalise.ts';
import { TensorView } from '../expressions/operand.ts';
import { signatureOf } from './signature.ts';

const tensor = (sizes: number[]) => Tensor.empty(sizes, 'float32');
const view = (sizes: number[]) => new TensorView(tensor(sizes));
const number = (value: number): Expr => param('i32', value);

function nest(out: TensorView, axes: AxisExpr[], value: Expr, innerAxes: AxisExpr[] = []): Kernel {
  const offset = out.offsetAt([...axes, ...innerAxes]);
  return { kind: 'nest', label: 'test', axes, innerAxes, stores: [{ operand: out.operand, offset, value }] };
}

const loops = (kernel: Kernel): number[] =>
  normalise(kernel).kind === 'nest' ? (normalise(kernel) as LoopNest).axes.map(extentOf) : [];
const key = (kernel: Kernel): string => signatureOf(normalise(kernel)).key;

function copy(from: Tensor, to = tensor([...from.sizes])): Kernel {
  const [x, out] = [new TensorView(from), new TensorView(to)];
  const axes = out.axes();
  return nest(out, axes, x.at(axes));
}

describe('loops', () => {
  test('contiguous dimensions are merged, dimensions of one element go', () => {
    expect(loops(copy(tensor([2, 3, 1, 5])))).toEqual([30]);
    expect(loops(copy(tensor([1, 1])))).toEqual([]);
  });

  test('a transposed operand keeps them apart', () => {
    expect(loops(copy(tensor([3, 2, 4]).asStrided([2, 3, 4], [4, 8, 1])))).toEqual([2, 3, 4]);
    expect(loops(copy(tensor([6, 4]).asStrided([2, 3, 4], [12, 4, 1])))).toEqual([24]);
  });

  test('the order is that of the strides that are written', () => {
    const target = tensor([4, 3, 2]).asStrided([2, 3, 4], [1, 2, 6]);
    expect(loops(copy(tensor([2, 3, 4]), target))).toEqual([4, 3, 2]);
  });

  test('an axis whose value is used stays', () => {
    const out = view([4, 5]);
    const [i, j] = out.axes();
    expect(loops(nest(out, [i, j], cast('float', i)))).toEqual([4, 5]);
    expect(loops(nest(out, [i, j], constant('float', 0)))).toEqual([20]);
  });

  test('inner axes without a row to share are loops like any other', () => {
    const [x, out] = [view([4, 5]), view([4, 5])];
    const [i, j] = out.axes();
    expect(loops(nest(out, [i], x.at([i, j]), [j]))).toEqual([20]);
    const r = axis('r', x.sizes[1]);
    expect(loops(nest(out, [i], binary('sub', x.at([i, j]), reduce('max', [r], x.at([i, r]))), [j]))).toEqual([4]);
  });

  test('a flattened index becomes the loops it is made of', () => {
    const x = new TensorView(tensor([3, 4]).asStrided([4, 3], [1, 4]));
    const out = view([12]);
    const [flat] = out.axes();
    const index = [binary('truncdiv', flat, number(3)), binary('fmod', flat, number(3))];
    expect(loops(nest(out, [flat], x.at(index)))).toEqual([4, 3]);
    // Where the operand lies in that order anyway, there is nothing to take apart.
    expect(loops(nest(out, [flat], view([4, 3]).at(index)))).toEqual([12]);
  });

  test('the loops of a convolution: borders outside, channels inside', () => {
    const [x, w, out] = [view([8, 10, 10]), view([16, 8, 3, 3]), view([16, 100])];
    const [m, n] = out.axes('mn');
    const k = axis('k', number(72));
    const channel = binary('truncdiv', k, number(9));
    const ky = binary('fmod', binary('truncdiv', k, number(3)), number(3));
    const kx = binary('fmod', k, number(3));
    const gather = (padding: number): Kernel => {
      const at = (o: Expr, tap: Expr): Expr => binary('sub', binary('add', o, tap), number(padding));
      const [y, z] = [at(binary('truncdiv', n, number(10)), ky), at(binary('fmod', n, number(10)), kx)];
      const inside = (index: Expr): Expr =>
        binary('and', binary('ge', index, constant('i32', 0)), binary('lt', index, number(10)));
      const value = select(binary('and', inside(y), inside(z)), x.at([channel, y, z]), constant('float', 0));
      const stores = [{ operand: out.operand, offset: out.offsetAt([m, n]), value: accumulator }];
      return {
        kind: 'contraction',
        label: 'conv',
        batch: [],
        m,
        n,
        k,
        left: w.at([m, channel, ky, kx]),
        right: value,
        stores,
      };
    };
    expect((normalise(gather(1)) as NormalContraction).k.map(extentOf)).toEqual([3, 3, 8]);
  });

  test('the loops of a product with groups: what shares a scale inside, however many groups there are', () => {
    const [x, w, scales, out] = [view([4, 2048]), view([8, 2048]), view([64, 8]), view([4, 8])];
    const [m, n] = out.axes('mn');
    const k = axis('k', number(2048));
    const scale = scales.at([binary('truncdiv', k, number(32)), n]);
    const kernel: Kernel = {
      kind: 'contraction',
      label: 'groups',
      batch: [],
      m,
      n,
      k,
      left: x.at([m, k]),
      right: binary('mul', w.at([n, k]), scale),
      stores: [{ operand: out.operand, offset: out.offsetAt([m, n]), value: accumulator }],
    };
    expect((normalise(kernel) as NormalContraction).k.map(extentOf)).toEqual([64, 32]);
  });
});

describe('keys', () => {
  test('shapes of one class share a kernel', () => {
    expect(key(copy(tensor([2, 3])))).toBe(key(copy(tensor([7, 5, 11]))));
    expect(key(copy(tensor([3, 2]).asStrided([2, 3], [1, 2])))).toBe(
      key(copy(tensor([9, 4]).asStrided([4, 9], [1, 4]))),
    );
    expect(key(copy(tensor([3, 2]).asStrided([2, 3], [1, 2])))).not.toBe(key(copy(tensor([2, 3]))));
  });

  test('numbers that are params do not count, constants do', () => {
    const scaled = (factor: Expr): Kernel => {
      const [x, out] = [view([4]), view([4])];
      const axes = out.axes();
      return nest(out, axes, binary('mul', x.at(axes), factor));
    };
    expect(key(scaled(param('float', 2)))).toBe(key(scaled(param('float', 3))));
    expect(key(scaled(constant('float', 2)))).not.toBe(key(scaled(constant('float', 3))));
    expect(key(scaled(constant('float', 2)))).not.toBe(key(scaled(param('float', 2))));
  });

  test('which operands are one storage counts', () => {
    const sum = (x: Tensor, y: Tensor, to: Tensor): Kernel => {
      const [a, b, out] = [x, y, to].map((operand) => new TensorView(operand));
      const axes = out.axes();
      return nest(out, axes, binary('add', a.at(axes), b.at(axes)));
    };
    const [x, y, z] = [tensor([4]), tensor([4]), tensor([4])];
    const keys = [sum(x, y, z), sum(x, x, z), sum(x, y, x), sum(x, y, y)].map(key);
    expect(new Set(keys).size).toBe(4);
    expect(key(sum(z, x, y))).toBe(keys[0]);
    expect(signatureOf(normalise(sum(x, x, z))).bindings.map((binding) => binding.stored)).toEqual([false, true]);
  });

  test('a shared node is not the same as two equal ones that hold different params', () => {
    const squares = (shared: boolean): Kernel => {
      const out = view([4]);
      const axes = out.axes();
      const one = param('float', 1);
      return nest(out, axes, binary('mul', one, shared ? one : param('float', 1)));
    };
    expect(key(squares(true))).not.toBe(key(squares(false)));
  });
});

test('comparisons that come out one way at every point are decided', () => {
  const [x, out] = [view([10]), view([8])];
  const [i] = out.axes();
  const shifted = binary('add', i, number(2));
  const value = (limit: number): Expr =>
    select(binary('lt', shifted, number(limit)), x.at([shifted]), constant('float', 0));
  const stored = (limit: number): string => (normalise(nest(out, [i], value(limit))) as LoopNest).stores[0].value.kind;
  expect(stored(10)).toBe('load');
  expect(stored(9)).toBe('select');
  expect(stored(2)).toBe('const');
});

test('the same element is one node', () => {
  const [x, out] = [tensor([4]), view([4])];
  const axes = out.axes();
  const [first, second] = [new TensorView(x), new TensorView(x)];
  const { stores } = normalise(nest(out, axes, binary('mul', first.at(axes), second.at(axes)))) as LoopNest;
  const { value } = stores[0];
  expect(value.kind === 'binary' && value.x === value.y).toBe(true);
});
