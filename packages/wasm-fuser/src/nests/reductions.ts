import {
  cast,
  extentOf,
  neutralElement,
  type AxisExpr,
  type Expr,
  type ExprType,
  type FreeAxes,
  type ReduceExpr,
} from '@cresset/tensorexpr';
import { countUp, f32x4, i32, i32x4, i64, v128, when, type Code, type Local } from '../code.ts';
import { floatBinary } from './float-functions.ts';
import { integerLanesBinary, integers, longs, truthFunctions } from './integer-functions.ts';
import type { FunctionBody, ValueType } from '../module.ts';
import { isOne, strideOf } from './index-steps.ts';
import { inForm, valueType, type Form, type Scope, type Value } from './scope.ts';

/** Steps after which a sum of floats is added to others: the error grows with the length of one, not of all. */
const SUM_STEPS = 64;
/** Steps from which four at a time pay. */
const LEAST_STEPS = 8;
/** Sums that are made beside each other where four steps are taken at a time: one addition waits for another. */
const COPIES = 4;
const LONG_STEPS = 4 * COPIES * SUM_STEPS;

/** Extents from which a reduction is written in another way. */
export const REDUCTION_BORDERS: readonly number[] = [LEAST_STEPS, SUM_STEPS + 1, LONG_STEPS + 1];

/** Who writes expressions and loops. */
interface LoopWriter {
  readonly body: FunctionBody;
  readonly freeAxes: FreeAxes;
  differs(expr: Expr, scope: Scope): boolean;
  value(expr: Expr, scope: Scope): Value;
  valueIn(form: Form, expr: Expr, scope: Scope): Code;
  keep(scope: Scope, type: ValueType, code: Code): Code;
  takesLanes(axis: AxisExpr, scope: Scope): boolean;
  loops(axes: readonly AxisExpr[], scope: Scope, body: (scope: Scope) => void): void;
  steps(axis: AxisExpr, start: Code, end: Code, scope: Scope, body: (scope: Scope) => void): void;
  laneSteps(axis: AxisExpr, start: Code, end: Code, scope: Scope, body: (scope: Scope) => void): Code;
}

type Combine = (x: Code, y: Code) => Code;

const operations = { sum: 'add', prod: 'mul', max: 'max', min: 'min', any: 'or', all: 'and' } as const;

/** One step of a reduction. */
export function combination(fn: keyof typeof operations, type: ExprType, form: Form): Combine {
  const name = type === 'bool' && fn === 'sum' ? 'or' : operations[fn];
  const never = (code: Code): Code => code;
  if (type === 'bool') return truthFunctions(form === 'lanes').binary[name]!;
  const table =
    type === 'float'
      ? floatBinary
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
  const { fn } = expr;
  const body = fn === 'any' || fn === 'all' ? cast('bool', expr.body) : expr.body;
  const { type } = body;
  const differs = writer.differs(expr, scope);
  const last = expr.axes.at(-1);
  if (!last) return writer.value(body, scope);
  const goesAlong = !differs && takesLanesAlong(writer, body, last, scope);
  const form: Form = type === 'float' || differs || goesAlong ? 'lanes' : 'scalar';
  const reduction = new Reduction(writer, fn, body, form, scope);
  writer.loops(expr.axes.slice(0, -1), scope, (inner) => {
    if (goesAlong) reduction.fourByFour(last, inner);
    else reduction.oneByOne(last, inner);
  });
  const total = reduction.total.get;
  if (!goesAlong || type === 'float') return { form, code: total };
  return { form: 'scalar', code: inForm('scalar', type, { form: 'lanes', code: total }) };
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
  return beside > apart && extentOf(axis) >= LEAST_STEPS;
}

/** What one reduction has come to. */
class Reduction {
  readonly total: Local;
  readonly #combine: Combine;

  constructor(
    private readonly writer: LoopWriter,
    private readonly fn: keyof typeof operations,
    private readonly body: Expr,
    private readonly form: Form,
    scope: Scope,
  ) {
    this.total = this.#begun(scope);
    this.#combine = combination(fn, body.type, form);
  }

  get #isLongSum(): boolean {
    return this.fn === 'sum' && this.body.type === 'float';
  }

  /** A local with what nothing comes to. */
  #begun(scope: Scope): Local {
    const { type } = this.body;
    const local = this.writer.body.local(valueType(type, this.form));
    scope.code.push(local.set(this.writer.valueIn(this.form, neutralElement(this.fn, type), scope)));
    return local;
  }

  #add(to: Local, scope: Scope): void {
    scope.code.push(to.set(this.#combine(to.get, this.#value(scope))));
  }

  #value(scope: Scope): Code {
    const value = this.writer.value(this.body, scope);
    return value.form === this.form
      ? value.code
      : this.writer.keep(scope, valueType(this.body.type, this.form), inForm(this.form, this.body.type, value));
  }

  oneByOne(axis: AxisExpr, scope: Scope): void {
    const { writer } = this;
    const end = writer.valueIn('scalar', axis.extent, scope);
    if (!this.#isLongSum || extentOf(axis) <= SUM_STEPS) {
      writer.steps(axis, i32.const(0), end, scope, (inner) => this.#add(this.total, inner));
      return;
    }
    const lost = this.#begun(scope);
    this.#inStretches(end, SUM_STEPS, scope, (start, stop, inner) => {
      const part = this.#begun(inner);
      writer.steps(axis, start, stop, inner, (innermost) => this.#add(part, innermost));
      this.#addPart(this.total, part, inner, lost);
    });
  }

  /** Adds the sum of a stretch, and what the addition of the last one lost: there may be as many stretches as one likes. */
  #addPart(total: Local, part: Local, scope: Scope, lost: Local): void {
    const { writer } = this;
    const own = writer.keep(scope, 'v128', f32x4.sub(part.get, lost.get));
    const next = writer.keep(scope, 'v128', f32x4.add(total.get, own));
    const rest = writer.keep(scope, 'v128', f32x4.sub(f32x4.sub(next, total.get), own));
    // What infinities lose is nothing.
    const isFinite = f32x4.lt(f32x4.abs(rest), f32x4.const(Infinity));
    scope.code.push(lost.set(v128.and(rest, isFinite)), total.set(next));
  }

  #inStretches(end: Code, steps: number, scope: Scope, body: (start: Code, stop: Code, inner: Scope) => void): void {
    const start = this.writer.body.integer();
    const inner = scope.open();
    const next = this.writer.keep(inner, 'i32', i32.add(start.get, i32.const(steps)));
    body(start.get, this.writer.keep(inner, 'i32', i32.min(next, end)), inner);
    scope.code.push(countUp(start, i32.const(0), end, steps, inner.code));
  }

  /** Four steps at a time, several times beside each other; all lanes of the total are the same then. */
  fourByFour(axis: AxisExpr, scope: Scope): void {
    const { writer } = this;
    const end = writer.valueIn('scalar', axis.extent, scope);
    const lanes = this.#begun(scope);
    const isLong = this.#isLongSum && extentOf(axis) > LONG_STEPS;
    const lost = isLong ? this.#begun(scope) : null;
    const whole = (start: Code, stop: Code, inner: Scope): Code => {
      const parts = Array.from({ length: COPIES }, () => this.#begun(inner));
      const rest = this.#copies(axis, start, stop, inner, parts);
      const after = writer.laneSteps(axis, rest, stop, inner, (innermost) => this.#add(parts[0], innermost));
      const [first, ...others] = parts;
      for (const part of others) inner.code.push(first.set(this.#combine(first.get, part.get)));
      if (lost) this.#addPart(lanes, first, inner, lost);
      else inner.code.push(lanes.set(this.#combine(lanes.get, first.get)));
      return after;
    };
    let rest: Code = i32.const(0);
    if (isLong) {
      const after = writer.body.integer();
      this.#inStretches(end, LONG_STEPS, scope, (start, stop, inner) => {
        inner.code.push(after.set(whole(start, stop, inner)));
      });
      rest = after.get;
    } else rest = whole(i32.const(0), end, scope);
    // Halves, then neighbours.
    for (const order of [
      [2, 3, 0, 1],
      [1, 0, 3, 2],
    ]) {
      scope.code.push(lanes.set(this.#combine(lanes.get, v128.shuffle(lanes.get, lanes.get, order))));
    }
    scope.code.push(this.total.set(this.#combine(this.total.get, lanes.get)));
    writer.steps(axis, rest, end, scope, (inner) => this.#add(this.total, inner));
  }

  #copies(axis: AxisExpr, start: Code, stop: Code, scope: Scope, parts: readonly Local[]): Code {
    const { writer } = this;
    const first = writer.body.integer();
    const size = 4 * COPIES;
    const whole = writer.keep(scope, 'i32', i32.add(start, i32.and(i32.sub(stop, start), i32.const(-size))));
    const inner = scope.open();
    parts.forEach((part, copy) => {
      const own = writer.body.integer();
      inner.code.push(own.set(i32.add(first.get, i32.const(4 * copy))));
      const lanes = inner.openLanes({ axis, first: own });
      this.#add(part, lanes);
      inner.code.push(lanes.code);
    });
    scope.code.push(countUp(first, start, whole, size, inner.code));
    return whole;
  }
}

/** The position of the first winner, in C order of the reduced axes; the first NaN wins. */
function writePosition(writer: LoopWriter, expr: ReduceExpr, fn: 'argmax' | 'argmin', scope: Scope): Value {
  const { type } = expr.body;
  const form: Form = type === 'float' ? 'lanes' : 'scalar';
  const best = writer.body.local(valueType(type, form));
  const [position, step] = [writer.body.integer(), writer.body.integer()];
  scope.code.push(
    best.set(writer.valueIn(form, neutralElement(fn, type), scope)),
    position.set(i32.const(-1)),
    step.set(i32.const(0)),
  );
  writer.loops(expr.axes, scope, (inner) => {
    const candidate = writer.keep(inner, valueType(type, form), writer.valueIn(form, expr.body, inner));
    const wins = i32.or(i32.lt(position.get, i32.const(0)), isBetter(fn, type, candidate, best.get));
    inner.code.push(when(wins, [best.set(candidate), position.set(step.get)]), step.advance(1));
  });
  return { form: 'scalar', code: i64.ofInteger(position.get) };
}

function isBetter(fn: 'argmax' | 'argmin', type: ExprType, x: Code, best: Code): Code {
  if (type === 'bool') return i32.and(x, i32.eqz(best));
  if (type !== 'float') {
    const own = type === 'i64' ? i64 : i32;
    return fn === 'argmax' ? own.gt(x, best) : own.lt(x, best);
  }
  const isNan = (value: Code): Code => f32x4.ne(value, value);
  const better = fn === 'argmax' ? f32x4.gt(x, best) : f32x4.lt(x, best);
  return i32.and(i32x4.extract(v128.or(better, v128.andNot(isNan(x), isNan(best))), 0), i32.const(1));
}
