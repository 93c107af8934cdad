import { symGt, symLe, symLt } from '@cresset/tensor';
import {
  expressionsOf,
  FreeAxes,
  reductionsIn,
  splitStores,
  symExtentOf,
  symPointsOf,
  type AxisExpr,
  type Expr,
  type KernelSignature,
  type LoopNest,
  type Recurrence,
  type ReduceExpr,
  type Store,
} from '@cresset/tensorexpr';
import { i32, type Code } from '../code.ts';
import type { ModuleBuilder } from '../module.ts';
import { ExpressionWriter, NeedsSingleSteps } from './expression-writer.ts';
import { isOne, strideOf } from './index-steps.ts';
import { GROUPS, prefersLanes } from './reductions.ts';
import { Scope } from './scope.ts';
import { writeElements, writeStores } from './store-writer.ts';
import type { StoredTerms } from './stored-terms.ts';
import { tileOf, writeTile } from './tiles.ts';

/** How a nest is cut into pieces of work, and which of its loops takes four steps at once. */
export interface NestPoints {
  /** A function goes over as many points of these axes at a time as it is told. */
  readonly axes: readonly AxisExpr[];
  /** The loop over lanes; the points themselves where it is their only axis. */
  readonly lanes: AxisExpr | undefined;
}

/** The points of a nest: of all axes, but for the one that lanes go along where there are others. */
export function pointsOfNest(nest: LoopNest): NestPoints {
  const { axes, innerAxes } = nest;
  if (innerAxes.length > 0 && !liesAcross(nest)) return { axes, lanes: innerAxes.at(-1) };
  const tile = tileOf(nest);
  if (tile) {
    const others = axes.slice(0, -1).filter((own) => own !== tile.across);
    return { axes: [...others, tile.blocks, tile.fours], lanes: axes.at(-1) };
  }
  return { axes: axes.length < 2 ? axes : axes.slice(0, -1), lanes: axes.at(-1) };
}

/** Whether neighbours among what a nest stores are along its axes, and not along the loops within a point: columns, not rows. */
function liesAcross({ axes, innerAxes, stores }: LoopNest): boolean {
  const freeAxes = new FreeAxes();
  const [across, along] = [axes.at(-1), innerAxes.at(-1)!];
  if (!across) return false;
  const isBeside = ({ offset }: Store, axis: AxisExpr): boolean => {
    const stride = strideOf(offset, axis, freeAxes);
    return stride !== null && isOne(stride);
  };
  return (
    stores.every((store) => isBeside(store, across) && !isBeside(store, along)) &&
    stores.some(({ value }) => prefersLanes(value, across, freeAxes))
  );
}

/** Steps of lines that are gone through from end to end, without a stop in between. */
const LONGEST_LINE = 1 << 22;

/**
 * Whether a recurrence is gone through line by line, each from its first step to its last, and not step by step: where neighbours in memory are
 * steps of one line. Goes by the numbers of this launch.
 */
export function goesByLine({ axes, innerAxes, time, stores }: Recurrence): boolean {
  if (innerAxes.length > 0 || symLt(symPointsOf(axes), 2) || symGt(symExtentOf(time), LONGEST_LINE)) return false;
  const freeAxes = new FreeAxes();
  return stores.every(({ offset }) => {
    const stride = strideOf(offset, time, freeAxes);
    return stride !== null && (isOne(stride) || !freeAxes.of(offset).has(time));
  });
}

/** The loop of a recurrence, taken step by step, of which stretches have nothing to do with each other: sequences, or their elements. */
export function sequencesOf(kernel: Recurrence): AxisExpr | null {
  return goesByLine(kernel) ? null : (kernel.axes[0] ?? null);
}

/**
 * Defines `run(block, from, to)`: a nest for these of its points, or these steps or lines of a recurrence; of one that is taken step by step
 * `run(block, from, to, first, end)`, which goes over these of its sequences. Four steps of the innermost loop are taken
 * at once, or four of a reduction's where its elements are the ones that lie side by side.
 */
export function writeLoops(
  module: ModuleBuilder,
  nest: LoopNest | Recurrence,
  signature: KernelSignature,
  terms: StoredTerms | null = null,
): void {
  const single = loopsOfSingleSteps(nest);
  for (;;) {
    try {
      const isBySteps = nest.kind === 'recurrence' && !goesByLine(nest);
      module.define('run', isBySteps ? 5 : 3, (body, pointer, from, to, first, end) => {
        const root = Scope.root();
        const writer = new ExpressionWriter(module, body, signature, pointer, root, single);
        if (nest.kind === 'recurrence') writer.changeOverTime(nest);
        if (terms) writer.alongside(terms.reduction, (scope) => writeElements(writer, terms.store, scope));
        const rows = sumOfRows(nest);
        if (rows) writer.goByRows(rows);
        if (terms?.most) writer.makeShares(terms.store.value, terms.most);
        const roots = [...nest.stores, ...(terms ? [terms.store] : [])].flatMap(expressionsOf);
        writer.announce(roots);
        writer.markRisky(roots);
        if (nest.kind === 'nest') writePoints(writer, nest, root, from.get, to.get);
        else if (goesByLine(nest)) writeLines(writer, nest, root, from.get, to.get);
        else writeSteps(writer, nest, root, [from.get, to.get], [first.get, end.get]);
        return root.code;
      });
      return;
    } catch (error) {
      if (!(error instanceof NeedsSingleSteps) || single.has(error.axis)) throw error;
      single.add(error.axis);
    }
  }
}

/** The innermost loop, of which four steps are taken at once where that goes. */
const lanesOf = (nest: LoopNest | Recurrence): AxisExpr | undefined =>
  nest.kind === 'nest' ? pointsOfNest(nest).lanes : [...nest.axes, ...nest.innerAxes].at(-1);

/** Reductions that differ along an axis and are of elements that lie side by side along another: rows that lie apart. */
const reductionsAcross = ({ stores }: LoopNest | Recurrence, axis: AxisExpr, freeAxes: FreeAxes): ReduceExpr[] =>
  reductionsIn(stores.flatMap(expressionsOf)).filter(
    ({ body, axes }) =>
      freeAxes.of(body).has(axis) && prefersLanes(body, axes.at(-1)!, freeAxes) && !prefersLanes(body, axis, freeAxes),
  );

/** Elements of rows that are gone through four at once: the last cache is faster so, memory where it is read from one end to the other. */
const CACHED_ROWS = 1 << 20;

/**
 * The sum that a nest makes of rows that lie apart, as a product of a matrix and a vector does: four rows are gone through at once, and what they have
 * in common, the vector, is read once. Several sums that meet the same vector are made in one loop instead, a row of each. Goes by the numbers of
 * this launch.
 */
export function sumOfRows(nest: LoopNest | Recurrence): ReduceExpr | null {
  const lanes = lanesOf(nest);
  const freeAxes = new FreeAxes();
  const [sum, ...others] = lanes ? reductionsAcross(nest, lanes, freeAxes) : [];
  if (!sum || others.length > 0) return null;
  const isPlain = sum.fn === 'sum' && sum.body.type === 'float' && reductionsIn([sum.body]).length === 0;
  return isPlain && symLe(symPointsOf([lanes!, ...sum.axes]), CACHED_ROWS) ? sum : null;
}

/** Loops of which steps cannot be taken at once, or are better not. */
function loopsOfSingleSteps(nest: LoopNest | Recurrence): Set<AxisExpr> {
  const freeAxes = new FreeAxes();
  const last = lanesOf(nest);
  if (!last) return new Set();
  const isLocal = (store: Store): boolean => {
    const has = (expr: Expr | undefined): boolean => expr !== undefined && freeAxes.of(expr).has(last);
    if (!expressionsOf(store).some(has)) return store.combine === undefined;
    return !store.combine && !has(store.guard) && has(store.offset) && strideOf(store.offset, last, freeAxes) !== null;
  };
  const isAcross = !sumOfRows(nest) && reductionsAcross(nest, last, freeAxes).length > 0;
  return new Set(nest.stores.every(isLocal) && !isAcross ? [] : [last]);
}

function writePoints(writer: ExpressionWriter, nest: LoopNest, root: Scope, from: Code, to: Code): void {
  const { once, inner } = splitStores(nest);
  const { axes, lanes } = pointsOfNest(nest);
  const write = (some: readonly Store[], scope: Scope): void => writeStores(writer, some, scope);
  const isInside = lanes !== undefined && nest.innerAxes.includes(lanes);
  /** All that is done for a point, of which `innermost` writes the stores in the last of the inner loops. */
  const within = (scope: Scope, innermost: (outer: Scope, axis: AxisExpr) => void): void => {
    write(once, scope);
    const axis = nest.innerAxes.at(-1);
    if (axis && inner.length > 0) writer.loops(nest.innerAxes.slice(0, -1), scope, (outer) => innermost(outer, axis));
  };
  const oneByOne = (scope: Scope): void =>
    within(scope, (outer, axis) => writer.loops([axis], outer, (each) => write(inner, each)));
  const fours = (axis: AxisExpr, start: Code, end: Code, scope: Scope, some: readonly Store[]): void => {
    const body = isInside ? (each: Scope): void => write(some, each) : oneByOne;
    writer.allSteps(axis, start, end, scope, body, groupsAlong(writer, axis, some));
  };
  if (lanes && axes.length === 1 && axes[0] === lanes) {
    fours(lanes, from, to, root, nest.stores);
    return;
  }
  if (axes.length === 0 && nest.innerAxes.length === 0) {
    write(once, root);
    return;
  }
  const extent = (axis: AxisExpr): Code => writer.valueIn('scalar', axis.extent, root);
  const tile = tileOf(nest);
  writer.points(axes, from, to, root, (scope) => {
    if (tile) writeTile(writer, tile, lanes!, scope, (inner) => write(nest.stores, inner));
    else if (isInside) within(scope, (outer, axis) => fours(axis, i32.const(0), extent(axis), outer, inner));
    else if (lanes) fours(lanes, i32.const(0), extent(lanes), scope, nest.stores);
  });
}

/** Several fours of results at once where each is a reduction, or made of one; rows are several at once anyway. */
function groupsAlong(writer: ExpressionWriter, axis: AxisExpr, stores: readonly Store[]): number {
  const freeAxes = new FreeAxes();
  const own = reductionsIn(stores.flatMap(expressionsOf)).filter((reduction) => freeAxes.of(reduction).has(axis));
  return own.some((reduction) => !writer.goesByRows(reduction)) ? GROUPS : 1;
}

function writeSteps(
  writer: ExpressionWriter,
  kernel: Recurrence,
  root: Scope,
  [from, to]: readonly [Code, Code],
  some: readonly [first: Code, end: Code],
): void {
  const points = [...kernel.axes, ...kernel.innerAxes];
  const innermost = points.pop();
  const stores = (scope: Scope): void => writeStores(writer, kernel.stores, scope);
  const [sequences] = kernel.axes;
  const rangeOf = (axis: AxisExpr): readonly [Code, Code] =>
    axis === sequences ? some : [i32.const(0), writer.valueIn('scalar', axis.extent, root)];
  const loops = ([axis, ...rest]: readonly AxisExpr[], scope: Scope): void => {
    if (axis) writer.steps(axis, ...rangeOf(axis), scope, (inner) => loops(rest, inner));
    else
      writer.allSteps(
        innermost!,
        ...rangeOf(innermost!),
        scope,
        stores,
        groupsAlong(writer, innermost!, kernel.stores),
      );
  };
  writer.steps(kernel.time, from, to, root, (step) => {
    if (innermost) loops(points, step);
    else stores(step);
  });
}

function writeLines(
  writer: ExpressionWriter,
  { axes, time, stores }: Recurrence,
  root: Scope,
  from: Code,
  to: Code,
): void {
  const alongLine = (line: Scope): void => writer.loops([time], line, (step) => writeStores(writer, stores, step));
  const [axis, ...others] = axes;
  // A step waits for the one before it, through memory: three other lines go on meanwhile.
  if (others.length === 0) writer.allSteps(axis, from, to, root, alongLine);
  else writer.points(axes, from, to, root, alongLine);
}
