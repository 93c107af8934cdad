import { AnyType, Complex, DictType, IntType, ListType, TupleType, unifyTypes, baseName, type Type } from '@cresset/ir';
import {
  DeviceValue,
  Dict,
  EnumValue,
  fromByteString,
  List,
  Tensor,
  Tuple,
  typeOfValue,
  type DictKey,
  type IValue,
} from '@cresset/tensor';

/** A dtype, layout or memory format: objects of their own in Python, ints in TorchScript. */
export class TorchCode {
  constructor(
    readonly pythonType: string,
    readonly code: bigint,
  ) {}
}

/** What Python has and TorchScript has no value for: functions, classes, objects of those, modules. */
export abstract class PythonEntity {
  /** `type(value).__name__` */
  abstract readonly pythonType: string;
}

/**
 * A value of Python's as it is before it gets a type: an int is a bigint of any size, a float a number, a str bytes. Containers may hold
 * whatever Python has.
 */
export type PythonValue = IValue | TorchCode | PythonEntity;

/** A value that cannot be what a type asks for; the message is what PyTorch tells about the cast. */
export class CastError extends Error {}

/** A value that has no type of its own, where it would need one. */
export class InferenceError extends CastError {}

/** `type(value).__name__` */
export function pythonTypeName(value: PythonValue): string {
  if (value === null) return 'NoneType';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'float';
    case 'string':
      return 'str';
  }
  if (value instanceof TorchCode || value instanceof PythonEntity) return value.pythonType;
  if (value instanceof Complex) return 'complex';
  if (value instanceof List) return 'list';
  if (value instanceof Dict) return 'dict';
  if (value instanceof Tuple) return baseName(value.type?.name ?? 'tuple');
  if (value instanceof EnumValue) return baseName(value.type.qualifiedName);
  if (value instanceof DeviceValue) return 'device';
  return value instanceof Tensor ? 'Tensor' : 'object';
}

/** `repr(value)`; of tensors and objects only what they are. */
export function pythonRepr(value: PythonValue): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return floatRepr(value);
  if (typeof value === 'string') return quoted(fromByteString(value));
  if (value instanceof Complex) return complexRepr(value);
  if (value instanceof List) return `[${value.items.map(pythonRepr).join(', ')}]`;
  if (value instanceof Tuple) return tupleRepr(value);
  if (value instanceof Dict) {
    return `{${[...value.entries].map(([key, item]) => `${pythonRepr(key)}: ${pythonRepr(item)}`).join(', ')}}`;
  }
  if (value instanceof EnumValue)
    return `<${baseName(value.type.qualifiedName)}.${value.name}: ${pythonRepr(value.value)}>`;
  if (value instanceof DeviceValue) {
    return `device(type='${value.type}'${value.index === null ? '' : `, index=${value.index}`})`;
  }
  return `<${pythonTypeName(value)}>`;
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
  return `${quote}${escaped.replaceAll(quote, `\\${quote}`)}${quote}`;
}

/** `str(value)` */
function pythonText(value: PythonValue): string {
  return typeof value === 'string' ? fromByteString(value) : pythonRepr(value);
}

function tupleRepr({ items, type }: Tuple): string {
  const texts = items.map(pythonRepr);
  if (type?.fieldNames)
    return `${baseName(type.name ?? '')}(${type.fieldNames.map((field, at) => `${field}=${texts[at]}`).join(', ')})`;
  return `(${texts.join(', ')}${texts.length === 1 ? ',' : ''})`;
}

/** The shortest text that reads back as the number, with an exponent where Python has one. */
export function floatRepr(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0.0';
  const exponent = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
  if (exponent < -4 || exponent >= 16) {
    const [digits, power] = value.toExponential().split('e') as [string, string];
    return `${digits}e${power[0]}${power.slice(1).padStart(2, '0')}`;
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

function complexRepr({ re, im }: Complex): string {
  const part = (value: number): string => floatRepr(value).replace(/\.0$/, '');
  if (Object.is(re, 0)) return `${part(im)}j`;
  return `(${part(re)}${im < 0 || Object.is(im, -0) ? '' : '+'}${part(im)}j)`;
}

/** The type a value has by itself (PyTorch: tryToInferType). Throws a {@link CastError} where its parts have none in common. */
export function inferType(value: PythonValue): Type {
  if (value instanceof TorchCode) return IntType.get();
  if (value instanceof PythonEntity) throw cannotInfer(value, `it is a ${value.pythonType}`);
  if (value instanceof Tuple && value.type === null) return new TupleType(value.items.map(inferType));
  if (value instanceof List) return inferListType(value);
  if (value instanceof Dict) return inferDictType(value);
  return typeOfValue(value) ?? AnyType.get();
}

function inferListType(list: List): Type {
  if (list.items.length === 0) throw cannotInfer(list, 'List trace inputs must have elements');
  const types = list.items.map(inferType);
  const element = types.reduce((common, type) => {
    const unified = unifyTypes(common, type);
    if (unified) return unified;
    const found = `${common.reprStr()} and ${type.reprStr()}`;
    throw cannotInfer(list, `List inputs to traced functions must have consistent element type. Found ${found}`);
  });
  return new ListType(element);
}

function inferDictType(dict: Dict): Type {
  if (dict.entries.size === 0) throw cannotInfer(dict, 'Dictionary inputs must have entries');
  const unified = (values: Iterable<IValue>, which: string): Type =>
    [...values].map(inferType).reduce((common, type) => {
      const both = unifyTypes(common, type);
      if (both) return both;
      throw cannotInfer(
        dict,
        `Dictionary inputs to traced functions must have consistent type. Found ${which} ${common.reprStr()} and ${type.reprStr()}`,
      );
    });
  return new DictType(unified(dict.entries.keys(), 'keys'), unified(dict.entries.values(), 'values'));
}

function cannotInfer(value: PythonValue, reason: string): InferenceError {
  return new InferenceError(`Tracer cannot infer type of ${pythonRepr(value)}\n:${reason}`);
}

/**
 * A value as one of a type, with what Python and pybind11 convert on the way: `True` is an int, an int a float, any number a bool, a tuple
 * a list (PyTorch: toIValue). Throws a {@link CastError} where the value is none of the type.
 *
 * @param N the length of the list that one number may stand for
 */
export function castToType(value: PythonValue, type: Type, N?: number): IValue {
  if (value instanceof TorchCode) {
    if (type.kind !== 'IntType' && type.kind !== 'AnyType' && type.kind !== 'OptionalType') throw cannotCast(value);
    return value.code;
  }
  if (value instanceof PythonEntity) throw cannotCast(value);
  switch (type.kind) {
    case 'AnyType':
      return retyped(value, inferType(value));
    case 'TensorType':
      if (value instanceof Tensor) return value;
      throw castError(`Unable to cast ${pythonText(value)} to Tensor`);
    case 'NumberType':
      if (isNumber(value)) return value;
      throw castError(`Cannot cast ${pythonText(value)} to ${type.reprStr()}`);
    case 'NoneType':
      if (value === null) return null;
      throw castError(`Cannot cast ${pythonRepr(value)} to None`);
    case 'IntType':
      return castToInt(value);
    case 'FloatType':
      if (value instanceof Tensor && value.numel === 1) return Number(value.contiguousArray()[0]);
      if (isNumber(value) && !(value instanceof Complex)) return Number(value);
      throw cannotCast(value);
    case 'ComplexType':
      if (value instanceof Complex) return value;
      if (isNumber(value)) return new Complex(Number(value), 0);
      throw cannotCast(value);
    case 'BoolType':
      if (value === null) return false;
      if (value instanceof Tensor && value.numel === 1) return Boolean(value.contiguousArray()[0]);
      if (isNumber(value)) return value instanceof Complex ? value.re !== 0 || value.im !== 0 : Boolean(value);
      throw cannotCast(value);
    case 'StringType':
      if (typeof value === 'string') return value;
      throw cannotCast(value);
    case 'DeviceObjType':
      if (value instanceof DeviceValue) return value;
      if (typeof value !== 'string') throw cannotCast(value);
      try {
        return DeviceValue.parse(value);
      } catch (error) {
        throw new InferenceError((error as Error).message);
      }
    case 'OptionalType':
      return value === null ? null : castToType(value, type.containedTypes()[0]!, N);
    case 'UnionType':
      return castToUnion(value, type);
    case 'ListType':
      return castToList(value, type as ListType, N);
    case 'TupleType':
      return castToTuple(value, type as TupleType);
    case 'DictType':
      return castToDict(value, type as DictType);
    default:
      if (inferType(value).isSubtypeOf(type)) return value;
      throw cannotCast(value);
  }
}

function castToInt(value: IValue): bigint {
  if (typeof value === 'boolean') return BigInt(value);
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) return value;
  if (value instanceof Tensor && value.numel === 1) {
    const element = value.contiguousArray()[0]!;
    return typeof element === 'bigint' ? element : BigInt(Math.trunc(element));
  }
  throw cannotCast(value);
}

function castToUnion(value: IValue, type: Type): IValue {
  const actual = inferType(value);
  if (type.containedTypes().some((member) => actual.isSubtypeOf(member))) return retyped(value, actual);
  throw castError(`Expected a member of ${type.reprStr()} but instead found type ${actual.reprStr()}`);
}

/** Element types that pybind11 casts whole lists of, which takes sequences and no other iterables. */
const CAST_WHOLE: ReadonlySet<string> = new Set(['IntType', 'FloatType', 'BoolType', 'TensorType']);

/** A list that is of the type already is taken as it is: a ScriptList, which the program may write to. */
function castToList(value: IValue, type: ListType, N: number | undefined): List {
  const { elementType } = type;
  if (N !== undefined && CAST_WHOLE.has(elementType.kind) && isNumber(value)) {
    return new List(elementType, new Array<IValue>(N).fill(castToType(value, elementType)));
  }
  if (value instanceof List || value instanceof Tuple) {
    const items = value.items.map((item) => castElement(item, elementType, value));
    const isCast = value instanceof List && value.elementType.equals(elementType);
    return isCast && items.every((item, at) => item === value.items[at]) ? value : new List(elementType, items);
  }
  if (CAST_WHOLE.has(elementType.kind)) throw cannotCast(value);
  if (typeof value === 'string')
    return new List(
      elementType,
      [...value].map((item) => castToType(item, elementType)),
    );
  if (value instanceof Dict) {
    return new List(
      elementType,
      [...value.entries.keys()].map((item) => castToType(item, elementType)),
    );
  }
  throw notIterable(value);
}

function castElement(item: IValue, elementType: Type, list: IValue): IValue {
  if (!CAST_WHOLE.has(elementType.kind)) return castToType(item, elementType);
  try {
    return castToType(item, elementType);
  } catch (error) {
    throw error instanceof CastError ? cannotCast(list) : error;
  }
}

function castToTuple(value: IValue, type: TupleType): Tuple {
  if (!(value instanceof Tuple || value instanceof List)) throw notIterable(value);
  if (value.items.length !== type.elements.length) {
    throw castError(`Object ${pythonRepr(value)} had a different number of elements than type ${type.reprStr()}`);
  }
  return new Tuple(
    value.items.map((item, at) => castToType(item, type.elements[at]!)),
    type.named ? type : null,
  );
}

function castToDict(value: IValue, { keyType, valueType }: DictType): Dict {
  if (!(value instanceof Dict)) throw notIterable(value);
  const entries = [...value.entries].map(
    ([key, item]) => [castToType(key, keyType) as DictKey, castToType(item, valueType)] as const,
  );
  const isCast = value.keyType.equals(keyType) && value.valueType.equals(valueType);
  return isCast && entries.every(([key, item]) => value.entries.get(key) === item)
    ? value
    : new Dict(keyType, valueType, new Map(entries));
}

/** Containers made without a type, as Python's are, with the type they turned out to have. */
function retyped(value: IValue, type: Type): IValue {
  return (value instanceof List && type instanceof ListType) || (value instanceof Dict && type instanceof DictType)
    ? castToType(value, type)
    : value;
}

function isNumber(value: IValue): value is boolean | bigint | number | Complex {
  return ['boolean', 'bigint', 'number'].includes(typeof value) || value instanceof Complex;
}

function castError(details: string): CastError {
  return new CastError(`Cast error details: ${details}`);
}

function cannotCast(value: PythonValue): CastError {
  return castError(
    `Unable to cast Python instance of type <class '${value instanceof Tensor ? 'torch.' : ''}${pythonTypeName(value)}'> to C++ type '?' ` +
      '(#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)',
  );
}

function notIterable(value: PythonValue): CastError {
  return new CastError(` Python error details: TypeError: '${pythonTypeName(value)}' object is not iterable`);
}
