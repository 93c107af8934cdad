import type { AxisExpr, Expr } from '@cresset/tensorexpr';

/** A block of WGSL under construction: its lines, the axes that have a value in it, and the names of what it computed. */
export class Scope {
  readonly lines: string[] = [];
  readonly names = new Map<Expr, string>();
  readonly axes = new Set<AxisExpr>();

  constructor(
    readonly parent: Scope | null,
    readonly indent: string,
    /** A condition, not a loop: what is used once in it needs no working out before it. */
    readonly isGuard = false,
  ) {}

  /** The block that all others are in. */
  get outermost(): Scope {
    return this.parent?.outermost ?? this;
  }

  line(text: string): void {
    this.lines.push(this.indent + text);
  }

  /** A block one level deeper; `close` appends it here. */
  open(isGuard = false): Scope {
    return new Scope(this, `${this.indent}  `, isGuard);
  }

  /** Appends a finished inner block between `head {` and `}`. */
  close(head: string, inner: Scope): void {
    this.line(`${head} {`);
    this.lines.push(...inner.lines);
    this.line('}');
  }

  /** Gives an axis a value in this block. */
  bind(axis: AxisExpr, name: string): void {
    this.axes.add(axis);
    this.names.set(axis, name);
  }

  nameOf(expr: Expr): string | undefined {
    return this.names.get(expr) ?? this.parent?.nameOf(expr);
  }
}
