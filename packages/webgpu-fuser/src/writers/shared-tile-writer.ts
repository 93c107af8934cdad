import {
  axis,
  cast,
  FreeAxes,
  loadsIn,
  Rewriter,
  rowReductions,
  sharedTileVectors,
  type AxisExpr,
  type Expr,
  type LoadExpr,
  type NormalContraction,
  type SharedTileSchedule,
  type Staging,
} from '@cresset/tensorexpr';
import { bindInstance, instances } from '../instances.ts';
import { Scope } from '../scope.ts';
import type { KernelCode, ShaderWriter } from '../shader-writer.ts';
import { TileStores, writeTilePlace } from './tile-stores.ts';

/** A contraction whose workgroups bring both sides into workgroup memory a piece at a time, where all threads find what they multiply. */
export function writeSharedTile(
  writer: ShaderWriter,
  kernel: NormalContraction,
  schedule: SharedTileSchedule,
  wide: boolean,
): KernelCode {
  return new SharedTile(kernel, schedule, writer, wide).write();
}

const components = 'xyzw';

class SharedTile {
  readonly #body = new Scope(null, '  ');
  readonly #left: TileSide;
  readonly #right: TileSide;
  readonly #stores: TileStores;

  constructor(
    readonly kernel: NormalContraction,
    readonly schedule: SharedTileSchedule,
    readonly writer: ShaderWriter,
    readonly wide: boolean,
  ) {
    this.#left = new TileSide(kernel, schedule, 'left');
    this.#right = new TileSide(kernel, schedule, 'right');
    this.#stores = new TileStores(kernel);
    writer.announce([...this.#left.expressions, ...this.#right.expressions, ...this.#stores.expressions]);
  }

  write(): KernelCode {
    const { kernel, schedule, writer } = this;
    const { threadsM, threadsN, tileM, tileN, depth } = schedule;
    const body = this.#body;
    for (const [side, vectors] of Object.entries(sharedTileVectors(schedule)))
      writer.shared(`${side}_tile`, vectors, 'vec4<f32>');
    const place = { height: threadsM * tileM, width: threadsN * tileN, laneM: '', laneN: '', wide: this.wide };
    writeTilePlace(writer, kernel, body, place);
    body.line('let local_m = i32(local.y);');
    body.line('let local_n = i32(local.x);');
    const sums = Array.from({ length: tileM }, () => Array.from({ length: tileN / 4 }, () => writer.fresh('sum')));
    for (const name of sums.flat()) body.line(`var ${name} = vec4<f32>();`);
    this.#left.writeRowReductions(writer, body);
    const steps = writer.extentsProduct(kernel.k, body);
    const piece = body.open();
    for (const side of [this.#left, this.#right]) side.stage(writer, piece, steps);
    piece.line('workgroupBarrier();');
    this.#multiply(sums, piece);
    piece.line('workgroupBarrier();');
    body.close(`for (var first_k = 0; first_k < ${steps}; first_k += ${depth})`, piece);

    const cells = tileM * tileN;
    body.line(`var results = array<vec4<f32>, ${cells / 4}>(${sums.flat().join(', ')});`);
    // A bound that is known only at run time keeps the loop from being unrolled: a copy of the stores for each cell would take long to compile.
    body.line(`let cells = select(0, ${cells}, tiles_m > 0);`);
    const storing = body.open();
    const row = `local_m + (cell / ${tileN}) * ${threadsM}`;
    const column = `4 * (local_n + (cell % ${tileN} / 4) * ${threadsN}) + cell % 4`;
    this.#stores.write(writer, storing, { row, column, result: 'results[cell / 4][cell % 4]' });
    body.close(`for (var cell = 0; cell < cells; cell++)`, storing);
    const builtins = [
      '@builtin(local_invocation_id) local: vec3<u32>',
      '@builtin(local_invocation_index) lane: u32',
      '@builtin(workgroup_id) group: vec3<u32>',
    ];
    return { builtins, workgroupSize: `${threadsN}, ${threadsM}`, body };
  }

  /** Adds the products of what is in workgroup memory, four steps of the sum at a time. */
  #multiply(sums: readonly string[][], piece: Scope): void {
    const { writer } = this;
    const { threadsM, threadsN, tileN, depth } = this.schedule;
    const inner = piece.open();
    const lefts = sums.map((_, row) => {
      const name = writer.fresh('left');
      inner.line(`let ${name} = left_tile[(local_m + ${row * threadsM}) * ${depth / 4} + four];`);
      return name;
    });
    for (let step = 0; step < 4; step++) {
      sums[0].forEach((_, column) => {
        const right = writer.fresh('right');
        const place = `(four * 4 + ${step}) * ${(threadsN * tileN) / 4} + local_n + ${column * threadsN}`;
        inner.line(`let ${right} = right_tile[${place}];`);
        sums.forEach((names, row) => inner.line(`${names[column]} += ${lefts[row]}.${components[step]} * ${right};`));
      });
    }
    piece.close(`for (var four = 0; four < ${depth / 4}; four++)`, inner);
  }
}

/** What is staged at a time: values by line and step, or one of two such units where the batch decides. */
type Unit =
  | { readonly values: readonly Expr[][]; readonly loads: readonly LoadExpr[] }
  | { readonly condition: Expr; readonly chosen: Unit; readonly otherwise: Unit };

/**
 * A side on its way into workgroup memory. There the left one has vectors of four steps of a row, the right one of four columns of a step. A thread
 * brings one vector at a time, or a square of four by four where vectors lie the other way in memory.
 */
class TileSide {
  readonly #isLeft: boolean;
  readonly #staging: Staging;
  readonly #line: AxisExpr;
  readonly #side: Expr;
  readonly #lines: readonly AxisExpr[];
  /** The loops of the sum, for each step of a unit. */
  readonly #steps: readonly (readonly AxisExpr[])[];
  readonly #lineRewriters: readonly Rewriter[];
  readonly #stepRewriters: readonly Rewriter[];
  readonly #unit: Unit;
  readonly #reductions: readonly { readonly value: Expr; readonly name: string; readonly ofLines: readonly Expr[] }[];
  readonly #reducedLine: AxisExpr;
  /** To be announced. */
  readonly expressions: readonly Expr[];

  constructor(
    readonly kernel: NormalContraction,
    readonly schedule: SharedTileSchedule,
    readonly name: 'left' | 'right',
  ) {
    this.#isLeft = name === 'left';
    this.#staging = schedule[name];
    this.#line = this.#isLeft ? kernel.m : kernel.n;
    this.#side = kernel[name];
    const { k } = kernel;
    const isTurned = this.#staging.vectors.includes(true) && this.#staging.alongSteps !== this.#isLeft;
    this.#lines = instances(this.#line, this.#isLeft && !isTurned ? 1 : 4);
    const steps = this.#isLeft || isTurned ? 4 : 1;
    // Where four steps are of one loop, the outer ones are where they are.
    const outer = schedule.stepsInLine ? k.slice(0, -1) : [];
    this.#steps = Array.from({ length: steps }, () => [
      ...outer,
      ...k.slice(outer.length).map((own) => axis(own.name, own.extent)),
    ]);
    const rewriterOf = (from: readonly AxisExpr[], to: readonly AxisExpr[]): Rewriter => {
      const map = new Map<Expr, Expr>(from.map((own, at) => [own, to[at]]));
      return new Rewriter((node) => map.get(node) ?? null);
    };
    this.#lineRewriters = this.#lines.map((line) => rewriterOf([this.#line], [line]));
    this.#stepRewriters = this.#steps.map((axes) => rewriterOf(k, axes));
    this.#unit = this.#unitOf(this.#side);
    [this.#reducedLine] = instances(this.#line, 1);
    const ofReduced = rewriterOf([this.#line], [this.#reducedLine]);
    this.#reductions = (this.#isLeft ? rowReductions(kernel) : []).map((reduction, at) => ({
      value: ofReduced.rewrite(reduction),
      name: `rows${at}`,
      ofLines: this.#lineRewriters.map((rewriter) => rewriter.rewrite(reduction)),
    }));
    this.expressions = [...this.#reductions.map(({ value }) => value), ...valuesIn(this.#unit)];
  }

  /** A choice that only the batch decides is made once, so that nothing is loaded for the side that is not chosen. */
  #unitOf(side: Expr): Unit {
    const freeAxes = new FreeAxes();
    const own = [this.#line, ...this.kernel.k];
    if (side.kind === 'select' && !own.some((each) => freeAxes.of(side.condition).has(each)))
      return { condition: side.condition, chosen: this.#unitOf(side.x), otherwise: this.#unitOf(side.y) };
    const all = loadsIn([this.#side]);
    const loads = loadsIn([side]).filter((load) => this.#staging.vectors[all.indexOf(load)]);
    const value = cast('float', side);
    const values = this.#lineRewriters.map((line) => {
      const ofLine = line.rewrite(value);
      return this.#stepRewriters.map((step) => step.rewrite(ofLine));
    });
    return { values, loads };
  }

  /** Sums that belong to a row are worked out before anything is multiplied. */
  writeRowReductions(writer: ShaderWriter, body: Scope): void {
    if (this.#reductions.length === 0) return;
    const { threadsM, threadsN, tileM } = this.schedule;
    const height = threadsM * tileM;
    const inner = body.open();
    bindInstance(writer, inner, this.#reducedLine, 'first_m', 'row');
    const lines = this.#reductions.map(({ value, name }) => {
      writer.shared(name, height);
      return `${name}[row] = ${writer.value(value, inner)};`;
    });
    for (const line of lines) inner.line(line);
    body.close(`for (var row = i32(lane); row < ${height}; row += ${threadsM * threadsN})`, inner);
    body.line('workgroupBarrier();');
  }

  stage(writer: ShaderWriter, piece: Scope, total: string): void {
    const { threadsM, threadsN, tileM, tileN, depth } = this.schedule;
    const length = this.#isLeft ? threadsM * tileM : threadsN * tileN;
    const [units, deep] = [length / this.#lines.length, depth / this.#steps.length];
    const [cell, line, step] = ['cell', 'line', 'step'].map((stem) => writer.fresh(stem));
    const scope = piece.open();
    const { alongSteps } = this.#staging;
    // Neighbouring threads bring what lies beside each other in memory.
    const [fast, slow] = alongSteps ? [step, line] : [line, step];
    const size = alongSteps ? deep : units;
    const [fastSize, slowSize] = alongSteps
      ? [this.#steps.length, this.#lines.length]
      : [this.#lines.length, this.#steps.length];
    scope.line(`let ${fast} = (${cell} % ${size}) * ${fastSize};`);
    scope.line(`let ${slow} = (${cell} / ${size}) * ${slowSize};`);
    const first = this.#isLeft ? 'first_m' : 'first_n';
    this.#lines.forEach((own, at) => bindInstance(writer, scope, own, first, `${line} + ${at}`));
    const isThere = this.#bindSteps(writer, scope, step, total);
    this.#reductions.forEach(({ name, ofLines }) =>
      ofLines.forEach((value, at) => scope.names.set(value, `${name}[${line} + ${at}]`)),
    );
    this.#bring(writer, this.#unit, scope, { line, step, isThere });
    piece.close(`for (var ${cell} = i32(lane); ${cell} < ${units * deep}; ${cell} += ${threadsM * threadsN})`, scope);
  }

  /** Gives the loops of the sum their values at each step of a unit; whether the sum has that step. */
  #bindSteps(writer: ShaderWriter, scope: Scope, step: string, total: string): string[] {
    const { stepsInLine } = this.schedule;
    return this.#steps.map((axes, at) => {
      if (at > 0 && stepsInLine) {
        bindInstance(writer, scope, axes.at(-1)!, writer.value(this.#steps[0].at(-1)!, scope), at);
        return `flat_${step}0 < ${total}`;
      }
      const flat = `flat_${step}${at}`;
      scope.line(`let ${flat} = first_k + ${step} + ${at};`);
      writer.unflatten(axes, flat, scope);
      return `${flat} < ${total}`;
    });
  }

  #bring(
    writer: ShaderWriter,
    unit: Unit,
    scope: Scope,
    { line, step, isThere }: { line: string; step: string; isThere: readonly string[] },
  ): void {
    if ('condition' in unit) {
      const text = writer.value(unit.condition, scope);
      const [yes, no] = [scope.open(), scope.open()];
      this.#bring(writer, unit.chosen, yes, { line, step, isThere });
      this.#bring(writer, unit.otherwise, no, { line, step, isThere });
      scope.close(`if (${text})`, yes);
      scope.close('else', no);
      return;
    }
    for (const load of unit.loads) this.#loadVectors(writer, load, scope);
    const { threadsN, tileN, depth } = this.schedule;
    const texts = unit.values.map((ofLine) => ofLine.map((value) => writer.value(value, scope)));
    if (this.#isLeft)
      texts.forEach((ofLine, at) => {
        scope.line(`left_tile[(${line} + ${at}) * ${depth / 4} + ${step} / 4] = ${vectorOf(ofLine, isThere)};`);
      });
    else
      isThere.forEach((each, at) => {
        const ofStep = texts.map((ofLine) => ofLine[at]);
        const place = `(${step} + ${at}) * ${(threadsN * tileN) / 4} + ${line} / 4`;
        scope.line(`right_tile[${place}] = ${vectorOf(ofStep, [each])};`);
      });
  }

  /** Loads what lies beside each other in memory as vectors, which the values find there. */
  #loadVectors(writer: ShaderWriter, load: LoadExpr, scope: Scope): void {
    const at = this.#lineRewriters.map((line) => this.#stepRewriters.map((step) => step.rewrite(line.rewrite(load))));
    const vectors = this.#staging.alongSteps ? at : this.#steps.map((_, step) => at.map((ofLine) => ofLine[step]));
    for (const elements of vectors) {
      const [first] = elements as LoadExpr[];
      const text = scope.names.has(first) ? null : writer.vectorAt(first.operand, first.offset, scope);
      if (text === null) continue;
      const name = writer.fresh('four');
      scope.line(`let ${name} = ${text};`);
      elements.forEach((element, component) => scope.names.set(element, `${name}.${components[component]}`));
    }
  }
}

function valuesIn(unit: Unit): Expr[] {
  if (!('condition' in unit)) return unit.values.flat();
  return [unit.condition, ...valuesIn(unit.chosen), ...valuesIn(unit.otherwise)];
}

/** Four elements as one vector, zero where they are not there. */
function vectorOf(texts: readonly string[], isThere: readonly string[]): string {
  const name = /^(\w+)\.x$/.exec(texts[0])?.[1];
  const isWhole = name !== undefined && texts.every((text, at) => text === `${name}.${components[at]}`);
  if (new Set(isThere).size > 1)
    return `vec4<f32>(${texts.map((text, at) => `select(0.0, ${text}, ${isThere[at]})`).join(', ')})`;
  return `select(vec4<f32>(), ${isWhole ? name : `vec4<f32>(${texts.join(', ')})`}, ${isThere[0]})`;
}
