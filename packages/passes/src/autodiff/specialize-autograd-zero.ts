import {
  BoolType,
  isDictConstant,
  ListType,
  TensorType,
  type Block,
  type Graph,
  type Node,
  type Value,
} from '@cresset/ir';
import { replaceByFallbackGraph } from '../fusion/tensorexpr/type-guard.ts';

/** What is known of a gradient: null is what was looked at and may be either. */
type State = 'zero' | 'nonzero' | null;

const ofBackwardGraphs: ReadonlySet<string> = new Set([
  'prim::AutogradAnyNonZero',
  'prim::AutogradAdd',
  'aten::_grad_sum_to_size',
]);

/**
 * Takes out of a backward graph, whose linear blocks are Ifs (`lowerGradOf`), what follows from gradients that are zero and from those that
 * are not: sums become sums or go, blocks that run always are put in place and those that never do are zero (PyTorch: specializeAutogradZero).
 *
 * @param profiled what holds is what was seen in a profiled run, and is checked: the graph becomes an If, with itself as it was in the other
 *   branch. Else types of inputs tell.
 */
export function specializeAutogradZero(graph: Graph, profiled = true): void {
  if (![...graph.nodes()].some(({ kind }) => ofBackwardGraphs.has(kind))) return;
  const specializer = new AutogradZeroSpecializer(graph);
  const block = profiled ? specializer.guard() : specializer.trustInputTypes();
  if (block) specializer.specialize(block);
}

class AutogradZeroSpecializer {
  readonly #states = new Map<Value, State>();
  /** Sizes that were None in every run: nothing was broadcast there. */
  readonly #noneSizes = new Set<Value>();

  constructor(private readonly graph: Graph) {}

  trustInputTypes(): Block {
    for (const input of this.graph.inputs) {
      const { type } = input;
      if (type instanceof TensorType) this.#states.set(input, stateOf(type));
      else this.#states.set(input, type.isSubtypeOf(new ListType(TensorType.get())) ? 'nonzero' : null);
    }
    return this.graph.block;
  }

  /** Puts the graph behind a check of what was seen (PyTorch: guardSpecializations). Undefined where nothing was. */
  guard(): Block | undefined {
    const { graph } = this;
    const branch = graph.create('prim::If', [], graph.outputs.length);
    const [specialized, otherwise] = [branch.addBlock(), branch.addBlock()];
    for (const block of branch.blocks) cloneGraphInto(block);
    replaceByFallbackGraph(otherwise, graph.inputs);
    const original = [...graph.nodes()];
    const checks = graph.withInsertPoint(graph.block, () => this.#checks());
    if (!checks) {
      branch.destroy();
      return undefined;
    }
    graph.withInsertPoint(graph.block, () => {
      const list = graph.insertNode(graph.createList(BoolType.get(), checks)).output();
      branch.addInput(graph.insert('aten::all', [list]));
      graph.insertNode(branch);
    });
    graph.outputs.forEach((output, index) => {
      graph.returnNode.replaceInput(index, branch.output(index).copyMetadata(output));
    });
    for (const node of original.reverse()) if (!node.isDestroyed) node.destroy();
    return specialized;
  }

  /** Undefined where nothing is known of any gradient. */
  #checks(): readonly Value[] | undefined {
    const { graph } = this;
    const none = graph.insertConstant(null);
    const checks: Value[] = [];
    for (const input of graph.inputs) {
      const counts = input.uses.find(({ user }) => user.kind === 'prim::profile_ivalue')?.user;
      if (counts) {
        if (wasAlwaysNone(counts)) {
          checks.push(graph.insert('aten::__is__', [input, none]));
          this.#noneSizes.add(input);
        }
        forgetCounts(input);
        continue;
      }
      if (!(input.type instanceof TensorType)) continue;
      const profile = input.uses.find(({ user }) => user.kind === 'prim::profile')?.user;
      const state = profile && stateOf(profile.ty('profiled_type') as TensorType);
      if (state) this.#states.set(input, state);
    }
    const known = (state: State): Value[] => graph.inputs.filter((input) => this.#states.get(input) === state);
    const [nonzero, zero] = [known('nonzero'), known('zero')];
    if (nonzero.length + zero.length === 0) return undefined;
    const all = (kind: string, values: readonly Value[]): Value =>
      graph.insertNode(graph.create(kind, values)).output().setType(BoolType.get());
    return [...checks, all('prim::AutogradAllNonZero', nonzero), all('prim::AutogradAllZero', zero)];
  }

  specialize(block: Block): void {
    for (const node of block.nodes()) {
      switch (node.kind) {
        case 'prim::AutogradAdd':
          this.#specializeAdd(node);
          break;
        case 'prim::AutogradZero':
          this.#states.set(node.output(), 'zero');
          break;
        case 'prim::profile':
          if (node.inputs.length > 0) this.#states.set(node.output(), this.#stateOf(node.input()));
          break;
        case 'prim::BailOut': {
          const { type } = node.output();
          if (type instanceof TensorType) this.#states.set(node.output(), stateOf(type));
          break;
        }
        case 'prim::If':
          this.#specializeLinear(node);
          break;
      }
    }
  }

  #stateOf(value: Value): State {
    return this.#states.get(value) ?? null;
  }

  #specializeAdd(sum: Node): void {
    const [a, b] = sum.inputs;
    const [ofA, ofB] = [this.#stateOf(a), this.#stateOf(b)];
    if (ofA === 'zero' || ofB === 'zero') {
      sum.output().replaceAllUsesWith(ofA === 'zero' ? b : a);
      sum.destroy();
    } else if (ofA === 'nonzero' && ofB === 'nonzero') {
      const { graph } = this;
      const added = graph.withInsertPoint(sum, () => {
        const one = graph.insertConstant(1n);
        return graph.insertNode(graph.create('aten::add', [a, b, one])).output();
      });
      added.setType(sum.output().type);
      this.#states.set(added, 'nonzero');
      sum.output().replaceAllUsesWith(added);
      sum.destroy();
    }
  }

  #specializeLinear(branch: Node): void {
    const condition = branch.input(0).node;
    if (condition.kind !== 'prim::AutogradAnyNonZero') return;
    const states = new Set(condition.inputs.map((input) => this.#stateOf(input)));
    const [body] = branch.blocks;
    if (states.size === 1 && states.has('zero')) {
      const zero = this.graph.createAutogradZero().insertAfter(branch).output();
      this.#states.set(zero, 'zero');
      for (const output of branch.outputs) output.replaceAllUsesWith(zero);
      branch.destroy();
      return;
    }
    for (const node of body.nodes()) this.#specializeSumToSize(node);
    if (states.size > 1 || !states.has('nonzero')) return;
    for (const node of Array.from(body.nodes())) node.moveBefore(branch);
    branch.outputs.forEach((output, index) => {
      output.replaceAllUsesWith(body.outputs[index]);
      this.#states.set(body.outputs[index], 'nonzero');
    });
    branch.destroy();
  }

  #specializeSumToSize(node: Node): void {
    if (node.kind !== 'aten::_grad_sum_to_size') return;
    const [gradient, size] = node.inputs;
    if (!size.mustBeNone() && !this.#noneSizes.has(size)) return;
    node.output().replaceAllUsesWith(gradient);
    node.destroy();
  }
}

function stateOf({ undefinedness }: TensorType): State {
  return undefinedness === null ? null : undefinedness ? 'zero' : 'nonzero';
}

/** A copy of a graph in a block of a node of it, which uses the graph's inputs. */
function cloneGraphInto(block: Block): void {
  const graph = block.owningGraph;
  block.cloneFrom(graph.block, (value) => value);
  graph.inputs.forEach((input, index) => block.inputs[index].replaceAllUsesWith(input));
  for (let index = graph.inputs.length - 1; index >= 0; index--) block.eraseInput(index);
}

function wasAlwaysNone(counts: Node): boolean {
  const value = counts.ival('none_counts');
  const entries = isDictConstant(value) ? value.entries : new Map<unknown, unknown>();
  return entries.get('num_present') === 0n && entries.get('num_none') !== 0n;
}

function forgetCounts(input: Value): void {
  const counts = input.uses.map(({ user }) => user).filter(({ kind }) => kind === 'prim::profile_ivalue');
  for (const node of counts) {
    node.output().replaceAllUsesWith(input);
    node.destroy();
  }
}
