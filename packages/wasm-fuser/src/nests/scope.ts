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

/**
 * A loop that takes four steps at once, or several times four: groups, which share all that does not change along the loop. Of each group
 * the axis of its first step is in a local.
 */
export interface Lanes {
  readonly axis: AxisExpr;
  readonly firsts: readonly Local[];
}

/** Which group of a loop over lanes code is written for. */
export class Groups {
  #current = 0;

  get current(): number {
    return this.#current;
  }

  /** What `write` gives for each of so many groups. */
  each<Result>(count: number, write: (group: number) => Result): Result[] {
    const before = this.#current;
    const results = Array.from({ length: count }, (_, group) => {
      this.#current = group;
      return write(group);
    });
    this.#current = before;
    return results;
  }

  /** A value that has other code in each group. */
  value(form: Form, codes: readonly Code[]): Value {
    return new GroupedValue(form, codes, this);
  }
}

class GroupedValue implements Value {
  constructor(
    readonly form: Form,
    private readonly codes: readonly Code[],
    private readonly groups: Groups,
  ) {}

  get code(): Code {
    return this.codes[this.groups.current];
  }
}

/** A block of code, the axes that have their values in it, and the values that are known in it. */
export class Scope {
  readonly code: Code[] = [];
  readonly axes = new Set<AxisExpr>();
  readonly #values = new Map<Expr, Value>();
  /** Values in the first lane alone, of indices, in each group. */
  readonly #first = new Map<Expr, readonly Code[]>();

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

  bindFirst(expr: Expr, codes: readonly Code[]): void {
    this.#first.set(expr, codes);
  }

  valueOf(expr: Expr): Value | undefined {
    return this.#values.get(expr) ?? this.parent?.valueOf(expr);
  }

  firstOf(expr: Expr): readonly Code[] | undefined {
    return this.#first.get(expr) ?? this.parent?.firstOf(expr);
  }
}
