import { CressetError } from '@cresset/ir';
import { elementSize } from '@cresset/tensor';
import {
  binary,
  childrenOf,
  constant,
  type AxisExpr,
  type BinaryExpr,
  type Expr,
  type ExprType,
  type KernelSignature,
  type LoadExpr,
  type Recurrence,
  type ReduceExpr,
  type UnaryExpr,
  ValueHomes,
} from '@cresset/tensorexpr';
import { countUp, choose, i32, i32x4, i64, v128, when, whenVector, type Code, type Local } from '../code.ts';
import type { FunctionBody, ModuleBuilder, ValueType } from '../module.ts';
import { doubles } from './functions/doubles.ts';
import { Elements, elementShift } from './elements.ts';
import { LARGEST_ANGLE, shareOfPowers, singles } from './functions/float-functions.ts';
import { beforeConstant, type Floats, type Keep, type MultiplyAdd } from './functions/floats.ts';
import {
  integerLanesBinary,
  integerLanesUnary,
  integers,
  longs,
  truthFunctions,
} from './functions/integer-functions.ts';
import { hasLoad, isOne, strideOf, termsOf } from './index-steps.ts';
import { LaunchBlock } from './launch-block.ts';
import { philox } from './functions/philox.ts';
import { RareCalls } from './functions/rare-functions.ts';
import { isSumAlong, writeReduction, writeSums } from './reductions.ts';
import { Groups, inForm, valueType, type Form, type Lanes, type Scope, type Value } from './scope.ts';

/** Thrown where four steps of a loop cannot be taken at once: values of 64 bits differ in it. */
export class NeedsSingleSteps extends Error {
  constructor(readonly axis: AxisExpr) {
    super(`the loop over ${axis.name} goes one by one`);
  }
}

/** Elements that lie along lanes of an index: its values in each, and whether they are neighbours. */
interface LanePlaces {
  readonly lanes: readonly Code[];
  readonly areBeside: Code;
}

/**
 * Writes expressions as code of one function. A value goes to the outermost block in which everything it depends on is known, so what does
 * not change in a loop is worked out before it. Floats are a vector always, all the same where nothing in a loop over lanes makes them
 * differ; integers and truth values are one number as long as they can be.
 */
export class ExpressionWriter {
  readonly #homes = new ValueHomes();
  readonly freeAxes = this.#homes.freeAxes;
  readonly #conditional = new Set<Expr>();
  readonly #unconditional = new Set<Expr>();
  readonly #risky = new Set<LoadExpr>();
  readonly #block: LaunchBlock;
  readonly #rare: RareCalls;
  readonly groups = new Groups();
  readonly floats: Floats;
  readonly elements: Elements;
  /** The lanes of a vector, by number. */
  readonly #lanes: readonly number[];
  readonly #shares = new Set<Expr>();
  readonly #ordered = new Set<ReduceExpr>();
  /** Where what the first group loads begins, of loads that are written for one group after the other. */
  readonly #firstAddresses = new Map<LoadExpr, Code>();
  #rows: ReduceExpr | null = null;
  readonly #besideSteps = new Map<ReduceExpr, (scope: Scope) => void>();

  /**
   * @param singleSteps loops that go one by one
   * @param isChecked whether every address is looked at, since lanes may lie beyond the ends of tensors
   */
  constructor(
    private readonly module: ModuleBuilder,
    readonly body: FunctionBody,
    private readonly signature: KernelSignature,
    pointer: Local,
    readonly root: Scope,
    readonly singleSteps: ReadonlySet<AxisExpr>,
    private readonly isChecked = false,
  ) {
    this.floats = signature.hasDoubles ? doubles : singles;
    this.elements = new Elements(this.floats);
    this.#lanes = Array.from({ length: this.floats.lanes }, (_, lane) => lane);
    this.#rare = new RareCalls(module, this.floats);
    this.#block = new LaunchBlock(signature, pointer, this.floats, (type, code) => this.keep(root, type, code));
  }

  /** Tells the writer, before anything else, of what changes from step to step of a recurrence. */
  changeOverTime(kernel: Recurrence): void {
    this.#homes.changeOverTime(kernel);
  }

  /** Has `write` called in each step of a reduction. */
  alongside(reduction: ReduceExpr, write: (scope: Scope) => void): void {
    this.#besideSteps.set(reduction, write);
  }

  /** Has a sum in each lane be made along its own row. */
  goByRows(sum: ReduceExpr): void {
    this.#rows = sum;
  }

  goesByRows(reduction: ReduceExpr): boolean {
    return this.#rows === reduction && !this.singleSteps.has(reduction.axes.at(-1)!);
  }

  /** Tells the writer of powers of a softmax, and the maximum that they are told from, that any multiple will do, and that a NaN is in the sum of powers anyway. */
  makeShares(power: Expr, most: ReduceExpr): void {
    this.#shares.add(power);
    this.#ordered.add(most);
  }

  /** Whether nobody asks if a NaN was among what a maximum is of. */
  isOrdered(most: ReduceExpr): boolean {
    return this.#ordered.has(most);
  }

  besideSteps(reduction: ReduceExpr): ((scope: Scope) => void) | undefined {
    return this.#besideSteps.get(reduction);
  }

  announce(roots: readonly Expr[]): void {
    this.#homes.announce(roots);
  }

  /** A product and a sum, rounded once where the engine has an instruction for that. */
  readonly multiplyAdd: MultiplyAdd = (x, y, sum) => this.floats.code.multiplyAdd(x, y, sum, this.module.isRelaxed);

  /** Puts what code gives into a local of its own; code that reads it. */
  keep(scope: Scope, type: ValueType, code: Code): Code {
    const local = this.body.local(type);
    scope.code.push(local.set(code));
    return local.get;
  }

  /** Whether the lanes of an expression differ in a scope. */
  differs(expr: Expr, { lanes }: Scope): boolean {
    return lanes !== null && this.freeAxes.of(expr).has(lanes.axis);
  }

  /** The value of an expression, readable as often as one likes. */
  value(expr: Expr, scope: Scope): Value {
    if (expr.kind === 'const') return this.#constant(expr.type, expr.value);
    if (expr.kind === 'param') return this.#block.param(expr);
    const known = scope.valueOf(expr);
    if (known) return known;
    if (expr.kind === 'axis') return this.#axisInLanes(expr, scope);
    if (expr.kind === 'accumulator') throw new TypeError('an accumulator is used where it has no value');
    const home = this.#homes.homeOf(expr, scope);
    let value: Value;
    if (expr.kind === 'reduce') value = this.#reduction(expr, home);
    else {
      let form: Form = 'scalar';
      const codes = this.groups.each(this.groupsOf(expr, home), () => {
        const one = this.#compute(expr, home);
        form = one.form;
        return this.keep(home, valueType(expr.type, form), one.code);
      });
      value = codes.length > 1 ? this.groups.value(form, codes) : { form, code: codes[0] };
    }
    home.bind(expr, value);
    return value;
  }

  /** A reduction, in one loop with others where they are sums; those have values in the scope then. */
  #reduction(expr: ReduceExpr, scope: Scope): Value {
    if (scope.isGuard || !isSumAlong(this, expr, scope)) return writeReduction(this, expr, scope);
    const fits = (other: ReduceExpr): boolean => !scope.valueOf(other) && isSumAlong(this, other, scope);
    return this.#homes.together(expr, scope, fits, (sums) => {
      if (sums.length === 1) return writeReduction(this, expr, scope);
      const [own, ...others] = writeSums(this, sums, scope);
      others.forEach((value, at) => scope.bind(sums[at + 1], value));
      return own;
    });
  }

  /** How many groups have a value of their own. */
  groupsOf(expr: Expr, scope: Scope): number {
    return this.differs(expr, scope) ? scope.lanes!.firsts.length : 1;
  }

  /** As `value`, in a form. */
  valueIn(form: Form, expr: Expr, scope: Scope): Code {
    return inForm(form, expr.type, this.value(expr, scope));
  }

  /** An index in the first lane. */
  first(expr: Expr, scope: Scope): Code {
    if (!this.differs(expr, scope)) return this.valueIn('scalar', expr, scope);
    const { current } = this.groups;
    if (expr.kind === 'axis') return scope.lanes!.firsts[current].get;
    const known = scope.firstOf(expr);
    if (known !== undefined) return known[current];
    const home = this.#homes.homeOf(expr, scope);
    const codes = this.groups.each(scope.lanes!.firsts.length, () => this.keep(home, 'i32', this.#firstOf(expr, home)));
    home.bindFirst(expr, codes);
    return codes[current];
  }

  #firstOf(expr: Expr, scope: Scope): Code {
    const keep: Keep = (code) => this.keep(scope, 'i32', code);
    if (expr.kind === 'unary') return integers.unary[expr.fn]!(this.first(expr.x, scope), keep);
    if (expr.kind === 'binary')
      return integers.binary[expr.fn]!(this.first(expr.x, scope), this.first(expr.y, scope), keep);
    throw new TypeError(`an index has a ${expr.kind} in it`);
  }

  #constant(type: ExprType, value: number | bigint | boolean): Value {
    switch (type) {
      case 'float':
        return { form: 'lanes', code: this.floats.code.const(Number(value)) };
      case 'i64':
        return { form: 'scalar', code: i64.const(BigInt(value)) };
      default:
        return { form: 'scalar', code: i32.const(Number(value)) };
    }
  }

  #axisInLanes(axis: AxisExpr, scope: Scope): Value {
    const { lanes } = scope;
    if (lanes?.axis !== axis) throw new TypeError(`the axis ${axis.name} is used where it has no value`);
    const home = this.#homes.homeOf(axis, scope);
    const codes = this.groups.each(lanes.firsts.length, (group) =>
      this.keep(home, 'v128', i32x4.add(i32x4.splat(lanes.firsts[group].get), v128.words(0, 1, 2, 3))),
    );
    const value = this.groups.value('lanes', codes);
    home.bind(axis, value);
    return value;
  }

  #compute(expr: Exclude<Expr, { kind: 'const' | 'param' | 'axis' | 'accumulator' | 'reduce' }>, scope: Scope): Value {
    // Positions are the only ones of 64 bits that lanes have, to be stored or converted.
    const isOfLongs =
      expr.type === 'i64' ||
      ((expr.kind === 'unary' || expr.kind === 'binary') && expr.x.type === 'i64') ||
      (expr.kind === 'cast' && expr.x.type === 'i64' && expr.type === 'bool');
    if (isOfLongs && this.differs(expr, scope)) throw new NeedsSingleSteps(scope.lanes!.axis);
    switch (expr.kind) {
      case 'load':
        return this.#load(expr, scope);
      case 'unary':
        return this.#unary(expr, scope);
      case 'binary':
        return this.#binary(expr, scope);
      case 'select':
        return this.#select(expr, scope);
      case 'cast':
        return this.#cast(expr.x, expr.type, scope);
    }
  }

  // ---- elements

  #load(expr: LoadExpr, scope: Scope): Value {
    const { operand, offset, type } = expr;
    const { dtype } = operand;
    const shift = elementShift(dtype);
    const buffer = this.address(expr);
    const at = (index: Code): Code => i32.add(buffer, shift === 0 ? index : i32.shl(index, shift));
    const keep: Keep = (code) => this.keep(scope, 'v128', code);
    const isRisky = this.isChecked || this.#risky.has(expr);
    const checked = (address: Code): Code => (isRisky ? this.#within(address, scope) : address);
    if (!this.differs(expr, scope))
      return this.elements.one(dtype, type, checked(at(this.valueIn('scalar', offset, scope))), keep);
    const stride = strideOf(offset, scope.lanes!.axis, this.freeAxes);
    if (stride && isOne(stride)) {
      if (isRisky)
        return { form: 'lanes', code: this.elements.side(dtype, checked(at(this.first(offset, scope))), keep) };
      // Groups lie one behind the other: what is known when the code is written is added by the instruction that loads.
      const { current } = this.groups;
      if (current === 0) this.#firstAddresses.set(expr, this.firstAddress(expr, scope));
      const between = this.floats.lanes * current * elementSize(dtype);
      return { form: 'lanes', code: this.elements.side(dtype, this.#firstAddresses.get(expr)!, keep, between) };
    }
    if (stride) {
      const first = this.first(offset, scope);
      const step = this.valueIn('scalar', stride, scope);
      const lanes = this.#lanes.map((lane) =>
        checked(at(lane === 0 ? first : i32.add(first, lane === 1 ? step : i32.mul(step, i32.const(lane))))),
      );
      return { form: 'lanes', code: this.elements.gathered(dtype, lanes, keep) };
    }
    return { form: 'lanes', code: this.#gatherAnywhere(expr, scope, at, checked, keep) };
  }

  /** Where the first lane of neighbours lies: what does not change along the loop is added up before it. */
  firstAddress(place: Pick<LoadExpr, 'operand' | 'offset'>, scope: Scope): Code {
    const terms = termsOf(place.offset);
    const bytes = (index: Code): Code => i32.shl(index, elementShift(place.operand.dtype));
    const before = sumOf(terms.filter((term) => !this.differs(term, scope)));
    const within = sumOf(terms.filter((term) => this.differs(term, scope)));
    const home = this.#homes.homeOf(before, scope);
    const start = this.keep(home, 'i32', i32.add(this.address(place), bytes(this.valueIn('scalar', before, scope))));
    return this.keep(scope, 'i32', i32.add(start, bytes(this.first(within, scope))));
  }

  /** Elements of which the places are not linear in the lanes, such as those of windows: neighbours more often than not. */
  #gatherAnywhere(
    { operand: { dtype }, offset }: LoadExpr,
    scope: Scope,
    at: (index: Code) => Code,
    checked: (address: Code) => Code,
    keep: Keep,
  ): Code {
    const terms = termsOf(offset);
    const { lanes, areBeside } = this.placesOf(sumOf(terms.filter((term) => this.differs(term, scope))), scope);
    const shared = this.valueIn('scalar', sumOf(terms.filter((term) => !this.differs(term, scope))), scope);
    const addresses = lanes.map((lane) => checked(at(i32.add(shared, lane))));
    if (dtype !== this.floats.dtype) return this.elements.gathered(dtype, addresses, keep);
    return whenVector(
      areBeside,
      this.elements.side(dtype, checked(at(i32.add(shared, lanes[0]))), keep),
      this.elements.gathered(dtype, addresses, keep),
    );
  }

  /** An index in each of the lanes, and whether it goes up by one from lane to lane. */
  placesOf(index: Expr, scope: Scope): LanePlaces {
    const vector = this.valueIn('lanes', index, scope);
    const home = this.#homes.homeOf(index, scope);
    const lanes = this.#lanes.map((lane) => this.keep(home, 'i32', i32x4.extract(vector, lane)));
    const expected = i32x4.add(i32x4.splat(lanes[0]), v128.words(0, 1, 2, 3));
    return { lanes, areBeside: this.keep(home, 'i32', i32x4.allTrue(i32x4.eq(vector, expected))) };
  }

  /** The first byte of an operand's elements. */
  address({ operand }: Pick<LoadExpr, 'operand'>): Code {
    return this.#block.address(this.signature.bindingOf(operand));
  }

  byteLength({ operand }: Pick<LoadExpr, 'operand'>): Code {
    return this.#block.byteLength(this.signature.bindingOf(operand));
  }

  /** An address that the memory has: what is read elsewhere is thrown away. */
  #within(address: Code, scope: Scope): Code {
    const kept = this.keep(scope, 'i32', address);
    return choose(i32.ltUnsigned(kept, this.#block.limit), kept, i32.const(0));
  }

  /** Has the loads below a condition, or at places that were loaded, be looked at: they may lie outside their tensor. */
  markRisky(roots: readonly Expr[], isConditional = false): void {
    const seen = isConditional ? this.#conditional : this.#unconditional;
    for (const root of roots) {
      if (seen.has(root)) continue;
      seen.add(root);
      if (root.kind === 'load' && (isConditional || hasLoad(root.offset))) this.#risky.add(root);
      if (root.kind === 'select') {
        this.markRisky([root.condition], isConditional);
        this.markRisky([root.x, root.y], true);
      } else this.markRisky(childrenOf(root), isConditional);
    }
  }

  // ---- functions

  #unary(expr: UnaryExpr, scope: Scope): Value {
    const { fn, x } = expr;
    const value = this.value(x, scope);
    const { form } = value;
    const keep: Keep = (code) => this.keep(scope, valueType(x.type, form), code);
    const { code } = value;
    if (x.type === 'float') {
      const { floats } = this;
      const lanes = scope.lanes && this.differs(x, scope) ? floats.lanes : 1;
      const known = floats === singles && this.#shares.has(expr) ? shareOfPowers : floats.unary[fn];
      const rare = (): Code => this.#rare.unary(fn, code, lanes);
      if (!known) return this.#floatResult(fn, rare(), scope, x);
      if (fn !== 'sin' && fn !== 'cos') return this.#floatResult(fn, known(code, keep, this.multiplyAdd), scope, x);
      const { le, abs, const: number } = floats.code;
      const isLarge = v128.anyTrue(v128.not(le(abs(code), number(LARGEST_ANGLE))));
      const near = keep(known(code, keep, this.multiplyAdd));
      return { form, code: whenVector(isLarge, rare(), near) };
    }
    if (fn === 'floor' || fn === 'ceil' || fn === 'round' || fn === 'trunc') return value;
    if (fn === 'isnan' || fn === 'isinf' || fn === 'isfinite') return this.#constant('bool', fn === 'isfinite');
    if (x.type === 'bool') {
      if (fn === 'not') return { form, code: truthFunctions(form === 'lanes').not(code) };
      if (fn === 'abs' || fn === 'sign') return value;
      if (fn === 'signbit') return this.#constant('bool', false);
      throw undefinedFunction(fn, x.type);
    }
    const table = x.type === 'i64' ? longs.unary : integers.unary;
    if (form === 'lanes') {
      const known = integerLanesUnary[fn];
      if (known) return { form, code: known(code, keep) };
      const scalar = table[fn];
      if (!scalar) throw undefinedFunction(fn, x.type);
      const one: Keep = (each) => this.keep(scope, 'i32', each);
      return { form, code: this.#perLane((lane) => scalar(one(i32x4.extract(code, lane)), one)) };
    }
    const known = table[fn];
    if (!known) throw undefinedFunction(fn, x.type);
    return { form, code: known(code, keep) };
  }

  /** A predicate of floats that are one and the same is one truth value. */
  #floatResult(fn: string, code: Code, scope: Scope, ...operands: readonly Expr[]): Value {
    if (!predicates.has(fn)) return { form: 'lanes', code };
    if (operands.some((operand) => this.differs(operand, scope)))
      return { form: 'lanes', code: this.floats.narrow(code, (mask) => this.keep(scope, 'v128', mask)) };
    return { form: 'scalar', code: i32.and(i32x4.extract(code, 0), i32.const(1)) };
  }

  #binary({ fn, x, y }: BinaryExpr, scope: Scope): Value {
    const { type } = x;
    const differs = this.differs(x, scope) || this.differs(y, scope);
    const form: Form = type === 'float' || differs ? 'lanes' : 'scalar';
    const keep: Keep = (code) => this.keep(scope, valueType(type, form), code);
    const left = this.#readable(form, x, scope);
    const right = this.#readable(form, y, scope);
    if (type === 'float') {
      const { floats } = this;
      const plain = floats.binary[fn];
      const known = y.kind === 'const' ? (beforeConstant(floats, fn, y.value) ?? plain) : plain;
      if (known) return this.#floatResult(fn, known(left, right, keep), scope, x, y);
      const rare = (): Code => this.#rare.binary(fn, left, right, differs ? floats.lanes : 1);
      if (fn !== 'pow' || this.differs(y, scope)) return { form, code: rare() };
      // The commonest power is one product.
      const { eq, mul, const: number } = floats.code;
      return { form, code: whenVector(i32x4.allTrue(eq(right, number(2))), mul(left, left), rare()) };
    }
    if (type === 'bool') {
      const known = truthFunctions(form === 'lanes').binary[fn];
      if (!known) throw undefinedFunction(fn, type);
      return { form, code: known(left, right) };
    }
    if (form === 'lanes') {
      const known = integerLanesBinary[fn];
      if (known) return { form, code: known(left, right, keep) };
      const one: Keep = (each) => this.keep(scope, 'i32', each);
      const ofLane = (lane: number): Code => {
        const operands = [left, right].map((each) => one(i32x4.extract(each, lane)));
        return integers.binary[fn]?.(operands[0], operands[1], one) ?? this.#rare.integer(fn, operands[0], operands[1]);
      };
      return { form, code: this.#perLane(ofLane) };
    }
    if (type === 'i64') {
      if (fn === 'philox') return { form, code: philox(left, right, keep) };
      return { form, code: longs.binary[fn]?.(left, right, keep) ?? this.#rare.long(fn, left, right) };
    }
    return { form, code: integers.binary[fn]?.(left, right, keep) ?? this.#rare.integer(fn, left, right) };
  }

  /** Integers that are worked out one by one. */
  #perLane(value: (lane: number) => Code): Code {
    const [first, ...others] = this.#lanes;
    return others.reduce((vector, lane) => i32x4.replace(vector, lane, value(lane)), i32x4.splat(value(first)));
  }

  /** A value in a form, to be read more than once. */
  #readable(form: Form, expr: Expr, scope: Scope): Code {
    const value = this.value(expr, scope);
    const code = inForm(form, expr.type, value);
    return value.form === form || expr.kind === 'const' ? code : this.keep(scope, valueType(expr.type, form), code);
  }

  #select({ type, condition, x, y }: Extract<Expr, { kind: 'select' }>, scope: Scope): Value {
    const chosen = this.value(condition, scope);
    const differs = chosen.form === 'lanes' || this.differs(x, scope) || this.differs(y, scope);
    const form: Form = type === 'float' || differs ? 'lanes' : 'scalar';
    const [left, right] = [x, y].map((each) => this.valueIn(form, each, scope));
    if (chosen.form === 'lanes') {
      const mask = type === 'float' ? this.floats.widen(chosen.code) : chosen.code;
      return { form, code: v128.select(left, right, mask) };
    }
    return { form, code: choose(chosen.code, left, right) };
  }

  #cast(x: Expr, to: ExprType, scope: Scope): Value {
    const value = this.value(x, scope);
    const { form, code } = value;
    const keep: Keep = (each) => this.keep(scope, valueType(x.type, form), each);
    const { floats } = this;
    const { ne, lt, abs, const: number } = floats.code;
    if (to === 'float') {
      if (x.type === 'i64' && form === 'scalar') return { form: 'lanes', code: floats.ofLong(code) };
      if (x.type === 'bool' && form === 'lanes') return { form, code: v128.and(floats.widen(code), number(1)) };
      return { form: 'lanes', code: floats.code.ofIntegers(form === 'lanes' ? code : i32x4.splat(code)) };
    }
    if (x.type === 'float') {
      if (to === 'bool') return this.#floatResult('ne', ne(code, number(0)), scope, x);
      if (to === 'i64') {
        if (this.differs(x, scope)) throw new NeedsSingleSteps(scope.lanes!.axis);
        // The least integer where a float is beyond the range, as a processor gives it.
        const inRange = i32x4.allTrue(lt(abs(code), number(2 ** 63)));
        return { form: 'scalar', code: choose(inRange, floats.toLong(code), i64.const(-(2n ** 63n))) };
      }
      const inRange = floats.narrow(lt(abs(code), number(2 ** 31)), keep);
      const least = -0x80000000;
      const whole = v128.select(floats.toIntegers(code), v128.words(least, least, least, least), inRange);
      return this.differs(x, scope) ? { form, code: whole } : { form: 'scalar', code: i32x4.extract(whole, 0) };
    }
    if (to === 'bool') {
      if (form === 'lanes') return { form, code: i32x4.ne(code, v128.zero) };
      return { form, code: x.type === 'i64' ? i64.ne(code, i64.const(0n)) : i32.ne(code, i32.const(0)) };
    }
    if (form === 'lanes') {
      if (to === 'i64') throw new NeedsSingleSteps(scope.lanes!.axis);
      return { form, code: x.type === 'bool' ? v128.and(code, v128.words(1, 1, 1, 1)) : keep(code) };
    }
    if (to === 'i64') return { form, code: x.type === 'bool' ? i64.ofUnsigned(code) : i64.ofInteger(code) };
    return { form, code: x.type === 'i64' ? i32.ofLong(code) : code };
  }

  // ---- loops

  /** Runs `body` for all values of `axes`, one loop in the other, one step at a time. */
  loops(axes: readonly AxisExpr[], scope: Scope, body: (scope: Scope) => void): void {
    if (axes.length === 0) {
      body(scope);
      return;
    }
    const [axis, ...rest] = axes;
    this.steps(axis, i32.const(0), this.valueIn('scalar', axis.extent, scope), scope, (inner) =>
      this.loops(rest, inner, body),
    );
  }

  /** One step at a time from `start` to `end`. */
  steps(axis: AxisExpr, start: Code, end: Code, scope: Scope, body: (scope: Scope) => void): void {
    const index = this.body.integer();
    const inner = scope.open();
    inner.bind(axis, { form: 'scalar', code: index.get });
    body(inner);
    scope.code.push(countUp(index, start, end, 1, inner.code));
  }

  /** A vector's steps of so many groups at a time, as long as there are as many; where the rest begins. */
  laneSteps(axis: AxisExpr, start: Code, end: Code, scope: Scope, groups: number, body: (scope: Scope) => void): Code {
    const lanes: Lanes = { axis, firsts: this.body.integers(groups) };
    const each = this.floats.lanes;
    const size = each * groups;
    const whole = this.keep(scope, 'i32', i32.add(start, i32.and(i32.sub(end, start), i32.const(-size))));
    const inner = scope.openLanes(lanes);
    const [first, ...others] = lanes.firsts;
    others.forEach((other, at) => inner.code.push(other.set(i32.add(first.get, i32.const(each * (at + 1))))));
    body(inner);
    scope.code.push(countUp(first, start, whole, size, inner.code));
    return whole;
  }

  /** Whether a loop goes over four steps at once. */
  takesLanes(axis: AxisExpr, scope: Scope): boolean {
    return !this.singleSteps.has(axis) && scope.lanes === null;
  }

  /** Runs `body` for all steps of an axis, four at a time where that goes, or so many groups of four. */
  allSteps(axis: AxisExpr, start: Code, end: Code, scope: Scope, body: (scope: Scope) => void, groups = 1): void {
    let from = start;
    if (this.takesLanes(axis, scope)) {
      if (groups > 1) from = this.laneSteps(axis, from, end, scope, groups, body);
      from = this.laneSteps(axis, from, end, scope, 1, body);
    }
    this.steps(axis, from, end, scope, body);
  }

  /** Runs `body` for the points of `axes` from `from` to `to`, one after the other. */
  points(axes: readonly AxisExpr[], from: Code, to: Code, scope: Scope, body: (scope: Scope) => void): void {
    const point = this.body.integer();
    const inner = scope.open();
    // What a point changes stays within the loop over points.
    for (const axis of axes) inner.axes.add(axis);
    this.unflatten(axes, point.get, inner);
    body(inner);
    scope.code.push(countUp(point, from, to, 1, inner.code));
  }

  /** Gives `axes` their values from a flat position, the last axis running fastest. */
  unflatten(axes: readonly AxisExpr[], flat: Code, scope: Scope): void {
    let rest = flat;
    for (let position = axes.length - 1; position >= 0; position--) {
      const axis = axes[position];
      let code = rest;
      if (position > 0) {
        const extent = this.valueIn('scalar', axis.extent, scope);
        const next = this.keep(scope, 'i32', i32.divUnsigned(rest, extent));
        code = this.keep(scope, 'i32', i32.sub(rest, i32.mul(next, extent)));
        rest = next;
      }
      scope.bind(axis, { form: 'scalar', code });
    }
  }

  /** Runs `body` where a condition holds. */
  guarded(condition: Code, scope: Scope, body: (scope: Scope) => void): void {
    const inner = scope.openGuard();
    body(inner);
    scope.code.push(when(condition, inner.code));
  }
}

const sumOf = (terms: readonly Expr[]): Expr => terms.reduce((x, y) => binary('add', x, y), constant('i32', 0) as Expr);

const predicates = new Set(['isnan', 'isinf', 'isfinite', 'signbit', 'eq', 'ne', 'lt', 'le', 'gt', 'ge']);

function undefinedFunction(fn: string, type: ExprType): CressetError {
  return new CressetError('DEVICE_FUNCTION', `the function ${fn} is not defined for values of type ${type}`);
}
