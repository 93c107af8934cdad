import { OptionalType, TensorType, TupleType, type Graph, type ScalarTypeName, type Type } from '@cresset/ir';
import { Tensor, Tuple, type IValue } from '@cresset/tensor';

/** Tuples within tuples are looked into so far. */
const MAX_DEPTH = 128;

/**
 * What a plan may count on of the arguments it was made for: of every tensor whether it is defined, its dtype, rank, device and whether it
 * requires a gradient; of every Optional whether it is there; and the same of what lies in tuples (torch::jit::ArgumentSpec).
 */
export interface ArgumentSpec {
  /** Equal for equal specs. */
  readonly key: string;
  /** For each input of the graph the most that is true of its values; null where it is None whatever its type says. */
  readonly types: readonly (Type | null)[];
}

/** Makes the ArgumentSpecs of a graph's arguments (torch::jit::ArgumentSpecCreator). */
export class ArgumentSpecCreator {
  readonly #types: readonly Type[];

  constructor(graph: Graph) {
    this.#types = graph.inputs.map(({ type }) => type);
  }

  create(args: readonly IValue[], gradEnabled: boolean): ArgumentSpec {
    const key: string[] = [];
    const types = this.#types.map((type, at) => specialize(type, args[at], gradEnabled, key, 0));
    return { key: key.join(' '), types };
  }
}

/** Gives inputs their types; one that is None becomes a constant (PyTorch: ArgumentSpecCreator::specializeTypes). */
export function specializeTypes(graph: Graph, { types }: ArgumentSpec): void {
  graph.inputs.forEach((input, at) => {
    const type = types[at];
    if (type !== null) {
      input.setType(type);
      return;
    }
    const none = graph.withInsertPoint(graph.paramNode.next, () => graph.insertConstant(null));
    input.replaceAllUsesWith(none);
  });
}

function specialize(type: Type, value: IValue, gradEnabled: boolean, key: string[], depth: number): Type | null {
  if (type instanceof TensorType) return specializeTensor(value, gradEnabled, key);
  if (type instanceof OptionalType) {
    key.push(value === null ? '-' : '+');
    if (value === null) return null;
    return type.elementType instanceof TensorType ? specializeTensor(value, gradEnabled, key) : type.elementType;
  }
  if (type instanceof TupleType && value instanceof Tuple && depth < MAX_DEPTH) {
    const elements = type.elements.map((element, at) => {
      const inner = specialize(element, value.items[at], gradEnabled, key, depth + 1);
      // What is taken out of a tuple is looked at where it is taken out: there it may be None.
      return inner === null || element instanceof OptionalType ? element : inner;
    });
    return new TupleType(elements, type.named);
  }
  return type;
}

function specializeTensor(value: IValue, gradEnabled: boolean, key: string[]): TensorType {
  if (!(value instanceof Tensor)) {
    key.push('u');
    return TensorType.get().withUndefined();
  }
  const { dtype, dim } = value;
  const requiresGrad = gradEnabled && value.requiresGrad;
  key.push(`${dtype}${dim}${requiresGrad ? 'g' : ''}`);
  return TensorType.create({ scalarType: dtype as ScalarTypeName, device: 'cpu', requiresGrad }).withDim(dim);
}
