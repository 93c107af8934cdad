import type { Constant, Graph, SourceRange, Type, Value } from '@cresset/ir';

/** An argument of a call: a value, or a constant that becomes one where it is used (PyTorch: NamedValue). */
export class NamedValue {
  readonly range: SourceRange | undefined;
  /** '' for a positional argument. */
  readonly name: string;
  readonly #value: Value | undefined;
  readonly #constant: Constant;

  private constructor(range: SourceRange | undefined, name: string, value: Value | undefined, constant: Constant) {
    this.range = range;
    this.name = name;
    this.#value = value;
    this.#constant = constant;
  }

  static of(value: Value, range?: SourceRange, name = ''): NamedValue {
    return new NamedValue(range, name, value, null);
  }

  static ofConstant(constant: Constant, range?: SourceRange, name = ''): NamedValue {
    return new NamedValue(range, name, undefined, constant);
  }

  /** The value; a constant is inserted into `graph`. */
  value(graph: Graph): Value {
    return this.#value ?? graph.insertConstant(this.#constant, this.range);
  }

  /** The type of an argument that is a value already. */
  get type(): Type | undefined {
    return this.#value?.type;
  }
}

export function toValues(graph: Graph, args: readonly NamedValue[]): Value[] {
  return args.map((arg) => arg.value(graph));
}
