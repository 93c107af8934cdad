import { readScalar } from '@cresset/operators';
import { DeviceValue, elementSize, isComplex, List, Storage, Tensor, type IValue } from '@cresset/tensor';

/** Lists longer than this are not told apart by their items. */
const maxItems = 64;

/**
 * What arguments are to work on a device that goes by no element: how tensors lie and which of them share a storage, numbers and what else is told by
 * being the same. Two lists of arguments with one `key` have stand-ins that nothing tells apart.
 */
export class CallArguments {
  /** Null where nothing short tells these arguments apart from others. */
  readonly key: string | null;
  /** The storages of tensors, each once, in the order in which they are met. */
  readonly storages: Storage[] = [];

  constructor(private readonly values: readonly IValue[]) {
    this.key = this.#keyOf(values);
  }

  #keyOf(values: readonly IValue[]): string | null {
    let key = '';
    for (const value of values) {
      const text = this.#textOf(value);
      if (text === null) return null;
      key += text;
    }
    return key;
  }

  #textOf(value: IValue): string | null {
    switch (typeof value) {
      case 'number':
        return Object.is(value, -0) ? 'n-0;' : `n${value};`;
      case 'bigint':
        return `i${value};`;
      case 'boolean':
        return value ? 't' : 'f';
      case 'string':
        return `s${value.length}:${value}`;
    }
    if (value === null || value === undefined) return '0';
    if (value instanceof Tensor) return this.#textOfTensor(value);
    if (value instanceof DeviceValue) return `d${value.type}:${value.index};`;
    if (!(value instanceof List) || value.items.length > maxItems) return null;
    const items = this.#keyOf(value.items);
    return items === null ? null : `[${items}]`;
  }

  #textOfTensor(tensor: Tensor): string | null {
    if (tensor.constructor !== Tensor || tensor.quantizer !== null || tensor.openOffset !== null) return null;
    const { storage, dtype, sizes, strides } = tensor;
    if (isComplex(dtype)) return null;
    const { storages } = this;
    let at = storages.indexOf(storage);
    if (at < 0) at = storages.push(storage) - 1;
    const isNumber = sizes.length === 0 && storage.isOnHost;
    const flags = (storage.isNarrow ? 1 : 0) + (tensor.requiresGrad ? 2 : 0) + (isNumber ? 4 : 0);
    const text = `T${dtype},${at},${storage.byteLength},${flags},${tensor.handedOnOffset}(${sizes.join()})${strides.join()};`;
    if (!isNumber) return text;
    // It has to have no other element that somebody could go by.
    return storage.byteLength === elementSize(dtype) ? text + this.#textOf(readScalar(tensor, 0) as IValue) : null;
  }
}

/** Values that are like arguments to whoever goes by no element. */
export class StandIns {
  readonly values: readonly IValue[];
  /** What stands for each storage of the arguments, in their order. */
  readonly storages: Storage[] = [];
  readonly #known = new Map<Storage, Storage>();
  readonly #made: { readonly tensor: Tensor; readonly like: Tensor; readonly writes: number }[] = [];
  readonly #lists: { readonly list: List; readonly items: readonly IValue[] }[] = [];

  constructor(values: readonly IValue[]) {
    this.values = values.map((value) => this.#standFor(value));
  }

  #standFor(value: IValue): IValue {
    if (value instanceof List) {
      const items = value.items.map((item) => this.#standFor(item));
      const list = new List(value.elementType, items);
      this.#lists.push({ list, items: [...items] });
      return list;
    }
    if (!(value instanceof Tensor)) return value;
    const { dtype, sizes, strides, handedOnOffset: offset } = value;
    const storage = this.#storageFor(value);
    const tensor = new Tensor(storage, dtype, sizes, strides, offset);
    tensor.requiresGrad = value.requiresGrad;
    this.#made.push({ tensor, like: new Tensor(storage, dtype, sizes, strides, offset), writes: storage.writes });
    return tensor;
  }

  #storageFor({ storage, sizes }: Tensor): Storage {
    let stands = this.#known.get(storage);
    if (!stands) {
      const isNumber = sizes.length === 0 && storage.isOnHost;
      stands = isNumber ? storage.copyOnHost() : Storage.planned('uint8', storage.byteLength);
      if (storage.isNarrow) stands.narrow(() => true);
      this.#known.set(storage, stands);
      this.storages.push(stands);
    }
    return stands;
  }

  /** Whether nobody has changed them: what happened to them would have to happen to arguments too. */
  get areUnchanged(): boolean {
    return (
      this.#made.every(
        ({ tensor, like, writes }) =>
          tensor.storage === like.storage &&
          tensor.dtype === like.dtype &&
          tensor.sizes === like.sizes &&
          tensor.strides === like.strides &&
          tensor.storageOffset === like.storageOffset &&
          tensor.storage.writes === writes,
      ) &&
      this.#lists.every(
        ({ list, items }) => list.items.length === items.length && items.every((item, at) => item === list.items[at]),
      )
    );
  }
}
