import {
  accumulator,
  cast,
  expressionsOf,
  sharedTiles,
  type AxisExpr,
  type Expr,
  type RunningSoftmax,
  type SharedRowsSchedule,
  type Store,
} from '@cresset/tensorexpr';
import { bindInstance, instances, inTile, times } from '../instances.ts';
import { groupNumber } from './grid-numbers.ts';
import { factorCode, powerCode, resultCode, scoreAt, type RowScore } from './row-scores.ts';
import { Scope } from '../scope.ts';
import type { KernelCode, ShaderWriter } from '../shader-writer.ts';

/**
 * Attention where a workgroup has a block of rows, and goes through blocks of positions: both sides of the scores lie in workgroup memory
 * a piece at a time, then the powers and the values of the block.
 */
export function writeSharedRows(
  writer: ShaderWriter,
  kernel: RunningSoftmax,
  schedule: SharedRowsSchedule,
  wide: boolean,
): KernelCode {
  return new SharedRows(kernel, schedule, writer, wide).write();
}

/** What a thread keeps of a row: names of its greatest score, the sum of its powers, what those so far count, and sums of values. */
interface RowState {
  readonly most: string;
  readonly total: string;
  readonly factor: string;
  readonly results: readonly string[];
}

class SharedRows {
  /** Rows of a workgroup, positions of a block, columns of a result. */
  readonly #height: number;
  readonly #length: number;
  readonly #width: number;
  readonly #threads: number;
  readonly #rows: readonly AxisExpr[];
  readonly #positions: readonly AxisExpr[];
  /** The scores of a thread, row by row: the accumulators and what is made of them. */
  readonly #scores: readonly RowScore[][];
  readonly #left: Expr;
  readonly #right: Expr;
  readonly #values: Expr;
  readonly #result: Expr = { ...accumulator };
  readonly #stores: readonly Store[];
  readonly #body = new Scope(null, '  ');
  readonly #extents: Record<'m' | 'n' | 'k' | 'depth', string>;

  constructor(
    readonly kernel: RunningSoftmax,
    readonly schedule: SharedRowsSchedule,
    readonly writer: ShaderWriter,
    readonly wide: boolean,
  ) {
    const { threadsM, threadsN, rows, columns, positions } = schedule;
    this.#threads = threadsM * threadsN;
    this.#height = threadsM * rows;
    this.#length = threadsN * positions;
    this.#width = threadsN * columns;
    this.#rows = instances(kernel.m, rows);
    this.#positions = instances(kernel.k, positions);
    this.#scores = this.#rows.map((row) => this.#positions.map((position) => scoreAt(kernel, row, position)));
    [this.#left, this.#right, this.#values] = [kernel.left, kernel.right, kernel.values].map((side) =>
      cast('float', side),
    );
    this.#stores = kernel.stores.map((store) => inTile(store, this.#result, new Map()));
    const scores = this.#scores.flatMap((row) => row.map(({ score }) => score));
    const results = this.#stores.flatMap(expressionsOf);
    writer.announce([this.#left, this.#right, this.#values, ...scores, ...results]);
    const of = (axes: readonly AxisExpr[]): string => writer.extentsProduct(axes, this.#body);
    this.#extents = { m: of([kernel.m]), n: of([kernel.n]), k: of([kernel.k]), depth: of(kernel.depth) };
  }

  write(): KernelCode {
    const { kernel, schedule, writer } = this;
    const body = this.#body;
    for (const [name, elements] of Object.entries(sharedTiles(schedule))) writer.shared(`${name}_tile`, elements);
    this.#placeWorkgroup();
    const rowStates = this.#rows.map((row, at) => {
      bindInstance(writer, body, row, 'first_m + local_m', at * schedule.threadsM);
      return this.#rowState();
    });
    const block = body.open();
    this.#positions.forEach((position, at) => {
      bindInstance(writer, block, position, 'first_k + local_n', at * schedule.threadsN);
    });
    const sums = this.#sumUp(block);
    const scores = this.#share(sums, block);
    this.#stage('values', this.#length, this.#width, block, (scope, position, column) => {
      bindInstance(writer, scope, kernel.k, 'first_k', position);
      bindInstance(writer, scope, kernel.n, 'first_n', column);
      const isThere = `${writer.value(kernel.k, scope)} < ${this.#extents.k}`;
      return { value: this.#values, isThere, at: `${position} * ${this.#width} + ${column}` };
    });
    block.line('workgroupBarrier();');
    this.#sharePowers(rowStates, scores, block);
    block.line('workgroupBarrier();');
    this.#addValues(rowStates, block);
    block.line('workgroupBarrier();');
    body.close(`for (var first_k = 0; first_k < ${this.#extents.k}; first_k += ${this.#length})`, block);
    this.#store(rowStates);
    const builtins = [
      '@builtin(local_invocation_id) local: vec3<u32>',
      '@builtin(local_invocation_index) lane: u32',
      '@builtin(workgroup_id) group: vec3<u32>',
    ];
    return { builtins, workgroupSize: `${schedule.threadsN}, ${schedule.threadsM}`, body };
  }

  #placeWorkgroup(): void {
    const { kernel, writer } = this;
    const body = this.#body;
    body.line(`let tile = i32(${groupNumber(this.wide)});`);
    body.line(`let tiles_m = (${this.#extents.m} + ${this.#height - 1}) / ${this.#height};`);
    body.line(`let tiles_n = (${this.#extents.n} + ${this.#width - 1}) / ${this.#width};`);
    const { batch } = kernel;
    if (this.wide) body.line(`if (tile >= tiles_n * tiles_m * ${writer.extentsProduct(batch, body)}) { return; }`);
    body.line(`let first_m = (tile % tiles_m) * ${this.#height};`);
    body.line(`let first_n = (tile / tiles_m % tiles_n) * ${this.#width};`);
    body.line('let local_m = i32(local.y);');
    body.line('let local_n = i32(local.x);');
    body.line('let lowest = -infinity();');
    if (batch.length === 0) return;
    body.line('let batch = tile / (tiles_m * tiles_n);');
    writer.unflatten(batch, 'batch', body);
  }

  #rowState(): RowState {
    const { writer } = this;
    const [most, total, factor] = ['most', 'total', 'factor'].map((stem) => writer.fresh(stem));
    const results = Array.from({ length: this.schedule.columns }, () => writer.fresh('result'));
    this.#body.line(`var ${most} = lowest;`);
    for (const name of [total, ...results]) this.#body.line(`var ${name} = 0.0;`);
    return { most, total, factor, results };
  }

  /** The sums of products of a thread's rows and positions, by pieces of the depth. */
  #sumUp(block: Scope): string[][] {
    const { kernel, schedule, writer } = this;
    const { depth: piece } = schedule;
    const sums = this.#scores.map((row) => row.map(() => writer.fresh('dot')));
    for (const name of sums.flat()) block.line(`var ${name} = 0.0;`);
    const step = block.open();
    const side = (tile: 'left' | 'right', count: number, own: AxisExpr, first: string, value: Expr): void =>
      this.#stage(tile, count, piece, step, (scope, line, at) => {
        bindInstance(writer, scope, own, first, line);
        const inDepth = writer.fresh('at');
        scope.line(`let ${inDepth} = first_depth + ${at};`);
        writer.unflatten(kernel.depth, inDepth, scope);
        const place = tile === 'left' ? `${line} * ${piece} + ${at}` : `${at} * ${this.#length + 1} + ${line}`;
        return { value, isThere: `${inDepth} < ${this.#extents.depth}`, at: place };
      });
    side('left', this.#height, kernel.m, 'first_m', this.#left);
    side('right', this.#length, kernel.k, 'first_k', this.#right);
    step.line('workgroupBarrier();');
    const inner = step.open();
    const lefts = this.#rows.map((_, at) => {
      const name = writer.fresh('left');
      inner.line(`let ${name} = left_tile[(local_m + ${at * schedule.threadsM}) * ${piece} + step];`);
      return name;
    });
    const rights = this.#positions.map((_, at) => {
      const name = writer.fresh('right');
      inner.line(`let ${name} = right_tile[step * ${this.#length + 1} + local_n + ${at * schedule.threadsN}];`);
      return name;
    });
    sums.forEach((row, i) => row.forEach((name, j) => inner.line(`${name} += ${lefts[i]} * ${rights[j]};`)));
    step.close(`for (var step = 0; step < ${piece}; step++)`, inner);
    step.line('workgroupBarrier();');
    block.close(`for (var first_depth = 0; first_depth < ${this.#extents.depth}; first_depth += ${piece})`, step);
    return sums;
  }

  /** Puts the scores of a thread where all threads of their row see them. */
  #share(sums: readonly string[][], block: Scope): string[][] {
    const { writer } = this;
    return this.#scores.map((row, i) =>
      row.map(({ sum, score }, j) => {
        writer.bindAccumulator(sum, sums[i][j], [this.#positions[j]], block);
        const name = writer.fresh('score');
        const isThere = `${writer.value(this.#positions[j], block)} < ${this.#extents.k}`;
        block.line(`let ${name} = select(lowest, ${writer.value(score, block)}, ${isThere});`);
        block.line(`powers_tile[${this.#powerAt(i, `local_n + ${j * this.schedule.threadsN}`)}] = ${name};`);
        return name;
      }),
    );
  }

  #powerAt(row: number, position: string): string {
    return `(local_m + ${row * this.schedule.threadsM}) * ${this.#length} + ${position}`;
  }

  #sharePowers(rows: readonly RowState[], scores: readonly string[][], block: Scope): void {
    const nexts = rows.map(({ most, factor }, i) => {
      const next = this.writer.fresh('next');
      block.line(`var ${next} = ${most};`);
      const inner = block.open();
      inner.line(`${next} = max(${next}, powers_tile[${this.#powerAt(i, 'position')}]);`);
      block.close(`for (var position = 0; position < ${this.#length}; position++)`, inner);
      block.line(`let ${factor} = ${factorCode(most, next)};`);
      return next;
    });
    block.line('workgroupBarrier();');
    scores.forEach((row, i) =>
      row.forEach((score, j) => {
        const place = this.#powerAt(i, `local_n + ${j * this.schedule.threadsN}`);
        block.line(`powers_tile[${place}] = ${powerCode(score, nexts[i])};`);
      }),
    );
    rows.forEach(({ most, total, factor, results }, i) => {
      block.line(`${most} = ${nexts[i]};`);
      for (const name of [total, ...results]) block.line(`${name} *= ${factor};`);
    });
  }

  #addValues(rows: readonly RowState[], block: Scope): void {
    const inner = block.open();
    const powers = rows.map(({ total }, i) => {
      const power = this.writer.fresh('power');
      inner.line(`let ${power} = powers_tile[${this.#powerAt(i, 'position')}];`);
      inner.line(`${total} += ${power};`);
      return power;
    });
    for (let column = 0; column < this.schedule.columns; column++) {
      const value = this.writer.fresh('value');
      const at = `position * ${this.#width} + local_n + ${column * this.schedule.threadsN}`;
      inner.line(`let ${value} = values_tile[${at}];`);
      rows.forEach(({ results }, i) => inner.line(`${results[column]} += ${powers[i]} * ${value};`));
    }
    block.close(`for (var position = 0; position < ${this.#length}; position++)`, inner);
  }

  /** Fills a tile of `lines` by `width`, its elements dealt out to all threads; where `place` says there is none, with zero. */
  #stage(
    name: 'left' | 'right' | 'values',
    lines: number,
    width: number,
    scope: Scope,
    place: (scope: Scope, line: string, at: string) => { value: Expr; isThere: string; at: string },
  ): void {
    const cell = this.writer.fresh('cell');
    const inner = scope.open();
    const [line, along] = [this.writer.fresh('line'), this.writer.fresh('along')];
    inner.line(`let ${line} = ${cell} / ${width};`);
    inner.line(`let ${along} = ${cell} % ${width};`);
    const { value, isThere, at } = place(inner, line, along);
    inner.line(`${name}_tile[${at}] = select(0.0, ${this.writer.value(value, inner)}, ${isThere});`);
    scope.close(`for (var ${cell} = i32(lane); ${cell} < ${lines * width}; ${cell} += ${this.#threads})`, inner);
  }

  #store(rows: readonly RowState[]): void {
    const { kernel, schedule, writer } = this;
    const body = this.#body;
    const { columns } = schedule;
    const cells = rows.length * columns;
    const all = rows.flatMap(({ total, results }) =>
      results.map((result) => resultCode(kernel, result, total, this.#extents.k)),
    );
    body.line(`var results = array<f32, ${cells}>(${all.join(', ')});`);
    const storing = body.open();
    bindInstance(writer, storing, kernel.m, 'first_m + local_m', times(`(cell / ${columns})`, schedule.threadsM));
    bindInstance(writer, storing, kernel.n, 'first_n + local_n', times(`(cell % ${columns})`, schedule.threadsN));
    writer.bindAccumulator(this.#result, 'results[cell]', [kernel.m, kernel.n], storing);
    const inside = storing.open(true);
    writer.stores(this.#stores, inside);
    const [m, n] = [writer.value(kernel.m, storing), writer.value(kernel.n, storing)];
    storing.close(`if (${m} < ${this.#extents.m} && ${n} < ${this.#extents.n})`, inside);
    body.close(`for (var cell = 0; cell < ${cells}; cell++)`, storing);
  }
}
