import { axis } from '../expressions/builders.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { Rewriter } from '../expressions/substitute.ts';
import { paramOfNow } from './sized-kernels.ts';
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
