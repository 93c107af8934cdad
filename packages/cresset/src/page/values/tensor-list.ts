/** The mark by which every copy of this library knows a list. */
const MARK = Symbol.for('cresset.tensorList');

/** A list of tensors among the inputs or results of what is traced, where an array would be a tuple. */
export class TensorList {
  readonly items: readonly unknown[];
  /** @internal */
  readonly [MARK] = true;

  constructor(items: readonly unknown[]) {
    this.items = items;
  }

  static [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && MARK in value;
  }
}
