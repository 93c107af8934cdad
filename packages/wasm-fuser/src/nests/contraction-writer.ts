import {
  cast,
  expressionsOf,
  type AxisExpr,
  type Expr,
  type KernelSignature,
  type NormalContraction,
  walk,
} from '@cresset/tensorexpr';
import { countUp, i32, v128, type Code, type Local } from '../code.ts';
import type { ModuleBuilder } from '../module.ts';
import { elementShift } from './elements.ts';
import { ExpressionWriter, NeedsSingleSteps } from './expression-writer.ts';
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

/** Gives the accumulator its value: a vector of sums beside each other, or one. */
function bindSum(writer: ExpressionWriter, kernel: NormalContraction, scope: Scope, row: Local, n: Local): void {
  const { dtype, load: loadAll } = writer.floats;
  const column = i32.shl(i32.sub(writer.first(kernel.n, scope), n.get), elementShift(dtype));
  const address = i32.add(row.get, column);
  const load = scope.lanes ? v128.load(address) : loadAll(address);
  const value = { form: 'lanes', code: writer.keep(scope, 'v128', load) } as const;
  walk(kernel.stores.flatMap(expressionsOf), (expr) => {
    if (expr.kind !== 'accumulator') return;
    writer.freeAxes.declare(expr, [kernel.m, kernel.n]);
    scope.bind(expr, value);
  });
}

/** Lines of the image, from `line` on, of one plane after the other, each in so many columns, with a gap of so many bytes behind those of a plane. */
function writeImage(
  module: ModuleBuilder,
  kernel: NormalContraction,
  { planes, line, column, element }: Windows,
  signature: KernelSignature,
): void {
  module.define('image', 8, (body, pointer, batch, batchEnd, from, to, columns, target, gap) => {
    const root = Scope.root();
    // Lines and columns go on beyond the ends of the image.
    const writer = new ExpressionWriter(module, body, signature, pointer, root, new Set(), true);
    writer.announce([element]);
    writer.points(kernel.batch, batch.get, batchEnd.get, root, (block) =>
      writer.loops(planes, block, (plane) => {
        writer.steps(line, from.get, to.get, plane, (row) => {
          const lanes = { axis: column, firsts: body.integers(1) };
          const scope = row.openLanes(lanes);
          scope.code.push(v128.store(target.get, writer.valueIn('lanes', element, scope)), target.advance(16));
          row.code.push(countUp(lanes.firsts[0], i32.const(0), columns.get, 4, scope.code));
        });
        plane.code.push(target.advance(gap.get));
      }),
    );
    return root.code;
  });
}

/** Lines of a side, a vector's at a time, or one by one where integers of 64 bits tell what is in them, as in an embedding that is multiplied. */
function writeSide(
  module: ModuleBuilder,
  name: string,
  kernel: NormalContraction,
  line: AxisExpr,
  side: Expr,
  signature: KernelSignature,
): void {
  const element = cast('float', side);
  const define = (write: (writer: ExpressionWriter, from: Local, to: Local, target: Local) => void): void => {
    module.define(name, 5, (body, pointer, batch, from, to, target) => {
      // Lines that are missing in the last four may lie anywhere.
      const writer = new ExpressionWriter(module, body, signature, pointer, Scope.root(), new Set(), true);
      writer.announce([element]);
      writer.markRisky([element]);
      writer.unflatten(kernel.batch, batch.get, writer.root);
      write(writer, from, to, target);
      return writer.root.code;
    });
  };
  try {
    define((writer, from, to, target) => {
      const lanes = { axis: line, firsts: writer.body.integers(1) };
      const scope = writer.root.openLanes(lanes);
      writer.loops(kernel.k, scope, (inner) => {
        inner.code.push(v128.store(target.get, writer.valueIn('lanes', element, inner)), target.advance(16));
      });
      writer.root.code.push(countUp(lanes.firsts[0], from.get, to.get, writer.floats.lanes, scope.code));
    });
  } catch (error) {
    if (!(error instanceof NeedsSingleSteps)) throw error;
    define((writer, from, to, target) => {
      const { root, body } = writer;
      const depth = kernel.k.map((axis) => writer.valueIn('scalar', axis.extent, root)).reduce(i32.mul, i32.const(1));
      const groupBytes = writer.keep(root, 'i32', i32.mul(depth, i32.const(16)));
      writer.steps(line, from.get, to.get, root, (scope) => {
        const at = body.integer();
        const own = writer.keep(scope, 'i32', i32.sub(first(writer, line, scope), from.get));
        const { lanes, dtype, storeLane } = writer.floats;
        const lane = i32.shl(i32.and(own, i32.const(lanes - 1)), elementShift(dtype));
        const group = i32.mul(i32.shiftRightUnsigned(own, i32.const(lanes >> 1)), groupBytes);
        scope.code.push(at.set(i32.add(i32.add(target.get, group), lane)));
        writer.loops(kernel.k, scope, (inner) => {
          const value = writer.valueIn('lanes', element, inner);
          inner.code.push(storeLane(at.get, value, 0), at.advance(16));
        });
      });
    });
  }
}
