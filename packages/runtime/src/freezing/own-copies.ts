import { GraphFunction, type Graph } from '@cresset/ir';
import { Dict, List, ScriptObject, type Storage, Tensor, Tuple, type DictKey, type IValue } from '@cresset/tensor';

/** Copies of values, in which is shared what was shared between the values. Tensors have to be on the host. */
export class OwnCopies {
  readonly #copies = new Map<object, IValue>();
  readonly #storages = new Map<Storage, Storage>();

  of<Value extends IValue>(value: Value): Value {
    return this.#copyOf(value) as Value;
  }

  /** Gives a graph copies of its constants. */
  takeConstantsOf(graph: Graph): void {
    for (const node of graph.allNodes()) {
      for (const name of node.attributeNames) {
        const attribute = node.attribute(name);
        if (attribute.kind === 'g') this.takeConstantsOf(attribute.value);
        else if (attribute.kind === 't') node.setT(name, this.of(attribute.value as Tensor));
        else if (attribute.kind === 'ival') node.setIval(name, this.of(attribute.value as IValue));
      }
    }
  }

  #copyOf(value: IValue): IValue {
    if (typeof value !== 'object' || value === null) return value;
    const known = this.#copies.get(value);
    if (known !== undefined) return known;
    if (value instanceof Tensor) return this.#remember(value, this.#tensorCopy(value));
    if (value instanceof Tuple)
      return this.#remember(
        value,
        new Tuple(
          value.items.map((item) => this.of(item)),
          value.type,
        ),
      );
    if (value instanceof List) {
      const list = this.#remember(value, new List(value.elementType, []));
      for (const item of value.items) list.items.push(this.of(item));
      return list;
    }
    if (value instanceof Dict) {
      const dict = this.#remember(value, new Dict(value.keyType, value.valueType));
      for (const [key, item] of value.entries) dict.entries.set(this.of(key) as DictKey, this.of(item));
      return dict;
    }
    if (!(value instanceof ScriptObject)) return value;
    const object = this.#remember(value, new ScriptObject(value.type, []));
    for (const slot of value.slots) object.slots.push(this.of(slot));
    return object;
  }

  #remember<Copy extends IValue>(value: object, copy: Copy): Copy {
    this.#copies.set(value, copy);
    return copy;
  }

  #tensorCopy(tensor: Tensor): Tensor {
    let storage = this.#storages.get(tensor.storage);
    if (!storage) this.#storages.set(tensor.storage, (storage = tensor.storage.copyOnHost()));
    const copy = new Tensor(storage, tensor.dtype, tensor.sizes, tensor.strides, tensor.storageOffset);
    copy.requiresGrad = tensor.requiresGrad;
    copy.quantizer = tensor.quantizer;
    return copy;
  }
}

/** The functions of objects' classes that are compiled. */
export function compiledMethods(objects: Iterable<ScriptObject>): GraphFunction[] {
  const methods = new Set<GraphFunction>();
  for (const { type } of objects) {
    for (const method of type.methods) if (method instanceof GraphFunction && method.isDefined) methods.add(method);
  }
  return [...methods];
}
