import { type ClassType, Complex, CressetError, type EnumType, ListType, type TypePrinter } from '@cresset/ir';
import {
  DeviceValue,
  Dict,
  elementSize,
  EnumValue,
  List,
  ScriptObject,
  type ScalarType,
  type Storage,
  Tensor,
  Tuple,
  type DictKey,
  type IValue,
} from '@cresset/tensor';
import { ByteWriter } from './byte-writer.ts';

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

/** Objects in objects in objects: what is pickled is followed by recursion, here as in PyTorch. */
const MAX_DEPTH = 1500;

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
}

/**
 * Writes values as a pickle of protocol 2 (torch::jit::Pickler). Tensors are views of storages, which the pickle names by numbers and
 * which are written beside it; values that occur more than once are written once, and are one value when they are read.
 *
 * Throws `SAVE_UNSUPPORTED_VALUE` for what cannot be saved, and `SAVE_NESTING` for objects that contain themselves.
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
  readonly #storageKeys = new Map<Storage, string>();
  #nextMemo = 0;
  #depth = 0;

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

  #push(value: IValue): void {
    const isShared = typeof value === 'object' && value !== null && (this.#occurrences.get(value) ?? 0) > 1;
    if (!isShared) {
      this.#pushUnshared(value);
    } else if (!this.#pushKnown(value)) {
      this.#pushUnshared(value);
      this.#remember(value);
    }
  }

  #pushUnshared(value: IValue): void {
    if (value === null) this.#op(NONE);
    else if (typeof value === 'boolean') this.#op(value ? NEWTRUE : NEWFALSE);
    else if (typeof value === 'bigint') this.#pushInt(value);
    else if (typeof value === 'number') this.#op(BINFLOAT).float64BigEndian(value);
    else if (typeof value === 'string') this.#pushString(value);
    else if (value instanceof Tensor) this.#pushTensor(value);
    else if (value instanceof Tuple) this.#pushTuple(value.items);
    else if (value instanceof List) this.#pushList(value);
    else if (value instanceof Dict) this.#pushDict(value);
    else if (value instanceof ScriptObject) this.#pushObject(value);
    else if (value instanceof EnumValue) this.#pushEnum(value);
    else if (value instanceof DeviceValue) this.#pushDevice(value);
    else if (value instanceof Complex) this.#pushComplex(value);
    else {
      const what = 'kind' in value ? 'Generator' : value.constructor.name.replace(/Value$/, '');
      throw new CressetError('SAVE_UNSUPPORTED_VALUE', `Unknown IValue type for pickling: ${what}`);
    }
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

  #pushTuple(items: readonly IValue[]): void {
    if (items.length === 0) this.#op(EMPTY_TUPLE);
    else if (items.length <= 3) {
      this.#pushAll(items);
      this.#op(TUPLE1 + items.length - 1);
    } else {
      this.#inTuple(() => this.#pushAll(items));
    }
  }

  #pushList(list: List): void {
    const builder = LIST_BUILDERS[list.elementType.kind];
    const pushItems = (): void => {
      this.#op(EMPTY_LIST);
      this.#op(MARK);
      this.#pushAll(list.items);
      this.#op(APPENDS);
    };
    if (builder === undefined) {
      this.#tagged(new ListType(list.elementType).annotationStr(this.#typePrinter), pushItems);
    } else {
      this.#pushGlobal('torch.jit._pickle', builder);
      this.#inTuple(pushItems);
      this.#op(REDUCE);
    }
  }

  #pushDict({ keyType, valueType, entries }: Dict): void {
    const [key, value] = [keyType, valueType].map((type) => type.annotationStr(this.#typePrinter));
    this.#tagged(`Dict[${key}, ${value}]`, () => {
      this.#op(EMPTY_DICT);
      this.#op(MARK);
      for (const [each, item] of entries) this.#pushAll([each, item]);
      this.#op(SETITEMS);
    });
  }

  /** A container with its type beside it. */
  #tagged(type: string, push: () => void): void {
    this.#pushGlobal('torch.jit._pickle', 'restore_type_tag');
    push();
    this.#pushString(type);
    this.#op(TUPLE1 + 1);
    this.#op(REDUCE);
  }

  #pushObject(object: ScriptObject): void {
    const { type, slots } = object;
    this.classTypes.push(type);
    this.#pushQualifiedName(type);
    this.#op(EMPTY_TUPLE);
    this.#op(NEWOBJ);
    const state = this.#options.stateOf?.(object);
    this.#nested(type, () => {
      if (state !== undefined) {
        this.#push(state);
        return;
      }
      this.#op(EMPTY_DICT);
      this.#op(MARK);
      type.attributes.forEach(({ name }, slot) => this.#pushAll([name, slots[slot]]));
      this.#op(SETITEMS);
    });
    this.#op(BUILD);
  }

  #nested(type: ClassType, push: () => void): void {
    if (++this.#depth > MAX_DEPTH) {
      throw new CressetError(
        'SAVE_NESTING',
        `an object of class '${type.qualifiedName}' cannot be saved: it contains itself, or stands in objects within objects more than ${MAX_DEPTH} deep`,
      );
    }
    push();
    this.#depth--;
  }

  #pushEnum({ type, value }: EnumValue): void {
    this.#pushQualifiedName(type);
    // PyTorch's reader takes the value itself here, and not a tuple of arguments.
    this.#push(value);
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
    this.#pushTuple([re, im]);
    this.#op(REDUCE);
  }

  // ---- tensors

  #pushTensor(tensor: Tensor): void {
    this.#pushGlobal('torch._utils', '_rebuild_tensor_v2');
    this.#inTuple(() => {
      this.#pushStorageOf(tensor);
      this.#pushInt(BigInt(tensor.storageOffset));
      for (const numbers of [tensor.sizes, tensor.strides]) {
        this.#inTuple(() => numbers.forEach((number) => this.#pushInt(BigInt(number))));
      }
      this.#op(tensor.requiresGrad ? NEWTRUE : NEWFALSE);
      this.#pushGlobal('collections', 'OrderedDict');
      this.#op(EMPTY_TUPLE);
      this.#op(REDUCE);
    });
    this.#op(REDUCE);
  }

  /** Tensors of several element types over one storage name it once for each: a name says the type. */
  #pushStorageOf({ storage, dtype }: Tensor): void {
    const name = STORAGE_NAMES[dtype];
    if (name === undefined) {
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
      if (count === 0) waiting.push(...partsOf(value, this.#options.stateOf));
    }
  }

  // ---- opcodes

  #op(code: number): ByteWriter {
    return this.#writer.uint8(code);
  }

  #pushAll(values: readonly (IValue | DictKey)[]): void {
    for (const value of values) this.#push(value);
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
