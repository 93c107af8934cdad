import type { AxisExpr, Expr, ExprType } from '@cresset/tensorexpr';
import { i32, i32x4, type Code, type Local } from '../code.ts';
import type { ValueType } from '../module.ts';

/** How a value lies while it is computed: as one number, or as four lanes, of which those of a loop over lanes differ. */
export type Form = 'scalar' | 'lanes';

/** A value that code gives, as often as it is asked for. */
export interface Value {
  readonly form: Form;
  readonly code: Code;
}

export function valueType(type: ExprType, form: Form): ValueType {
  if (form === 'lanes') return 'v128';
  return type === 'i64' ? 'i64' : 'i32';
}

/** A value in another form: one number in all lanes, or the first of them. */
export function inForm(form: Form, type: ExprType, value: Value): Code {
  if (value.form === form) return value.code;
  if (form === 'lanes') {
    const all = i32x4.splat(value.code);
    return type === 'bool' ? i32x4.neg(all) : all;
  }
  const one = i32x4.extract(value.code, 0);
  return type === 'bool' ? i32.and(one, i32.const(1)) : one;
}

/** A loop that takes four steps at once: its axis is that of the first of them, in a local. */
export interface Lanes {
  readonly axis: AxisExpr;
  readonly first: Local;
}

/** A block of code, the axes that have their values in it, and the values that are known in it. */
export class Scope {
  readonly code: Code[] = [];
  readonly axes = new Set<AxisExpr>();
  readonly #values = new Map<Expr, Value>();
  /** Values in the first lane alone, of indices. */
  readonly #first = new Map<Expr, Code>();

  private constructor(
    readonly parent: Scope | null,
    /** The loop over lanes that it stands in; null where every value is one. */
    readonly lanes: Lanes | null,
    /** It does not run for every point. */
    readonly isGuard: boolean,
  ) {}

  static root(): Scope {
    return new Scope(null, null, false);
  }

  open(): Scope {
    return new Scope(this, this.lanes, false);
  }

  openGuard(): Scope {
    return new Scope(this, this.lanes, true);
  }

  openLanes(lanes: Lanes): Scope {
    const scope = new Scope(this, lanes, false);
    scope.axes.add(lanes.axis);
    return scope;
  }

  bind(expr: Expr, value: Value): void {
    if (expr.kind === 'axis') this.axes.add(expr);
    this.#values.set(expr, value);
  }

  bindFirst(expr: Expr, code: Code): void {
    this.#first.set(expr, code);
  }

  valueOf(expr: Expr): Value | undefined {
    return this.#values.get(expr) ?? this.parent?.valueOf(expr);
  }

  firstOf(expr: Expr): Code | undefined {
    return this.#first.get(expr) ?? this.parent?.firstOf(expr);
  }
}
