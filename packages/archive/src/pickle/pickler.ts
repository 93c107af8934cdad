import {
  type ClassType,
  Complex,
  CressetError,
  type EnumType,
  ListType,
  mayHoldNone,
  type TypePrinter,
} from '@cresset/ir';
import {
  DeviceValue,
  Dict,
  elementSize,
  EnumValue,
  List,
  type Quantizer,
  ScriptObject,
  type ScalarType,
  type Storage,
  Tensor,
  Tuple,
  type IValue,
} from '@cresset/tensor';
import { ByteWriter } from '../zip/byte-writer.ts';

/** Opcodes of pickle protocol 2, by the names of Python's pickletools. */
const PROTO = 0x80;
const STOP = 0x2e;
const MARK = 0x28;
const NONE = 0x4e;
const NEWTRUE = 0x88;
const NEWFALSE = 0x89;
const BININT1 = 0x4b;
const BININT2 = 0x4d;
const BININT = 0x4a;
const LONG1 = 0x8a;
const BINFLOAT = 0x47;
const BINUNICODE = 0x58;
const EMPTY_LIST = 0x5d;
const APPENDS = 0x65;
const EMPTY_DICT = 0x7d;
const SETITEMS = 0x75;
const EMPTY_TUPLE = 0x29;
const TUPLE = 0x74;
const TUPLE1 = 0x85;
const GLOBAL = 0x63;
const REDUCE = 0x52;
const NEWOBJ = 0x81;
const BUILD = 0x62;
const BINPERSID = 0x51;
const BINPUT = 0x71;
const LONG_BINPUT = 0x72;
const BINGET = 0x68;
const LONG_BINGET = 0x6a;

const PROTOCOL_VERSION = 2;

/** What PyTorch calls the storages of an element type. */
const STORAGE_NAMES: Partial<Record<ScalarType, string>> = {
  float32: 'Float',
  float64: 'Double',
  float16: 'Half',
  bfloat16: 'BFloat16',
  int64: 'Long',
  int32: 'Int',
  int16: 'Short',
  int8: 'Char',
  uint8: 'Byte',
  uint16: 'UInt16',
  uint32: 'UInt32',
  uint64: 'UInt64',
  bool: 'Bool',
  qint8: 'QInt8',
  quint8: 'QUInt8',
  qint32: 'QInt32',
  complex32: 'ComplexHalf',
  complex64: 'ComplexFloat',
  complex128: 'ComplexDouble',
  float8_e5m2: 'Float8_e5m2',
  float8_e4m3fn: 'Float8_e4m3fn',
  float8_e5m2fnuz: 'Float8_e5m2fnuz',
  float8_e4m3fnuz: 'Float8_e4m3fnuz',
};

/** Functions of `torch.jit._pickle` that make a list of one element type. */
const LIST_BUILDERS: Readonly<Record<string, string>> = {
  IntType: 'build_intlist',
  TensorType: 'build_tensorlist',
  FloatType: 'build_doublelist',
  BoolType: 'build_boollist',
};

/** What a Pickler asks. */
export interface PicklerOptions {
  /** The name that a class or enum has in the file; its qualified name by default. */
  readonly typeName?: (type: ClassType | EnumType) => string;
  /** What the `__getstate__` of an object gave; undefined where its attributes are to be written. */
  readonly stateOf?: (object: ScriptObject) => IValue | undefined;
  /** Writes lists and dicts as Python has them, without the types of what they hold. */
  readonly isPlain?: boolean;
}

/**
 * Writes values as a pickle of protocol 2 (torch::jit::Pickler). Tensors are views of storages, which the pickle names by numbers and
 * which are written beside it; values that occur more than once are written once, and are one value when they are read.
 *
 * Throws `SAVE_UNSUPPORTED_VALUE` for what cannot be saved, `SAVE_UNSET` for objects that are not complete, and `SAVE_CYCLE` for what contains itself.
 */
export class Pickler {
  /** Storages that tensors refer to: that with the key `0`, `1`, …. */
  readonly storages: Storage[] = [];
  /** Classes of the objects that were written, in order of occurrence. */
  readonly classTypes: ClassType[] = [];
  readonly #writer = new ByteWriter();
  readonly #options: PicklerOptions;
  /** How often each value occurs in what is written: what occurs once needs no place in the memo. */
  readonly #occurrences = new Map<object, number>();
  readonly #memo = new Map<object | string, number>();
  /** Shared values that are being written. */
  readonly #open = new Set<object>();
  readonly #storageKeys = new Map<Storage, string>();
  #nextMemo = 0;

  constructor(options: PicklerOptions = {}) {
    this.#options = options;
    this.#op(PROTO).uint8(PROTOCOL_VERSION);
  }

  /** Writes the value of the pickle, and its end. */
  pickle(value: IValue): Uint8Array<ArrayBuffer> {
    this.#countOccurrences(value);
    this.#push(value);
    this.#op(STOP);
    return this.#writer.finish();
  }

  // ---- values

  /** Writes a value and all that it contains, however deep, without recursion. */
  #push(root: IValue): void {
    const open = [this.#write(root)];
    while (open.length > 0) {
      const { done, value } = open[open.length - 1].next();
      if (done) open.pop();
      else if (typeof value === 'object' && value !== null) open.push(this.#write(value));
      else this.#pushPlain(value);
    }
  }

  /** Writes a value; what it yields is to be written before it goes on. */
  *#write(value: IValue): Generator<IValue, void> {
    const isShared = typeof value === 'object' && value !== null && (this.#occurrences.get(value) ?? 0) > 1;
    if (!isShared) {
      yield* this.#writeUnshared(value);
      return;
    }
    if (this.#pushKnown(value)) return;
    if (this.#open.has(value)) {
      const what = value instanceof ScriptObject ? `an object of class '${value.type.qualifiedName}'` : 'a container';
      throw new CressetError('SAVE_CYCLE', `${what} cannot be saved: it contains itself`);
    }
    this.#open.add(value);
    yield* this.#writeUnshared(value);
    this.#open.delete(value);
    this.#remember(value);
  }

  *#writeUnshared(value: IValue): Generator<IValue, void> {
    if (value === null || typeof value !== 'object') this.#pushPlain(value);
    else if (value instanceof Tensor) this.#pushTensor(value);
    else if (value instanceof Tuple) yield* this.#writeTuple(value.items);
    else if (value instanceof List) yield* this.#writeList(value);
    else if (value instanceof Dict) yield* this.#writeDict(value);
    else if (value instanceof ScriptObject) yield* this.#writeObject(value);
    else if (value instanceof EnumValue) this.#pushEnum(value);
    else if (value instanceof DeviceValue) this.#pushDevice(value);
    else if (value instanceof Complex) this.#pushComplex(value);
    else {
      const what = 'kind' in value ? 'Generator' : value.constructor.name.replace(/Value$/, '');
      throw new CressetError('SAVE_UNSUPPORTED_VALUE', `Unknown IValue type for pickling: ${what}`);
    }
  }

  *#writeTuple(items: readonly IValue[]): Generator<IValue, void> {
    const isLong = items.length > 3;
    if (isLong) this.#op(MARK);
    yield* items;
    this.#op(isLong ? TUPLE : items.length === 0 ? EMPTY_TUPLE : TUPLE1 + items.length - 1);
  }

  *#writeList({ elementType, items }: List): Generator<IValue, void> {
    const builder = this.#options.isPlain ? undefined : LIST_BUILDERS[elementType.kind];
    if (builder === undefined) this.#startTypeTag();
    else {
      this.#pushGlobal('torch.jit._pickle', builder);
      this.#op(MARK);
    }
    this.#op(EMPTY_LIST);
    this.#op(MARK);
    yield* items;
    this.#op(APPENDS);
    if (builder === undefined) this.#endTypeTag(new ListType(elementType).annotationStr(this.#typePrinter));
    else {
      this.#op(TUPLE);
      this.#op(REDUCE);
    }
  }

  *#writeDict({ keyType, valueType, entries }: Dict): Generator<IValue, void> {
    const [key, value] = [keyType, valueType].map((type) => type.annotationStr(this.#typePrinter));
    this.#startTypeTag();
    this.#op(EMPTY_DICT);
    this.#op(MARK);
    for (const entry of entries) yield* entry;
    this.#op(SETITEMS);
    this.#endTypeTag(`Dict[${key}, ${value}]`);
  }

  *#writeObject(object: ScriptObject): Generator<IValue, void> {
    const { type, slots } = object;
    this.classTypes.push(type);
    this.#pushQualifiedName(type);
    this.#op(EMPTY_TUPLE);
    this.#op(NEWOBJ);
    const state = this.#options.stateOf?.(object);
    if (state === undefined) {
      this.#op(EMPTY_DICT);
      this.#op(MARK);
      for (const [slot, { name, type: declared }] of type.attributes.entries()) {
        const value = slots[slot] ?? null;
        if (value === null && !mayHoldNone(declared)) {
          throw new CressetError('SAVE_UNSET', `attribute '${name}' of ${type.str()} has no value yet`);
        }
        yield* [name, value];
      }
      this.#op(SETITEMS);
    } else {
      yield state;
    }
    this.#op(BUILD);
  }

  #pushPlain(value: null | boolean | bigint | number | string): void {
    if (value === null) this.#op(NONE);
    else if (typeof value === 'boolean') this.#op(value ? NEWTRUE : NEWFALSE);
    else if (typeof value === 'bigint') this.#pushInt(value);
    else if (typeof value === 'number') this.#op(BINFLOAT).float64BigEndian(value);
    else this.#pushString(value);
  }

  #pushInt(value: bigint): void {
    if (value >= 0n && value < 1n << 8n) this.#op(BININT1).uint8(Number(value));
    else if (value >= 0n && value < 1n << 16n) this.#op(BININT2).uint16(Number(value));
    else if (BigInt.asIntN(32, value) === value) this.#op(BININT).int32(Number(value));
    else this.#op(LONG1).uint8(8).int64(value);
  }

  #pushString(value: string): void {
    this.#memoized(`s${value}`, () => this.#op(BINUNICODE).uint32(value.length).byteString(value));
  }

  #pushGlobal(module: string, name: string): void {
    this.#memoized(`c${module}\n${name}`, () => this.#op(GLOBAL).byteString(`${module}\n${name}\n`));
  }

  #pushQualifiedName(type: ClassType | EnumType): void {
    const name = this.#options.typeName?.(type) ?? type.qualifiedName;
    const dot = name.lastIndexOf('.');
    this.#pushGlobal(name.slice(0, Math.max(dot, 0)), name.slice(dot + 1));
  }

  #startTypeTag(): void {
    if (this.#options.isPlain) return;
    this.#pushGlobal('torch.jit._pickle', 'restore_type_tag');
  }

  #endTypeTag(type: string): void {
    if (this.#options.isPlain) return;
    this.#pushString(type);
    this.#op(TUPLE1 + 1);
    this.#op(REDUCE);
  }

  #pushEnum({ type, value }: EnumValue): void {
    this.#pushQualifiedName(type);
    // PyTorch's reader takes the value itself here, and not a tuple of arguments.
    this.#pushPlain(value as bigint | number | string);
    this.#op(REDUCE);
  }

  #pushDevice(device: DeviceValue): void {
    this.#memoized(`d${device}`, () => {
      this.#pushGlobal('torch', 'device');
      this.#pushString(String(device));
      this.#op(TUPLE1);
      this.#op(REDUCE);
    });
  }

  #pushComplex({ re, im }: Complex): void {
    this.#pushGlobal('builtins', 'complex');
    this.#pushPlain(re);
    this.#pushPlain(im);
    this.#op(TUPLE1 + 1);
    this.#op(REDUCE);
  }

  // ---- tensors

  #pushTensor(tensor: Tensor): void {
    const { quantizer } = tensor;
    this.#pushGlobal('torch._utils', quantizer ? '_rebuild_qtensor' : '_rebuild_tensor_v2');
    this.#inTuple(() => {
      this.#pushStorageOf(tensor);
      this.#pushInt(BigInt(tensor.storageOffset));
      for (const numbers of [tensor.sizes, tensor.strides]) {
        this.#inTuple(() => numbers.forEach((number) => this.#pushInt(BigInt(number))));
      }
      if (quantizer) this.#inTuple(() => this.#pushQuantizer(quantizer));
      this.#op(tensor.requiresGrad ? NEWTRUE : NEWFALSE);
      this.#pushGlobal('collections', 'OrderedDict');
      this.#op(EMPTY_TUPLE);
      this.#op(REDUCE);
    });
    this.#op(REDUCE);
  }

  #pushQuantizer({ scale, zeroPoint, axis }: Quantizer): void {
    this.#pushGlobal('torch', axis === null ? 'per_tensor_affine' : 'per_channel_affine');
    if (scale instanceof Tensor) this.#pushTensor(scale);
    else this.#pushPlain(scale);
    if (zeroPoint instanceof Tensor) this.#pushTensor(zeroPoint);
    else this.#pushInt(BigInt(zeroPoint));
    if (axis !== null) this.#pushInt(BigInt(axis));
  }

  /** Tensors of several element types over one storage name it once for each: a name says the type. */
  #pushStorageOf({ storage, dtype, quantizer }: Tensor): void {
    const name = STORAGE_NAMES[dtype];
    // Integers of a quantised tensor say nothing without their scale.
    if (name === undefined || (name.startsWith('Q') && !quantizer)) {
      throw new CressetError('SAVE_UNSUPPORTED_VALUE', `tensors of dtype ${dtype} cannot be saved`);
    }
    const key = this.#keyOf(storage);
    this.#memoized(`t${key} ${name}`, () => {
      this.#inTuple(() => {
        this.#pushString('storage');
        this.#pushGlobal('torch', `${name}Storage`);
        this.#pushString(key);
        this.#pushString('cpu');
        this.#pushInt(BigInt(Math.floor(storage.byteLength / elementSize(dtype))));
      });
      this.#op(BINPERSID);
    });
  }

  #keyOf(storage: Storage): string {
    let key = this.#storageKeys.get(storage);
    if (key === undefined) {
      key = String(this.storages.push(storage) - 1);
      this.#storageKeys.set(storage, key);
    }
    return key;
  }

  // ---- the memo

  /** Pushes what is known by a key, or makes it known by pushing it. */
  #memoized(key: string, push: () => void): void {
    if (this.#pushKnown(key)) return;
    push();
    this.#remember(key);
  }

  #pushKnown(key: object | string): boolean {
    const index = this.#memo.get(key);
    if (index === undefined) return false;
    this.#memoOp(BINGET, LONG_BINGET, index);
    return true;
  }

  #remember(key: object | string): void {
    this.#memoOp(BINPUT, LONG_BINPUT, this.#nextMemo);
    this.#memo.set(key, this.#nextMemo++);
  }

  #memoOp(short: number, long: number, index: number): void {
    if (index < 256) this.#op(short).uint8(index);
    else this.#op(long).uint32(index);
  }

  #countOccurrences(root: IValue): void {
    const waiting: IValue[] = [root];
    while (waiting.length > 0) {
      const value = waiting.pop()!;
      if (typeof value !== 'object' || value === null) continue;
      const count = this.#occurrences.get(value) ?? 0;
      this.#occurrences.set(value, count + 1);
      if (count > 0) continue;
      for (const part of partsOf(value, this.#options.stateOf)) waiting.push(part);
    }
  }

  // ---- opcodes

  #op(code: number): ByteWriter {
    return this.#writer.uint8(code);
  }

  #inTuple(push: () => void): void {
    this.#op(MARK);
    push();
    this.#op(TUPLE);
  }

  readonly #typePrinter: TypePrinter = (type) =>
    type.kind === 'ClassType' || type.kind === 'EnumType'
      ? this.#options.typeName?.(type as ClassType | EnumType)
      : undefined;
}

/** The values that a value holds, as a pickle has them. */
export function partsOf(value: IValue, stateOf: PicklerOptions['stateOf'] = undefined): readonly IValue[] {
  if (value instanceof List || value instanceof Tuple) return value.items;
  if (value instanceof Dict) return [...value.entries].flat();
  if (!(value instanceof ScriptObject)) return [];
  const state = stateOf?.(value);
  return state === undefined ? value.slots : [state];
}
