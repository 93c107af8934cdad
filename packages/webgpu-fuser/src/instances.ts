import { axis, mapStore, Rewriter, type AxisExpr, type Expr, type Store } from '@cresset/tensorexpr';
import type { Scope } from './scope.ts';
import type { ShaderWriter } from './shader-writer.ts';

/** Axes of their own, for the values that one axis has in a thread. */
export function instances(original: AxisExpr, count: number): AxisExpr[] {
  return Array.from({ length: count }, () => axis(original.name, original.extent));
}

export function times(factor: string, count: number): string {
  return count === 1 ? factor : `${factor} * ${count}`;
}

/** Gives one of them its value, `first + offset`. */
export function bindInstance(
  writer: ShaderWriter,
  scope: Scope,
  instance: AxisExpr,
  first: string,
  offset: number | string,
): void {
  const name = writer.axisName(instance);
  scope.line(`let ${name} = ${first}${offset === 0 ? '' : ` + ${offset}`};`);
  scope.bind(instance, name);
}

/** A store of a cell: with that cell's sum, and axes of its own. */
export function inTile(store: Store, sum: Expr, axes: ReadonlyMap<Expr, Expr>): Store {
  const rewriter = new Rewriter((node) => (node.kind === 'accumulator' ? sum : (axes.get(node) ?? null)));
  return mapStore(store, (expr) => rewriter.rewrite(expr));
}
