import { CressetError, nested } from '@cresset/ir';
import type { CallResult, WireDeviceTensor, WireTensor, WireValue } from '@cresset/runtime';
import { copyInto } from '@cresset/tensor';
import type { DeviceTensor } from './device-tensor.ts';
import { mapItems, withFields } from './named-tuple.ts';
import { fromInt64, Tensor, type DType, type TensorData } from './tensor.ts';

/**
 * What can be given to a model. The schema of what is called decides what a value becomes: a number is an int for an `int`
 * parameter and a float for a `float`. Where it can be either (`Union[int, float]`, `Scalar`) a whole number and a bigint are ints; where
 * nothing tells (`Any`) a number is a float and a bigint an int.
 * Arrays are lists or tuples, Maps and plain objects dicts, an object with the fields of a named tuple is one, and a text serves
 * for a device or the name of an enum's member.
 */
export type Input =
  | null
  | undefined
  | boolean
  | number
  | bigint
  | string
  | Tensor
  | DeviceTensor
  | ComplexNumber
  | readonly Input[]
  | ReadonlyMap<Input, Input>
  | Reference
  | { readonly [key: string]: Input };

/** A complex number. */
export interface ComplexNumber {
  readonly re: number;
  readonly im: number;
}

/** A member of an enum. */
export interface EnumMember {
  /** Qualified name of the enum, `__torch__.Color`. */
  readonly className: string;
  readonly name: string;
}

/**
 * What a model gives. An int is a number where that is exact and a bigint beyond 2^53; lists and tuples are arrays, and a named
 * tuple's has its fields as properties too, except one called `length`; a dict is a Map; an object of a TorchScript class is a plain object with its
 * attributes; a device is its name. Tensors are {@link DeviceTensor}s where they were asked to stay.
 */
export type Output =
  | null
  | boolean
  | number
  | bigint
  | string
  | Tensor
  | DeviceTensor
  | ComplexNumber
  | EnumMember
  | readonly Output[]
  | ReadonlyMap<Output, Output>
  | { readonly [attribute: string]: Output };

/** A property by which objects of this library tell what they are in a message. */
export const inMessages: unique symbol = Symbol.for('cresset.inMessages');

/** Something of this library that stays in the worker and can be given to what runs there. */
export interface Reference {
  readonly [inMessages]: WireValue;
}

/**
 * The values of one message to the worker. Elements of tensors are copied, so that the caller keeps its own; a tensor that
 * occurs twice is the same tensor there, too.
 */
export class WireArguments {
  readonly #tensors = new Map<Tensor, WireTensor>();

  /** @param spare buffers to copy into, which are taken out as they are used */
  constructor(private readonly spare: ArrayBuffer[] = []) {}

  value(value: Input): WireValue {
    return nested(
      () => this.#value(value),
      () => new CressetError('ARGUMENT', 'an argument has values within values without end'),
    );
  }

  #value(value: Input): WireValue {
    switch (typeof value) {
      case 'undefined':
        return null;
      case 'boolean':
      case 'number':
      case 'bigint':
      case 'string':
        return value;
      case 'object':
        return value === null ? null : this.#object(value);
      default:
        throw new CressetError('ARGUMENT', `a ${typeof value} cannot be given to a model`);
    }
  }

  /** Arguments by name. */
  named(values: Readonly<Record<string, Input>> = {}): (readonly [string, WireValue])[] {
    return Object.entries(values).map(([name, value]) => [name, this.value(value)] as const);
  }

  /** Gives the caller's tensors what the program wrote to them. */
  update(written: CallResult['written']): void {
    const tensors = [...this.#tensors.keys()];
    for (const [key, { data, shape }] of written) Tensor.replace(tensors[key], data, shape);
  }

  tensor(tensor: Tensor): WireTensor {
    let wire = this.#tensors.get(tensor);
    if (!wire) {
      const { data, dtype, shape } = tensor;
      wire = { kind: 'tensor', key: this.#tensors.size, dtype, shape, data: copyInto(this.spare, bytesOf(data)) };
      this.#tensors.set(tensor, wire);
    }
    return wire;
  }

  #object(value: Exclude<Input & object, null>): WireValue {
    if (value instanceof Tensor) return this.tensor(value);
    if (inMessages in value) return value[inMessages] as WireValue;
    if (ArrayBuffer.isView(value)) {
      throw new CressetError('ARGUMENT', 'a typed array is no tensor yet: make one with tensor(data, { shape })');
    }
    if (Array.isArray(value)) return mapItems(value as readonly Input[], (item) => this.value(item));
    if (value instanceof Map) {
      const entries = [...(value as ReadonlyMap<Input, Input>)];
      return {
        kind: 'dict',
        entries: entries.map(([key, item]) => [this.value(key), this.value(item)] as const),
      };
    }
    if (isComplex(value)) return { kind: 'complex', re: value.re, im: value.im };
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) {
      throw new CressetError('ARGUMENT', `a ${value.constructor.name} cannot be given to a model`);
    }
    const entries = Object.entries(value as { readonly [key: string]: Input });
    return { kind: 'dict', entries: entries.map(([key, item]) => [key, this.value(item)] as const) };
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: TensorData): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

function isComplex(value: object): value is ComplexNumber {
  const { re, im } = value as Partial<ComplexNumber>;
  return typeof re === 'number' && typeof im === 'number' && Object.keys(value).length === 2;
}

/**
 * A value from the worker.
 *
 * @param release given the buffers of its tensors that are disposed of
 * @param stayed makes those that stayed where they were made
 */
export function fromWire(
  value: WireValue,
  release: ((buffer: ArrayBuffer) => void) | null = null,
  stayed: ((tensor: WireDeviceTensor) => DeviceTensor) | null = null,
): Output {
  const of = (part: WireValue): Output => fromWire(part, release, stayed);
  if (typeof value === 'bigint') return fromInt64(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return (value as readonly WireValue[]).map(of);
  const part = value as Exclude<typeof value, readonly WireValue[]>;
  switch (part.kind) {
    case 'tensor':
      return new Tensor(part.data, part.shape, part.dtype as DType, part.quantizer, release);
    case 'device-tensor':
      return stayed!(part);
    case 'tuple':
      return withFields(part.items.map(of), part.fields);
    case 'dict':
      return new Map(part.entries.map(([key, item]) => [of(key), of(item)]));
    case 'complex':
      return { re: part.re, im: part.im };
    case 'device':
      return part.name;
    case 'reference':
      return part.path;
    case 'enum':
      return { className: part.className, name: part.name };
    case 'object':
      return Object.fromEntries(part.attributes.map(([name, item]) => [name, of(item)]));
  }
}
