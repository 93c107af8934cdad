import { Dict, List, ScriptObject, Tensor, Tuple, type IValue } from '@cresset/tensor';

/** Values of attributes, of which those count as one that share memory (PyTorch: HashAliasedIValues). */
export class AliasedValues implements Iterable<IValue> {
  readonly #values = new Map<unknown, IValue>();

  add(value: IValue): void {
    const memory = memoryOf(value);
    if (!this.#values.has(memory)) this.#values.set(memory, value);
  }

  has(value: IValue): boolean {
    return this.#values.has(memoryOf(value));
  }

  [Symbol.iterator](): IterableIterator<IValue> {
    return this.#values.values();
  }

  /** A value and all that it holds, without numbers, texts and the like (PyTorch: getSubValues). */
  static within(value: IValue): AliasedValues {
    const found = new AliasedValues();
    found.#addWithin(value);
    return found;
  }

  #addWithin(value: IValue): void {
    if (!isShared(value) || this.has(value)) return;
    this.add(value);
    for (const item of itemsOf(value)) this.#addWithin(item);
  }

  every(holds: (value: IValue) => boolean): boolean {
    return [...this].every(holds);
  }

  /** Whether any value is in both. */
  overlaps(other: AliasedValues): boolean {
    return [...other.#values.keys()].some((memory) => this.#values.has(memory));
  }
}

const memoryOf = (value: IValue): unknown => (value instanceof Tensor ? value.storage : value);

const isShared = (value: IValue): boolean => typeof value === 'object' && value !== null;

function itemsOf(value: IValue): Iterable<IValue> {
  if (value instanceof List || value instanceof Tuple) return value.items;
  if (value instanceof Dict) return [...value.entries].flat();
  return value instanceof ScriptObject ? value.slots : [];
}
