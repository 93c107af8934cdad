import {
  cast,
  childrenOf,
  expressionsOf,
  type AxisExpr,
  type Expr,
  type KernelSignature,
  type NormalContraction,
} from '@cresset/tensorexpr';
import { countUp, i32, v128, type Code, type Local } from '../code.ts';
import type { ModuleBuilder } from '../module.ts';
import { ExpressionWriter } from './expression-writer.ts';
import { Scope } from './scope.ts';
import { writeStores } from './store-writer.ts';
import type { Windows } from './windows.ts';

/**
 * Defines what a product needs of a contraction: `packLeft` and `packRight(block, batch, from, to, target)`, which work out lines of either side
 * in fours whose elements are interleaved, and `store(block, batch, batchEnd, m, mEnd, n, nEnd, sums, stride, group)`, which makes the stores
 * of blocks of finished sums, in rows `stride` bytes apart and blocks `group` bytes apart. Where columns are windows of an image,
 * `image(block, batch, batchEnd, line, lineEnd, columns, target)` works out lines of all its planes.
 */
export function writeContraction(
  module: ModuleBuilder,
  kernel: NormalContraction,
  windows: Windows | null,
  signature: KernelSignature,
): void {
  writeSide(module, 'packLeft', kernel, kernel.m, kernel.left, signature);
  writeSide(module, 'packRight', kernel, kernel.n, kernel.right, signature);
  if (windows) writeImage(module, kernel, windows, signature);
  module.define('store', 10, (body, pointer, batch, batchEnd, m, mEnd, n, nEnd, sums, stride, group) => {
    const root = Scope.root();
    const writer = new ExpressionWriter(module, body, signature, pointer, root, new Set());
    const roots = kernel.stores.flatMap(expressionsOf);
    writer.announce(roots);
    writer.markRisky(roots);
    writer.points(kernel.batch, batch.get, batchEnd.get, root, (block) => {
      writer.steps(kernel.m, m.get, mEnd.get, block, (row) => {
        const from = body.integer();
        row.code.push(from.set(i32.add(sums.get, i32.mul(i32.sub(first(writer, kernel.m, row), m.get), stride.get))));
        const each = (scope: Scope): void => {
          bindSum(writer, kernel, scope, from, n);
          writeStores(writer, kernel.stores, scope);
        };
        writer.allSteps(kernel.n, n.get, nEnd.get, row, each);
      });
      block.code.push(sums.advance(group.get));
    });
    return root.code;
  });
}

const first = (writer: ExpressionWriter, axis: AxisExpr, scope: Scope): Code => writer.valueIn('scalar', axis, scope);

/** Gives the accumulator its value: four sums beside each other, or one. */
function bindSum(writer: ExpressionWriter, kernel: NormalContraction, scope: Scope, row: Local, n: Local): void {
  const column = i32.shl(i32.sub(writer.first(kernel.n, scope), n.get), 2);
  const address = i32.add(row.get, column);
  const load = scope.lanes ? v128.load(address) : v128.loadSplat(address);
  const value = { form: 'lanes', code: writer.keep(scope, 'v128', load) } as const;
  for (const accumulator of accumulatorsIn(kernel.stores.flatMap(expressionsOf))) {
    writer.freeAxes.declare(accumulator, [kernel.m, kernel.n]);
    scope.bind(accumulator, value);
  }
}

function accumulatorsIn(roots: readonly Expr[]): Set<Expr> {
  const found = new Set<Expr>();
  const seen = new Set<Expr>();
  const visit = (expr: Expr): void => {
    if (seen.has(expr)) return;
    seen.add(expr);
    if (expr.kind === 'accumulator') found.add(expr);
    childrenOf(expr).forEach(visit);
  };
  roots.forEach(visit);
  return found;
}

/** Lines of the image, from `line` on, of one plane after the other, each in so many columns. */
function writeImage(
  module: ModuleBuilder,
  kernel: NormalContraction,
  { planes, line, column, element }: Windows,
  signature: KernelSignature,
): void {
  module.define('image', 7, (body, pointer, batch, batchEnd, from, to, columns, target) => {
    const root = Scope.root();
    // Lines and columns go on beyond the ends of the image.
    const writer = new ExpressionWriter(module, body, signature, pointer, root, new Set(), true);
    writer.announce([element]);
    writer.points(kernel.batch, batch.get, batchEnd.get, root, (block) =>
      writer.loops(planes, block, (plane) =>
        writer.steps(line, from.get, to.get, plane, (row) => {
          const lanes = { axis: column, firsts: body.integers(1) };
          const scope = row.openLanes(lanes);
          scope.code.push(v128.store(target.get, writer.valueIn('lanes', element, scope)), target.advance(16));
          row.code.push(countUp(lanes.firsts[0], i32.const(0), columns.get, 4, scope.code));
        }),
      ),
    );
    return root.code;
  });
}

function writeSide(
  module: ModuleBuilder,
  name: string,
  kernel: NormalContraction,
  line: AxisExpr,
  side: Expr,
  signature: KernelSignature,
): void {
  module.define(name, 5, (body, pointer, batch, from, to, target) => {
    const root = Scope.root();
    // Lines that are missing in the last four may lie anywhere.
    const writer = new ExpressionWriter(module, body, signature, pointer, root, new Set(), true);
    const element = cast('float', side);
    writer.announce([element]);
    writer.markRisky([element]);
    writer.unflatten(kernel.batch, batch.get, root);
    const lanes = { axis: line, firsts: body.integers(1) };
    const scope = root.openLanes(lanes);
    writer.loops(kernel.k, scope, (inner) => {
      inner.code.push(v128.store(target.get, writer.valueIn('lanes', element, inner)), target.advance(16));
    });
    root.code.push(countUp(lanes.firsts[0], from.get, to.get, 4, scope.code));
    return root.code;
  });
}
