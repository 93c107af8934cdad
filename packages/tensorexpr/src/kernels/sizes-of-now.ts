import { hint, keepGuards, SizeGuards } from '@cresset/tensor';
import { axis, param } from '../expressions/builders.ts';
import type { AxisExpr, Expr, ParamExpr } from '../expressions/expr.ts';
import { Rewriter } from '../expressions/substitute.ts';
import { isSymbolicKernel, mapStore, type Kernel } from './kernel.ts';

/** A kernel with the numbers that its sizes are now, which work that waits keeps; one without expressions of sizes is itself. */
export function withSizesOfNow<Any extends Kernel>(kernel: Any): Any;
export function withSizesOfNow(kernel: Kernel): Kernel {
  if (!isSymbolicKernel(kernel)) return kernel;
  const rewriter: Rewriter = new Rewriter((expr) => {
    if (expr.kind === 'param') return paramOfNow(expr);
    if (expr.kind === 'axis') return ofNow(expr);
    if (expr.kind !== 'reduce') return null;
    return { ...expr, axes: expr.axes.map(axisOf), body: rewrite(expr.body) };
  });
  const ofNow = (own: AxisExpr): AxisExpr => {
    const extent = rewrite(own.extent);
    return extent === own.extent ? own : axis(own.name, extent);
  };
  const rewrite = (expr: Expr): Expr => rewriter.rewrite(expr);
  const axisOf = (own: AxisExpr): AxisExpr => rewriter.axis(own);
  const stores = kernel.stores.map((store) => mapStore(store, rewrite));
  if (kernel.kind === 'contraction') {
    const { batch, m, n, k, left, right } = kernel;
    const loops = { batch: batch.map(axisOf), m: axisOf(m), n: axisOf(n), k: axisOf(k) };
    return { ...kernel, ...loops, left: rewrite(left), right: rewrite(right), stores };
  }
  const loops = { axes: kernel.axes.map(axisOf), innerAxes: kernel.innerAxes.map(axisOf), stores };
  return kernel.kind === 'recurrence' ? { ...kernel, ...loops, time: axisOf(kernel.time) } : { ...kernel, ...loops };
}

/** A param with the number that it is now. */
function paramOfNow(own: ParamExpr): ParamExpr {
  if (!own.sym) return own;
  const value = hint(own.sym);
  return param(own.type, own.type === 'i64' ? BigInt(value) : value);
}

/** What a launch takes along now, of a kernel that was made ready for any sizes. */
export const paramsOfNow = (params: readonly ParamExpr[]): readonly ParamExpr[] =>
  params.some(({ sym }) => sym) ? params.map(paramOfNow) : params;

/** Ways to make a kernel ready that are kept: for few rows, for many. */
const MOST_KEPT = 4;

/** Makes kernels with expressions of sizes ready once for all sizes for which that comes to the same. */
export class SizedKernels<Ready> {
  readonly #known = new WeakMap<Kernel, { readonly guards: SizeGuards; readonly ready: Ready }[]>();

  /** @param make notes guards of what it goes by */
  constructor(private readonly make: (kernel: Kernel) => Ready) {}

  /** What was made of a kernel that holds for the sizes of now. */
  of(kernel: Kernel): Ready {
    let known = this.#known.get(kernel);
    if (!known) this.#known.set(kernel, (known = []));
    let found = known.find(({ guards }) => guards.holds());
    if (!found) {
      const guards = new SizeGuards();
      found = { guards, ready: keepGuards(guards, () => this.make(kernel)) };
      known.unshift(found);
      known.splice(MOST_KEPT);
    }
    return found.ready;
  }
}
