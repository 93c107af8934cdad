/** Name of the alias set that may alias anything. */
export const WILDCARD_SET = '*';

/**
 * Alias annotation of an argument or a return: `(a)`, `(a!)`, `(a -> *)` (PyTorch: AliasInfo). Immutable.
 *
 * `containedTypes[0]` is the annotation of a list's elements, as in `Tensor(a!)[](b)`.
 */
export class AliasInfo {
  readonly isWrite: boolean;
  readonly beforeSets: ReadonlySet<string>;
  readonly afterSets: ReadonlySet<string>;
  readonly containedTypes: readonly AliasInfo[];

  constructor(
    isWrite: boolean,
    beforeSets: Iterable<string>,
    afterSets: Iterable<string>,
    containedTypes: readonly AliasInfo[] = [],
  ) {
    this.isWrite = isWrite;
    this.beforeSets = new Set(beforeSets);
    this.afterSets = new Set(afterSets);
    this.containedTypes = containedTypes;
  }

  /** The first set before the operator runs, where there is one. */
  get beforeSet(): string | undefined {
    return this.beforeSets.values().next().value;
  }

  get isWildcardBefore(): boolean {
    return this.beforeSets.has(WILDCARD_SET);
  }

  get isWildcardAfter(): boolean {
    return this.afterSets.has(WILDCARD_SET);
  }

  withContainedType(contained: AliasInfo): AliasInfo {
    return new AliasInfo(this.isWrite, this.beforeSets, this.afterSets, [...this.containedTypes, contained]);
  }

  toString(): string {
    const before = printSets(this.beforeSets);
    const after = printSets(this.afterSets);
    const changed =
      this.beforeSets.size !== this.afterSets.size || [...this.beforeSets].some((set) => !this.afterSets.has(set));
    return `(${before}${this.isWrite ? '!' : ''}${changed ? ` -> ${after}` : ''})`;
  }
}

/** PyTorch keeps the sets in a hash table, which hands them out last one first. */
function printSets(sets: ReadonlySet<string>): string {
  return [...sets].reverse().join('|');
}
