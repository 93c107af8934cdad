import { hint, peek, symAdd, symMul, symSub, type SymInt } from '@cresset/tensor';
import { remembered } from '../remembered.ts';
import { eachChild, FreeAxes } from '../expressions/expr-children.ts';
import type { AxisExpr, Expr, ReduceExpr } from '../expressions/expr.ts';
import { extentOf, pointsOf, symExtentOf, symPointsOf } from '../expressions/index-value.ts';
import { isReduced, walk } from '../expressions/walk.ts';
import type { DeviceCapabilities } from '../device.ts';
import { dearTile, hasDearRight } from './dear-tile.ts';
import { expressionsIn, expressionsOf, type Kernel, type LoopNest, type Recurrence } from './kernel.ts';
import { runningSoftmaxOf, type RunningSoftmax } from './running-softmax.ts';

/** What a kernel costs, in steps of about one addition: in all, and for the thread that has most to do. */
export interface Work {
  readonly total: number;
  readonly longest: number;
}

const cheap: ReadonlySet<string> = new Set([
  'neg',
  'abs',
  'not',
  'floor',
  'ceil',
  'trunc',
  'round',
  'single',
  'half',
  'bfloat',
]);

/** To find a row's greatest score so far, and what a position counts by it. */
const powerSteps = 12;

/** The results of a contraction that a thread works out along one side, about. */
const tile = 4;

/**
 * An estimate: what a loop does not change counts once for the loop, indices and addresses for nothing.
 *
 * @param capabilities of the device that is to do it, where its threads may share what is dear
 */
export function workOf(kernel: Kernel, capabilities?: DeviceCapabilities): Work {
  return peek(() => estimateOf(kernel, capabilities));
}

/** As `workOf`, the steps of a point of loops, an expression where these may be more the next time. */
export function stepsOfPoint(kernel: LoopNest | Recurrence): SymInt {
  const once = new Steps().symOver(kernel.stores.flatMap(expressionsOf), kernel.innerAxes);
  return kernel.kind === 'recurrence' ? symMul(once, symExtentOf(kernel.time)) : once;
}

function estimateOf(kernel: Kernel, capabilities?: DeviceCapabilities): Work {
  if (kernel.kind !== 'contraction') {
    const longest = hint(stepsOfPoint(kernel));
    return { total: pointsOf(kernel.axes) * longest, longest };
  }
  const steps = new Steps();
  const attention = runningSoftmaxOf(kernel);
  if (attention) return workOfRows(attention, steps);
  const { left, right, m, n, k, batch, stores } = kernel;
  const shared = capabilities && hasDearRight(kernel, [k]) ? dearTile(kernel, capabilities) : null;
  if (shared) {
    const [height, width] = [shared.threadsM * shared.tileM, shared.threadsN * shared.tileN];
    const workgroups = pointsOf(batch) * Math.ceil(extentOf(m) / height) * Math.ceil(extentOf(n) / width);
    const staged = height * steps.over([left], [k]) + width * steps.over([right], [k]);
    const results = height * width * (2 * extentOf(k) + steps.over(stores.flatMap(expressionsOf), []));
    const threads = shared.threadsM * shared.threadsN;
    return { total: workgroups * (staged + results), longest: (staged + results) / threads };
  }
  const isTall = isReduced(right);
  const height = isTall ? tallTile(extentOf(m)) : Math.min(tile, extentOf(m));
  const width = isTall ? 1 : Math.min(tile, extentOf(n));
  const threads = pointsOf(batch) * Math.ceil(extentOf(m) / height) * Math.ceil(extentOf(n) / width);
  const longest =
    height * steps.over([left], [k]) +
    width * steps.over([right], [k]) +
    height * width * (2 * extentOf(k) + steps.over(stores.flatMap(expressionsOf), []));
  return { total: threads * longest, longest };
}

/** Of attention, where a thread takes as many rows as a tile has. */
function workOfRows({ batch, m, n, k, depth, left, right, score, values, stores }: RunningSoftmax, steps: Steps): Work {
  const threads = pointsOf(batch) * Math.ceil(extentOf(m) / tile);
  const columns = extentOf(n);
  const positions = extentOf(k);
  // A row of the left side is read for each tile of positions.
  const sums = Math.ceil(positions / tile) * tile * steps.over([left], depth) + positions * steps.over([right], depth);
  const powers = tile * positions * (2 * pointsOf(depth) + steps.over([score], []) + powerSteps);
  const results =
    columns *
    (positions * (steps.over([values], []) + 2 * tile) + tile * steps.over(stores.flatMap(expressionsOf), []));
  const longest = sums + powers + results;
  return { total: threads * longest, longest };
}

/** Rows that a thread works out where an element of the right side is a sum itself: all of them share it. */
export function tallTile(rows: number): number {
  return Math.ceil(rows / Math.ceil(rows / 16));
}

/** How many nodes the expressions of a kernel have: its shader is as long. */
export const nodesOf = remembered((kernel: Kernel) => {
  let count = 0;
  walk(expressionsIn(kernel), () => void count++);
  return count;
});

class Steps {
  readonly #freeAxes = new FreeAxes();

  /** Steps of a loop over `axes`, with what does not depend on it worked out before. */
  symOver(roots: readonly Expr[], axes: readonly AxisExpr[]): SymInt {
    let before: SymInt = 0;
    let inside: SymInt = 0;
    const seen = new Set<Expr>();
    const loops: ReduceExpr[][] = [];
    const visit = (expr: Expr): void => {
      if (seen.has(expr)) return;
      seen.add(expr);
      const cost = expr.kind === 'reduce' ? this.#ofReduction(expr, loops) : this.#of(expr);
      if (axes.some((axis) => this.#freeAxes.of(expr).has(axis))) inside = symAdd(inside, cost);
      else before = symAdd(before, cost);
      // What is below a reduction was counted with it, and the offset of a load is about to be a sum of a few products.
      if (expr.kind !== 'reduce' && expr.kind !== 'load') eachChild(expr, visit);
    };
    roots.forEach(visit);
    return symAdd(before, symMul(inside, symPointsOf(axes)));
  }

  /** As `symOver`, the number of now. */
  over(roots: readonly Expr[], axes: readonly AxisExpr[]): number {
    return hint(this.symOver(roots, axes));
  }

  #of(expr: Expr): number {
    switch (expr.kind) {
      case 'load':
        return 2;
      case 'unary':
        return cheap.has(expr.fn) ? 1 : 8;
      case 'binary':
        return expr.type === 'i32' ? 0 : expr.fn === 'pow' ? 16 : 1;
      case 'select':
        return 1;
      default:
        return 0;
    }
  }

  /** Reductions over the same axes are made in one loop: what they have in common is worked out once. @param loops those so far, by their axes */
  #ofReduction(reduction: ReduceExpr, loops: ReduceExpr[][]): SymInt {
    const { axes } = reduction;
    const isOver = (other: ReduceExpr): boolean =>
      other.axes.length === axes.length && other.axes.every((own, at) => own === axes[at]);
    let loop = loops.find(([other]) => isOver(other));
    if (!loop) loops.push((loop = []));
    const before = this.#ofLoop(loop, axes);
    loop.push(reduction);
    return symAdd(symSub(this.#ofLoop(loop, axes), before), symPointsOf(axes));
  }

  #ofLoop(reductions: readonly ReduceExpr[], axes: readonly AxisExpr[]): SymInt {
    const bodies = reductions.map(({ body }) => body);
    return this.symOver(bodies, axes);
  }
}
