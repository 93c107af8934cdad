import { TensorType, type Graph, type Node, type Value } from '@cresset/ir';
import { countNones, insertNoneCounts, instrumentGraph } from '@cresset/passes';
import { Tensor, type IValue } from '@cresset/tensor';
import type { Callback } from '../interpreter/code/instruction.ts';
import { typeOfTensor } from './tensor-types.ts';

/** Watches a graph run, as often as it was told to, and writes into its `prim::profile` nodes what it sees (torch::jit::ProfilingRecord). */
export class ProfilingRecord {
  #runsLeft: number;
  /** Nodes that have met a tensor: before that, their type says nothing. */
  readonly #hasSeenTensor = new Set<Node>();

  constructor(
    readonly graph: Graph,
    runs: number,
    private readonly gradEnabled: boolean,
  ) {
    instrumentGraph(graph);
    insertNoneCounts(graph);
    this.#runsLeft = runs;
  }

  /** Whether it has seen as many runs as it was to. */
  get isReady(): boolean {
    return this.#runsLeft <= 0;
  }

  callbackOf(node: Node): Callback | undefined {
    if (node.kind === 'prim::profile_ivalue') return this.#counterOf(node);
    if (node.kind !== 'prim::profile') return undefined;
    if (node.inputs.length > 0) return (inputs) => (this.#note(node, inputs[0]), inputs);
    return () => {
      this.#runsLeft--;
      return [];
    };
  }

  #counterOf(node: Node): Callback {
    let [none, present] = [0, 0];
    return (inputs) => {
      if (!this.isReady)
        countNones(node, inputs[0] === null ? { none: ++none, present } : { none, present: ++present });
      return inputs;
    };
  }

  #note(node: Node, value: IValue): void {
    if (this.isReady) return;
    if (value === null && mayBeUninitialized(node.input())) return;
    // Where no Optional is, None is a tensor that is undefined: a gradient that is zero.
    const isUndefined = value === null && node.output().type instanceof TensorType;
    if (value === null && !isUndefined) node.setI('seen_none', 1);
    if (!(value instanceof Tensor) && !isUndefined) return;
    const seen = typeOfTensor(value as Tensor | null, this.gradEnabled);
    const known = node.ty('profiled_type') as TensorType;
    node.setTy('profiled_type', this.#hasSeenTensor.has(node) ? seen.merge(known) : seen);
    this.#hasSeenTensor.add(node);
  }
}

/** Whether a value is one that nothing computes where a block ended early, or comes of such a one. */
function mayBeUninitialized(value: Value, seen = new Set<Value>()): boolean {
  if (seen.has(value)) return false;
  seen.add(value);
  const { node, offset } = value;
  const sources = (): Value[] => {
    if (node.kind === 'prim::If') return node.blocks.map(({ outputs }) => outputs[offset]);
    if (node.kind === 'prim::Loop') return [node.input(offset + 2), node.blocks[0].outputs[offset + 1]];
    const loop = node.kind === 'prim::Param' ? node.owningBlock.owningNode : null;
    if (loop?.kind === 'prim::Loop' && offset > 0) return [loop.input(offset + 1), node.owningBlock.outputs[offset]];
    return node.kind === 'prim::profile' ? [...node.inputs] : [];
  };
  return node.kind === 'prim::Uninitialized' || sources().some((source) => mayBeUninitialized(source, seen));
}
