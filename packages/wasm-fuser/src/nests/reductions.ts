import { symGe } from '@cresset/tensor';
import {
  cast,
  extentOf,
  neutralElement,
  substitute,
  symExtentOf,
  type AxisExpr,
  type BinaryExpr,
  type Expr,
  type ExprType,
  type FreeAxes,
  type ReduceExpr,
} from '@cresset/tensorexpr';
import { countUp, i32, i32x4, i64, v128, when, type Code, type Local } from '../code.ts';
import type { Floats } from './functions/floats.ts';
import { integerLanesBinary, integers, longs, truthFunctions } from './functions/integer-functions.ts';
import type { FunctionBody, ValueType } from '../module.ts';
import { isOne, strideOf } from './index-steps.ts';
import { inForm, valueType, type Form, type Groups, type Scope, type Value } from './scope.ts';

/** Steps after which a sum of floats is added to others: the error grows with the length of one, not of all. */
const SUM_STEPS = 16;
/** Steps from which four at a time pay. */
const LEAST_STEPS = 8;
/** Fours that are reduced beside each other: one addition waits for another, and where rows lie apart whole lines of memory are used. */
export const GROUPS = 4;
const LONG_STEPS = 4 * GROUPS * SUM_STEPS;
/** Bodies from which each has one sum: more than eight, with what is loaded, are more than there are registers. */
const MOST_BODIES = 4;

/** Extents from which a reduction is written in another way. */
export const REDUCTION_BORDERS: readonly number[] = [LEAST_STEPS, SUM_STEPS + 1, LONG_STEPS + 1];

/** Who writes expressions and loops. */
interface LoopWriter {
  readonly body: FunctionBody;
  readonly freeAxes: FreeAxes;
  readonly groups: Groups;
  readonly floats: Floats;
  groupsOf(expr: Expr, scope: Scope): number;
  differs(expr: Expr, scope: Scope): boolean;
  value(expr: Expr, scope: Scope): Value;
  valueIn(form: Form, expr: Expr, scope: Scope): Code;
  multiplyAdd(x: Code, y: Code, sum: Code): Code;
  keep(scope: Scope, type: ValueType, code: Code): Code;
  takesLanes(axis: AxisExpr, scope: Scope): boolean;
  loops(axes: readonly AxisExpr[], scope: Scope, body: (scope: Scope) => void): void;
  steps(axis: AxisExpr, start: Code, end: Code, scope: Scope, body: (scope: Scope) => void): void;
  /** Whether it is a sum in each lane, of a row of its own. */
  goesByRows(expr: ReduceExpr): boolean;
  markRisky(roots: readonly Expr[]): void;
  isOrdered(expr: ReduceExpr): boolean;
  /** What else is done in each step of a reduction. */
  besideSteps(expr: ReduceExpr): ((scope: Scope) => void) | undefined;
  laneSteps(axis: AxisExpr, start: Code, end: Code, scope: Scope, groups: number, body: (scope: Scope) => void): Code;
}

type Combine = (x: Code, y: Code) => Code;

const operations = { sum: 'add', prod: 'mul', max: 'max', min: 'min', any: 'or', all: 'and' } as const;

/** One step of a reduction. */
export function combination(fn: keyof typeof operations, type: ExprType, form: Form, floats: Floats): Combine {
  const name = type === 'bool' && fn === 'sum' ? 'or' : operations[fn];
  const never = (code: Code): Code => code;
  if (type === 'bool') return truthFunctions(form === 'lanes').binary[name]!;
  const table =
    type === 'float'
      ? floats.binary
      : type === 'i64'
        ? longs.binary
        : form === 'lanes'
          ? integerLanesBinary
          : integers.binary;
  return (x, y) => table[name]!(x, y, never);
}

/** A reduction in the block that everything it depends on is known in. */
export function writeReduction(writer: LoopWriter, expr: ReduceExpr, scope: Scope): Value {
  if (expr.fn === 'argmax' || expr.fn === 'argmin') return writePosition(writer, expr, expr.fn, scope);
  if (writer.differs(expr, scope) && writer.goesByRows(expr)) return writeSumsOfRows(writer, expr, scope);
  const { fn } = expr;
  const body = fn === 'any' || fn === 'all' ? cast('bool', expr.body) : expr.body;
  const { type } = body;
  const differs = writer.differs(expr, scope);
  const last = expr.axes.at(-1);
  if (!last) return writer.value(body, scope);
  const goesAlong = !differs && takesLanesAlong(writer, body, last, scope);
  const form: Form = type === 'float' || differs || goesAlong ? 'lanes' : 'scalar';
  const groups = writer.groupsOf(expr, scope);
  const beside = writer.besideSteps(expr);
  const reduction = new Reduction(writer, fn, [body], form, groups, scope, beside, !writer.isOrdered(expr));
  writer.loops(expr.axes.slice(0, -1), scope, (inner) => {
    if (goesAlong) reduction.fourByFour(last, inner);
    else reduction.oneByOne(last, inner);
  });
  const totals = reduction.totals.map((total) => total.get);
  if (totals.length > 1) return writer.groups.value(form, totals);
  const [code] = totals;
  if (!goesAlong || type === 'float') return { form, code };
  return { form: 'scalar', code: writer.keep(scope, 'i32', inForm('scalar', type, { form: 'lanes', code })) };
}

/** Sums of floats over the same axes, in one loop: what they have in common, a row that meets several others, is read once. */
export function writeSums(writer: LoopWriter, sums: readonly ReduceExpr[], scope: Scope): readonly Value[] {
  const [{ axes }] = sums;
  const bodies = sums.map(({ body }) => body);
  const reduction = new Reduction(writer, 'sum', bodies, 'lanes', 1, scope);
  writer.loops(axes.slice(0, -1), scope, (inner) => reduction.fourByFour(axes.at(-1)!, inner));
  return reduction.totals.map((total) => ({ form: 'lanes', code: total.get }));
}

/** A sum in each lane, made along its own row: a vector of every row's, which are turned in the end and added up. */
function writeSumsOfRows(writer: LoopWriter, expr: ReduceExpr, scope: Scope): Value {
  const { axis, firsts } = scope.lanes!;
  const { add } = writer.floats.code;
  const sums = new Reduction(writer, 'sum', [expr.body], 'lanes', firsts.length, scope);
  writer.loops(expr.axes.slice(0, -1), scope, (inner) => {
    const last = expr.axes.at(-1)!;
    let rest: Code = i32.const(0);
    for (const [group, first] of firsts.entries()) {
      const own = inner.open();
      const bodies = Array.from({ length: writer.floats.lanes }, (_, lane) => {
        const row: AxisExpr = { ...axis };
        own.bind(row, { form: 'scalar', code: writer.keep(own, 'i32', i32.add(first.get, i32.const(lane))) });
        return substitute(expr.body, new Map<Expr, Expr>([[axis, row]]));
      });
      writer.markRisky(bodies);
      const rows = new Reduction(writer, 'sum', bodies, 'lanes', 1, own);
      const vectors = rows.vectors(last, own);
      rest = vectors.rest;
      const total = sums.totals[group];
      own.code.push(total.set(add(total.get, turned(writer, vectors.all, own))));
      inner.code.push(own.code);
    }
    sums.remaining(last, rest, inner);
  });
  return writer.groups.value(
    'lanes',
    sums.totals.map((total) => total.get),
  );
}

/** The sums of vectors, each in a lane of its own: of halves and then of neighbours. */
function turned(writer: LoopWriter, vectors: Totals, scope: Scope): Code {
  const { add } = writer.floats.code;
  const join = (x: Code, y: Code, [low, high]: readonly (readonly number[])[]): Code =>
    writer.keep(scope, 'v128', add(v128.shuffle(x, y, low), v128.shuffle(x, y, high)));
  const halves = [
    [0, 1, 4, 5],
    [2, 3, 6, 7],
  ];
  const neighbours = [
    [0, 2, 4, 6],
    [1, 3, 5, 7],
  ];
  const [a, b, c, d] = vectors.map(({ get }) => get);
  return c ? join(join(a, b, halves), join(c, d, halves), neighbours) : join(a, b, halves);
}

/** Whether a reduction is a sum that can be made beside others, along elements that lie side by side. */
export function isSumAlong(writer: LoopWriter, expr: ReduceExpr, scope: Scope): boolean {
  const { fn, body, axes } = expr;
  const last = axes.at(-1);
  if (fn !== 'sum' || body.type !== 'float' || !last || writer.besideSteps(expr)) return false;
  return takesLanesAlong(writer, body, last, scope);
}

/** Whether four steps along a loop are worth taking at once: elements lie side by side there. */
function takesLanesAlong(writer: LoopWriter, body: Expr, axis: AxisExpr, scope: Scope): boolean {
  if (!writer.takesLanes(axis, scope) || body.type === 'i64') return false;
  return prefersLanes(body, axis, writer.freeAxes);
}

/** Whether more of the loads below an expression are side by side along an axis than are not, and there are enough of them. */
export function prefersLanes(body: Expr, axis: AxisExpr, freeAxes: FreeAxes): boolean {
  let beside = 0;
  let apart = 0;
  const seen = new Set<Expr>();
  const visit = (expr: Expr): void => {
    if (seen.has(expr) || !freeAxes.of(expr).has(axis)) return;
    seen.add(expr);
    if (expr.kind === 'load') {
      const stride = strideOf(expr.offset, axis, freeAxes);
      if (stride && isOne(stride)) beside++;
      else apart++;
      return;
    }
    if (expr.kind === 'reduce') visit(expr.body);
    if (expr.kind === 'unary' || expr.kind === 'cast') visit(expr.x);
    if (expr.kind === 'binary') [expr.x, expr.y].forEach(visit);
    if (expr.kind === 'select') [expr.condition, expr.x, expr.y].forEach(visit);
  };
  visit(body);
  return beside > apart && symGe(symExtentOf(axis), LEAST_STEPS);
}

/** What a reduction has come to, in each group of lanes; one body after the other, where there are several. */
type Totals = readonly Local[];

class Reduction {
  readonly totals: Totals;
  readonly #combine: Combine;
  /** Of totals of floats' extremes, where a NaN was met: the instruction that takes the greater of two numbers knows nothing of it. */
  readonly #unordered = new Map<Local, Local>();

  constructor(
    private readonly writer: LoopWriter,
    private readonly fn: keyof typeof operations,
    private readonly bodies: readonly Expr[],
    private readonly form: Form,
    groups: number,
    scope: Scope,
    private readonly beside?: (scope: Scope) => void,
    /** Whether an extreme of floats has to be NaN where one was met. */
    private readonly isTold = true,
  ) {
    this.totals = this.#begun(scope, groups);
    this.#combine = combination(fn, this.#type, form, writer.floats);
  }

  get #type(): ExprType {
    return this.bodies[0].type;
  }

  get #isLongSum(): boolean {
    return this.fn === 'sum' && this.#type === 'float';
  }

  get #isExtremeOfFloats(): boolean {
    return this.#type === 'float' && (this.fn === 'max' || this.fn === 'min');
  }

  #isSumOfProducts(body: Expr): body is BinaryExpr {
    return this.fn === 'sum' && this.#type === 'float' && body.kind === 'binary' && body.fn === 'mul';
  }

  /** Locals with what nothing comes to, so many for each body. */
  #begun(scope: Scope, groups: number): Totals {
    const type = this.#type;
    return Array.from({ length: groups * this.bodies.length }, () => {
      const local = this.writer.body.local(valueType(type, this.form));
      scope.code.push(local.set(this.writer.valueIn(this.form, neutralElement(this.fn, type), scope)));
      if (this.isTold && this.#isExtremeOfFloats) {
        const unordered = this.writer.body.vector();
        scope.code.push(unordered.set(v128.zero));
        this.#unordered.set(local, unordered);
      }
      return local;
    });
  }

  #add(to: Totals, scope: Scope): void {
    const groups = to.length / this.bodies.length;
    this.bodies.forEach((body, at) => {
      this.writer.groups.each(groups, (group) => {
        const total = to[at * groups + group];
        if (this.#isSumOfProducts(body) && !scope.valueOf(body)) {
          const [x, y] = [body.x, body.y].map((each) => this.#value(each, scope));
          scope.code.push(total.set(this.writer.multiplyAdd(x, y, total.get)));
          return;
        }
        const value = this.#value(body, scope);
        this.#join(total, value, this.writer.floats.code.ne(value, value), scope);
      });
    });
    this.beside?.(scope);
  }

  #join(total: Local, value: Code, isUnordered: Code, scope: Scope): void {
    if (!this.#isExtremeOfFloats) {
      scope.code.push(total.set(this.#combine(total.get, value)));
      return;
    }
    const { greater, lesser } = this.writer.floats.code;
    scope.code.push(total.set((this.fn === 'max' ? greater : lesser)(total.get, value)));
    const unordered = this.#unordered.get(total);
    if (unordered) scope.code.push(unordered.set(v128.or(unordered.get, isUnordered)));
  }

  /** Makes totals NaN where one was met. */
  #settle(totals: Totals, scope: Scope): void {
    for (const total of totals) {
      const unordered = this.#unordered.get(total);
      if (unordered) scope.code.push(total.set(v128.or(total.get, unordered.get)));
    }
  }

  #value(body: Expr, scope: Scope): Code {
    const value = this.writer.value(body, scope);
    return value.form === this.form
      ? value.code
      : this.writer.keep(scope, valueType(body.type, this.form), inForm(this.form, body.type, value));
  }

  oneByOne(axis: AxisExpr, scope: Scope): void {
    const { writer, totals } = this;
    const end = writer.valueIn('scalar', axis.extent, scope);
    if (!this.#isLongSum || extentOf(axis) <= SUM_STEPS) {
      writer.steps(axis, i32.const(0), end, scope, (inner) => this.#add(totals, inner));
      this.#settle(totals, scope);
      return;
    }
    const lost = this.#begun(scope, totals.length);
    this.#inStretches(end, SUM_STEPS, scope, (start, stop, inner) => {
      const parts = this.#begun(inner, totals.length);
      writer.steps(axis, start, stop, inner, (innermost) => this.#add(parts, innermost));
      parts.forEach((part, group) => this.#addPart(totals[group], part, inner, lost[group]));
    });
  }

  /** Adds the sum of a stretch, and what the addition of the last one lost: there may be as many stretches as one likes. */
  #addPart(total: Local, part: Local, scope: Scope, lost: Local): void {
    const { writer } = this;
    const { add, sub, lt, abs, const: number } = writer.floats.code;
    const own = writer.keep(scope, 'v128', sub(part.get, lost.get));
    const next = writer.keep(scope, 'v128', add(total.get, own));
    const rest = writer.keep(scope, 'v128', sub(sub(next, total.get), own));
    // What infinities lose is nothing.
    const isFinite = lt(abs(rest), number(Infinity));
    scope.code.push(lost.set(v128.and(rest, isFinite)), total.set(next));
  }

  #inStretches(end: Code, steps: number, scope: Scope, body: (start: Code, stop: Code, inner: Scope) => void): void {
    const start = this.writer.body.integer();
    const inner = scope.open();
    const next = this.writer.keep(inner, 'i32', i32.add(start.get, i32.const(steps)));
    body(start.get, this.writer.keep(inner, 'i32', i32.min(next, end)), inner);
    scope.code.push(countUp(start, i32.const(0), end, steps, inner.code));
  }

  /** Four steps at a time, in several groups: a vector of each body, and where the steps begin that are left. */
  vectors(axis: AxisExpr, scope: Scope): { readonly all: Totals; readonly rest: Code } {
    const { writer } = this;
    const end = writer.valueIn('scalar', axis.extent, scope);
    const all = this.#begun(scope, 1);
    const isLong = this.#isLongSum && extentOf(axis) > LONG_STEPS;
    const lost = isLong ? this.#begun(scope, 1) : null;
    const groups = this.bodies.length > MOST_BODIES ? 1 : this.bodies.length > 1 ? GROUPS / 2 : GROUPS;
    const whole = (start: Code, stop: Code, inner: Scope): Code => {
      const parts = this.#begun(inner, groups);
      const firsts = this.bodies.map((_, at) => parts[at * groups]);
      let rest = start;
      if (groups > 1)
        rest = writer.laneSteps(axis, rest, stop, inner, groups, (innermost) => this.#add(parts, innermost));
      rest = writer.laneSteps(axis, rest, stop, inner, 1, (innermost) => this.#add(firsts, innermost));
      firsts.forEach((first, at) => {
        for (const part of parts.slice(at * groups + 1, (at + 1) * groups))
          this.#join(first, part.get, this.#unordered.get(part)?.get ?? v128.zero, inner);
        this.#settle([first], inner);
        const lanes = all[at];
        if (lost) this.#addPart(lanes, first, inner, lost[at]);
        else inner.code.push(lanes.set(this.#combine(lanes.get, first.get)));
      });
      return rest;
    };
    let rest: Code = i32.const(0);
    if (isLong) {
      const after = writer.body.integer();
      this.#inStretches(end, LONG_STEPS, scope, (start, stop, inner) => {
        inner.code.push(after.set(whole(start, stop, inner)));
      });
      rest = after.get;
    } else rest = whole(i32.const(0), end, scope);
    return { all, rest };
  }

  /** Four steps at a time; all lanes of the total are the same then. */
  fourByFour(axis: AxisExpr, scope: Scope): void {
    const { writer, totals } = this;
    const { all, rest } = this.vectors(axis, scope);
    // Halves, then neighbours; two doubles are halves, and what lies beside them are neighbours.
    const [halves, neighbours] = [
      [2, 3, 0, 1],
      [1, 0, 3, 2],
    ];
    const orders = writer.floats.lanes === 4 ? [halves, neighbours] : this.#type === 'float' ? [halves] : [neighbours];
    all.forEach((lanes, at) => {
      for (const order of orders) {
        scope.code.push(lanes.set(this.#combine(lanes.get, v128.shuffle(lanes.get, lanes.get, order))));
      }
      scope.code.push(totals[at].set(this.#combine(totals[at].get, lanes.get)));
    });
    this.remaining(axis, rest, scope);
  }

  /** The steps from one on, one by one. */
  remaining(axis: AxisExpr, from: Code, scope: Scope): void {
    const end = this.writer.valueIn('scalar', axis.extent, scope);
    this.writer.steps(axis, from, end, scope, (inner) => this.#add(this.totals, inner));
    this.#settle(this.totals, scope);
  }
}

/** The position of the first winner, in C order of the reduced axes; the first NaN wins. In lanes it is one of 32 bits. */
function writePosition(writer: LoopWriter, expr: ReduceExpr, fn: 'argmax' | 'argmin', scope: Scope): Value {
  const { type } = expr.body;
  const inLanes = writer.differs(expr, scope);
  const [line, ...others] = expr.axes;
  const isAlong = !inLanes && others.length === 0 && type !== 'bool' && writer.floats.lanes === 4;
  if (isAlong && takesLanesAlong(writer, expr.body, line, scope)) return writePositionAlong(writer, expr, fn, scope);
  const form: Form = type === 'float' || inLanes ? 'lanes' : 'scalar';
  const all = Array.from({ length: writer.groupsOf(expr, scope) }, () => ({
    best: writer.body.local(valueType(type, form)),
    position: writer.body.local(inLanes ? 'v128' : 'i32'),
  }));
  const step = writer.body.integer();
  scope.code.push(step.set(i32.const(0)));
  for (const { best, position } of all) {
    scope.code.push(
      best.set(writer.valueIn(form, neutralElement(fn, type), scope)),
      position.set(inLanes ? v128.zero : i32.const(0)),
    );
  }
  writer.loops(expr.axes, scope, (inner) => {
    writer.groups.each(all.length, (group) => {
      const { best, position } = all[group];
      const candidate = writer.keep(inner, valueType(type, form), writer.valueIn(form, expr.body, inner));
      const wins = isBetter(fn, type, form, candidate, best.get, writer.floats);
      if (inLanes) {
        const keep = (code: Code): Code => writer.keep(inner, 'v128', code);
        const mask = keep(wins);
        const narrow = type === 'float' ? writer.floats.narrow(mask, keep) : mask;
        inner.code.push(
          best.set(v128.select(candidate, best.get, mask)),
          position.set(v128.select(i32x4.splat(step.get), position.get, narrow)),
        );
      } else {
        const one = form === 'lanes' ? i32.and(i32x4.extract(wins, 0), i32.const(1)) : wins;
        inner.code.push(when(one, [best.set(candidate), position.set(step.get)]));
      }
    });
    inner.code.push(step.advance(1));
  });
  if (inLanes) {
    return writer.groups.value(
      'lanes',
      all.map(({ position }) => position.get),
    );
  }
  return { form: 'scalar', code: writer.keep(scope, 'i64', i64.ofInteger(all[0].position.get)) };
}

/** As `writePosition`, four steps of a line at a time: each lane has a winner of its own, and the first of the best ones is found in the end. */
function writePositionAlong(
  writer: LoopWriter,
  { body, axes: [line] }: ReduceExpr,
  fn: 'argmax' | 'argmin',
  scope: Scope,
): Value {
  const { type } = body;
  const end = writer.valueIn('scalar', line.extent, scope);
  const winners = Array.from({ length: GROUPS / 2 }, () => ({
    best: writer.body.vector(),
    position: writer.body.vector(),
  }));
  type Winner = (typeof winners)[number];
  for (const { best, position } of winners) {
    scope.code.push(best.set(writer.valueIn('lanes', neutralElement(fn, type), scope)), position.set(v128.zero));
  }
  const isBetterThan = (x: Code, y: Code, inner: Scope): Code =>
    writer.keep(inner, 'v128', isBetter(fn, type, 'lanes', x, y, writer.floats));
  const take = ({ best, position }: Winner, value: Code, at: Code, wins: Code, inner: Scope): void => {
    inner.code.push(best.set(v128.select(value, best.get, wins)), position.set(v128.select(at, position.get, wins)));
  };
  /** Steps go upwards: one that is no better than the winner comes too late. */
  const step = (winner: Winner, inner: Scope): void => {
    const value = writer.keep(inner, 'v128', writer.valueIn('lanes', body, inner));
    take(winner, value, writer.valueIn('lanes', line, inner), isBetterThan(value, winner.best.get, inner), inner);
  };
  const join = (winner: Winner, value: Code, at: Code): void => {
    const isBehind = isBetterThan(winner.best.get, value, scope);
    const isEarlier = v128.andNot(i32x4.lt(at, winner.position.get), isBehind);
    const wins = v128.or(isBetterThan(value, winner.best.get, scope), isEarlier);
    take(winner, value, at, writer.keep(scope, 'v128', wins), scope);
  };
  const inGroups = (start: Code, groups: number): Code =>
    writer.laneSteps(line, start, end, scope, groups, (inner) => {
      writer.groups.each(groups, (group) => step(winners[group], inner));
    });
  const rest = inGroups(inGroups(i32.const(0), winners.length), 1);
  const [first, ...others] = winners;
  for (const { best, position } of others) join(first, best.get, position.get);
  for (const order of [
    [2, 3, 0, 1],
    [1, 0, 3, 2],
  ]) {
    const [value, at] = [first.best, first.position].map(({ get }) =>
      writer.keep(scope, 'v128', v128.shuffle(get, get, order)),
    );
    join(first, value, at);
  }
  writer.steps(line, rest, end, scope, (inner) => step(first, inner));
  return { form: 'scalar', code: writer.keep(scope, 'i64', i64.ofInteger(i32x4.extract(first.position.get, 0))) };
}

function isBetter(
  fn: 'argmax' | 'argmin',
  type: ExprType,
  form: Form,
  x: Code,
  best: Code,
  { code: { eq, ge, le } }: Floats,
): Code {
  if (type === 'bool') return form === 'lanes' ? v128.andNot(x, best) : i32.and(x, i32.eqz(best));
  if (type !== 'float') {
    const own = type === 'i64' ? i64 : form === 'lanes' ? i32x4 : i32;
    return fn === 'argmax' ? own.gt(x, best) : own.lt(x, best);
  }
  // A NaN is in no order: it is better than any number, and nothing is better than it.
  return v128.andNot(eq(best, best), fn === 'argmax' ? le(x, best) : ge(x, best));
}
