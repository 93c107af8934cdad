import {
  accumulator,
  axis,
  cast,
  Rewriter,
  substitute,
  type AxisExpr,
  type Expr,
  type KernelSignature,
  type NormalContraction,
  type Store,
  type TileSchedule,
} from '@cresset/tensorexpr';
import type { ShaderText } from './nest-writer.ts';
import { Scope } from './scope.ts';
import { ShaderWriter } from './shader-writer.ts';

/** A contraction where each thread keeps a tile of results in registers. */
export function writeTiledContraction(
  kernel: NormalContraction,
  schedule: TileSchedule,
  signature: KernelSignature,
  wide: boolean,
): ShaderText {
  const { tileM, tileN, threadsM, threadsN } = schedule;
  const writer = new ShaderWriter(signature);
  const rows = instances(kernel.m, tileM);
  const columns = instances(kernel.n, tileN);
  const left = rows.map((row) => cast('float', substitute(kernel.left, new Map([[kernel.m, row]]))));
  const right = columns.map((column) => cast('float', substitute(kernel.right, new Map([[kernel.n, column]]))));
  const results = rows.map((row) =>
    columns.map((column) => {
      const sum: Expr = { ...accumulator };
      const replacements = new Map<Expr, Expr>([
        [kernel.m, row],
        [kernel.n, column],
      ]);
      const stores = kernel.stores.map((store) => inTile(store, sum, replacements));
      return { sum, stores };
    }),
  );
  const allStores = results.flat().flatMap((result) => result.stores);
  writer.announce([...left, ...right, ...allStores.flatMap((store) => [store.offset, store.value])]);

  const body = new Scope(null, '  ');
  body.line(wide ? 'let tile = i32(group.x + group.y * groups.x);' : 'let tile = i32(group.x);');
  const extentM = writer.value(kernel.m.extent, body);
  const extentN = writer.value(kernel.n.extent, body);
  const blockM = tileM * threadsM;
  const blockN = tileN * threadsN;
  body.line(`let tiles_n = (${extentN} + ${blockN - 1}) / ${blockN};`);
  body.line(`let tiles_m = (${extentM} + ${blockM - 1}) / ${blockM};`);
  if (wide) body.line(`if (tile >= tiles_n * tiles_m * ${writer.extentsProduct(kernel.batch, body)}) { return; }`);
  // Threads next to each other take columns next to each other; the rows of a thread are its own.
  const laneM = threadsM > 1 ? ' + i32(local.y)' : '';
  body.line(`let first_m = (tile / tiles_n % tiles_m) * ${blockM}${laneM};`);
  body.line(`let first_n = (tile % tiles_n) * ${blockN} + i32(local.x);`);
  if (kernel.batch.length > 0) {
    body.line('let batch = tile / (tiles_n * tiles_m);');
    writer.unflatten(kernel.batch, 'batch', body);
  }
  rows.forEach((row, index) => bindInstance(writer, body, row, 'first_m', index * threadsM));
  columns.forEach((column, index) => bindInstance(writer, body, column, 'first_n', index * threadsN));
  const sums = results.map((row) =>
    row.map(({ sum }) => {
      const name = writer.fresh('sum');
      body.line(`var ${name} = 0.0;`);
      body.names.set(sum, name);
      return name;
    }),
  );
  writer.loops(kernel.k, body, (inner) => {
    const leftNames = left.map((value) => writer.named(value, inner));
    const rightNames = right.map((value) => writer.named(value, inner));
    sums.forEach((row, i) => row.forEach((sum, j) => inner.line(`${sum} += ${leftNames[i]} * ${rightNames[j]};`)));
  });
  results.forEach((row, i) =>
    row.forEach(({ stores }, j) => {
      const inside = body.open(true);
      writer.stores(stores, inside);
      const m = writer.value(rows[i], body);
      const n = writer.value(columns[j], body);
      body.close(`if (${m} < ${extentM} && ${n} < ${extentN})`, inside);
    }),
  );
  const builtins = ['@builtin(local_invocation_id) local: vec3<u32>', '@builtin(workgroup_id) group: vec3<u32>'];
  if (wide) builtins.push('@builtin(num_workgroups) groups: vec3<u32>');
  const size = threadsM > 1 ? `${threadsN}, ${threadsM}` : String(threadsN);
  return { code: writer.assemble(kernel.label, builtins, size, body), uniforms: writer.uniforms };
}

function instances(original: AxisExpr, count: number): AxisExpr[] {
  return Array.from({ length: count }, () => axis(original.name, original.extent));
}

function bindInstance(writer: ShaderWriter, body: Scope, instance: AxisExpr, first: string, offset: number): void {
  const name = writer.axisName(instance);
  body.line(`let ${name} = ${first}${offset > 0 ? ` + ${offset}` : ''};`);
  body.bind(instance, name);
}

function inTile(store: Store, sum: Expr, axes: ReadonlyMap<Expr, Expr>): Store {
  const rewriter = new Rewriter((node) => (node.kind === 'accumulator' ? sum : (axes.get(node) ?? null)));
  return {
    operand: store.operand,
    offset: rewriter.rewrite(store.offset),
    value: rewriter.rewrite(store.value),
  };
}
