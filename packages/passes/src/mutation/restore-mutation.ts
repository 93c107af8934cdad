import { AliasDb, type Block, type Graph, type Node, TensorType } from '@cresset/ir';
import { hasSideEffectOrAlias, removeTensorMutation } from './remove-mutation.ts';

/** Activations, and whether they may give another dtype than they were given. */
const activations: ReadonlyMap<string, boolean> = new Map([
  ['aten::sigmoid', true],
  ['aten::tanh', true],
  ['aten::celu', false],
  ['aten::elu', false],
  ['aten::gelu', false],
  ['aten::glu', false],
  ['aten::hardsigmoid', false],
  ['aten::hardswish', false],
  ['aten::hardtanh', false],
  ['aten::leaky_relu', false],
  ['aten::prelu', false],
  ['aten::relu6', false],
  ['aten::relu', false],
  ['aten::rrelu', false],
  ['aten::selu', false],
  ['aten::silu', false],
]);

/** Lets activations write to their argument where nothing else needs it (PyTorch: FunctionalToInplaceActivation). */
export function functionalToInplaceActivation(graph: Graph): boolean {
  return new InplaceRewriter(graph).run(graph.block);
}

/** The other way round (PyTorch: InplaceToFunctionalActivation). */
export function inplaceToFunctionalActivation(graph: Graph): boolean {
  const filter = ({ kind }: Node): boolean => kind.endsWith('_') && activations.has(kind.slice(0, -1));
  return removeTensorMutation(graph, { filter });
}

class InplaceRewriter {
  #aliasDb: AliasDb | null = null;

  constructor(private readonly graph: Graph) {}

  run(block: Block): boolean {
    let changed = false;
    for (const node of block.nodes()) {
      for (const inner of node.blocks) changed = this.run(inner) || changed;
      if (!this.#canWrite(node)) continue;
      const inPlace = node.replaceWithNewSymbol(`${node.kind}_`);
      inPlace.output().replaceAllUsesWith(node.input(0));
      this.#aliasDb?.replaceWithNewValue(node.output(), inPlace.output());
      node.destroy();
      changed = true;
    }
    return changed;
  }

  #canWrite(node: Node): boolean {
    const mayPromote = activations.get(node.kind);
    if (mayPromote === undefined) return false;
    const [input] = node.inputs;
    if (mayPromote) {
      const given = input.type instanceof TensorType ? input.type.scalarType : undefined;
      const { type } = node.output();
      if (given === undefined || !(type instanceof TensorType) || type.scalarType !== given) return false;
    }
    this.#aliasDb ??= AliasDb.of(this.graph);
    return !hasSideEffectOrAlias(input, this.#aliasDb) && input.uses.length === 1;
  }
}
