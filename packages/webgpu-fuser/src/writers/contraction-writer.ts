import {
  cast,
  FreeAxes,
  substitute,
  type AxisExpr,
  type Expr,
  type NormalContraction,
  type TileSchedule,
} from '@cresset/tensorexpr';
import { bindInstance, instances, times } from '../instances.ts';
import { Scope } from '../scope.ts';
import type { KernelCode, ShaderWriter } from '../shader-writer.ts';
import { TileStores, writeTilePlace } from './tile-stores.ts';

/** A contraction where each thread keeps a tile of results in registers. */
export function writeTiledContraction(
  writer: ShaderWriter,
  kernel: NormalContraction,
  schedule: TileSchedule,
  wide: boolean,
): KernelCode {
  const { tileM, tileN, threadsM, threadsN } = schedule;
  const rows = instances(kernel.m, tileM);
  const columns = instances(kernel.n, tileN);
  const left = rows.map((row) => cast('float', substitute(kernel.left, new Map([[kernel.m, row]]))));
  const sides = rightSides(kernel, columns);
  const stores = new TileStores(kernel);
  writer.announce([...left, ...valuesIn(sides), ...stores.expressions]);

  const body = new Scope(null, '  ');
  // Threads next to each other take columns next to each other; the rows of a thread are its own.
  writeTilePlace(writer, kernel, body, {
    height: tileM * threadsM,
    width: tileN * threadsN,
    laneM: threadsM > 1 ? ' + i32(local.y)' : '',
    laneN: ' + i32(local.x)',
    wide,
  });
  rows.forEach((instance, index) => bindInstance(writer, body, instance, 'first_m', index * threadsM));
  columns.forEach((instance, index) => bindInstance(writer, body, instance, 'first_n', index * threadsN));
  const sums = rows.map(() => columns.map(() => writer.fresh('sum')));
  for (const name of sums.flat()) body.line(`var ${name} = 0.0;`);
  const sumUp = (side: RightSide, scope: Scope): void => {
    if (!Array.isArray(side)) {
      const { condition, chosen, otherwise } = side;
      const [yes, no] = [scope.open(), scope.open()];
      const text = writer.value(condition, scope);
      sumUp(chosen, yes);
      sumUp(otherwise, no);
      scope.close(`if (${text})`, yes);
      scope.close('else', no);
      return;
    }
    writer.loops(kernel.k, scope, (inner) => {
      const leftNames = left.map((value) => writer.named(value, inner));
      const rightNames = side.map((value) => writer.named(value, inner));
      sums.forEach((names, i) =>
        names.forEach((name, j) => inner.line(`${name} += ${leftNames[i]} * ${rightNames[j]};`)),
      );
    });
  };
  sumUp(sides, body);
  const cells = tileM * tileN;
  const storing = cells > 1 ? body.open() : body;
  let result = sums[0][0];
  if (cells > 1) {
    body.line(`var results = array<f32, ${cells}>(${sums.flat().join(', ')});`);
    result = 'results[cell]';
    // A bound that is known only at run time keeps the loop from being unrolled.
    if (schedule.rolled) body.line(`let cells = select(0, ${cells}, tiles_m > 0);`);
  }
  const row = cells > 1 ? times(`(cell / ${tileN})`, threadsM) : 0;
  const column = cells > 1 ? times(`(cell % ${tileN})`, threadsN) : 0;
  stores.write(writer, storing, { row, column, result });
  if (cells > 1) body.close(`for (var cell = 0; cell < ${schedule.rolled ? 'cells' : cells}; cell++)`, storing);
  const builtins = ['@builtin(local_invocation_id) local: vec3<u32>', '@builtin(workgroup_id) group: vec3<u32>'];
  const size = threadsM > 1 ? `${threadsN}, ${threadsM}` : String(threadsN);
  return { builtins, workgroupSize: size, body };
}

/** What a thread's columns are multiplied with: one value each, or one of two such sets for the whole of a batch's product. */
type RightSide = Expr[] | { readonly condition: Expr; readonly chosen: RightSide; readonly otherwise: RightSide };

/** A choice that only the batch decides is made once, around the loop, so that nothing is loaded for the side that is not chosen. */
function rightSides({ right, n, m, k }: NormalContraction, columns: readonly AxisExpr[]): RightSide {
  const freeAxes = new FreeAxes();
  const sideOf = (expr: Expr): RightSide => {
    if (expr.kind !== 'select' || [m, n, ...k].some((own) => freeAxes.of(expr.condition).has(own)))
      return columns.map((column) => cast('float', substitute(expr, new Map([[n, column]]))));
    return { condition: expr.condition, chosen: sideOf(expr.x), otherwise: sideOf(expr.y) };
  };
  return sideOf(right);
}

function valuesIn(side: RightSide): Expr[] {
  return Array.isArray(side) ? side : [side.condition, ...valuesIn(side.chosen), ...valuesIn(side.otherwise)];
}
