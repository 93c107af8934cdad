import { Tensor, OpenNumber, type Storage } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { binary, constant, param, select, unary } from '../expressions/builders.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { extentOf } from '../expressions/index-value.ts';
import { axes, tensor } from '../kernels/kernel-fixture.ts';
import { withoutKnownValues } from './known-values.ts';
import type { LoopNest } from '../kernels/kernel.ts';
import { TensorView } from '../expressions/operand.ts';
import { signatureOf } from '../kernels/signature.ts';

const [mul, add] = (['mul', 'add'] as const).map(
  (fn) =>
    (x: Expr, y: Expr): Expr =>
      binary(fn, x, y),
);

/** `[channels, places]` numbers to others, of which `value` tells one. */
function nest(
  [channels, places]: readonly [number, number],
  value: (at: readonly AxisExpr[]) => Expr,
): { readonly nest: LoopNest; readonly own: readonly AxisExpr[] } {
  const own = axes(channels, places);
  const out = new TensorView(tensor(channels, places));
  const store = { operand: out.operand, offset: out.offsetAt(own), value: value(own) };
  return { nest: { kind: 'nest', label: 'aten::test', axes: own, innerAxes: [], stores: [store] }, own };
}

const given = tensor(6, 50);
const x = new TensorView(given);
const [weight, bias, mean, variance] = Array.from({ length: 4 }, () => new TensorView(tensor(6)));
const isKnown = (storage: Storage): boolean => storage !== given.storage;

/** What a batch norm makes of an element, whose channel is told by `channelOf`. */
const norm =
  (channelOf: (at: readonly AxisExpr[]) => Expr) =>
  (at: readonly AxisExpr[]): Expr => {
    const [w, b, m, v] = [weight, bias, mean, variance].map((view) => view.at([channelOf(at)]));
    const factor = mul(w, unary('rsqrt', add(v, param('float', 1e-5))));
    return add(mul(x.at(at), factor), binary('sub', b, mul(m, factor)));
  };

const split = (kernel: LoopNest) => withoutKnownValues(kernel, isKnown, (sizes) => Tensor.empty(sizes, 'float32'));
const sizesRead = (kernel: LoopNest) => signatureOf(kernel).bindings.map(({ operand }) => operand.tensor.sizes);

describe('withoutKnownValues', () => {
  it.each([
    ['a loop', ([c]: readonly AxisExpr[]): Expr => c],
    [
      'what a position is divided to',
      ([c, place]: readonly AxisExpr[]): Expr =>
        binary('truncdiv', add(mul(c, param('i32', 50)), place), param('i32', 50)),
    ],
  ])('makes a factor and a shift of the four vectors of a norm, by %s', (_, channelOf) => {
    const { nest: kernel, own } = nest([6, 50], norm(channelOf));
    const { kernel: rest, producers } = split(kernel)!;
    expect(sizesRead(rest as LoopNest)).toEqual([
      [6, 50],
      [2, 6],
      [6, 50],
    ]);
    expect(producers.map((producer) => producer.axes)).toEqual([[own[0]]]);
    expect(sizesRead(producers[0]).toSorted((a, b) => a.length - b.length)).toEqual([[6], [6], [6], [6], [2, 6]]);
    expect(producers[0].stores).toHaveLength(2);
  });

  it('leaves what takes more memory than it is made of, or no longer to work out than to read', () => {
    const table = new TensorView(tensor(50));
    const outer = nest([6, 50], ([c, p]) => mul(x.at([c, p]), unary('exp', mul(weight.at([c]), table.at([p])))));
    expect(split(outer.nest)).toBeNull();
    const doubled = nest([6, 50], ([c, p]) => mul(x.at([c, p]), mul(weight.at([c]), constant('float', 2))));
    expect(split(doubled.nest)).toBeNull();
    const dear = nest([6, 50], ([c, p]) => mul(x.at([c, p]), unary('exp', weight.at([c]))));
    expect(split(dear.nest)!.producers[0].axes.map(extentOf)).toEqual([6]);
  });

  it('leaves what a number decides that may be another one, and what a condition keeps within its tensor', () => {
    const open = { ...param('float', 2), open: new OpenNumber(2) };
    const scaled = nest([6, 50], ([c, p]) => mul(x.at([c, p]), unary('exp', mul(weight.at([c]), open))));
    expect(split(scaled.nest)).toBeNull();
    const inside = nest([6, 50], ([c, p]) => {
      const other = binary('sub', c, constant('i32', 3));
      const isInside = binary('ge', other, constant('i32', 0));
      return select(isInside, mul(x.at([c, p]), unary('exp', weight.at([other]))), constant('float', 0));
    });
    expect(split(inside.nest)).toBeNull();
    expect(open.open.isRead).toBe(false);
  });

  it('leaves what there is no room for', () => {
    const { nest: kernel } = nest(
      [6, 50],
      norm(([c]) => c),
    );
    expect(withoutKnownValues(kernel, isKnown, () => null)).toBeNull();
  });
});
