import { Tensor } from '@cresset/tensor';
import { axis, binary, param } from '../expressions/builders.ts';
import type { AxisExpr, Expr, LoadExpr } from '../expressions/expr.ts';
import { indexValue } from '../expressions/index-value.ts';
import type { LoopNest } from './kernel.ts';
import { TensorView } from '../expressions/operand.ts';
import { expect, test } from 'vitest';
import { joinDigits } from './join-digits.ts';

const number = (value: number): Expr => param('i32', value);
const times = (x: Expr, factor: number): Expr => binary('mul', x, number(factor));
const plus = (x: Expr, y: Expr): Expr => binary('add', x, y);

/** What an offset is after its digits are joined, with numbers in the place of params. */
function joined(offset: Expr, axes: readonly AxisExpr[]): string {
  const { operand } = new TensorView(Tensor.fromArray(new Float32Array(4096), [4096], 'float32'));
  const value: LoadExpr = { kind: 'load', type: 'float', operand, offset };
  const nest: LoopNest = {
    kind: 'nest',
    label: 'test',
    axes,
    innerAxes: [],
    stores: [{ operand, offset: axes[0], value }],
  };
  return textOf((joinDigits(nest).stores[0].value as LoadExpr).offset);
}

function textOf(expr: Expr): string {
  const value = indexValue(expr);
  if (value !== null) return String(value);
  if (expr.kind === 'axis') return expr.name;
  if (expr.kind !== 'binary') throw new TypeError(expr.kind);
  return `(${textOf(expr.x)} ${expr.fn} ${textOf(expr.y)})`;
}

const m = axis('m', number(6));
const n = axis('n', number(128));

test('digits that belong together are what they were taken from', () => {
  const row = times(binary('truncdiv', n, number(16)), 48);
  expect(joined(plus(row, times(binary('fmod', n, number(16)), 3)), [n])).toBe('(n mul 3)');
});

test('a channel is the digit of a position above those of an image', () => {
  const position = plus(times(m, 128), n);
  expect(joined(binary('truncdiv', position, number(128)), [m, n])).toBe('m');
  expect(joined(binary('fmod', position, number(128)), [m, n])).toBe('n');
  const taken = plus(times(binary('truncdiv', n, number(16)), 16), binary('fmod', n, number(16)));
  expect(joined(binary('truncdiv', plus(times(m, 256), taken), number(128)), [m, n])).toBe('(m mul 2)');
});

test('a digit stays where smaller terms may reach the base, or fall below zero', () => {
  const reaching = binary('truncdiv', plus(times(m, 64), n), number(64));
  expect(joined(reaching, [m, n])).toBe(textOf(reaching));
  const negative = binary('fmod', plus(times(m, 128), plus(n, number(-1))), number(128));
  expect(joined(negative, [m, n])).toBe(textOf(negative));
});
