import {
  AnyType,
  BoolType,
  ClassType,
  ComplexType,
  CressetError,
  EnumType,
  FloatType,
  IntType,
  TensorType,
  type ScalarTypeName,
  type Type,
} from '@cresset/ir';
import {
  Complex,
  DeviceValue,
  Dict,
  elementSize,
  EnumValue,
  fromByteString,
  List,
  numelOf,
  ScriptObject,
  Storage,
  Tensor,
  Tuple,
  type IValue,
  type ScalarType,
} from '@cresset/tensor';
import { OpaqueObject, PickleGlobal, PickleSet, StorageReference, type PickleValue } from './pickle-value.ts';
import type { PickleEnvironment } from './unpickler.ts';

/** Where the names in a pickle lead: to the storages of its file and the classes of its code. */
export interface PickleContext {
  /** The storage with this key; one object a key. `dtype` null: untyped, `count` in bytes. Throws where the file cannot have it. */
  storage(key: string, dtype: ScalarType | null, count: number): StorageReference;
  /** The class or enum of a `__torch__.` name; null where the file's code has none. */
  resolveClass?(qualifiedName: string): Type | null;
  /** The type a `restore_type_tag` names, as in source text. */
  parseType?(text: string): Type;
  /** The tensors that `build_tensor_from_id` counts. */
  readonly tensorTable?: readonly Tensor[];
  /** Sets the attributes of an instance, or keeps the state for its `__setstate__`. */
  build?(instance: ScriptObject, state: PickleValue): void;
  /**
   * Called for a name that is not on the list. Where it answers true, the name becomes an inert object, which serves to
   * describe a file that cannot be loaded; otherwise the file is refused.
   */
  tolerates?(qualifiedName: string): boolean;
}

/** Storages by the name that PyTorch gives their class. */
const STORAGE_DTYPES: ReadonlyMap<string, ScalarType | null> = new Map<string, ScalarType | null>([
  ['FloatStorage', 'float32'],
  ['DoubleStorage', 'float64'],
  ['HalfStorage', 'float16'],
  ['BFloat16Storage', 'bfloat16'],
  ['LongStorage', 'int64'],
  ['IntStorage', 'int32'],
  ['ShortStorage', 'int16'],
  ['CharStorage', 'int8'],
  ['ByteStorage', 'uint8'],
  ['BoolStorage', 'bool'],
  ['ComplexHalfStorage', 'complex32'],
  ['ComplexFloatStorage', 'complex64'],
  ['ComplexDoubleStorage', 'complex128'],
  ['QInt8Storage', 'qint8'],
  ['QUInt8Storage', 'quint8'],
  ['QInt32Storage', 'qint32'],
  ['UInt16Storage', 'uint16'],
  ['UInt32Storage', 'uint32'],
  ['UInt64Storage', 'uint64'],
  ['Float8_e5m2Storage', 'float8_e5m2'],
  ['Float8_e4m3fnStorage', 'float8_e4m3fn'],
  ['Float8_e5m2fnuzStorage', 'float8_e5m2fnuz'],
  ['Float8_e4m3fnuzStorage', 'float8_e4m3fnuz'],
  ['UntypedStorage', null],
]);

const DTYPE_NAMES: ReadonlySet<string> = new Set<ScalarTypeName>([
  'uint8',
  'int8',
  'int16',
  'int32',
  'int64',
  'float16',
  'bfloat16',
  'float32',
  'float64',
  'complex32',
  'complex64',
  'complex128',
  'bool',
  'qint8',
  'quint8',
  'qint32',
  'uint16',
  'uint32',
  'uint64',
  'float8_e5m2',
  'float8_e4m3fn',
  'float8_e5m2fnuz',
  'float8_e4m3fnuz',
]);

/** No tensor of PyTorch's has more dimensions. */
const MAX_DIMENSIONS = 64;
/** A pickle can name one list again and again: beyond its first copy, this many elements are copied. */
const MAX_COPIED_AGAIN = 1 << 20;

/** The names that files of PyTorch may hold, and what they stand for here. Everything else is refused. */
export class PickleGlobals implements PickleEnvironment {
  readonly #context: PickleContext;
  readonly #name: string;
  readonly #known = new Map<string, PickleGlobal>();
  readonly #types = new Map<string, Type>();
  readonly #copied = new WeakSet<object>();
  #copiedAgain = 0;

  /** @param name what an error message calls the pickle. */
  constructor(context: PickleContext, name: string) {
    this.#context = context;
    this.#name = name;
    this.#defineAll();
  }

  findGlobal(module: string, name: string): PickleGlobal | null {
    const qualifiedName = `${module}.${name}`;
    const known = this.#known.get(qualifiedName);
    if (known) return known;
    const made = this.#make(module, name, qualifiedName);
    if (made) this.#known.set(qualifiedName, made);
    return made;
  }

  persistentLoad(id: PickleValue): PickleValue {
    if (!(id instanceof Tuple) || id.items[0] !== 'storage' || id.items.length < 5) {
      throw this.#malformed('refers to something outside that is no storage');
    }
    const [, storageClass, key, , count] = id.items as readonly PickleValue[];
    // The location (`cuda:0`) says where the tensor was; it is read past.
    if (!(storageClass instanceof PickleGlobal) || typeof key !== 'string' || typeof count !== 'bigint') {
      throw this.#malformed('refers to a storage in a way that cannot be read');
    }
    const dtype = STORAGE_DTYPES.get(storageClass.qualifiedName.slice(storageClass.qualifiedName.lastIndexOf('.') + 1));
    if (dtype === undefined) throw this.#unsupportedDtype(storageClass.qualifiedName);
    return this.#context.storage(key, dtype, this.#size(count));
  }

  build(instance: ScriptObject, state: PickleValue): void {
    if (!this.#context.build) throw this.#malformed('has an object where none can be');
    this.#context.build(instance, state);
  }

  #make(module: string, name: string, qualifiedName: string): PickleGlobal | null {
    if (module === '__torch__' || module.startsWith('__torch__.')) return this.#classGlobal(qualifiedName);
    if (module.startsWith('torch') && /^(QU?[Ii]nt\w*Storage|(float|u?int|bits|quint)\d\w*)$/.test(name)) {
      throw this.#unsupportedDtype(qualifiedName);
    }
    if (this.#context.tolerates?.(qualifiedName)) return opaqueGlobal(qualifiedName);
    return null;
  }

  #classGlobal(qualifiedName: string): PickleGlobal {
    const type = this.#context.resolveClass?.(qualifiedName) ?? null;
    if (type instanceof EnumType) {
      return new PickleGlobal(qualifiedName, ([value]) => this.#enumMember(type, value));
    }
    if (type instanceof ClassType) {
      return new PickleGlobal(qualifiedName, null, () => new ScriptObject(type));
    }
    throw new CressetError(
      'ARCHIVE_NO_CLASS',
      `${this.#name} holds an object of class '${qualifiedName}', which the file's code does not define`,
    );
  }

  #enumMember(type: EnumType, value: PickleValue | undefined): EnumValue {
    const name = type.members.find(([, each]) => each === value)?.[0];
    const member = name === undefined ? undefined : EnumValue.of(type, name);
    if (!member) throw this.#malformed(`has a value of enum '${type.qualifiedName}' that is none of its members`);
    return member;
  }

  #define(
    qualifiedName: string,
    call: ((args: readonly PickleValue[]) => PickleValue) | null,
    instantiate?: () => PickleValue,
  ): void {
    this.#known.set(qualifiedName, new PickleGlobal(qualifiedName, call, instantiate ?? null));
  }

  #defineAll(): void {
    for (const storage of STORAGE_DTYPES.keys()) {
      for (const module of ['torch', 'torch.storage', 'torch.cuda']) this.#define(`${module}.${storage}`, null);
    }
    for (const dtype of DTYPE_NAMES) this.#define(`torch.${dtype}`, null);
    for (const scheme of ['per_tensor_affine', 'per_channel_affine', 'per_channel_affine_float_qparams']) {
      this.#define(`torch.${scheme}`, null);
    }

    const newDict = ([items]: readonly PickleValue[]): PickleValue => this.#dictOf(items);
    for (const name of ['OrderedDict', 'Counter']) this.#define(`collections.${name}`, newDict, () => newDict([]));
    this.#define('collections.defaultdict', () => newDict([]));
    this.#define('torch.Size', ([items]) => this.#tupleOf(items));
    this.#define('torch.device', ([type, index]) => this.#device(type, index));

    for (const builtins of ['builtins', '__builtin__']) {
      this.#define(`${builtins}.complex`, ([re, im]) => new Complex(this.#float(re), this.#float(im ?? 0)));
      this.#define(`${builtins}.set`, ([items]) => new PickleSet(this.#copyOf(items ?? new Tuple([]))));
      this.#define(`${builtins}.frozenset`, ([items]) => new PickleSet(this.#copyOf(items ?? new Tuple([]))));
      // A defaultdict names what it makes, an object of a class without a state what it is.
      for (const name of ['dict', 'list', 'int', 'float', 'object']) this.#define(`${builtins}.${name}`, null);
      this.#define(`${builtins}.bytearray`, () => new Uint8Array(0));
    }
    this.#define('_codecs.encode', ([text]) =>
      typeof text === 'string' ? Uint8Array.from(fromByteString(text), (c) => c.charCodeAt(0)) : new Uint8Array(0),
    );

    const parameter = ([tensor, requiresGrad]: readonly PickleValue[]): PickleValue => {
      const result = this.#tensor(tensor);
      result.requiresGrad = requiresGrad === true;
      return result;
    };
    this.#define('torch._utils._rebuild_tensor', (args) => this.#rebuildTensor(args, null));
    this.#define('torch._utils._rebuild_tensor_v2', (args) => this.#rebuildTensor(args, null));
    this.#define('torch._utils._rebuild_tensor_v3', (args) => this.#rebuildTensor(args, this.#dtype(args[6])));
    this.#define('torch._utils._rebuild_qtensor', (args) => this.#rebuildQuantized(args));
    this.#define('torch.serialization._get_layout', ([layout]) => layout ?? null);
    this.#define('torch._utils._rebuild_sparse_tensor', ([layout, data]) => this.#refuseSparse(layout, data));
    this.#define('torch._utils._rebuild_meta_tensor_no_storage', () => {
      throw new CressetError(
        'UNSUPPORTED_META_TENSOR',
        `${this.#name} has a tensor of device 'meta', which has no elements`,
      );
    });
    this.#define('torch._utils._rebuild_parameter', parameter);
    this.#define('torch._utils._rebuild_parameter_with_state', parameter);
    this.#define('torch.nn.parameter.Parameter', parameter);
    this.#define('torch.Tensor', null);
    this.#define('torch._tensor._rebuild_from_type_v2', ([rebuild, , args]) => this.#rebuildFromType(rebuild, args));

    const typedList = (name: string, type: Type): void => {
      this.#define(`torch.jit._pickle.${name}`, ([items]) => new List(type, this.#copyOf(items) as IValue[]));
    };
    typedList('build_intlist', IntType.get());
    typedList('build_doublelist', FloatType.get());
    typedList('build_boollist', BoolType.get());
    typedList('build_complexlist', ComplexType.get());
    typedList('build_tensorlist', TensorType.get());
    this.#define('torch.jit._pickle.build_tensor_from_id', ([id]) => this.#tensorFromId(id));
    this.#define('torch.jit._pickle.restore_type_tag', ([value, text]) => this.#restoreTypeTag(value, text));
  }

  // ---- tensors

  #rebuildTensor(
    [storage, offset, sizes, strides, requiresGrad]: readonly PickleValue[],
    dtype: ScalarType | null,
  ): Tensor {
    if (!(storage instanceof StorageReference)) throw this.#malformed('has a tensor without a storage');
    const type = dtype ?? storage.dtype ?? 'uint8';
    const result = this.#view(storage, type, this.#size(offset), this.#sizes(sizes), this.#sizes(strides));
    result.requiresGrad = requiresGrad === true;
    storage.tensors.push(result);
    return result;
  }

  #view(storage: StorageReference, dtype: ScalarType, offset: number, sizes: number[], strides: number[]): Tensor {
    let width: number;
    try {
      width = elementSize(dtype);
    } catch {
      throw this.#unsupportedDtype(dtype);
    }
    const ownWidth = storage.dtype === null ? 1 : elementSize(storage.dtype);
    const available = Math.floor((storage.count * ownWidth) / width);
    if (sizes.length !== strides.length)
      throw this.#malformed('has a tensor with another number of sizes than of strides');
    let last = offset;
    for (let dim = 0; dim < sizes.length; dim++) last += (sizes[dim] - 1) * strides[dim];
    const numel = numelOf(sizes);
    // An expanded tensor has more elements than its storage, but nobody saves one with as many as a small file can claim.
    if (!(numel <= Math.max(available, MAX_EXPANDED)) || (numel > 0 && !(last < available))) {
      throw new CressetError(
        'ARCHIVE_TENSOR_BOUNDS',
        `${this.#name} has a tensor of shape [${sizes.join(', ')}] with strides [${strides.join(', ')}] at offset ${offset}, which does not lie within its storage of ${available} elements`,
      );
    }
    return new Tensor(UNREAD, dtype, sizes, strides, offset);
  }

  #rebuildQuantized([storage, offset, sizes, strides, parameters, requiresGrad]: readonly PickleValue[]): Tensor {
    const [scheme, scale, zeroPoint, axis] = this.#itemsOf(parameters);
    const result = this.#rebuildTensor([storage, offset, sizes, strides, requiresGrad], null);
    if (!(scheme instanceof PickleGlobal)) throw this.#malformed('has a quantised tensor without a scheme');
    result.quantizer =
      scheme.qualifiedName === 'torch.per_tensor_affine'
        ? { scale: this.#float(scale), zeroPoint: this.#float(zeroPoint), axis: null }
        : { scale: this.#tensor(scale), zeroPoint: this.#tensor(zeroPoint), axis: this.#size(axis) };
    return result;
  }

  #refuseSparse(layout: PickleValue | undefined, data: PickleValue | undefined): never {
    const sizes = data instanceof Tuple ? data.items.filter((item) => item instanceof Tuple).at(-1) : undefined;
    throw new CressetError(
      'UNSUPPORTED_SPARSE_TENSOR',
      `${this.#name} has a sparse tensor (${String(layout)}) of shape [${sizes?.items.join(', ') ?? ''}]; sparse tensors are not supported. Save its to_dense()`,
    );
  }

  #unsupportedDtype(dtype: string): CressetError {
    return new CressetError(
      'UNSUPPORTED_DTYPE',
      `${this.#name} has a tensor of dtype ${dtype}, which is not supported`,
    );
  }

  #rebuildFromType(rebuild: PickleValue | undefined, args: PickleValue | undefined): PickleValue {
    if (
      !(rebuild instanceof PickleGlobal) ||
      !rebuild.call ||
      !rebuild.qualifiedName.startsWith('torch._utils._rebuild_')
    ) {
      throw this.#malformed('has a tensor that is rebuilt in an unknown way');
    }
    return rebuild.call(this.#itemsOf(args));
  }

  #tensorFromId(id: PickleValue | undefined): Tensor {
    const tensor = typeof id === 'bigint' ? this.#context.tensorTable?.[Number(id)] : undefined;
    if (!tensor) throw this.#malformed(`refers to tensor ${String(id)}, which the file does not have`);
    return tensor;
  }

  // ---- checked arguments

  #tensor(value: PickleValue | undefined): Tensor {
    if (value instanceof Tensor) return value;
    throw this.#malformed('has something else where a tensor should be');
  }

  #itemsOf(value: PickleValue | undefined): readonly PickleValue[] {
    if (value instanceof Tuple || value instanceof List || value instanceof PickleSet)
      return value.items as readonly PickleValue[];
    throw this.#malformed('has something else where a list or tuple should be');
  }

  #copyOf(value: PickleValue | undefined): PickleValue[] {
    const items = this.#itemsOf(value);
    if (this.#copied.has(items)) this.#copiedAgain += items.length;
    else this.#copied.add(items);
    if (this.#copiedAgain > MAX_COPIED_AGAIN) throw this.#malformed('uses one list too many times');
    return [...items];
  }

  #tupleOf(value: PickleValue | undefined): Tuple {
    return value instanceof Tuple ? value : new Tuple(this.#copyOf(value) as readonly IValue[]);
  }

  #dictOf(pairs: PickleValue | undefined): Dict {
    const dict = new Dict(AnyType.get(), AnyType.get());
    if (pairs === undefined) return dict;
    for (const pair of this.#copyOf(pairs)) {
      const [key, value] = this.#itemsOf(pair);
      if (typeof key !== 'string' && typeof key !== 'bigint')
        throw this.#malformed('has a dict with a key that cannot be one');
      dict.entries.set(key, value as IValue);
    }
    return dict;
  }

  #size(value: PickleValue | undefined): number {
    if (typeof value === 'bigint' && value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
    throw this.#malformed(`has ${typeof value === 'bigint' ? value : 'something else'} where a size should be`);
  }

  #sizes(value: PickleValue | undefined): number[] {
    const items = this.#itemsOf(value);
    if (items.length > MAX_DIMENSIONS) throw this.#malformed(`has a tensor of ${items.length} dimensions`);
    return items.map((each) => this.#size(each));
  }

  #float(value: PickleValue | undefined): number {
    if (typeof value === 'number') return value;
    if (typeof value === 'bigint') return Number(value);
    throw this.#malformed('has something else where a number should be');
  }

  #dtype(value: PickleValue | undefined): ScalarType {
    const name = value instanceof PickleGlobal ? value.qualifiedName.replace(/^torch\./, '') : '';
    if (!DTYPE_NAMES.has(name)) throw this.#malformed('has a tensor without a dtype');
    return name as ScalarType;
  }

  #device(type: PickleValue | undefined, index: PickleValue | undefined): DeviceValue {
    const text = typeof index === 'bigint' ? `${String(type)}:${index}` : type;
    if (typeof text !== 'string' || !/^[a-z]{1,32}(:\d{1,4})?$/.test(text))
      throw this.#malformed('has a device that is none');
    return DeviceValue.parse(text);
  }

  #restoreTypeTag(value: PickleValue | undefined, text: PickleValue | undefined): PickleValue {
    if (value === undefined || typeof text !== 'string' || !this.#context.parseType) {
      throw this.#malformed('has a type tag that cannot be read');
    }
    let type = this.#types.get(text);
    if (!type) this.#types.set(text, (type = this.#context.parseType(fromByteString(text))));
    restoreContainerType(value, type);
    return value;
  }

  #malformed(what: string): CressetError {
    return new CressetError('PICKLE_MALFORMED', `${this.#name} is damaged: it ${what}`);
  }
}

/** Gives a list or dict that was read without one its element type. */
export function restoreContainerType(value: PickleValue, type: Type): void {
  if (value instanceof List && type.kind === 'ListType') {
    [value.elementType] = type.containedTypes();
  } else if (value instanceof Dict && type.kind === 'DictType') {
    [value.keyType, value.valueType] = type.containedTypes();
  }
}

/** Elements that a tensor may have beyond those of its storage, by strides of 0. */
const MAX_EXPANDED = 1 << 28;

/** Stands in a tensor until its storage has been read. */
const UNREAD = Storage.onHost(new ArrayBuffer(0));

function opaqueGlobal(qualifiedName: string): PickleGlobal {
  return new PickleGlobal(
    qualifiedName,
    (args) => new OpaqueObject(qualifiedName, args),
    () => new OpaqueObject(qualifiedName, []),
  );
}
