import {
  expressionsOf,
  FreeAxes,
  reductionsIn,
  splitStores,
  type AxisExpr,
  type Expr,
  type KernelSignature,
  type LoopNest,
  type Store,
} from '@cresset/tensorexpr';
import { countUp, i32, type Code } from '../code.ts';
import type { ModuleBuilder } from '../module.ts';
import { ExpressionWriter, NeedsSingleSteps } from './expression-writer.ts';
import { strideOf } from './index-steps.ts';
import { prefersLanes } from './reductions.ts';
import { Scope } from './scope.ts';
import { writeStores } from './store-writer.ts';

/** How a nest is cut into pieces of work: by its only axis, or by points of all axes but the one that lanes go along. */
export interface NestPoints {
  readonly axes: readonly AxisExpr[];
  /** Stores and loops within a point. */
  readonly along: readonly AxisExpr[];
}

/** The points of a nest: a function goes over as many of them at a time as it is told. */
export function pointsOfNest({ axes, innerAxes }: LoopNest): NestPoints {
  if (innerAxes.length > 0 || axes.length < 2) return { axes, along: innerAxes };
  return { axes: axes.slice(0, -1), along: axes.slice(-1) };
}

/**
 * Defines `run(block, from, to)`: the nest for these of its points. Four steps of its innermost loop are taken at once, or four of a
 * reduction's where its elements are the ones that lie side by side.
 */
export function writeNest(module: ModuleBuilder, nest: LoopNest, signature: KernelSignature): void {
  const single = loopsOfSingleSteps(nest);
  for (;;) {
    try {
      module.define('run', 3, (body, pointer, from, to) => {
        const root = Scope.root();
        const writer = new ExpressionWriter(module, body, signature, pointer, root, single);
        const roots = nest.stores.flatMap(expressionsOf);
        writer.announce(roots);
        writer.markRisky(roots);
        writePoints(writer, nest, root, from.get, to.get);
        return root.code;
      });
      return;
    } catch (error) {
      if (!(error instanceof NeedsSingleSteps) || single.has(error.axis)) throw error;
      single.add(error.axis);
    }
  }
}

/** Loops of which steps cannot be taken at once, or are better not. */
function loopsOfSingleSteps(nest: LoopNest): Set<AxisExpr> {
  const freeAxes = new FreeAxes();
  const last = nest.innerAxes.at(-1) ?? nest.axes.at(-1);
  if (!last) return new Set();
  const isLocal = (store: Store): boolean => {
    const has = (expr: Expr | undefined): boolean => expr !== undefined && freeAxes.of(expr).has(last);
    if (!expressionsOf(store).some(has)) return store.combine === undefined;
    return !store.combine && !has(store.guard) && has(store.offset) && strideOf(store.offset, last, freeAxes) !== null;
  };
  const isAcross = reductionsIn(nest.stores.flatMap(expressionsOf)).some(
    ({ body, axes }) =>
      freeAxes.of(body).has(last) && prefersLanes(body, axes.at(-1)!, freeAxes) && !prefersLanes(body, last, freeAxes),
  );
  return new Set(nest.stores.every(isLocal) && !isAcross ? [] : [last]);
}

function writePoints(writer: ExpressionWriter, nest: LoopNest, root: Scope, from: Code, to: Code): void {
  const { once, inner } = splitStores(nest);
  const { axes, along } = pointsOfNest(nest);
  const stores = (some: readonly Store[], scope: Scope): void => writeStores(writer, some, scope);
  if (nest.innerAxes.length === 0 && axes.length < 2 && along.length === 0) {
    const [axis] = axes;
    if (axis) writer.allSteps(axis, from, to, root, (scope) => stores(once, scope));
    else stores(once, root);
    return;
  }
  const point = writer.body.integer();
  const scope = root.open();
  // What a point changes stays within the loop over points.
  for (const axis of axes) scope.axes.add(axis);
  writer.unflatten(axes, point.get, scope);
  const innermost = along.at(-1)!;
  if (nest.innerAxes.length === 0) {
    const extent = writer.valueIn('scalar', innermost.extent, root);
    writer.allSteps(innermost, i32.const(0), extent, scope, (each) => stores(once, each));
  } else {
    stores(once, scope);
    if (inner.length > 0) {
      writer.loops(along.slice(0, -1), scope, (outer) => {
        const extent = writer.valueIn('scalar', innermost.extent, root);
        writer.allSteps(innermost, i32.const(0), extent, outer, (each) => stores(inner, each));
      });
    }
  }
  root.code.push(countUp(point, from, to, 1, scope.code));
}
