import { type Block, constantValue, type Graph, type Node, type Value } from '@cresset/ir';
import { comparisonWithConstant, type Refinements, ValueRefinements } from './value-refinements.ts';

/**
 * Puts constants in the place of ints that a comparison has found equal to them: `x` where `x == 4` has decided the branch, or after
 * `assert x == 4` (PyTorch: RefineIntegerValues).
 */
export function refineIntegerValues(graph: Graph): boolean {
  return mayRefine(graph.block) && new IntegerRefiner().run(graph);
}

/** Whether an int that is compared to a constant is used elsewhere too. */
function mayRefine(block: Block): boolean {
  return [...block.nodes()].some(
    (node) =>
      comparisonWithConstant(node).some(({ subject }) => subject.uses.length > 1) || node.blocks.some(mayRefine),
  );
}

class IntegerRefiner {
  readonly #refinements = new ValueRefinements();
  #changed = false;

  run(graph: Graph): boolean {
    this.#block(graph.block, new Map());
    return this.#changed;
  }

  #block(block: Block, inherited: Refinements): Refinements {
    return this.#refinements.within(inherited, (known) => {
      for (const node of block.nodes()) this.#node(node, known);
      this.#replaceInputs(block.returnNode);
    });
  }

  #node(node: Node, known: Refinements): void {
    for (const { subject, constant } of comparisonWithConstant(node)) {
      this.#refinements.noteComparison(node, subject, constant);
    }
    this.#replaceInputs(node);
    if (node.kind !== 'prim::If') {
      this.#refinements.noteNode(node);
      return;
    }
    const [whenTrue, whenFalse] = this.#refinements.branchesOf(node);
    const ends = [this.#block(node.blocks[0], whenTrue), this.#block(node.blocks[1], whenFalse)] as const;
    this.#replaceOutputs(node, ends);
    this.#refinements.join(node, known, ends);
  }

  #replaceInputs(node: Node): void {
    const graph = node.owningGraph;
    for (const input of new Set(node.inputs)) {
      const value = input.type.kind === 'IntType' ? this.#refinements.find(input) : undefined;
      if (value === undefined) continue;
      node.replaceInputWith(
        input,
        graph.withInsertPoint(node, () => graph.insertConstant(value)),
      );
      this.#changed = true;
    }
  }

  /** `1 if x == 1 else x` is `x`. */
  #replaceOutputs(node: Node, ends: readonly [Refinements, Refinements]): void {
    for (const side of [0, 1] as const) {
      node.outputs.forEach((output, index) => {
        const value = node.blocks[side].outputs[index];
        const other = constantValue(node.blocks[1 - side].outputs[index]);
        if (value.type.kind !== 'IntType' || typeof other !== 'bigint' || value.node.kind === 'prim::Constant') return;
        if (!isInScope(value, node)) return;
        if ((this.#refinements.find(value) ?? ends[1 - side].get(value)) !== other) return;
        output.replaceAllUsesWith(value);
        this.#changed = true;
      });
    }
  }
}

/** Whether a value is defined whenever `node` runs. */
function isInScope(value: Value, node: Node): boolean {
  return node.isDominatedBy(value.node);
}
