import { describe, expect, it } from 'vitest';
import { accumulator, axis, binary, constant, reduce, select, unary } from '../expressions/builders.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { axes, tensor } from './kernel-fixture.ts';
import type { Contraction } from './kernel.ts';
import { TensorView } from '../expressions/operand.ts';
import { runningSoftmaxOf } from './running-softmax.ts';
import { isSameExpr } from '../expressions/same-expr.ts';

const [rows, positions, width, columns] = [5, 7, 3, 4];

interface Options {
  readonly score?: (sum: Expr, m: Expr, position: Expr) => Expr;
  readonly isSafe?: boolean;
  /** Of the scores whose powers are added up. */
  readonly summed?: (score: Expr) => Expr;
}

/** Attention as a product of probabilities that are worked out for each of them. */
function attention({ score = (sum) => sum, isSafe = false, summed = (each) => each }: Options = {}): Contraction {
  const [q, k, v, out] = [
    tensor(rows, width),
    tensor(positions, width),
    tensor(positions, columns),
    tensor(rows, columns),
  ];
  const [queries, keys, values, target] = [q, k, v, out].map((each) => new TensorView(each));
  const [m, n] = target.axes();
  const at = (position: Expr): Expr => {
    const [depth] = axes(width);
    const product = binary('mul', queries.at([m, depth]), keys.at([position, depth]));
    return score(reduce('sum', [depth], product), m, position);
  };
  const [s, r, t] = axes(positions, positions, positions);
  const most = reduce('max', [r], at(r));
  const power = (value: Expr): Expr => unary('exp', binary('sub', value, most));
  const probability = binary('div', power(at(s)), reduce('sum', [t], power(summed(at(t)))));
  const isNothing = binary('eq', most, constant('float', -Infinity));
  return {
    kind: 'contraction',
    label: 'attention',
    batch: [],
    m,
    n,
    k: s,
    left: isSafe ? select(isNothing, constant('float', 0), probability) : probability,
    right: values.at([s, n]),
    stores: [{ operand: target.operand, offset: target.offsetAt([m, n]), value: accumulator }],
  };
}

describe('runningSoftmaxOf', () => {
  it('makes out the sum of a score, whatever is made of it', () => {
    const causal = (sum: Expr, m: Expr, position: Expr): Expr =>
      select(binary('le', position, m), binary('mul', sum, constant('float', 2)), constant('float', -Infinity));
    const whole = attention({ score: causal, isSafe: true });
    const found = runningSoftmaxOf(whole)!;
    expect(found).toMatchObject({ isSafe: true, values: whole.right, stores: whole.stores });
    expect(isSameExpr(found.score, causal(found.sum, whole.m, whole.k))).toBe(true);
    expect(found.depth.map(({ extent }) => extent)).toMatchObject([{ value: width }]);
    expect(runningSoftmaxOf(attention())).toMatchObject({ isSafe: false });
  });

  it('takes probabilities on the right side too', () => {
    const { m, n, left, right, ...rest } = attention();
    expect(runningSoftmaxOf({ ...rest, m: n, n: m, left: right, right: left })).toMatchObject({ m, n, values: right });
  });

  it('is not taken in by what only looks like a softmax', () => {
    const doubled = (score: Expr): Expr => binary('mul', score, constant('float', 2));
    expect(runningSoftmaxOf(attention({ summed: doubled }))).toBeNull();
    const whole = attention();
    expect(runningSoftmaxOf({ ...whole, left: whole.right })).toBeNull();
    // Scores of two products.
    const twice = (sum: Expr, m: Expr, position: Expr): Expr => {
      const [depth] = axes(width);
      const [left, right] = [tensor(rows, width), tensor(positions, width)].map((each) => new TensorView(each));
      const other = binary('mul', left.at([m, depth]), right.at([position, depth]));
      return binary('add', sum, reduce('sum', [depth], other));
    };
    expect(runningSoftmaxOf(attention({ score: twice }))).toBeNull();
  });
});

describe('isSameExpr', () => {
  const [x, y] = [new TensorView(tensor(8, 8)), new TensorView(tensor(8, 8))];

  it('goes by what indices come to, not by the order in which they are summed up', () => {
    const [i, j] = axes(8, 8);
    const [one, two] = [
      binary('add', binary('mul', i, constant('i32', 8)), j),
      binary('add', j, binary('mul', constant('i32', 8), i)),
    ];
    expect(isSameExpr({ ...x.at([i, j]), offset: one }, { ...x.at([i, j]), offset: two })).toBe(true);
    expect(isSameExpr(x.at([i, j]), x.at([j, i]))).toBe(false);
    expect(isSameExpr(x.at([i, j]), y.at([i, j]))).toBe(false);
  });

  it('compares what is not linear in an index as it is written', () => {
    const [i, j] = axes(8, 8);
    const parts = (index: Expr, size: number): Expr => {
      const four = constant('i32', size);
      return binary(
        'add',
        binary('fmod', index, four),
        binary('mul', binary('truncdiv', index, four), constant('i32', 3)),
      );
    };
    expect(isSameExpr(parts(i, 4), parts(j, 4), new Map([[i, j]]))).toBe(true);
    expect(isSameExpr(parts(i, 4), parts(j, 2), new Map([[i, j]]))).toBe(false);
  });

  it('renames axes, and those of reductions by themselves', () => {
    const [i, j, r, s] = axes(8, 8, 8, 8);
    const sum = (row: Expr, over: AxisExpr): Expr => reduce('sum', [over], x.at([row, over]));
    expect(isSameExpr(sum(i, r), sum(i, s))).toBe(true);
    expect(isSameExpr(sum(i, r), sum(j, s))).toBe(false);
    expect(isSameExpr(sum(i, r), sum(j, s), new Map([[i, j]]))).toBe(true);
    expect(isSameExpr(sum(i, r), sum(i, axis('t', constant('i32', 4))))).toBe(false);
  });

  it('compares a node that is used often once', () => {
    const [i, j] = axes(8, 8);
    const chain = (index: Expr): Expr => {
      let value: Expr = x.at([index, index]);
      for (let at = 0; at < 40; at++) value = binary('mul', value, value);
      return value;
    };
    expect(isSameExpr(chain(i), chain(j), new Map([[i, j]]))).toBe(true);
  });
});
