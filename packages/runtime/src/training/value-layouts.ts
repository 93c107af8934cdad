import { Dict, List, ScriptObject, Tensor, Tuple, type IValue, type ScalarType } from '@cresset/tensor';

/** All values that lie in `roots`, containers and objects among them, each object once, in an order that goes by the structure alone. */
export function valuesIn(roots: readonly IValue[]): IValue[] {
  const found: IValue[] = [];
  const seen = new Set<object>();
  const pending = roots.toReversed();
  while (pending.length > 0) {
    const value = pending.pop() as IValue;
    found.push(value);
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    if (value instanceof List || value instanceof Tuple) pending.push(...value.items.toReversed());
    else if (value instanceof Dict) pending.push(...[...value.entries].flat().reverse());
    else if (value instanceof ScriptObject) pending.push(...value.slots.toReversed());
  }
  return found;
}

/** What is found again of a tensor: not its elements, nor which memory it has. */
interface TensorLayout {
  readonly dtype: ScalarType;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  readonly requiresGrad: boolean;
  /** The first value that shares its memory. */
  readonly storage: number;
}

/** What a program goes by that asks no tensor for its elements: numbers, texts, flags, lengths, layouts, and who shares memory with whom. */
export class ValueLayouts {
  readonly #entries: readonly (TensorLayout | IValue)[];

  /** @param values of {@link valuesIn} */
  constructor(values: readonly IValue[]) {
    const storages = new StorageNumbers();
    this.#entries = values.map((value, at) => {
      if (!(value instanceof Tensor)) return markOf(value);
      const { dtype, sizes, strides, storageOffset: offset, requiresGrad } = value;
      return { dtype, sizes, strides, offset, requiresGrad, storage: storages.of(value, at) };
    });
  }

  matches(values: readonly IValue[]): boolean {
    if (values.length !== this.#entries.length) return false;
    const storages = new StorageNumbers();
    return values.every((value, at) => {
      const entry = this.#entries[at];
      if (!(value instanceof Tensor)) return Object.is(entry, markOf(value));
      const known = entry as TensorLayout;
      return (
        value.dtype === known.dtype &&
        value.storageOffset === known.offset &&
        value.requiresGrad === known.requiresGrad &&
        areEqual(value.sizes, known.sizes) &&
        areEqual(value.strides, known.strides) &&
        storages.of(value, at) === known.storage
      );
    });
  }
}

class StorageNumbers {
  readonly #first = new Map<unknown, number>();

  of({ storage }: Tensor, at: number): number {
    const known = this.#first.get(storage);
    if (known === undefined) this.#first.set(storage, at);
    return known ?? at;
  }
}

/** What tells a value from others: itself, or for what the parts behind it make, how many these are. */
function markOf(value: IValue): IValue {
  if (typeof value === 'string') return `str ${value}`;
  if (value instanceof List) return `List ${value.items.length}`;
  if (value instanceof Tuple) return `Tuple ${value.items.length}`;
  return value instanceof Dict ? `Dict ${value.entries.size}` : value;
}

const areEqual = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((each, at) => each === b[at]);
