import { type Block, constantValue, type Node, type Value } from '@cresset/ir';

/** What values are known to be at a place in a program: ints themselves, or the lengths of lists. */
export type Refinements = Map<Value, bigint>;

/** What follows from a bool's being true, and from its being false. */
interface Consequences {
  readonly whenTrue: Refinements;
  readonly whenFalse: Refinements;
}

const none: Consequences = { whenTrue: new Map(), whenFalse: new Map() };

/**
 * Follows what comparisons tell of values through a program (PyTorch: value_refinement_utils): into the branches that they decide,
 * through `and`, `or` and `not`, and past an If of which one branch always throws.
 */
export class ValueRefinements {
  readonly #consequences = new Map<Value, Consequences>();
  readonly #throwing = new Set<Block>();
  readonly #active: Refinements[] = [];

  /** Says that `subject` is `value` where the outcome of `==` is true, or of `!=` false. */
  noteComparison(comparison: Node, subject: Value, value: bigint): void {
    const refined: Refinements = new Map([[subject, value]]);
    const isEqual = comparison.kind === 'aten::eq';
    this.#consequences.set(comparison.output(), {
      whenTrue: isEqual ? refined : new Map(),
      whenFalse: isEqual ? new Map() : refined,
    });
  }

  /** What a value is known to be at the place where the walk is. */
  find(value: Value): bigint | undefined {
    for (const known of this.#active) if (known.has(value)) return known.get(value);
    return undefined;
  }

  /** Runs `body` within a block; gives what is known at its end. */
  within(known: ReadonlyMap<Value, bigint>, body: (known: Refinements) => void): Refinements {
    const refinements = new Map(known);
    this.#active.push(refinements);
    body(refinements);
    this.#active.pop();
    return refinements;
  }

  /** What holds in the two branches of an If. */
  branchesOf(conditional: Node): readonly [whenTrue: Refinements, whenFalse: Refinements] {
    const { whenTrue, whenFalse } = this.#consequences.get(conditional.input()) ?? none;
    return [whenTrue, whenFalse];
  }

  /** Takes over what is known after an If, of which the branches ended with `whenTrue` and `whenFalse`, into its block's `known`. */
  join(conditional: Node, known: Refinements, [whenTrue, whenFalse]: readonly [Refinements, Refinements]): void {
    const [then, otherwise] = conditional.blocks;
    const [thenThrows, otherwiseThrows] = [this.#throwing.has(then), this.#throwing.has(otherwise)];
    if (thenThrows && otherwiseThrows) {
      this.#throwing.add(conditional.owningBlock);
    } else if (thenThrows || otherwiseThrows) {
      for (const [value, size] of thenThrows ? whenFalse : whenTrue) if (!known.has(value)) known.set(value, size);
      const taken = thenThrows ? otherwise : then;
      conditional.outputs.forEach((output, index) => {
        const consequences = this.#consequences.get(taken.outputs[index]);
        if (consequences) this.#consequences.set(output, consequences);
      });
    } else {
      this.#joinOutputs(conditional, whenTrue, whenFalse);
    }
  }

  /** Bools that come out of an If: `a and b` is one with a constant in a branch. As in PyTorch, the first other output ends it. */
  #joinOutputs(conditional: Node, inThen: Refinements, inOtherwise: Refinements): void {
    const [then, otherwise] = conditional.blocks;
    for (const [index, output] of conditional.outputs.entries()) {
      if (output.type.kind !== 'BoolType') return;
      const [left, right] = [then.outputs[index], otherwise.outputs[index]];
      const [ofLeft, ofRight] = [this.#consequences.get(left), this.#consequences.get(right)];
      const [isLeft, isRight] = [constantValue(left), constantValue(right)];
      let joined: Consequences = none;
      if (ofLeft && ofRight) {
        joined = {
          whenTrue: intersection(ofLeft.whenTrue, ofRight.whenTrue),
          whenFalse: intersection(ofLeft.whenFalse, ofRight.whenFalse),
        };
      } else if (typeof isLeft === 'boolean') {
        joined = impliedUnless(isLeft, ofRight ?? none, inOtherwise);
      } else if (typeof isRight === 'boolean') {
        joined = impliedUnless(isRight, ofLeft ?? none, inThen);
      } else if (!ofLeft && !ofRight) return;
      this.#consequences.set(output, joined);
    }
  }

  /** What any other node does: throwing, and negation in its several forms. */
  noteNode(node: Node): void {
    switch (node.kind) {
      case 'prim::RaiseException':
        this.#throwing.add(node.owningBlock);
        return;
      case 'aten::__not__': {
        const consequences = this.#consequences.get(node.input());
        if (consequences) this.#consequences.set(node.output(), negated(consequences));
        return;
      }
      case 'aten::eq':
      case 'aten::ne':
        for (const index of [0, 1]) {
          const constant = constantValue(node.input(index));
          const consequences = this.#consequences.get(node.input(1 - index));
          if (typeof constant !== 'boolean' || !consequences) continue;
          const isSame = constant === (node.kind === 'aten::eq');
          this.#consequences.set(node.output(), isSame ? consequences : negated(consequences));
        }
        return;
      default:
    }
  }
}

/** A comparison of two ints, with the index of the one that is no constant; null for other nodes, and one where both are. */
export function comparisonWithConstant(node: Node): readonly { subject: Value; constant: bigint }[] {
  if (node.kind !== 'aten::eq' && node.kind !== 'aten::ne') return [];
  if (node.inputs.length !== 2 || node.inputs.some(({ type }) => type.kind !== 'IntType')) return [];
  return [0, 1].flatMap((index) => {
    const constant = constantValue(node.input(index));
    return typeof constant === 'bigint' ? [{ subject: node.input(1 - index), constant }] : [];
  });
}

function negated({ whenTrue, whenFalse }: Consequences): Consequences {
  return { whenTrue: whenFalse, whenFalse: whenTrue };
}

function intersection(left: Refinements, right: Refinements): Refinements {
  return new Map([...left].filter(([value, size]) => right.get(value) === size));
}

/** Of a bool that is `constant` in one branch: were it not, it came from the other branch, with all that is known there. */
function impliedUnless(constant: boolean, other: Consequences, inOther: Refinements): Consequences {
  return constant
    ? { whenTrue: new Map(), whenFalse: new Map([...inOther, ...other.whenFalse]) }
    : { whenTrue: new Map([...inOther, ...other.whenTrue]), whenFalse: new Map() };
}
