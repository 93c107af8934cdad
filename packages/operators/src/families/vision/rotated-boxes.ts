import type { Tensor } from '@cresset/tensor';
import { binary, select, TensorView, unary, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { add, and, div, float, index, mul, sub } from '../../kernels/expressions.ts';
import { byLowering } from '../../kernels/nests/by-lowering.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';

/**
 * How much of the area of two turned boxes is common to both (torchvision's box_iou_rotated).
 *
 * torchvision orders the points where edges cross around the common polygon. Here the second box is seen from the first, whose
 * edges are then upright: a line of constant x has in common with both what lies between the upper and the lower edge of the
 * second, cut off at those of the first, so the area is a sum over the second's four edges, without lists or cases to be told apart.
 */

interface RotatedArgs {
  /** `[N, 5]`: x and y of the middle, width, height, and the angle in degrees. */
  readonly boxes1: Tensor;
  readonly boxes2: Tensor;
}

/** Degrees to radians, with as many digits as torchvision has. */
const radian = 0.01745329251;
/** Boxes with less area have nothing in common with any. */
const smallestArea = 1e-14;

function rotatedShape({ boxes1, boxes2 }: RotatedArgs): TensorMeta {
  for (const [name, letter, { dim, sizes }] of [
    ['boxes1', 'N', boxes1],
    ['boxes2', 'M', boxes2],
  ] as const) {
    check(dim === 2 && sizes[1] === 5, () => `${name} should have shape (${letter}, 5), got ${sizesText(sizes)}`);
  }
  check(boxes1.dtype === boxes2.dtype, 'boxes1 and boxes2 must have the same dtype');
  const sizes = [boxes1.sizes[0], boxes2.sizes[0]];
  if (!sizes.includes(0) && boxes1.dtype !== 'float32' && boxes1.dtype !== 'float64')
    throw notImplementedFor('box_iou_rotated_cpu', dtypeName(boxes1.dtype));
  return { sizes, dtype: 'float32' };
}

const half = (value: Expr): Expr => mul(value, float(0.5));
const clamp = (value: Expr, limit: Expr): Expr => binary('fmin', binary('fmax', value, unary('neg', limit)), limit);
const unit = (value: Expr): Expr => binary('fmin', binary('fmax', value, float(0)), float(1));

/** The mean of numbers that go evenly from `from` to `to`, each cut off at ±`limit`. */
function clampedMean(from: Expr, to: Expr, limit: Expr): Expr {
  const [low, high] = [binary('fmin', from, to), binary('fmax', from, to)];
  const length = binary('fmax', sub(high, low), float(1e-30));
  const below = unit(div(sub(unary('neg', limit), low), length));
  const above = unit(div(sub(limit, low), length));
  const middle = half(add(clamp(low, limit), clamp(high, limit)));
  return add(mul(limit, sub(sub(float(1), above), below)), mul(sub(above, below), middle));
}

function iou(first: readonly Expr[], second: readonly Expr[]): Expr {
  const [x1, y1, w1, h1, angle1] = first;
  const [x2, y2, w2, h2, angle2] = second;
  const [area1, area2] = [mul(w1, h1), mul(w2, h2)];
  const [halfWidth, halfHeight] = [w1, h1].map((size) => half(unary('abs', size)));
  const theta = mul(angle1, float(radian));
  const [cos, sin] = [unary('cos', theta), unary('sin', theta)];
  const [dx, dy] = [sub(x2, x1), sub(y2, y1)];
  const middle = [sub(mul(dx, cos), mul(dy, sin)), add(mul(dx, sin), mul(dy, cos))];
  const turn = mul(sub(angle2, angle1), float(radian));
  const [cosTurn, sinTurn] = [unary('cos', turn), unary('sin', turn)];
  const along = [half(mul(cosTurn, w2)), unary('neg', half(mul(sinTurn, w2)))];
  const across = [half(mul(sinTurn, h2)), half(mul(cosTurn, h2))];
  const corner = (a: 'add' | 'sub', b: 'add' | 'sub'): Expr[] =>
    [0, 1].map((dim) => binary(b, binary(a, middle[dim], along[dim]), across[dim]));
  const corners = [corner('add', 'add'), corner('add', 'sub'), corner('sub', 'sub'), corner('sub', 'add')];
  const parts = corners.map(([fromX, fromY], at) => {
    const [toX, toY] = corners[(at + 1) % 4];
    const [left, right] = [clamp(fromX, halfWidth), clamp(toX, halfWidth)];
    const slope = select(binary('eq', fromX, toX), float(0), div(sub(toY, fromY), sub(toX, fromX)));
    const heightAt = (x: Expr): Expr => add(fromY, mul(sub(x, fromX), slope));
    return mul(sub(right, left), clampedMean(heightAt(left), heightAt(right), halfHeight));
  });
  const common = unary('abs', parts.reduce(add));
  const isLarge = (area: Expr): Expr => binary('ge', area, float(smallestArea));
  const share = div(common, sub(add(area1, area2), common));
  return select(and(isLarge(area1), isLarge(area2)), share, float(0));
}

function lowerIou({ boxes1, boxes2 }: RotatedArgs, [out]: readonly Tensor[], context: LoweringContext): void {
  if (out.numel === 0) return;
  const [first, second, target] = [boxes1, boxes2, out].map((tensor) => new TensorView(tensor));
  const axes = target.axes();
  const box = (view: TensorView, at: Expr): Expr[] => [0, 1, 2, 3, 4].map((column) => view.at([at, index(column)]));
  const value = iou(box(first, axes[0]), box(second, axes[1]));
  const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value }];
  context.launch({ kind: 'nest', label: 'torchvision::box_iou_rotated', axes, innerAxes: [], stores });
}

export const rotatedBoxRows: readonly OperatorRow[] = [
  kernel<RotatedArgs>('torchvision::box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor', {
    shape: rotatedShape,
    host: byLowering(lowerIou),
    lower: lowerIou,
  }),
];
