import {
  BoolType,
  ClassType,
  Complex,
  CressetError,
  EnumType,
  FloatType,
  IntType,
  isCustomClass,
  ListType,
  nested,
  StringType,
  TensorType,
  AnyType,
  type Argument,
  type TupleType,
  type Type,
} from '@cresset/ir';
import {
  DeviceValue,
  Dict,
  elementSize,
  EnumValue,
  fromByteString,
  List,
  numelOf,
  quantizerTensors,
  ScriptObject,
  Storage,
  contiguousStrides,
  Tensor,
  toByteString,
  Tuple,
  type DictKey,
  type IValue,
} from '@cresset/tensor';
import type { WireDeviceTensor, WireReference, WireTensor, WireTuple, WireValue } from './protocol.ts';

/** Values one result may consist of; a tensor counts as one. Shared parts of a value are written out each time they occur. */
const MAX_VALUES = 5_000_000;
/** Buffers that are worth sending back, and how much of them a caller keeps at most. */
const LEAST_SPARED_BYTES = 64 << 10;
const MOST_SPARED_BYTES = 16 << 20;

/** The tensors reachable from a value, each once. */
export function reachableTensors(root: IValue): Tensor[] {
  const tensors = new Set<Tensor>();
  const visited = new Set<IValue>();
  const pending: IValue[] = [root];
  while (pending.length > 0) {
    const value = pending.pop()!;
    if (value === null || typeof value !== 'object' || visited.has(value)) continue;
    visited.add(value);
    if (value instanceof Tensor) {
      tensors.add(value);
      if (value.quantizer) pending.push(...quantizerTensors(value.quantizer));
    } else if (value instanceof List || value instanceof Tuple) for (const item of value.items) pending.push(item);
    else if (value instanceof Dict) for (const [key, item] of value.entries) pending.push(key, item);
    else if (value instanceof ScriptObject) pending.push(...value.slots);
  }
  return [...tensors];
}

/** Tensors of a result that stay where they are. */
export interface StayingTensors {
  has(tensor: Tensor): boolean;
  /** What the other side is told of one. */
  take(tensor: Tensor): WireDeviceTensor;
}

/**
 * A program's value for the other side. Tensors must be on the host; their elements are copied into buffers of their own, which the
 * message can then give away. `type` is the declared one, which has the field names of a named tuple. Of `made`, storages on a device that
 * nobody needs on the host, those that are one tensor lose their host copies to the message. Those that `stay` has are told by their numbers.
 */
export function toWire(
  value: IValue,
  type: Type | null,
  made: ReadonlySet<Storage> = new Set(),
  stay: StayingTensors | null = null,
): WireValue {
  const writer = new WireWriter(made, stay);
  const wire = writer.write(value, type);
  for (const storage of writer.taken) storage.giveUpHostBytes();
  return wire;
}

class WireWriter {
  /** Storages whose bytes are in the message themselves. */
  readonly taken = new Set<Storage>();
  #count = 0;

  constructor(
    private readonly made: ReadonlySet<Storage>,
    private readonly stay: StayingTensors | null,
  ) {}

  write(value: IValue, type: Type | null): WireValue {
    if (++this.#count > MAX_VALUES) throw tooLarge();
    return nested(() => this.#write(value, type), tooLarge);
  }

  #write(value: IValue, type: Type | null): WireValue {
    if (value === null || typeof value === 'boolean' || typeof value === 'bigint' || typeof value === 'number')
      return value;
    if (typeof value === 'string') return fromByteString(value);
    if (value instanceof Tensor)
      return this.stay?.has(value) ? this.stay.take(value) : tensorToWire(value, this.#bytesOf(value));
    const inner = partTypes(type, value);
    if (value instanceof List) return value.items.map((item) => this.write(item, value.elementType));
    if (value instanceof Tuple) {
      const items = value.items.map((item, index) => this.write(item, inner[index] ?? null));
      return { kind: 'tuple', items, fields: fieldsOf(value, type) };
    }
    if (value instanceof Dict) {
      const { keyType, valueType } = value;
      const entries = [...value.entries].map(
        ([key, item]) => [this.write(key, keyType), this.write(item, valueType)] as const,
      );
      return { kind: 'dict', entries };
    }
    if (value instanceof Complex) return { kind: 'complex', re: value.re, im: value.im };
    if (value instanceof DeviceValue) return { kind: 'device', name: value.toString() };
    if (value instanceof EnumValue) return { kind: 'enum', className: value.type.qualifiedName, name: value.name };
    if (value instanceof ScriptObject) {
      const attributes = value.type.attributes.map(
        ({ name, type: declared }, slot) => [name, this.write(value.slots[slot], declared)] as const,
      );
      return { kind: 'object', className: value.type.qualifiedName, attributes };
    }
    throw new CressetError(
      'RESULT_NOT_TRANSFERABLE',
      `a result of kind ${value.constructor.name} cannot leave the program`,
    );
  }

  /** What is written out a second time is copied. */
  #bytesOf(tensor: Tensor): ArrayBuffer {
    const { storage, numel, dtype } = tensor;
    const isWhole = tensor.isContiguous() && numel * elementSize(dtype) === storage.byteLength;
    if (!isWhole || !this.made.has(storage) || this.taken.has(storage)) return copiedBytes(tensor);
    this.taken.add(storage);
    return storage.hostBytes();
  }
}

const endless = (): CressetError =>
  new CressetError('ARGUMENT_TYPE', 'an argument has values within values without end');

const tooLarge = (): CressetError =>
  new CressetError('RESULT_TOO_LARGE', 'the result has too many values, or values within values without end');

function unwrapOptional(type: Type | null): Type | null {
  return type?.kind === 'OptionalType' ? (type.containedTypes()[0] ?? null) : type;
}

function partTypes(type: Type | null, value: IValue): readonly Type[] {
  const declared = unwrapOptional(type);
  return declared?.kind === 'TupleType' && value instanceof Tuple ? declared.containedTypes() : [];
}

function fieldsOf(value: Tuple, type: Type | null): readonly string[] | null {
  const declared = unwrapOptional(type);
  const named = value.type ?? (declared?.kind === 'TupleType' ? (declared as TupleType) : null);
  return named?.fieldNames ?? null;
}

const copiedBytes = (tensor: Tensor): ArrayBuffer => tensor.contiguousArray().slice().buffer as ArrayBuffer;

export function tensorToWire(tensor: Tensor, data = copiedBytes(tensor)): WireTensor {
  const { quantizer } = tensor;
  const numbers = (part: number | Tensor): number[] =>
    typeof part === 'number' ? [part] : Array.from(part.contiguousArray() as ArrayLike<number>, Number);
  return {
    kind: 'tensor',
    dtype: tensor.dtype,
    shape: [...tensor.sizes],
    data,
    ...(quantizer && {
      quantizer: {
        scales: numbers(quantizer.scale),
        zeroPoints: numbers(quantizer.zeroPoint),
        axis: quantizer.axis,
      },
    }),
  };
}

/** Thrown inside where a value does not have the type wanted; callers name the argument. */
class Mismatch extends Error {
  readonly expected: Type;
  readonly found: string;
  /** What to do about it, behind a space. */
  readonly hint: string;

  constructor(expected: Type, value: WireValue) {
    super('value of another type');
    this.expected = expected;
    this.found = describe(value);
    this.hint = '';
    if (expected.kind === 'TensorType') this.hint = ' Make one with tensor(data, { shape, dtype }).';
    if (expected.kind === 'IntType' && Number.isInteger(value))
      this.hint = ' Beyond 2^53, an int is given as a bigint.';
  }
}

/** An argument is of another type than its parameter. */
export class ArgumentTypeError extends CressetError {
  /** The type of what was given, or of that part of it which does not fit, as the message names it. */
  readonly found: string;

  constructor(message: string, found: string) {
    super('ARGUMENT_TYPE', message);
    this.found = found;
  }
}

/** A tensor that was given, and what it was given as. */
export interface GivenTensor {
  readonly key: number | undefined;
  readonly tensor: Tensor;
  /** The tensor's storage when it was given, and how often that had been asked for to be written. */
  readonly storage: Storage;
  readonly writes: number;
  readonly sizes: readonly number[];
}

/** Makes the values of one message; tensors that occur in it more than once are made once. */
export class WireReader {
  readonly #given = new Map<WireTensor, GivenTensor>();
  /** Whether a value is taken as what it is and no other: 3 is an int, a text is no device. */
  #isExact = false;
  readonly #objectAt: (reference: WireReference) => ScriptObject | undefined;
  readonly #tensorAt: (id: number) => Tensor | undefined;

  /**
   * @param objectAt the objects that references name
   * @param tensorAt the tensors that numbers stand for
   */
  constructor(
    objectAt: (reference: WireReference) => ScriptObject | undefined = () => undefined,
    tensorAt: (id: number) => Tensor | undefined = () => undefined,
  ) {
    this.#objectAt = objectAt;
    this.#tensorAt = tensorAt;
  }

  /**
   * A value as a parameter wants it: one number stands for the list of a BroadcastingList. Throws a CressetError of code
   * `ARGUMENT_TYPE` that names the argument as PyTorch does.
   */
  argument(value: WireValue, { name, type, N }: Argument, functionName: string): IValue {
    const isNumber = typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';
    const isSpread = isNumber && N !== undefined && type instanceof ListType;
    return this.value(isSpread ? new Array<WireValue>(N).fill(value) : value, type, functionName, name);
  }

  /** As {@link argument}, for a type. */
  value(value: WireValue, type: Type, functionName: string, argumentName: string): IValue {
    try {
      return this.#read(value, type);
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      const { expected, found, hint } = error;
      throw new ArgumentTypeError(
        `${functionName}() Expected a value of type '${expected.reprStr()}' for argument '${argumentName}' but instead found type '${found}'.${hint}`,
        found,
      );
    }
  }

  /** A value where no type says what it is to be: a number is a float and a bigint an int. */
  inferred(value: WireValue): IValue {
    return this.#inferredPart(value);
  }

  /** Gives up the tensors of `free` storages, which nobody holds any more, for buffers in which other elements can be sent. */
  spared(free: ReadonlySet<Storage>): ArrayBuffer[] {
    let left = MOST_SPARED_BYTES;
    return [...this.#given.values()].flatMap(({ storage }) => {
      const { byteLength } = storage;
      if (!free.has(storage) || !storage.isOnHost || byteLength < LEAST_SPARED_BYTES || byteLength > left) return [];
      left -= byteLength;
      const bytes = storage.hostBytes();
      storage.dispose();
      return [bytes];
    });
  }

  /** The tensors that were written to since they were read: in place, or resized. */
  written(): GivenTensor[] {
    return [...this.#given.values()].filter(
      ({ tensor, storage, writes, sizes }) =>
        tensor.storage !== storage || storage.writes !== writes || tensor.sizes !== sizes,
    );
  }

  #read(value: WireValue, type: Type): IValue {
    return nested(() => this.#readAs(value, type), endless);
  }

  #readAs(value: WireValue, type: Type): IValue {
    switch (type.kind) {
      case 'TensorType':
        if (isKind(value, 'tensor')) return this.#tensor(value);
        if (isKind(value, 'device-tensor')) return this.#deviceTensor(value);
        break;
      case 'IntType':
        if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) return value;
        if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
        break;
      case 'FloatType':
        if (this.#isExact && kindOf(value) !== type.kind) break;
        if (typeof value === 'number') return value;
        if (typeof value === 'bigint') return Number(value);
        break;
      case 'ComplexType':
        if (isKind(value, 'complex')) return new Complex(value.re, value.im);
        if (typeof value === 'number' && !this.#isExact) return new Complex(value, 0);
        break;
      case 'NumberType':
        if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
        if (typeof value === 'bigint' || typeof value === 'boolean' || isKind(value, 'complex')) {
          return this.#inferredPart(value);
        }
        break;
      case 'AnyType':
        return this.#inferredPart(value);
      case 'BoolType':
        if (typeof value === 'boolean') return value;
        break;
      case 'StringType':
        if (typeof value === 'string') return toByteString(value);
        break;
      case 'NoneType':
        if (value === null) return null;
        break;
      case 'DeviceObjType':
        if (isKind(value, 'device')) return deviceOf(value.name, type, value);
        if (typeof value === 'string' && !this.#isExact) return deviceOf(value, type, value);
        break;
      case 'OptionalType':
        return value === null ? null : this.#read(value, type.containedTypes()[0]);
      case 'UnionType':
        return this.#union(value, type);
      case 'ListType':
        return this.#list(value, type);
      case 'TupleType':
        return this.#tuple(value, type as TupleType);
      case 'DictType':
        return this.#dict(value, type);
      case 'EnumType': {
        const name = isKind(value, 'enum') ? value.name : value;
        const member = typeof name === 'string' && type instanceof EnumType ? EnumValue.of(type, name) : undefined;
        if (member) return member;
        break;
      }
      case 'ClassType':
      case 'InterfaceType': {
        const object = isKind(value, 'reference') ? this.#objectAt(value) : undefined;
        if (object?.type.isSubtypeOf(type)) return object;
        const copy = type instanceof ClassType ? this.#object(value, type) : null;
        if (copy) return copy;
        break;
      }
      default:
        break;
    }
    throw new Mismatch(type, value);
  }

  #tensor(wire: WireTensor): Tensor {
    let given = this.#given.get(wire);
    if (!given) {
      const tensor = tensorFromWire(wire);
      const { storage, sizes } = tensor;
      this.#given.set(wire, (given = { key: wire.key, tensor, storage, writes: storage.writes, sizes }));
    }
    return given.tensor;
  }

  #deviceTensor({ id }: WireDeviceTensor): Tensor {
    const tensor = this.#tensorAt(id);
    if (tensor) return tensor;
    throw new CressetError('TENSOR_DISPOSED', 'this tensor was disposed of, or is of another thread than the model');
  }

  /** The member that a value is; where there is none, the first that it can become, as 3 does a float. */
  #union(value: WireValue, type: Type): IValue {
    const members = type.containedTypes();
    const own = members.find(({ kind }) => kind === kindOf(value));
    if (own) return this.#read(value, own);
    const wasExact = this.#isExact;
    try {
      for (this.#isExact of wasExact ? [true] : [true, false]) {
        for (const member of members) {
          try {
            return this.#read(value, member);
          } catch (error) {
            if (!(error instanceof Mismatch)) throw error;
          }
        }
      }
    } finally {
      this.#isExact = wasExact;
    }
    throw new Mismatch(type, value);
  }

  #list(value: WireValue, type: Type): List {
    const items = itemsOf(value);
    if (!items) throw new Mismatch(type, value);
    const [elementType] = type.containedTypes();
    return new List(
      elementType,
      items.map((item) => this.#read(item, elementType)),
    );
  }

  #tuple(value: WireValue, type: TupleType): Tuple {
    let items = itemsOf(value);
    const entries = entriesOf(value);
    if (!items && type.fieldNames && entries) {
      // A plain object with the fields of a named tuple.
      const byName = new Map(entries);
      items = type.fieldNames.map((field) => byName.get(field) ?? null);
    }
    if (!items || items.length !== type.elements.length) throw new Mismatch(type, value);
    const named = type.fieldNames ? type : null;
    return new Tuple(
      items.map((item, index) => this.#read(item, type.elements[index])),
      named,
    );
  }

  /** An object of a class of the program, as results have one: by its attributes. */
  #object(value: WireValue, type: ClassType): ScriptObject | null {
    const { attributes, qualifiedName } = type;
    const given = new Map(entriesOf(value));
    const fits = given.size === attributes.length && attributes.every(({ name }) => given.has(name));
    if (!isKind(value, 'dict') || !fits || type.isModule() || isCustomClass(qualifiedName)) return null;
    return new ScriptObject(
      type,
      attributes.map(({ name, type: own }) => this.#read(given.get(name)!, own)),
    );
  }

  #dict(value: WireValue, type: Type): Dict {
    const given = entriesOf(value);
    if (!given) throw new Mismatch(type, value);
    const [keyType, valueType] = type.containedTypes();
    const entries = given.map(([key, item]): [DictKey, IValue] => {
      // The keys of a plain object are always texts.
      const typedKey =
        keyType.kind === 'IntType' && typeof key === 'string' && /^-?\d{1,19}$/.test(key) ? BigInt(key) : key;
      return [this.#read(typedKey, keyType) as DictKey, this.#read(item, valueType)];
    });
    return new Dict(keyType, valueType, new Map(entries));
  }

  #inferredPart(value: WireValue): IValue {
    return nested(() => this.#inferred(value), endless);
  }

  #inferred(value: WireValue): IValue {
    if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
    if (typeof value === 'bigint') return BigInt.asIntN(64, value);
    if (typeof value === 'string') return toByteString(value);
    if (Array.isArray(value)) {
      const items = (value as readonly WireValue[]).map((item) => this.#inferredPart(item));
      return new List(commonType(items), items);
    }
    const item = value as Exclude<typeof value, readonly WireValue[]>;
    switch (item.kind) {
      case 'tensor':
        return this.#tensor(item);
      case 'device-tensor':
        return this.#deviceTensor(item);
      case 'tuple':
        return new Tuple((item as WireTuple).items.map((each) => this.#inferredPart(each)));
      case 'dict': {
        const entries = item.entries.map(([key, each]): [DictKey, IValue] => [
          this.#inferredPart(key) as DictKey,
          this.#inferredPart(each),
        ]);
        return new Dict(
          commonType(entries.map(([key]) => key)),
          commonType(entries.map(([, each]) => each)),
          new Map(entries),
        );
      }
      case 'complex':
        return new Complex(item.re, item.im);
      case 'device':
        return deviceOf(item.name, AnyType.get(), item);
      default:
        throw new Mismatch(AnyType.get(), value);
    }
  }
}

/** The kind of type that a value without parts is of; a number is an int where it is whole and an int is exact. */
function kindOf(value: WireValue): Type['kind'] | null {
  switch (typeof value) {
    case 'number':
      return Number.isSafeInteger(value) ? 'IntType' : 'FloatType';
    case 'bigint':
      return 'IntType';
    case 'boolean':
      return 'BoolType';
    case 'string':
      return 'StringType';
    default:
      return value === null ? 'NoneType' : null;
  }
}

function isKind<Kind extends string>(
  value: WireValue,
  kind: Kind,
): value is Extract<WireValue, { readonly kind: Kind }> {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === kind;
}

function deviceOf(name: string, type: Type, value: WireValue): DeviceValue {
  if (!/^[a-z]+(:\d+)?$/.test(name)) throw new Mismatch(type, value);
  return DeviceValue.parse(name);
}

function itemsOf(value: WireValue): readonly WireValue[] | null {
  if (Array.isArray(value)) return value as readonly WireValue[];
  return isKind(value, 'tuple') ? value.items : null;
}

/** What a Map or plain object holds; one of `re` and `im` alone may have been meant as that, and not as a number. */
function entriesOf(value: WireValue): readonly (readonly [WireValue, WireValue])[] | null {
  if (isKind(value, 'dict')) return value.entries;
  if (!isKind(value, 'complex')) return null;
  return [
    ['re', value.re],
    ['im', value.im],
  ];
}

function commonType(items: readonly IValue[]): Type {
  const kinds = items.map((item): Type => {
    if (item instanceof Tensor) return TensorType.get();
    if (typeof item === 'bigint') return IntType.get();
    if (typeof item === 'number') return FloatType.get();
    if (typeof item === 'boolean') return BoolType.get();
    return typeof item === 'string' ? StringType.get() : AnyType.get();
  });
  // PyTorch takes an empty list to be one of tensors.
  return kinds.every((kind) => kind === kinds[0]) ? (kinds[0] ?? TensorType.get()) : AnyType.get();
}

export function tensorFromWire({ dtype, shape, data, quantizer }: WireTensor): Tensor {
  const expected = numelOf(shape) * elementSize(dtype);
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0) || data.byteLength !== expected) {
    throw new CressetError(
      'TENSOR_DATA_SIZE',
      `a ${dtype} tensor of shape [${shape.join(', ')}] takes ${expected} bytes, but ${data.byteLength} were given`,
    );
  }
  const result = new Tensor(Storage.onHost(data), dtype, [...shape], contiguousStrides(shape));
  if (quantizer) {
    const { scales, zeroPoints, axis } = quantizer;
    const part = (numbers: readonly number[]): number | Tensor =>
      axis === null ? numbers[0] : Tensor.fromArray(Float64Array.from(numbers), [numbers.length], 'float64');
    result.quantizer = { scale: part(scales), zeroPoint: part(zeroPoints), axis };
  }
  return result;
}

/** A value's type as PyTorch would call it. */
function describe(value: WireValue): string {
  if (value === null) return 'NoneType';
  if (typeof value === 'number') return Number.isInteger(value) ? 'number' : 'float';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'string') return 'str';
  if (typeof value === 'boolean') return 'bool';
  if (Array.isArray(value)) return 'list';
  const { kind } = value as Exclude<typeof value, readonly WireValue[]>;
  return kind.endsWith('tensor') ? 'Tensor' : kind === 'reference' ? 'object of another program' : kind;
}
