import {
  Dict,
  List,
  ScriptObject,
  Storage,
  Tensor,
  Tuple,
  type DictKey,
  type IValue,
  type Quantizer,
} from '@cresset/tensor';
import { forEachStorage } from '../memory/reachable-storages.ts';

/** Copies values with all that they hold, over memory of their own: tensors as they are, strides and all. What values share, their copies share. */
export class ValueCopier {
  readonly #storages = new Map<Storage, Storage>();
  readonly #copies = new Map<object, IValue>();

  /** @param base what it has copied already is not copied again */
  constructor(private readonly base: ValueCopier | null = null) {}

  async copiesOf(values: readonly IValue[]): Promise<IValue[]> {
    const reads: Promise<void>[] = [];
    forEachStorage(values, (storage) => {
      if (!storage.isDisposed) reads.push(storage.toHost());
    });
    await Promise.all(reads);
    return values.map((value) => this.#copyOf(value));
  }

  #copyOf(value: IValue): IValue {
    if (typeof value !== 'object' || value === null) return value;
    const known = this.#knownOf(value);
    if (known) return known;
    if (value instanceof Tensor) return this.#keep(value, this.#tensor(value));
    if (value instanceof List) {
      const copy = this.#keep(value, new List(value.elementType, []));
      for (const item of value.items) copy.items.push(this.#copyOf(item));
      return copy;
    }
    if (value instanceof Tuple) {
      const items = value.items.map((item) => this.#copyOf(item));
      return this.#keep(value, new Tuple(items, value.type));
    }
    if (value instanceof Dict) {
      const entries = [...value.entries].map(([key, item]): [DictKey, IValue] => [key, this.#copyOf(item)]);
      return this.#keep(value, new Dict(value.keyType, value.valueType, new Map(entries)));
    }
    if (value instanceof ScriptObject) {
      const copy = this.#keep(value, new ScriptObject(value.type, []));
      for (const slot of value.slots) copy.slots.push(this.#copyOf(slot));
      return copy;
    }
    return value;
  }

  #knownOf(value: object): IValue | undefined {
    return this.#copies.get(value) ?? (this.base ? this.base.#knownOf(value) : undefined);
  }

  #keep<Copy extends IValue & object>(value: object, copy: Copy): Copy {
    this.#copies.set(value, copy);
    return copy;
  }

  #tensor(tensor: Tensor): Tensor {
    const { storage, dtype, sizes, strides, storageOffset, requiresGrad, grad, quantizer } = tensor;
    if (storage.isDisposed) return tensor;
    let copied = this.#storages.get(storage);
    if (!copied) this.#storages.set(storage, (copied = Storage.onHost(storage.hostBytes().slice(0))));
    const copy = new Tensor(copied, dtype, sizes, strides, storageOffset);
    copy.requiresGrad = requiresGrad;
    copy.grad = grad && (this.#copyOf(grad) as Tensor);
    copy.quantizer = quantizer && this.#quantizer(quantizer);
    return copy;
  }

  #quantizer({ scale, zeroPoint, axis }: Quantizer): Quantizer {
    const copy = (part: number | Tensor): number | Tensor =>
      part instanceof Tensor ? (this.#copyOf(part) as Tensor) : part;
    return { scale: copy(scale), zeroPoint: copy(zeroPoint), axis };
  }
}
