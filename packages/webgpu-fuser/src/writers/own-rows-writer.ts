import {
  accumulator,
  binary,
  cast,
  constant,
  expressionsOf,
  select,
  substitute,
  type AxisExpr,
  type Expr,
  type OwnRowsSchedule,
  type RunningSoftmax,
} from '@cresset/tensorexpr';
import { bindInstance, instances, inTile } from '../instances.ts';
import { threadNumber } from './grid-numbers.ts';
import { factorCode, powerCode, resultCode, scoreAt, type RowScore } from './row-scores.ts';
import { Scope } from '../scope.ts';
import type { KernelCode, ShaderWriter } from '../shader-writer.ts';

/** A row of a thread: what is read of it, and names of what is kept of it. */
interface Row {
  readonly m: AxisExpr;
  readonly left: Expr;
  /** At each position of a block, the sum over depth and the score that is made of it. */
  readonly scores: readonly RowScore[];
  readonly most: string;
  readonly total: string;
  readonly results: string;
}

/** A position of a block. */
interface Position {
  readonly k: AxisExpr;
  readonly right: Expr;
  /** Zero beyond the last position. */
  readonly value: Expr;
}

/** Attention where each thread has rows of the result: their greatest scores so far, the sums of their powers so far. */
export function writeOwnRows(
  writer: ShaderWriter,
  kernel: RunningSoftmax,
  schedule: OwnRowsSchedule,
  wide: boolean,
): KernelCode {
  const { workgroupSize, columns } = schedule;
  const { m, n } = kernel;
  const block = instances(kernel.k, schedule.positions).map((k) => positionOf(kernel, k));
  const rows = instances(m, schedule.rows).map((own) => rowOf(kernel, own, block, writer));
  const result: Expr = { ...accumulator };
  const stores = kernel.stores.map((store) => inTile(store, result, new Map()));
  writer.announce([
    ...rows.flatMap(({ left, scores }) => [left, ...scores.map(({ score }) => score)]),
    ...block.flatMap(({ right, value }) => [right, value]),
    ...stores.flatMap(expressionsOf),
  ]);

  const body = new Scope(null, '  ');
  const [extentM, extentN, extentK] = [m, n, kernel.k].map((own) => writer.named(own.extent, body));
  body.line(`let point = i32(${threadNumber(workgroupSize, wide)});`);
  body.line(`let tiles_m = (${extentM} + ${rows.length - 1}) / ${rows.length};`);
  body.line(`let tiles_n = (${extentN} + ${columns - 1}) / ${columns};`);
  body.line(`if (point >= tiles_n * tiles_m * ${writer.extentsProduct(kernel.batch, body)}) { return; }`);
  body.line(`let first_n = (point / tiles_m % tiles_n) * ${columns};`);
  body.line(`let first_m = (point % tiles_m) * ${rows.length};`);
  body.line(`let columns = min(${columns}, ${extentN} - first_n);`);
  if (kernel.batch.length > 0) {
    body.line('let batch = point / (tiles_m * tiles_n);');
    writer.unflatten(kernel.batch, 'batch', body);
  }
  body.line('let lowest = -infinity();');
  rows.forEach(({ m: row, most, total, results }, at) => {
    bindInstance(writer, body, row, 'first_m', at);
    body.line(`var ${results}: array<f32, ${columns}>;`);
    body.line(`var ${most} = lowest;`);
    body.line(`var ${total} = 0.0;`);
  });

  const inBlock = body.open();
  block.forEach(({ k }, at) => bindInstance(writer, inBlock, k, 'first_k', at));
  sumUp(writer, kernel, { rows, block }, inBlock);
  const powers = rows.map((row) => writePowers(writer, { row, block, extentK }, inBlock));
  const inColumn = inBlock.open();
  bindInstance(writer, inColumn, n, 'first_n', 'column');
  const values = block.map(({ value }) => writer.named(value, inColumn));
  rows.forEach(({ results }, at) => {
    const terms = values.map((value, position) => `${powers[at].powers[position]} * ${value}`);
    inColumn.line(`${results}[column] = ${results}[column] * ${powers[at].factor} + (${terms.join(' + ')});`);
  });
  inBlock.close('for (var column = 0; column < columns; column++)', inColumn);
  body.close(`for (var first_k = 0; first_k < ${extentK}; first_k += ${block.length})`, inBlock);

  rows.forEach(({ m: row, total, results }) => {
    const storing = body.open(true);
    const inside = storing.open();
    bindInstance(writer, inside, m, writer.value(row, body), 0);
    bindInstance(writer, inside, n, 'first_n', 'column');
    inside.line(`let sum = ${resultCode(kernel, `${results}[column]`, total, extentK)};`);
    writer.bindAccumulator(result, 'sum', [m, n], inside);
    writer.stores(stores, inside);
    storing.close('for (var column = 0; column < columns; column++)', inside);
    body.close(`if (${writer.value(row, body)} < ${extentM})`, storing);
  });
  const builtins = ['@builtin(global_invocation_id) thread: vec3<u32>'];
  return { builtins, workgroupSize, body };
}

function positionOf(kernel: RunningSoftmax, k: AxisExpr): Position {
  const own = new Map<Expr, Expr>([[kernel.k, k]]);
  const value = cast('float', substitute(kernel.values, own));
  return {
    k,
    right: cast('float', substitute(kernel.right, own)),
    value: select(binary('lt', k, kernel.k.extent), value, constant('float', 0)),
  };
}

function rowOf(kernel: RunningSoftmax, m: AxisExpr, block: readonly Position[], writer: ShaderWriter): Row {
  const scores = block.map(({ k }) => scoreAt(kernel, m, k));
  const left = cast('float', substitute(kernel.left, new Map([[kernel.m, m]])));
  return {
    m,
    left,
    scores,
    most: writer.fresh('most'),
    total: writer.fresh('total'),
    results: writer.fresh('results'),
  };
}

function sumUp(
  writer: ShaderWriter,
  { depth }: RunningSoftmax,
  { rows, block }: { rows: readonly Row[]; block: readonly Position[] },
  scope: Scope,
): void {
  const names = rows.map(({ m, scores }) =>
    scores.map(({ sum }, at) => {
      const name = writer.fresh('dot');
      scope.line(`var ${name} = 0.0;`);
      writer.bindAccumulator(sum, name, [m, block[at].k], scope);
      return name;
    }),
  );
  writer.loops(depth, scope, (inner) => {
    const lefts = rows.map(({ left }) => writer.named(left, inner));
    const rights = block.map(({ right }) => writer.named(right, inner));
    names.forEach((row, i) => row.forEach((name, j) => inner.line(`${name} += ${lefts[i]} * ${rights[j]};`)));
  });
}

/**
 * Works out what each position of a block counts in a row, by the greatest score so far, and what all before it count by that one. Powers
 * are of nothing above zero, where the built-in's error is a part of one that is small itself.
 */
function writePowers(
  writer: ShaderWriter,
  { row, block, extentK }: { row: Row; block: readonly Position[]; extentK: string },
  scope: Scope,
): { factor: string; powers: string[] } {
  const { most, total, scores } = row;
  const names = scores.map(({ score }, at) => {
    const name = writer.fresh('score');
    const isThere = `${writer.value(block[at].k, scope)} < ${extentK}`;
    scope.line(`let ${name} = select(lowest, ${writer.value(score, scope)}, ${isThere});`);
    return name;
  });
  const [next, factor] = [writer.fresh('next'), writer.fresh('factor')];
  scope.line(`let ${next} = ${names.reduce((greatest, score) => `max(${greatest}, ${score})`, most)};`);
  scope.line(`let ${factor} = ${factorCode(most, next)};`);
  const powers = names.map((score) => {
    const name = writer.fresh('power');
    scope.line(`let ${name} = ${powerCode(score, next)};`);
    return name;
  });
  scope.line(`${most} = ${next};`);
  scope.line(`${total} = ${total} * ${factor} + (${powers.join(' + ')});`);
  return { factor, powers };
}
