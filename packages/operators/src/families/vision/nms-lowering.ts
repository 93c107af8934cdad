import { Tensor } from '@cresset/tensor';
import { axis, binary, cast, constant, param, reduce, select, TensorView, type Expr } from '@cresset/tensorexpr';
import { add, and, index, indexParam, mul, sub } from '../../kernels/expressions.ts';
import { lowerSort } from '../sorting/sort-lowering.ts';
import { lowerFill } from '../../kernels/fill.ts';
import type { LoweringContext } from '../../table/row.ts';
import { deviceMaskedSelect } from '../indexing/masked-elements.ts';

/**
 * Which boxes are kept, on a device. Each box depends on all better ones, but only by whether they are kept: the boxes are sorted, one
 * kernel compares all pairs and notes them as bits, and then 32 boxes at a time are decided, every thread striking out 32 others
 * by them. That is one small launch for 32 boxes, all in one submit, and what is waited for is how many are left, which the
 * result's size hangs on in any case; the comparisons, which would be millions on the host, come down as one number.
 */

const label = 'torchvision::nms';
const wordBits = 32;

export interface NmsArgs {
  /** `[N, 4]`: x and y of two corners. */
  readonly dets: Tensor;
  readonly scores: Tensor;
  /** The largest overlap, as a share of the area that both cover, that is let pass. */
  readonly iou_threshold: number;
}

export async function deviceNms({ dets, scores, iou_threshold }: NmsArgs, context: LoweringContext): Promise<Tensor> {
  const count = dets.sizes[0];
  if (count === 0) return Tensor.empty([0], 'int64');
  const order = context.temporary([count], 'int64');
  lowerSort(label, scores, 0, true, 0, null, order, context);
  const overlaps = overlapBits(sortedBoxes(dets, order, context), iou_threshold, context);
  return deviceMaskedSelect(order, keptFlags(overlaps, count, context), context);
}

/** The boxes from the best to the worst: `[N, 4]`. */
function sortedBoxes(dets: Tensor, order: Tensor, context: LoweringContext): Tensor {
  const sorted = context.temporary(dets.sizes, 'float32');
  const [source, places, target] = [dets, order, sorted].map((tensor) => new TensorView(tensor));
  const axes = target.axes();
  const value = source.at([cast('i32', places.at([axes[0]])), axes[1]]);
  const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value }];
  context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
  return sorted;
}

/** The smallest float32 that is larger than a number. */
function nextFloat32(value: number): number {
  const word = new Int32Array(1);
  const float = new Float32Array(word.buffer);
  float[0] = value;
  while (!(float[0] > value)) {
    if (float[0] === 0) float[0] = 2 ** -149;
    else word[0] += float[0] > 0 ? 1 : -1;
  }
  return float[0];
}

/**
 * Whether `part / whole`, rounded to float32, is more than `threshold`. A GPU's division may be off by some units in the last place,
 * and boxes with whole numbers for corners do lie exactly at the threshold: so the smallest quotient that is rounded to more is
 * multiplied back, with what the product loses in rounding.
 */
function exceeds(part: Expr, whole: Expr, threshold: number): Expr {
  const above = nextFloat32(threshold);
  // Halfway to the next smaller float32, which is not one itself: a float and what is to be taken off.
  const below = -nextFloat32(-above);
  const high = param('float', above);
  const low = param('float', (below - above) / 2);
  // The minimum keeps a compiler from joining product and difference, which would take off twice what rounding loses.
  const product = binary('min', mul(whole, high), constant('float', 3.4028234663852886e38));
  const lost = add(productError(whole, high, product), mul(whole, low));
  const rest = sub(sub(part, product), lost);
  const zero = constant('float', 0);
  return select(binary('lt', whole, zero), binary('lt', rest, zero), binary('gt', rest, zero));
}

/** What `product` is short of `x * y`, from factors in two halves of 12 bits each (Dekker). */
function productError(x: Expr, y: Expr, product: Expr): Expr {
  const halves = (value: Expr): [Expr, Expr] => {
    const spread = mul(value, constant('float', 4097));
    const upper = sub(spread, sub(spread, value));
    return [upper, sub(value, upper)];
  };
  const [[x1, x2], [y1, y2]] = [halves(x), halves(y)];
  return add(add(add(sub(mul(x1, y1), product), mul(x1, y2)), mul(x2, y1)), mul(x2, y2));
}

/** For each box, as bits of words, the worse ones that overlap it too much: `[N, ceil(N / 32)]`. */
function overlapBits(boxes: Tensor, threshold: number, context: LoweringContext): Tensor {
  const count = boxes.sizes[0];
  const bits = context.temporary([count, Math.ceil(count / wordBits)], 'int32');
  const [source, target] = [boxes, bits].map((tensor) => new TensorView(tensor));
  const [own, word] = target.axes();
  const bit = axis('b', index(wordBits));
  const other = add(mul(word, index(wordBits)), bit);
  const [box, rival] = [own, other].map((at) => [0, 1, 2, 3].map((column) => source.at([at, index(column)])));
  const area = ([x1, y1, x2, y2]: readonly Expr[]): Expr => mul(sub(x2, x1), sub(y2, y1));
  const common = [0, 1].map((dim) => {
    const length = sub(binary('min', box[dim + 2], rival[dim + 2]), binary('max', box[dim], rival[dim]));
    return binary('fmax', length, constant('float', 0));
  });
  const part = mul(common[0], common[1]);
  const whole = sub(add(area(box), area(rival)), part);
  const isLater = and(binary('gt', other, own), binary('lt', other, indexParam(count)));
  const overlaps = and(isLater, exceeds(part, whole, threshold));
  const value = reduce('sum', [bit], select(overlaps, binary('shl', index(1), bit), index(0)));
  const stores = [{ operand: target.operand, offset: target.offsetAt([own, word]), value }];
  context.launch({ kind: 'nest', label: `${label} (overlaps)`, axes: [own, word], innerAxes: [], stores });
  return bits;
}

/** Whether each box, from the best to the worst, is kept. */
function keptFlags(overlaps: Tensor, count: number, context: LoweringContext): Tensor {
  const words = overlaps.sizes[1];
  const struck = context.temporary([words], 'int32');
  const decided = context.temporary([words], 'int32');
  lowerFill(struck, 0n, context, label);
  const [rows, out, done] = [overlaps, struck, decided].map((tensor) => new TensorView(tensor));
  const [all] = out.axes();
  for (let block = 0; block < words; block++) {
    const own = indexParam(block);
    const size = Math.min(wordBits, count - block * wordBits);
    const row = (bit: number): Expr => add(mul(own, index(wordBits)), index(bit));
    let strikes: Expr = out.at([own]);
    const strikesOf = (bit: number, word: Expr): Expr =>
      select(isClear(strikes, index(bit)), rows.at([row(bit), word]), index(0));
    // Within the block each box is decided in turn; then the strikes of those that are kept go to the words behind it.
    for (let bit = 0; bit < size; bit++) strikes = binary('or', strikes, strikesOf(bit, own));
    let others: Expr = out.at([all]);
    for (let bit = 0; bit < size; bit++) others = binary('or', others, strikesOf(bit, all));
    const stores = [
      { operand: out.operand, offset: out.offsetAt([all]), value: others, guard: binary('gt', all, own) },
      { operand: done.operand, offset: done.offsetAt([all]), value: strikes, guard: binary('eq', all, own) },
    ];
    context.launch({ kind: 'nest', label: `${label} (strikes)`, axes: [all], innerAxes: [], stores });
  }
  const kept = context.temporary([count], 'int32');
  const flags = new TensorView(kept);
  const [box] = flags.axes();
  const word = done.at([binary('truncdiv', box, index(wordBits))]);
  const value = cast('i32', isClear(word, binary('fmod', box, index(wordBits))));
  const stores = [{ operand: flags.operand, offset: flags.offsetAt([box]), value }];
  context.launch({ kind: 'nest', label, axes: [box], innerAxes: [], stores });
  return kept;
}

/** Whether a bit of a word is 0. */
function isClear(word: Expr, bit: Expr): Expr {
  return binary('eq', binary('and', word, binary('shl', index(1), bit)), index(0));
}
