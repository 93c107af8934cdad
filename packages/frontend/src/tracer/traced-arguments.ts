import {
  BoolType,
  Complex,
  DeviceObjType,
  FloatType,
  GeneratorType,
  IntType,
  ListType,
  NumberType,
  OptionalType,
  scalarTypeCode,
  StringType,
  TensorType,
  type Argument,
  type ScalarTypeName,
  type Symbol,
  type Type,
  type Value,
} from '@cresset/ir';
import { DeviceValue, List, Tensor, type IValue } from '@cresset/tensor';
import type { TracingState } from './tracing-state.ts';

/**
 * What an operator is called with while tracing: values of programs, or what JavaScript has in their place, a number for an int or
 * float, an array for a list, the name of a dtype, layout, memory format or device.
 */
export type TracedArgument = IValue | undefined | readonly TracedArgument[];

/** An argument that fits a parameter. */
export interface FittingArgument {
  /** What the operator computes with. */
  readonly value: IValue;
  /** Inserts what stands for it in the graph. */
  emit(): Value;
}

const DTYPES: Readonly<Record<string, ScalarTypeName>> = {
  float: 'float32',
  double: 'float64',
  half: 'float16',
  int: 'int32',
  long: 'int64',
  short: 'int16',
  cfloat: 'complex64',
  cdouble: 'complex128',
};

const SCALAR_TYPES: ReadonlySet<string> = new Set(
  'uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128 bool bfloat16'.split(' '),
);

const LAYOUTS: ReadonlyMap<string, bigint> = new Map([['strided', 0n]]);

const MEMORY_FORMATS: ReadonlyMap<string, bigint> = new Map([
  ['contiguous_format', 0n],
  ['preserve_format', 1n],
  ['channels_last', 2n],
  ['channels_last_3d', 3n],
]);

/** Operators whose tensors may be given as numbers, which become tensors without dimensions (PyTorch: should_allow_numbers_as_tensors). */
const NUMBERS_AS_TENSORS = /^aten::(add|sub|subtract|mul|multiply|div|divide|true_divide|floor_divide)_?$/;

/** Fits arguments to the parameters of one schema, as PyTorch's Python bindings do (PyTorch: PythonArgParser). */
export class ArgumentReader {
  readonly #state: TracingState;
  readonly #numbersAsTensors: boolean;
  readonly #tensorsAsNumbers: boolean;

  constructor(state: TracingState, operator: Symbol, tensorsAsNumbers: boolean) {
    this.#state = state;
    this.#tensorsAsNumbers = tensorsAsNumbers;
    this.#numbersAsTensors = NUMBERS_AS_TENSORS.test(operator);
  }

  /** Undefined where it does not fit. */
  read(argument: TracedArgument, formal: Argument): FittingArgument | undefined {
    return this.#read(argument, formal.type, formal.realType, formal.N);
  }

  /** A value as it is. */
  constant(value: IValue): FittingArgument {
    return { value, emit: () => this.#state.graph.insertConstant(value) };
  }

  #read(argument: TracedArgument, type: Type, realType: Type, N: number | undefined): FittingArgument | undefined {
    if (type instanceof OptionalType) {
      const innerReal = realType instanceof OptionalType ? realType.elementType : realType;
      return argument === null || argument === undefined
        ? this.constant(null)
        : this.#read(argument, type.elementType, innerReal, N);
    }
    if (argument === null || argument === undefined) {
      return undefined;
    }
    if (type instanceof ListType) {
      return this.#readList(argument, type.elementType, N);
    }
    if (type instanceof TensorType) {
      return this.#readTensor(argument);
    }
    return this.#readScalar(argument, type, realType);
  }

  #readTensor(argument: TracedArgument): FittingArgument | undefined {
    let tensor = argument;
    if (this.#numbersAsTensors && isNumber(argument)) {
      tensor = wrappedNumber(argument);
    }
    return tensor instanceof Tensor ? { value: tensor, emit: () => this.#state.valueOf(tensor) } : undefined;
  }

  #readScalar(argument: TracedArgument, type: Type, realType: Type): FittingArgument | undefined {
    if (argument instanceof Tensor) {
      return this.#readTensorAsNumber(argument, type);
    }
    const value = toScalar(argument, type, realType);
    return value === undefined ? undefined : this.constant(value);
  }

  /** A size that was traced, or an element: the graph converts it as the program does now. */
  #readTensorAsNumber(tensor: Tensor, type: Type): FittingArgument | undefined {
    const conversion = NUMBER_CONVERSIONS.get(type);
    if (!this.#tensorsAsNumbers || conversion === undefined || tensor.dim !== 0) {
      return undefined;
    }
    const element = tensor.contiguousArray()[0]!;
    const isWhole = typeof element === 'bigint' || Number.isInteger(element);
    if (type === IntType.get() && !isWhole) {
      return undefined;
    }
    const value = type === FloatType.get() || !isWhole ? Number(element) : BigInt(element);
    const emit = (): Value => {
      const traced = this.#state.valueOf(tensor);
      const { graph } = this.#state;
      return graph.withInsertPoint(traced.node.next, () => graph.insert(conversion, [traced]));
    };
    return this.#state.isTraced(tensor) ? { value, emit } : this.constant(value);
  }

  #readList(argument: TracedArgument, elementType: Type, N: number | undefined): FittingArgument | undefined {
    let items: readonly TracedArgument[] | undefined;
    if (argument instanceof List) {
      ({ items } = argument);
    } else if (Array.isArray(argument)) {
      items = argument as readonly TracedArgument[];
    } else if (N !== undefined) {
      items = new Array<TracedArgument>(N).fill(argument);
    }
    const read = items?.map((item) => this.#read(item, elementType, elementType, undefined));
    if (read === undefined || read.includes(undefined)) {
      return undefined;
    }
    const fitting = read as readonly FittingArgument[];
    return {
      value: new List(
        elementType,
        fitting.map((item) => item.value),
      ),
      emit: () => {
        const { graph } = this.#state;
        const values = fitting.map((item) => item.emit());
        return graph.insertNode(graph.createList(elementType, values)).output();
      },
    };
  }
}

const NUMBER_CONVERSIONS: ReadonlyMap<Type, Symbol> = new Map<Type, Symbol>([
  [IntType.get(), 'aten::Int'],
  [FloatType.get(), 'aten::Float'],
  [NumberType.get(), 'aten::ScalarImplicit'],
]);

function isNumber(argument: TracedArgument): argument is number | bigint | boolean | Complex {
  return ['number', 'bigint', 'boolean'].includes(typeof argument) || argument instanceof Complex;
}

/** A number as the tensor that it becomes beside another one; JavaScript's whole numbers are ints. */
function wrappedNumber(value: number | bigint | boolean | Complex): Tensor {
  if (typeof value === 'boolean') {
    return Tensor.fromArray(Uint8Array.of(value ? 1 : 0), [], 'bool');
  }
  if (value instanceof Complex) {
    return Tensor.fromArray(Float64Array.of(value.re, value.im), [], 'complex128');
  }
  return typeof value === 'bigint' || Number.isInteger(value)
    ? Tensor.fromArray(BigInt64Array.of(BigInt(value)), [], 'int64')
    : Tensor.fromArray(Float64Array.of(value), [], 'float64');
}

function toScalar(argument: TracedArgument, type: Type, realType: Type): IValue | undefined {
  switch (type) {
    case IntType.get():
      return toInt(argument, realType);
    case FloatType.get():
      return typeof argument === 'number' || typeof argument === 'bigint' ? Number(argument) : undefined;
    case NumberType.get():
      return typeof argument === 'number' && Number.isInteger(argument)
        ? BigInt(argument)
        : isNumber(argument)
          ? argument
          : undefined;
    case BoolType.get():
      return typeof argument === 'boolean' ? argument : undefined;
    case StringType.get():
      return typeof argument === 'string' ? argument : undefined;
    case DeviceObjType.get():
      return toDevice(argument);
    case GeneratorType.get():
      return undefined;
    default:
      return undefined;
  }
}

function toInt(argument: TracedArgument, realType: Type): bigint | undefined {
  if (typeof argument === 'bigint') {
    return argument;
  }
  if (typeof argument === 'number') {
    return Number.isInteger(argument) ? BigInt(argument) : undefined;
  }
  if (typeof argument !== 'string' || realType === IntType.get()) {
    return undefined;
  }
  const name = argument.replace(/^torch\./, '');
  const dtype = DTYPES[name] ?? name;
  switch (realType.kind) {
    case 'ScalarTypeType':
      return SCALAR_TYPES.has(dtype) ? BigInt(scalarTypeCode(dtype as ScalarTypeName)) : undefined;
    case 'LayoutType':
      return LAYOUTS.get(name);
    case 'MemoryFormatType':
      return MEMORY_FORMATS.get(name);
    default:
      return undefined;
  }
}

function toDevice(argument: TracedArgument): DeviceValue | undefined {
  if (argument instanceof DeviceValue) {
    return argument;
  }
  return typeof argument === 'string' && /^(cpu|cuda|mps|meta|xpu)(:\d+)?$/.test(argument)
    ? DeviceValue.parse(argument)
    : undefined;
}
