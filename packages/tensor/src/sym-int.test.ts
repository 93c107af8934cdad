import { describe, expect, test } from 'vitest';
import { ShapeEnv } from './shape-env.ts';
import {
  hint,
  peek,
  settle,
  symAdd,
  symEq,
  symFloorDiv,
  symFunction,
  symLt,
  symMax,
  symMin,
  symMod,
  symMul,
  symSub,
  symText,
  textOf,
  type SymFloat,
  type SymInt,
} from './sym-int.ts';

const setUp = (...values: number[]): { env: ShapeEnv; of: SymInt[] } => {
  const env = new ShapeEnv();
  return { env, of: values.map((value) => env.symbol(value)) };
};

/** Has symbols stand for other numbers. */
const assign = (env: ShapeEnv, values: readonly number[]): void => values.forEach((value, at) => env.set(at, value));

describe('expressions of sizes', () => {
  test('are other numbers once symbols are', () => {
    const {
      env,
      of: [s, t],
    } = setUp(5, 7);
    const size = symAdd(symMul(s, symAdd(t, 1)), symFloorDiv(t, 2));
    expect(hint(size)).toBe(43);
    assign(env, [2, 10]);
    expect(hint(size)).toBe(27);
    expect(env.guards.size).toBe(0);
  });

  test('are numbers in messages, which go by nothing', () => {
    const {
      env,
      of: [s],
    } = setUp(5);
    expect([textOf(symAdd(s, 1)), symText(symAdd(s, 1))]).toEqual(['6', '1 + s0']);
    expect(env.guards.size).toBe(0);
  });

  test('that are worked out in other ways are the same', () => {
    const {
      of: [s, t],
    } = setUp(5, 7);
    expect(symMul(symAdd(s, 1), t)).toBe(symAdd(t, symMul(t, s)));
    expect(symSub(symAdd(s, 1), s)).toBe(1);
    expect(symFloorDiv(symMul(s, 6), 3)).toBe(symMul(2, s));
    const row = symAdd(s, t);
    expect(symFloorDiv(symMul(s, row), row)).toBe(s);
    expect(symFloorDiv(symMul(symAdd(row, 1), symMul(row, 2)), row)).toBe(symAdd(symMul(row, 2), 2));
    // No term of one is a term of the other.
    expect(hint(symFloorDiv(symAdd(symMul(s, s), symMul(t, t)), row))).toBe(
      Math.floor((hint(s) ** 2 + hint(t) ** 2) / hint(row)),
    );
    expect(symMod(symMul(s, 4), 4)).toBe(0);
    expect(symMax(symAdd(s, 1), s)).toBe(symAdd(s, 1));
    expect(symMin(s, 1)).toBe(1);
  });
});

describe('guards', () => {
  test('are noted where an answer hangs on numbers, and nowhere else', () => {
    const {
      env,
      of: [s, t],
    } = setUp(5, 7);
    expect([symEq(s, s), symEq(s, 1), symLt(0, symMul(s, t)), symLt(symAdd(s, 1), s)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(env.guards.size).toBe(0);
    expect([symEq(s, t), symLt(s, t), symEq(t, 7)]).toEqual([false, true, true]);
    expect(env.guards.size).toBe(3);
    assign(env, [6, 7]);
    expect(env.holds()).toBe(true);
    assign(env, [7, 7]);
    expect(env.holds()).toBe(false);
    assign(env, [8, 9]);
    expect(env.holds()).toBe(false);
  });

  test('hold what is settled to its number', () => {
    const {
      env,
      of: [s],
    } = setUp(5);
    expect(settle(symMul(s, 2))).toBe(10);
    expect(env.holds()).toBe(true);
    assign(env, [6]);
    expect(env.holds()).toBe(false);
  });

  test('are not noted of what is done again for other numbers, nor when the recording is over', () => {
    const {
      env,
      of: [s],
    } = setUp(5);
    expect(peek(() => settle(s))).toBe(5);
    env.close();
    expect(settle(s)).toBe(5);
    expect(env.guards.size).toBe(0);
  });
});

describe('floats of sizes', () => {
  const half = (size: SymInt | SymFloat): SymFloat => symFunction('float', 'half', [size], (each) => each / 2);

  test('are other numbers once symbols are, and one expression where they are made alike', () => {
    const { env, of } = setUp(5);
    const quarter = half(half(of[0]));
    expect(symText(quarter)).toBe('half(half(s0))');
    expect(hint(quarter)).toBe(1.25);
    expect(half(half(of[0]))).toBe(quarter);
    assign(env, [7]);
    expect(hint(quarter)).toBe(1.75);
    expect(half(3)).toBe(1.5);
  });

  test('are guarded where the number itself is gone by', () => {
    const { env, of } = setUp(5);
    expect(settle(half(of[0]))).toBe(2.5);
    expect([...env.guards.keys()]).toEqual(['half(s0) == 2.5']);
    expect(env.holds()).toBe(true);
    assign(env, [6]);
    expect(env.holds()).toBe(false);
  });

  test('come of numbers that are floats themselves, zeros of either sign and infinities among them', () => {
    const env = new ShapeEnv();
    const own = env.symbol(0.5, 'float');
    const inverse = symFunction('float', '1 /', [own], (value) => 1 / value);
    for (const value of [0.25, 0, -0, Infinity]) {
      env.set(0, value);
      expect(hint(inverse)).toBe(1 / value);
    }
  });

  test('whole numbers made of them are sizes like others', () => {
    const { env, of } = setUp(5);
    const part = symFunction('int', 'floor', [of[0], 1.5], (size, by) => Math.floor(size * by));
    const more = symAdd(part, of[0]);
    expect(hint(more)).toBe(12);
    assign(env, [9]);
    expect(hint(more)).toBe(22);
  });
});
