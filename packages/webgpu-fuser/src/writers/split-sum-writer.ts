import {
  cast,
  loadsIn,
  Rewriter,
  rowReductions,
  type AxisExpr,
  type Expr,
  type LoadExpr,
  type NormalContraction,
  type SplitSumSchedule,
} from '@cresset/tensorexpr';
import { bindInstance, instances } from '../instances.ts';
import { Scope } from '../scope.ts';
import type { KernelCode, ShaderWriter } from '../shader-writer.ts';
import { subgroupFunction } from '../functions/subgroup-functions.ts';
import { TileStores, writeTilePlace } from './tile-stores.ts';

const components = 'xyzw';

/** A contraction with few rows, whose workgroups share the steps of each sum among threads, and then add up what these came to. */
export function writeSplitSum(
  writer: ShaderWriter,
  kernel: NormalContraction,
  schedule: SplitSumSchedule,
  wide: boolean,
): KernelCode {
  return new SplitSum(kernel, schedule, writer).write(wide);
}

/** A side: what it is for each of a thread's lines and steps, and the loads that bring four of these at once. */
interface Side {
  readonly values: readonly (readonly Expr[])[];
  readonly vectors: readonly (readonly LoadExpr[])[];
}

class SplitSum {
  readonly #body = new Scope(null, '  ');
  readonly #rows: readonly AxisExpr[];
  readonly #columns: readonly AxisExpr[];
  /** The loops of the sum, for each step that a thread takes at a time. */
  readonly #steps: readonly (readonly AxisExpr[])[];
  readonly #left: Side;
  readonly #right: Side;
  readonly #stores: TileStores;
  readonly #reductions: readonly Expr[];
  /** Columns of a thread lie beside each other. */
  readonly #isBeside: boolean;

  constructor(
    readonly kernel: NormalContraction,
    readonly schedule: SplitSumSchedule,
    readonly writer: ShaderWriter,
  ) {
    const { tileM, tileN, depth, alongSteps, right } = schedule;
    this.#isBeside = !alongSteps && right.includes(true);
    this.#rows = instances(kernel.m, tileM);
    this.#columns = instances(kernel.n, tileN);
    const [inner] = kernel.k.slice(-1);
    // Where four steps are of one loop, the outer ones are where they are.
    const outer = kernel.k.slice(0, -1);
    this.#steps = instances(inner, depth).map((own) => [...outer, own]);
    this.#left = this.#side('left', kernel.m, this.#rows);
    this.#right = this.#side('right', kernel.n, this.#columns);
    this.#stores = new TileStores(kernel);
    this.#reductions = this.#rows.flatMap((row) => {
      const rewriter = rewriterOf([kernel.m], [row]);
      return rowReductions(kernel).map((reduction) => rewriter.rewrite(reduction));
    });
    const values = [this.#left, this.#right].flatMap((side) => side.values.flat());
    writer.announce([...this.#reductions, ...values, ...this.#stores.expressions]);
  }

  #side(name: 'left' | 'right', line: AxisExpr, lines: readonly AxisExpr[]): Side {
    const { kernel, schedule } = this;
    const value = cast('float', kernel[name]);
    const ofLines = lines.map((own) => rewriterOf([line], [own]));
    const ofSteps = this.#steps.map((axes) => rewriterOf(kernel.k, axes));
    const at = (expr: Expr): Expr[][] => ofLines.map((own) => ofSteps.map((step) => step.rewrite(own.rewrite(expr))));
    const loads = loadsIn([kernel[name]]).filter((_, index) => schedule[name][index]);
    const vectors = loads.flatMap((load) => {
      const elements = at(load) as LoadExpr[][];
      return name === 'right' && this.#isBeside ? [elements.map(([element]) => element)] : elements;
    });
    return { values: at(value), vectors };
  }

  write(wide: boolean): KernelCode {
    const { kernel, schedule, writer } = this;
    const { workgroupSize, threadsN, threadsK, tileM, tileN, depth, alongSteps, subgroups } = schedule;
    const body = this.#body;
    body.line('let lane = i32(thread);');
    const [laneN, laneK] = alongSteps
      ? [`lane / ${threadsK}`, `lane % ${threadsK}`]
      : [`lane % ${threadsN}`, `lane / ${threadsN}`];
    body.line(`let lane_n = ${laneN};`);
    body.line(`let lane_k = ${laneK};`);
    const place = { height: tileM, width: threadsN * tileN, laneM: '', laneN: '', wide };
    writeTilePlace(writer, kernel, body, place);
    this.#rows.forEach((row, at) => bindInstance(writer, body, row, 'first_m', at));
    const [stride, apart] = this.#isBeside ? [tileN, 1] : [1, threadsN];
    this.#columns.forEach((column, at) => {
      bindInstance(writer, body, column, 'first_n', `lane_n${stride > 1 ? ` * ${stride}` : ''} + ${at * apart}`);
    });
    if (this.#reductions.length > 0) this.#reduceRows();
    const sums = this.#rows.map(() => this.#columns.map(() => writer.fresh('sum')));
    for (const name of sums.flat()) body.line(`var ${name} = 0.0;`);
    const total = writer.extentsProduct(kernel.k, body);
    const piece = body.open();
    this.#add(sums, piece);
    body.close(`for (var step = lane_k * ${depth}; step < ${total}; step += ${threadsK * depth})`, piece);
    if (threadsK === 1) this.#storeOwn(sums.flat());
    else if (subgroups) this.#storeOfSubgroups(sums.flat());
    else this.#storeOfTree(sums.flat());
    const builtins = ['@builtin(local_invocation_index) thread: u32', '@builtin(workgroup_id) group: vec3<u32>'];
    if (subgroups) builtins.push('@builtin(subgroup_id) subgroup: u32', '@builtin(num_subgroups) subgroups: u32');
    return { builtins, workgroupSize, body };
  }

  /** Sums that belong to a row are worked out by all threads, before anything is multiplied. */
  #reduceRows(): void {
    const { writer, schedule } = this;
    writer.cooperation = {
      workgroupSize: schedule.workgroupSize,
      scope: this.#body,
      steps: 0,
      kept: [],
      subgroupFunction: schedule.subgroups ? subgroupFunction : null,
    };
    for (const reduction of this.#reductions) writer.settle(reduction, this.#body);
    writer.cooperation = null;
  }

  /** Adds the products of a thread's next steps. */
  #add(sums: readonly (readonly string[])[], piece: Scope): void {
    const { writer } = this;
    const [first, ...next] = this.#steps;
    writer.unflatten(first, 'step', piece);
    const inner = writer.value(first.at(-1)!, piece);
    next.forEach((axes, at) => bindInstance(writer, piece, axes.at(-1)!, inner, at + 1));
    for (const { vectors } of [this.#left, this.#right]) {
      for (const elements of vectors) this.#loadVector(elements, piece);
    }
    const [left, right] = [this.#left, this.#right].map(({ values }) =>
      values.map((ofLine) => ofLine.map((value) => writer.named(value, piece))),
    );
    this.#steps.forEach((_, step) =>
      sums.forEach((names, row) =>
        names.forEach((name, column) => piece.line(`${name} += ${left[row][step]} * ${right[column][step]};`)),
      ),
    );
  }

  #loadVector(elements: readonly LoadExpr[], scope: Scope): void {
    const [first] = elements;
    const text = scope.names.has(first) ? null : this.writer.vectorAt(first.operand, first.offset, scope);
    if (text === null) return;
    const name = this.writer.fresh('four');
    scope.line(`let ${name} = ${text};`);
    elements.forEach((element, component) => scope.names.set(element, `${name}.${components[component]}`));
  }

  #storeOwn(sums: readonly string[]): void {
    const { tileN, threadsN } = this.schedule;
    const body = this.#body;
    body.line(`var results = array<f32, ${sums.length}>(${sums.join(', ')});`);
    const storing = body.open();
    const column = this.#isBeside ? `lane_n * ${tileN} + cell % ${tileN}` : `lane_n + cell % ${tileN} * ${threadsN}`;
    this.#stores.write(this.writer, storing, { row: `cell / ${tileN}`, column, result: 'results[cell]' });
    body.close(`for (var cell = 0; cell < ${sums.length}; cell++)`, storing);
  }

  /** All threads share the same sums: subgroups add up theirs, and a thread for each sum adds up those of the subgroups. */
  #storeOfSubgroups(sums: readonly string[]): void {
    const { writer } = this;
    const { workgroupSize, tileN } = this.schedule;
    const body = this.#body;
    writer.shared('partial', workgroupSize * sums.length);
    sums.forEach((name) => body.line(`${name} = subgroupAdd(${name});`));
    const elected = body.open();
    sums.forEach((name, cell) => elected.line(`partial[i32(subgroup) * ${sums.length} + ${cell}] = ${name};`));
    body.close('if (subgroupElect())', elected);
    body.line('workgroupBarrier();');
    const storing = body.open();
    storing.line('var total = partial[cell];');
    const others = storing.open();
    others.line(`total += partial[other * ${sums.length} + cell];`);
    storing.close('for (var other = 1; other < i32(subgroups); other++)', others);
    const place = { row: `cell / ${tileN}`, column: `cell % ${tileN}`, result: 'total' };
    this.#stores.write(writer, storing, place);
    body.close(`for (var cell = lane; cell < ${sums.length}; cell += ${workgroupSize})`, storing);
  }

  /** Threads of a sum add theirs up in pairs, all sums side by side; then results are dealt out to threads. */
  #storeOfTree(sums: readonly string[]): void {
    const { writer } = this;
    const { workgroupSize, threadsN, threadsK, tileN, alongSteps } = this.schedule;
    const body = this.#body;
    const cells = sums.length;
    writer.shared('partial', workgroupSize * cells);
    sums.forEach((name, cell) => body.line(`partial[lane + ${cell * workgroupSize}] = ${name};`));
    body.line('workgroupBarrier();');
    const halving = body.open();
    const adding = halving.open();
    const each = adding.open();
    each.line(`let at = lane + cell * ${workgroupSize};`);
    each.line(`partial[at] += partial[at + width${alongSteps ? '' : ` * ${threadsN}`}];`);
    adding.close(`for (var cell = 0; cell < ${cells}; cell++)`, each);
    halving.close('if (lane_k < width)', adding);
    halving.line('workgroupBarrier();');
    body.close(`for (var width = ${threadsK / 2}; width > 0; width /= 2)`, halving);
    const width = threadsN * tileN;
    const storing = body.open();
    storing.line(`let column = result % ${width};`);
    storing.line(`let row = result / ${width};`);
    const [ofThread, within] = this.#isBeside
      ? [`column / ${tileN}`, `column % ${tileN}`]
      : [`column % ${threadsN}`, `column / ${threadsN}`];
    const first = alongSteps ? `${ofThread} * ${threadsK}` : ofThread;
    storing.line(`let total = partial[(row * ${tileN} + ${within}) * ${workgroupSize} + ${first}];`);
    this.#stores.write(writer, storing, { row: 'row', column: 'column', result: 'total' });
    body.close(`for (var result = lane; result < ${threadsN * cells}; result += ${workgroupSize})`, storing);
  }
}

function rewriterOf(from: readonly AxisExpr[], to: readonly AxisExpr[]): Rewriter {
  const map = new Map<Expr, Expr>(from.map((own, at) => [own, to[at]]));
  return new Rewriter((node) => map.get(node) ?? null);
}
