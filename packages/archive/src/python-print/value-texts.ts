import { CressetError, type Value } from '@cresset/ir';
import type { NameTable } from './identifiers.ts';
import type { TaggedText } from './tagged-text.ts';

/** How each value is written where it is used: as the variable it was assigned to, or as an expression. */
export class ValueTexts {
  readonly #names: NameTable;
  readonly #variables = new Map<Value, string>();
  readonly #expressions = new Map<Value, string | TaggedText>();

  constructor(names: NameTable) {
    this.#names = names;
  }

  /** Once a value has been assigned to a variable, that is what counts. */
  of(value: Value): string | TaggedText {
    const text = this.#variables.get(value) ?? this.#expressions.get(value);
    if (text === undefined) {
      throw new CressetError('NOT_PRINTABLE', `%${value.debugName} is used before anything gives it a value`);
    }
    return text;
  }

  setVariable(value: Value, name: string): void {
    this.#variables.set(value, name);
  }

  setExpression(value: Value, text: string | TaggedText): void {
    this.#expressions.set(value, text);
  }

  hasExpression(value: Value): boolean {
    return this.#expressions.has(value);
  }

  /** Makes each value a variable of its own: with its own name as far as that is free, or `_0`, `_1`, …. */
  nameAll(values: readonly Value[]): void {
    for (const value of values) {
      this.setVariable(value, this.#names.unique(value.hasDebugName() ? value.debugNameBase : '_'));
    }
  }
}
