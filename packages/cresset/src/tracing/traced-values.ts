import { type PythonValue, traceError, type TracedArgument, type Tracer } from '@cresset/frontend';
import { IntType, operatorsFor, StringType, TensorType, unshapedType, type Symbol as OperatorName } from '@cresset/ir';
import { Dict, List, Tensor, Tuple, typeOfValue, type DictKey, type IValue } from '@cresset/tensor';
import { fromInt64, Tensor as PageTensor } from '../page/values/tensor.ts';
import { mapItems, withFields } from '../page/values/named-tuple.ts';
import { TensorList } from '../page/values/tensor-list.ts';
import { runtimeTensor } from './runtime-tensor.ts';
import type { TracedTensor, TracedTorch, TraceIndex } from './traced-tensor.ts';

const INT64_MAX = 2n ** 63n - 1n;
const TENSOR_TYPE = TensorType.get();

/** Methods that are `to` with a dtype. */
const CASTS: Readonly<Record<string, string>> = {
  byte: 'uint8',
  char: 'int8',
  double: 'float64',
  float: 'float32',
  int: 'int32',
  long: 'int64',
  short: 'int16',
  half: 'float16',
  bfloat16: 'bfloat16',
  bool: 'bool',
  cfloat: 'complex64',
  cdouble: 'complex128',
};

/** Properties of tensors that are operators. */
const PROPERTIES: Readonly<Record<string, OperatorName>> = {
  T: 'aten::numpy_T',
  H: 'aten::matrix_H',
  mT: 'aten::mT',
  mH: 'aten::mH',
  real: 'aten::real',
  imag: 'aten::imag',
};

/** Modules whose operators have a prefix. */
const PREFIXES: Readonly<Record<string, string>> = { linalg: 'linalg_', special: 'special_', fft: 'fft_' };

const DTYPE = /^(?:u?int\d+|float\d+|bfloat16|complex\d+|bool|float|double|half|long|short|int)$/;

const inner = Symbol('tensor');

/** Makes the objects that programs see of tensors, and takes tensors out of them. */
export class TracedValues {
  readonly tracer: Tracer;
  readonly #wrapped = new WeakMap<Tensor, TracedTensor>();
  /** Tensors of the page that the program uses: constants. */
  readonly #constants = new Map<PageTensor, Tensor>();
  readonly torch: TracedTorch;

  constructor(tracer: Tracer) {
    this.tracer = tracer;
    this.torch = this.#module('', {});
  }

  /** What a program sees of a value. Tuples and lists are arrays, dicts plain objects or, with other keys, Maps. */
  wrap(value: IValue): unknown {
    if (value instanceof Tensor) return this.tensor(value);
    if (value instanceof Tuple || value instanceof List) {
      const items = value.items.map((item) => this.wrap(item));
      return value instanceof Tuple ? withFields(items, value.type?.fieldNames) : items;
    }
    if (value instanceof Dict) {
      const entries = [...value.entries].map(([key, item]) => [key, this.wrap(item)] as const);
      return entries.every(([key]) => typeof key === 'string')
        ? Object.fromEntries(entries as (readonly [string, unknown])[])
        : new Map(entries);
    }
    return typeof value === 'bigint' ? fromInt64(value) : value;
  }

  tensor(tensor: Tensor): TracedTensor {
    let wrapped = this.#wrapped.get(tensor);
    if (!wrapped) {
      wrapped = new Proxy(new TensorMembers(this, tensor), MEMBERS) as unknown as TracedTensor;
      this.#wrapped.set(tensor, wrapped);
    }
    return wrapped;
  }

  /** What a program gives to an operator. */
  argument(value: unknown): TracedArgument {
    if (Array.isArray(value)) return mapItems(value, (item) => this.argument(item));
    if (value instanceof TensorList) return value.items.map((item) => this.argument(item));
    return this.tensorIn(value) ?? (value as TracedArgument);
  }

  /** The tensor that a value of the program is; undefined for anything else. */
  tensorIn(value: unknown): Tensor | undefined {
    if (!(value instanceof PageTensor)) return tensorOf(value);
    let constant = this.#constants.get(value);
    if (!constant) this.#constants.set(value, (constant = runtimeTensor(value)));
    return constant;
  }

  /** What a program returns, or gives to an operator: arrays become tuples in results. */
  unwrap(value: unknown): IValue {
    return valueOf(value, (each) => this.tensorIn(each));
  }

  /** As {@link unwrap}, for values that no trace has to do with. */
  static plain(value: unknown): IValue {
    return valueOf(value, tensorOf);
  }

  call(name: OperatorName, args: readonly unknown[]): unknown {
    const last = args.at(-1);
    const kwargs = isPlainObject(last) ? last : undefined;
    const positional = (kwargs ? args.slice(0, -1) : args).map((arg) => this.argument(arg));
    const named =
      kwargs && Object.fromEntries(Object.entries(kwargs).map(([key, value]) => [key, this.argument(value)]));
    const result = this.tracer.call(name, positional, named);
    return Array.isArray(result) ? result.map((item: IValue) => this.wrap(item)) : this.wrap(result as IValue);
  }

  /** `torch` and its modules; `prefix` stands before the names of their operators. */
  #module(prefix: string, members: Readonly<Record<string, unknown>>): TracedTorch {
    return new Proxy(members, {
      get: (target, name) => {
        if (typeof name !== 'string' || name in target) return Reflect.get(target, name);
        if (prefix === '') {
          if (name === 'nn' || name === 'functional') return this.torch;
          const modulePrefix = PREFIXES[name];
          if (modulePrefix !== undefined) return this.#module(modulePrefix, {});
          if (name === 'tensor') return (data: unknown, options?: { dtype?: string }) => this.#newTensor(data, options);
        }
        if (operatorsFor(`aten::${prefix}${name}`).length > 0) {
          return (...args: unknown[]) => this.call(`aten::${prefix}${name}`, args);
        }
        return DTYPE.test(name) ? name : undefined;
      },
    }) as TracedTorch;
  }

  /** `torch.tensor(data)`: a constant of the trace, which is what the warning says. */
  #newTensor(data: unknown, options: { dtype?: string } = {}): unknown {
    this.tracer.warnOfConstant('torch.tensor');
    const flat: (number | bigint | boolean)[] = [];
    const sizes = sizesOf(data, flat);
    const dtype =
      options.dtype ??
      (flat.every((item) => typeof item === 'boolean') && flat.length > 0
        ? 'bool'
        : isWhole(flat)
          ? 'int64'
          : 'float32');
    const doubles = Tensor.fromArray(Float64Array.from(flat, Number), sizes, 'float64');
    const cast = this.tracer.runUnrecorded('aten::to', [doubles, dtype]) as Tensor;
    const moved = this.tracer.call('aten::to', [cast, 'cpu', dtype, false, false, null]) as Tensor;
    return this.wrap(this.tracer.call('aten::detach', [moved]) as Tensor);
  }
}

const isWhole = (items: readonly (number | bigint | boolean)[]): boolean =>
  items.length > 0 && items.every((item) => typeof item !== 'number');

function sizesOf(data: unknown, into: (number | bigint | boolean)[]): number[] {
  if (!Array.isArray(data)) {
    if (typeof data !== 'number' && typeof data !== 'bigint' && typeof data !== 'boolean') {
      throw traceError('torch.tensor takes numbers, bigints and booleans, in nested arrays');
    }
    into.push(data);
    return [];
  }
  const sizes = data.map((item) => sizesOf(item, into));
  if (sizes.some((each) => each.join() !== sizes[0]!.join())) {
    throw traceError(`expected sequence of length ${sizes[0]!.length} at dim 1`);
  }
  return [data.length, ...(sizes[0] ?? [])];
}

/** What a tensor has in programs besides the operators. */
class TensorMembers {
  readonly [inner]: Tensor;
  readonly #values: TracedValues;

  constructor(values: TracedValues, tensor: Tensor) {
    this.#values = values;
    this[inner] = tensor;
  }

  get shape(): readonly TracedTensor[] {
    return this.size() as readonly TracedTensor[];
  }

  get dtype(): string {
    return this[inner].dtype;
  }

  get ndim(): number {
    return this[inner].dim;
  }

  dim(): number {
    return this[inner].dim;
  }

  size(dim?: number): TracedTensor | readonly TracedTensor[] {
    const tensor = this[inner];
    const { tracer } = this.#values;
    return dim === undefined
      ? tensor.sizes.map((_, index) => this.#values.tensor(tracer.sizeOf(tensor, index)))
      : this.#values.tensor(tracer.sizeOf(tensor, dim));
  }

  numel(): TracedTensor {
    return this.#values.tensor(this.#values.tracer.numelOf(this[inner]));
  }

  at(...indices: readonly TraceIndex[]): TracedTensor {
    const { sliced, tensors } = this.#slice(indices);
    return tensors.length === 0
      ? this.#values.tensor(sliced)
      : (this.#values.call('aten::index', [sliced, tensors]) as TracedTensor);
  }

  setAt(indices: readonly TraceIndex[], value: TracedTensor | number | boolean): void {
    const { sliced, tensors } = this.#slice(indices);
    const { tracer } = this.#values;
    let source = tensorOf(value);
    if (!source) {
      // A number is one of the tensor's own dtype.
      const number = Tensor.fromArray(Float64Array.of(Number(value)), [], 'float64');
      source = tracer.runUnrecorded('aten::to', [number, sliced.dtype]) as Tensor;
      if (tensors.length === 0 && sliced.dim > 0) {
        tracer.call('aten::fill_', [sliced, source]);
        return;
      }
    }
    if (tensors.length === 0) tracer.call('aten::copy_', [sliced, source]);
    else tracer.call('aten::index_put_', [sliced, tensors, source]);
  }

  /** Ints, slices and new dimensions, one after the other (PyTorch: applySlicing); tensors are left for `index`. */
  #slice(indices: readonly TraceIndex[]): { sliced: Tensor; tensors: (Tensor | null)[] } {
    const { tracer } = this.#values;
    let sliced = this[inner];
    const tensors: (Tensor | null)[] = [];
    const specified = indices.filter((index) => index !== null && index !== '...').length;
    let dim = 0;
    for (const index of indices) {
      const tensor = tensorOf(index);
      if (tensor) {
        tensors[dim++] = tensor;
      } else if (index === null) {
        sliced = tracer.call('aten::unsqueeze', [sliced, dim++]) as Tensor;
      } else if (index === '...') {
        dim += this[inner].dim - specified;
      } else if (Array.isArray(index)) {
        const [start, stop, step] = (index as readonly unknown[]).map((bound) => this.#values.argument(bound));
        sliced = tracer.call('aten::slice', [sliced, dim++, start ?? 0, stop ?? INT64_MAX, step ?? 1]) as Tensor;
      } else {
        sliced = tracer.call('aten::select', [sliced, dim, this.#values.argument(index)]) as Tensor;
      }
    }
    return { sliced, tensors: Array.from(tensors, (each) => each ?? null) };
  }

  item(): number | bigint | boolean {
    return this.#element('number');
  }

  tolist(): unknown {
    this.#values.tracer.readAll(this[inner]);
    const { sizes } = this[inner];
    const elements = Array.from(this[inner].contiguousArray() as ArrayLike<number | bigint>, (each) =>
      this.#read(each),
    );
    const build = (dim: number, offset: number, count: number): unknown =>
      dim === sizes.length
        ? elements[offset]
        : Array.from({ length: sizes[dim]! }, (_, index) =>
            build(dim + 1, offset + (index * count) / sizes[dim]!, count / sizes[dim]!),
          );
    return build(0, 0, elements.length);
  }

  *[Symbol.iterator](): Iterator<TracedTensor> {
    this.#values.tracer.warn(
      "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't change the number of iterations " +
        'executed (and might lead to errors or silently give incorrect results).',
    );
    yield* this.#values.call('aten::unbind', [this[inner], 0]) as TracedTensor[];
  }

  get length(): number {
    this.#values.tracer.warn(
      'Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be tensor.shape[0]. Passing a tensor of ' +
        'different shape might lead to errors or silently give incorrect results.',
    );
    return this[inner].sizes[0] ?? 0;
  }

  /**
   * Used as a number, in a comparison, or as an index. In a text, and in brackets, JavaScript asks for a text: an int without dimensions is an index then, and
   * what else has one element is shown as Python shows it.
   */
  [Symbol.toPrimitive](hint: string): number | string | bigint {
    const { dtype, dim } = this[inner];
    const isWhole = !/^(b?float|complex)/.test(dtype);
    if (hint === 'string') {
      if (dim > 0) return this.toString();
      return String(this.#element(isWhole ? 'index' : 'number'));
    }
    const element = this.#element(dtype === 'bool' ? 'boolean' : isWhole ? 'integer' : 'float');
    return typeof element === 'boolean' ? Number(element) : element;
  }

  /** As the other coercions, where a program asks itself. */
  valueOf(): number | string | bigint {
    return this[Symbol.toPrimitive]('number');
  }

  /** In JSON a tensor is its elements. */
  toJSON(): unknown {
    return this.tolist();
  }

  toString(): string {
    const { sizes, dtype } = this[inner];
    return `TracedTensor(shape=[${sizes.join(', ')}], dtype=${dtype})`;
  }

  #element(what: PythonValue): number | bigint | boolean {
    const tensor = this[inner];
    if (tensor.numel !== 1) {
      throw traceError(`a Tensor with ${tensor.numel} elements cannot be converted to Scalar`);
    }
    this.#values.tracer.warnOfPythonValue(what);
    return this.#read(tensor.contiguousArray()[0]!);
  }

  #read(element: number | bigint): number | bigint | boolean {
    if (this[inner].dtype === 'bool') return Boolean(element);
    return typeof element === 'bigint' ? (fromInt64(element) as number | bigint) : element;
  }

  /** Members are looked for here first, then among the operators. */
  operator(name: string): unknown {
    const tensor = this[inner];
    const property = PROPERTIES[name];
    if (property !== undefined) return this.#values.call(property, [tensor]);
    const dtype = CASTS[name];
    if (dtype !== undefined) return () => this.#values.call('aten::to', [tensor, dtype, false, false, null]);
    if (operatorsFor(`aten::${name}`).length === 0) return undefined;
    return (...args: unknown[]) => this.#values.call(`aten::${name}`, [tensor, ...args]);
  }
}

const MEMBERS: ProxyHandler<TensorMembers> = {
  get(target, name) {
    if (typeof name !== 'string' || name in target) {
      // Private fields are the target's own, so it has to be the receiver.
      const own: unknown = Reflect.get(target, name, target);
      return typeof own === 'function' ? own.bind(target) : own;
    }
    return name === 'then' ? undefined : target.operator(name);
  },
  has: (target, name) => name in target || (typeof name === 'string' && target.operator(name) !== undefined),
};

/** The tensor that a program's object stands for. */
export function tensorOf(value: unknown): Tensor | undefined {
  if (value instanceof Tensor) return value;
  return value !== null && typeof value === 'object' && inner in value ? (value as TensorMembers)[inner] : undefined;
}

/** An object that is written as a literal, which is a dict, or keywords. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (value === null || typeof value !== 'object') return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function valueOf(value: unknown, tensorIn: (value: unknown) => Tensor | undefined): IValue {
  const of = (item: unknown): IValue => valueOf(item, tensorIn);
  const tensor = tensorIn(value);
  if (tensor) return tensor;
  if (Array.isArray(value)) return new Tuple(mapItems(value, of));
  if (value instanceof TensorList) return new List(TENSOR_TYPE, value.items.map(of));
  return value !== null && typeof value === 'object' ? dictOf(value, of) : (value as IValue);
}

function dictOf(value: object, unwrap: (item: unknown) => IValue): Dict {
  const entries = value instanceof Map ? [...(value as Map<unknown, unknown>)] : Object.entries(value);
  const isText = entries.every(([key]) => typeof key === 'string');
  const keyOf = (key: unknown): DictKey => (typeof key === 'number' ? BigInt(key) : (key as DictKey));
  const items = entries.map(([key, item]) => [keyOf(key), unwrap(item)] as const);
  const first = items[0]?.[1];
  const type = first instanceof Tuple ? unshapedType(typeOfValue(first)!) : TENSOR_TYPE;
  return new Dict(isText ? StringType.get() : IntType.get(), type, new Map(items));
}
