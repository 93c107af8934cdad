import { Tensor, scratch } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { numbersInPieces } from '../../kernels/numbers/numbers.ts';
import { isLess, stableOrder } from '../sorting/sort.ts';
import { roundingTo } from '../../kernels/numbers/rounding.ts';
import type { OperatorRow } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { deviceNms, type NmsArgs } from './nms-lowering.ts';
import { type Pieces, filled, PIECE_SIZE, repeat } from '../../kernels/loops/pieces.ts';

/** Boxes of which none overlaps a better one too much (torchvision's nms). */

function checkArguments({ dets, scores }: NmsArgs): void {
  check(dets.dim === 2, () => `boxes should be a 2d tensor, got ${dets.dim}D`);
  check(dets.sizes[1] === 4, () => `boxes should have 4 elements in dimension 1, got ${dets.sizes[1]}`);
  check(scores.dim === 1, () => `scores should be a 1d tensor, got ${scores.dim}D`);
  check(
    dets.sizes[0] === scores.sizes[0],
    () =>
      `boxes and scores should have same number of elements in dimension 0, got ${dets.sizes[0]} and ${scores.sizes[0]}`,
  );
  if (dets.dtype !== 'float32' && dets.dtype !== 'float64')
    throw notImplementedFor('nms_kernel', dtypeName(dets.dtype));
  check(dets.dtype === scores.dtype, 'dets should have the same type as scores');
}

/** The numbers of the boxes that are kept, the best first. Every step is rounded as arithmetic in the boxes' dtype is. */
function* keptBoxes({ dets, scores, iou_threshold: threshold }: NmsArgs): Pieces<number[]> {
  const round = roundingTo(dets.dtype);
  const boxes = yield* numbersInPieces(dets);
  const count = dets.sizes[0];
  const areas = yield* filled(scratch(Float64Array, count), 16, (i) => {
    const [x1, y1, x2, y2] = boxes.subarray(4 * i, 4 * i + 4);
    return round(round(x2 - x1) * round(y2 - y1));
  });
  const keys = yield* numbersInPieces(scores);
  // The best first, equal ones as they come.
  const order = yield* stableOrder(count, (a, b) => isLess(keys[b], keys[a]));
  const isSuppressed = scratch(Uint8Array, count);
  let done = 0;
  const kept: number[] = [];
  for (let at = 0; at < count; at++) {
    const own = order[at];
    if (isSuppressed[own]) continue;
    kept.push(own);
    const left = boxes[4 * own];
    const top = boxes[4 * own + 1];
    const right = boxes[4 * own + 2];
    const bottom = boxes[4 * own + 3];
    yield* repeat(count - at - 1, 16, (index) => {
      const other = order[at + 1 + index];
      if (isSuppressed[other]) return;
      const width = round(Math.min(right, boxes[4 * other + 2]) - Math.max(left, boxes[4 * other]));
      const height = round(Math.min(bottom, boxes[4 * other + 3]) - Math.max(top, boxes[4 * other + 1]));
      const common = width > 0 && height > 0 ? round(width * height) : 0;
      const all = round(round(areas[own] + areas[other]) - common);
      if (round(common / all) > threshold) isSuppressed[other] = 1;
    });
    done += 16 * (count - at);
    if (done < PIECE_SIZE) continue;
    done = 0;
    yield;
  }
  return kept;
}

export const nmsRows: readonly OperatorRow[] = [
  kernel<NmsArgs>('torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor', {
    *host(args) {
      checkArguments(args);
      const kept = yield* keptBoxes(args);
      return Tensor.fromArray(BigInt64Array.from(kept, BigInt), [kept.length], 'int64');
    },
    // The GPU's way to compare quotients knows singles.
    lowerable: ({ dets }) => dets.dtype !== 'float64',
    device: (args, context) => {
      checkArguments(args);
      return deviceNms(args, context);
    },
  }),
];
