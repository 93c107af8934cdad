import { Complex, type ClassType, type EnumType, type TupleType, type Type } from '@cresset/ir';
import type { Future } from './future.ts';
import type { Tensor } from './tensor.ts';

/**
 * A value of a running program (c10::IValue).
 *
 * An `int` is a JavaScript bigint and a `float` a number, always: that is how the two stay distinguishable in a Scalar, an
 * Any or a container, and why 64-bit integers are exact. A `str` is a *byte string*: its code units are the UTF-8 bytes,
 * since TorchScript indexes, measures and splits strings by bytes (see byte-string.ts). dtype, layout and memory format
 * are ints, as in TorchScript.
 */
export type IValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Complex
  | Tensor
  | List
  | Dict
  | Tuple
  | ScriptObject
  | EnumValue
  | DeviceValue
  | FunctionValue
  | GeneratorValue
  | Future
  | Uninitialized;

/**
 * A list, shared by reference as in Python. `elementType` is that of the type it was made with; only the reader of archives,
 * which learns it after the elements, sets it later.
 */
export class List {
  constructor(
    public elementType: Type,
    readonly items: IValue[],
  ) {}
}

/** What a Dict can have as a key. Tensors count by identity, the others by value. */
export type DictKey = boolean | bigint | number | string | Tensor | Complex | EnumValue | DeviceValue;

/** A dictionary in insertion order, shared by reference. Its types are set as a List's are. */
export class Dict {
  constructor(
    public keyType: Type,
    public valueType: Type,
    readonly entries: Map<DictKey, IValue> = new Map(),
  ) {}

  /** The key as it stands in `entries`, or itself: of equal complex numbers one stands there, and maps know objects by identity. */
  storedKey(key: IValue): DictKey {
    if (key instanceof Complex) {
      for (const known of this.entries.keys()) {
        if (known instanceof Complex && known.re === key.re && known.im === key.im) return known;
      }
    }
    return key as DictKey;
  }
}

/** A tuple; `type` is set for a named tuple only. */
export class Tuple {
  constructor(
    readonly items: readonly IValue[],
    readonly type: TupleType | null = null,
  ) {}
}

/** An instance of a TorchScript class or module (c10::ivalue::Object): one slot an attribute, in the class's order. */
export class ScriptObject {
  /** @param slots the values of the attributes; None where nothing was assigned yet */
  constructor(
    readonly type: ClassType,
    readonly slots: IValue[] = new Array<IValue>(type.numAttributes).fill(null),
  ) {}

  getAttribute(name: string): IValue {
    return this.slots[this.type.getAttributeSlot(name)];
  }

  setAttribute(name: string, value: IValue): void {
    this.slots[this.type.getAttributeSlot(name)] = value;
  }
}

/** A member of an enum, as one constant or argument has it: `is` tells two of them apart, `==` does not. */
export class EnumValue {
  constructor(
    readonly type: EnumType,
    readonly name: string,
    readonly value: IValue,
  ) {}

  /** A member of `type`; undefined where it has none of that name. */
  static of(type: EnumType, name: string): EnumValue | undefined {
    const member = type.members.find(([each]) => each === name);
    return member && new EnumValue(type, name, member[1] as IValue);
  }

  equals(other: EnumValue): boolean {
    return this.name === other.name && this.type.equals(other.type);
  }
}

const deviceTypes =
  'cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia privateuseone'.split(
    ' ',
  );

/** A `torch.device`. Programs see the names they were saved with; where work is done is the runtime's choice. */
export class DeviceValue {
  private constructor(
    readonly type: string,
    readonly index: number | null,
  ) {}

  static readonly #interned = new Map<string, DeviceValue>();

  /**
   * Parses `cpu`, `cuda:0` and the like; equal devices are one object.
   *
   * @throws {RangeError} in PyTorch's words (c10/core/Device.cpp)
   */
  static parse(text: string): DeviceValue {
    const known = DeviceValue.#interned.get(text);
    if (known) return known;
    if (text === '') throw new RangeError('Device string must not be empty');
    const match = /^([a-zA-Z_]+)(?::(0|[1-9]\d*))?$/.exec(text);
    if (!match) throw new RangeError(`Invalid device string: '${text}'`);
    if (!deviceTypes.includes(match[1])) {
      throw new RangeError(
        `Expected one of ${deviceTypes.join(', ')} device type at start of device string: ${match[1]}`,
      );
    }
    const device = new DeviceValue(match[1], match[2] === undefined ? null : Number(match[2]));
    DeviceValue.#interned.set(text, device);
    return device;
  }

  toString(): string {
    return this.index === null ? this.type : `${this.type}:${this.index}`;
  }
}

/** A function used as a value; `function` is the compiled function (an ir Function, opaque here). */
export class FunctionValue {
  constructor(
    readonly name: string,
    readonly fn: object,
  ) {}
}

/** A random generator handed to a program. */
export interface GeneratorValue {
  readonly kind: 'generator';
  seed(value: bigint): void;
}

/** What `prim::Uninitialized` makes: never read by a correct program. */
export class Uninitialized {
  static readonly value: Uninitialized = new Uninitialized();
  private readonly uninitialized = true;

  toString(): string {
    return this.uninitialized ? 'Uninitialized' : '';
  }
}
