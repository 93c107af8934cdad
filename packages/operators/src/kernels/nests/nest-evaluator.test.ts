import { Tensor, type ScalarType } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  constant,
  exprTypeOf,
  param,
  reduce,
  select,
  TensorView,
  unary,
  type Expr,
  type LoopNest,
  type ReduceFunction,
} from '@cresset/tensorexpr';
import { describe, expect, it } from 'vitest';
import { evaluateKernel } from '../../oracle/kernel-evaluator.ts';
import { finish } from '../loops/pieces.ts';
import { evaluateNest } from './nest-evaluator.ts';

/** More points than a block has. */
const [ROWS, COLUMNS] = [37, 29];
const count = ROWS * COLUMNS;
const floats = Tensor.fromArray(
  Float32Array.from({ length: count }, (_, at) => (at === 400 ? NaN : Math.sin(at) * 9)),
  [ROWS, COLUMNS],
  'float32',
);
const longs = Tensor.fromArray(
  BigInt64Array.from({ length: count }, (_, at) => BigInt((at * 7919) % 1009) - 500n),
  [ROWS, COLUMNS],
  'int64',
);
const huge = Tensor.fromArray(
  BigInt64Array.from({ length: count }, (_, at) => 2n ** 61n + BigInt(at)),
  [ROWS, COLUMNS],
  'int64',
);

/** What a nest stores, as it is worked out in blocks and element by element. */
function both(
  sizes: readonly number[],
  dtype: ScalarType,
  value: (at: readonly Expr[]) => Expr,
  guard?: (at: readonly Expr[]) => Expr,
): unknown[][] {
  return [(nest: LoopNest) => finish(evaluateNest(nest)), evaluateKernel].map((run) => {
    const out = Tensor.empty(sizes, dtype);
    const view = new TensorView(out);
    const axes = view.axes();
    const stores = [
      {
        operand: view.operand,
        offset: view.offsetAt(axes),
        value: cast(exprTypeOf(dtype), value(axes)),
        guard: guard?.(axes),
      },
    ];
    run({ kind: 'nest', label: 'test', axes, innerAxes: [], stores });
    return Array.from(out.contiguousArray() as ArrayLike<unknown>);
  });
}

function expectSame(...args: Parameters<typeof both>): void {
  const [blocks, elements] = both(...args);
  expect(blocks).toEqual(elements);
  expect(blocks.some((value) => Number(value) !== 0)).toBe(true);
}

describe('blocks give what elements give', () => {
  const [x, n, h] = [floats, longs, huge].map((tensor) => new TensorView(tensor));

  it('of expressions that turn, gather and choose', () => {
    expectSame([COLUMNS, ROWS], 'float32', ([j, i]) => unary('exp', binary('mul', x.at([i, j]), param('float', 0.1))));
    const anywhere = (i: Expr, j: Expr): Expr => {
      const at = binary('remainder', cast('i32', n.at([i, j])), param('i32', ROWS));
      return x.at([at, j]);
    };
    expectSame([ROWS, COLUMNS], 'float64', ([i, j]) => anywhere(i, j));
    // What lies outside is read and thrown away.
    expectSame([ROWS, COLUMNS], 'float32', ([i, j]) => {
      const before = binary('sub', i, constant('i32', 3));
      const isInside = binary('ge', before, constant('i32', 0));
      const safe = select(isInside, before, constant('i32', 0));
      return select(isInside, x.at([safe, j]), constant('float', -1));
    });
  });

  it('where a condition decides what is stored', () =>
    expectSame(
      [ROWS, COLUMNS],
      'int64',
      (at) => n.at(at),
      (at) => binary('gt', n.at(at), constant('i64', 0n)),
    ));

  it('of integers beyond what doubles hold', () => {
    expectSame([ROWS, COLUMNS], 'int64', (at) => binary('add', h.at(at), n.at(at)));
    expectSame([ROWS], 'int64', ([i]) => {
      const j = axis('j', param('i32', COLUMNS));
      return reduce('sum', [j], h.at([i, j]));
    });
  });

  const reductions: readonly ReduceFunction[] = ['sum', 'prod', 'max', 'min', 'any', 'all', 'argmax', 'argmin'];
  it.each(reductions)('of %s over rows, columns, both and nothing', (fn) => {
    const [i, j, none] = [ROWS, COLUMNS, 0].map((extent, at) => axis(`k${at}`, param('i32', extent)));
    const over = (view: TensorView, places: readonly Expr[]): Expr =>
      fn === 'any' || fn === 'all'
        ? binary('gt', view.at(places), cast(view.at(places).type, constant('i32', 0)))
        : view.at(places);
    for (const view of fn === 'prod' ? [x] : [x, n]) {
      const isOfFloats = view === x && ['sum', 'prod', 'max', 'min'].includes(fn);
      const dtype = isOfFloats ? 'float64' : fn === 'any' || fn === 'all' ? 'bool' : 'int64';
      expect(both([ROWS], dtype, ([row]) => reduce(fn, [j], over(view, [row, j])))[0]).toEqual(
        both([ROWS], dtype, ([row]) => reduce(fn, [j], over(view, [row, j])))[1],
      );
      const columns = both([COLUMNS], dtype, ([column]) => reduce(fn, [i], over(view, [i, column])));
      expect(columns[0]).toEqual(columns[1]);
      const all = both([1], dtype, () => reduce(fn, [i, j], over(view, [i, j])));
      expect(all[0]).toEqual(all[1]);
    }
    if (fn === 'max' || fn === 'min' || fn.startsWith('arg')) return;
    const dtype = fn === 'any' || fn === 'all' ? 'bool' : 'float32';
    const nothing = both([ROWS], dtype, ([row]) => reduce(fn, [none], over(x, [row, none])));
    expect(nothing[0]).toEqual(nothing[1]);
  });
});
