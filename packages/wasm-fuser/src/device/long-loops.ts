import {
  axis,
  binary,
  cast,
  expressionsOf,
  extentOf,
  FreeAxes,
  loadsIn,
  longReduction,
  mapStore,
  param,
  pointsOf,
  reduce,
  reductionsIn,
  signatureOf,
  substitute,
  TensorView,
  withReplacement,
  workOf,
  type AxisExpr,
  type Expr,
  type LoopNest,
  type ReduceExpr,
  type Store,
  type TemporaryTensor,
} from '@cresset/tensorexpr';
import { pointsOfNest } from '../nests/nest-writer.ts';
import type { PreparedKernel, PreparedNest } from './programs.ts';

/** Steps of `workOf` that points may take which are done without a stop. */
const LONGEST_PIECE = 1 << 27;
/** Steps of those that a longer one becomes. */
const PART_STEPS = 1 << 25;
/** Elements of a reduction that is worked out in parts where a point takes too long. */
const LONG_REDUCTION = 1 << 20;

/** A nest that takes too long for the least number of points that a function goes over. */
export type LongNest = PreparedNest & { readonly normal: LoopNest };

export function hasLongPoints(prepared: PreparedKernel): prepared is LongNest {
  if (prepared.kind !== 'nest' || prepared.normal.kind !== 'nest') return false;
  const { points, pointsAtOnce, steps } = prepared;
  return (steps / points) * Math.min(points, pointsAtOnce) > LONGEST_PIECE;
}

/**
 * A nest whose points take too long to be done without a stop, as several: reductions are worked out in parts, each of which has a nest of its own,
 * and so have stretches of what is left of a long loop.
 */
export function withShortPoints(nest: LoopNest, temporary: TemporaryTensor): LoopNest[] {
  const parts: LoopNest[] = [];
  const done = new Set<ReduceExpr>();
  let rest = nest;
  for (;;) {
    const next = longReduction(rest, LONG_REDUCTION, done);
    if (!next) return [...parts, ...inStretches(rest)];
    const { stages, replacement } = inParts(rest, next, temporary);
    done.add(replacement);
    parts.push(...stages);
    rest = withReplacement(rest, next, replacement);
  }
}

/** Stretches of a loop of which each step takes so long: where they begin, and how long they are. */
function stretchesOf(loop: AxisExpr, steps: number): { start: number; length: number }[] {
  const extent = extentOf(loop);
  const longest = Math.max(1, Math.floor(PART_STEPS / Math.max(1, steps)));
  return Array.from({ length: Math.ceil(extent / longest) }, (_, at) => {
    const start = at * longest;
    return { start, length: Math.min(longest, extent - start) };
  });
}

/** Where a loop over a stretch is in the whole of it. */
const shifted = (within: AxisExpr, start: number): Expr => binary('add', within, param('i32', start));

function inParts(nest: LoopNest, reduction: ReduceExpr, temporary: TemporaryTensor) {
  const { fn, type, axes: loops } = reduction;
  const longest = loops.reduce((best, own) => (extentOf(own) > extentOf(best) ? own : best));
  const nestOf = (store: Store): LoopNest => ({
    kind: 'nest',
    label: `${nest.label} (parts)`,
    axes: nest.axes,
    innerAxes: [],
    stores: [store],
  });
  const [{ operand, offset }] = nest.stores;
  const stretches = stretchesOf(
    longest,
    workOf(nestOf({ operand, offset, value: reduction })).longest / extentOf(longest),
  );
  const partType = type === 'float' && signatureOf(nest).hasDoubles ? 'float64' : partTypes[type];
  const view = new TensorView(temporary([...nest.axes.map(extentOf), stretches.length], partType));
  const stages = stretches.map(({ start, length }, at) => {
    const within = axis(longest.name, param('i32', length));
    const body = substitute(cast(type, reduction.body), new Map<Expr, Expr>([[longest, shifted(within, start)]]));
    return nestOf({
      operand: view.operand,
      offset: view.offsetAt([...nest.axes, param('i32', at)]),
      value: reduce(
        fn,
        loops.map((own) => (own === longest ? within : own)),
        body,
      ),
    });
  });
  const part = axis('part', param('i32', stretches.length));
  return { stages, replacement: reduce(fn, [part], view.at([...nest.axes, part])) };
}

const partTypes = { float: 'float32', i32: 'int32', i64: 'int64', bool: 'bool' } as const;

/** A nest as one for each stretch of its longest loop within a point; the nest itself where that would change something. */
function inStretches(nest: LoopNest): LoopNest[] {
  const { axes, innerAxes, stores } = nest;
  const points = pointsOf(pointsOfNest(nest).axes);
  const steps = workOf(nest).total / points;
  if (steps <= LONGEST_PIECE) return [nest];
  const loop = [...innerAxes, ...axes.slice(-1)].reduce((best, own) => (extentOf(own) > extentOf(best) ? own : best));
  if (!canBeRepeated(nest, loop)) return [nest];
  return stretchesOf(loop, steps / extentOf(loop)).map(({ start, length }) => {
    const within = axis(loop.name, param('i32', length));
    const place = new Map<Expr, Expr>([[loop, shifted(within, start)]]);
    const inPlace = (own: AxisExpr): AxisExpr => (own === loop ? within : own);
    return {
      ...nest,
      axes: axes.map(inPlace),
      innerAxes: innerAxes.map(inPlace),
      stores: stores.map((store) => mapStore(store, (expr) => substitute(expr, place))),
    };
  });
}

/** Whether what does not depend on a loop can be worked out once for each stretch of it. */
function canBeRepeated({ stores }: LoopNest, loop: AxisExpr): boolean {
  const freeAxes = new FreeAxes();
  const roots = stores.flatMap(expressionsOf);
  const isInside = (expr: Expr): boolean => freeAxes.of(expr).has(loop);
  const written = new Set(stores.map(({ operand }) => operand.tensor.storage));
  const before = reductionsIn(roots).filter((reduction) => !isInside(reduction));
  return (
    stores.every((store) => store.combine === undefined || expressionsOf(store).some(isInside)) &&
    !before.some(({ axes }) => pointsOf(axes) >= LONG_REDUCTION) &&
    !loadsIn(reductionsIn(roots)).some(({ operand }) => written.has(operand.tensor.storage))
  );
}
