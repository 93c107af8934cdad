import type { Type } from '@cresset/ir';

/** A variable known to be of a narrower type. */
export interface Refinement {
  readonly name: string;
  readonly type: Type;
}

/**
 * What is known of variables where a condition holds, and where it does not (PyTorch: RefinementSet): `x is None`, `isinstance(x, int)`, and
 * what `and`, `or` and `not` make of such.
 */
export class RefinementSet {
  readonly whenTrue: readonly Refinement[];
  readonly whenFalse: readonly Refinement[];

  constructor(whenTrue: readonly Refinement[] = [], whenFalse: readonly Refinement[] = []) {
    this.whenTrue = whenTrue;
    this.whenFalse = whenFalse;
  }

  /** Both hold, or one of them does not: nobody knows which. */
  and(other: RefinementSet): RefinementSet {
    return new RefinementSet(union(this.whenTrue, other.whenTrue), intersection(this.whenFalse, other.whenFalse));
  }

  or(other: RefinementSet): RefinementSet {
    return new RefinementSet(intersection(this.whenTrue, other.whenTrue), union(this.whenFalse, other.whenFalse));
  }

  not(): RefinementSet {
    return new RefinementSet(this.whenFalse, this.whenTrue);
  }
}

/** Refinements of one variable to different types cancel each other. */
function union(left: readonly Refinement[], right: readonly Refinement[]): readonly Refinement[] {
  const result = [...left];
  for (const refinement of right) {
    const index = result.findIndex((known) => known.name === refinement.name);
    if (index === -1) {
      result.push(refinement);
    } else if (!result[index]!.type.equals(refinement.type)) {
      result.splice(index, 1);
    }
  }
  return result;
}

function intersection(left: readonly Refinement[], right: readonly Refinement[]): readonly Refinement[] {
  return left.filter((refinement) => {
    const other = right.find((known) => known.name === refinement.name);
    return other !== undefined && other.type.equals(refinement.type);
  });
}
