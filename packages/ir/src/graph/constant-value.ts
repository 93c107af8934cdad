import type { TensorAttribute } from './attributes.ts';
import { Complex } from '../complex.ts';
import { DictType, ListType, TupleType } from '../types/container-types.ts';
import { ClassType, EnumType } from '../types/named-types.ts';
import {
  BoolType,
  ComplexType,
  DeviceObjType,
  FloatType,
  IntType,
  NoneType,
  StringType,
} from '../types/primitive-types.ts';
import { type ScalarTypeName } from '../types/scalar-type.ts';
import { TensorType } from '../types/tensor-type.ts';
import type { Type } from '../types/type.ts';

/**
 * The forms of values that graphs hold as constants (PyTorch: IValue). Null, booleans, bigints (int), numbers (float) and
 * byte strings stand for themselves. Anything else is known by its members only, so that the values of a running program
 * can be constants as they are.
 */
export interface ListConstant {
  readonly elementType: Type;
  readonly items: readonly unknown[];
}

export interface DictConstant {
  readonly keyType: Type;
  readonly valueType: Type;
  readonly entries: ReadonlyMap<unknown, unknown>;
}

export interface TupleConstant {
  readonly items: readonly unknown[];
  /** Set for a named tuple. */
  readonly type: TupleType | null;
}

export interface EnumConstant {
  readonly type: EnumType;
  readonly name: string;
  readonly value: unknown;
}

export interface ObjectConstant {
  readonly type: ClassType;
  readonly slots: readonly unknown[];
}

export interface DeviceConstant {
  readonly type: string;
  readonly index: number | null;
}

const has = <M extends string>(value: unknown, ...members: M[]): value is Record<M, unknown> =>
  typeof value === 'object' && value !== null && members.every((member) => member in value);

export const isListConstant = (value: unknown): value is ListConstant => has(value, 'elementType', 'items');
export const isDictConstant = (value: unknown): value is DictConstant => has(value, 'keyType', 'valueType', 'entries');
export const isTupleConstant = (value: unknown): value is TupleConstant =>
  has(value, 'items', 'type') && !('elementType' in value);
export const isEnumConstant = (value: unknown): value is EnumConstant =>
  has(value, 'type', 'name', 'value') && value.type instanceof EnumType;
export const isObjectConstant = (value: unknown): value is ObjectConstant =>
  has(value, 'type', 'slots') && value.type instanceof ClassType;
export const isDeviceConstant = (value: unknown): value is DeviceConstant =>
  has(value, 'type', 'index') && typeof value.type === 'string';
export const isComplexConstant = (value: unknown): value is Complex => has(value, 're', 'im');
export const isTensorConstant = (value: unknown): value is TensorAttribute => has(value, 'dtype', 'sizes');

/**
 * Makes constants from graph text and attributes. The default makes plain objects of the forms above; a runtime hands in
 * one that makes its own values.
 */
export interface ConstantFactory {
  list(elementType: Type, items: unknown[]): unknown;
  dict(keyType: Type, valueType: Type, entries: [unknown, unknown][]): unknown;
  tuple(items: unknown[], type: TupleType | null): unknown;
  device(text: string): unknown;
  complex(re: number, im: number): unknown;
  enumMember(type: EnumType, name: string, value: unknown): unknown;
}

export const plainConstants: ConstantFactory = {
  list: (elementType, items): ListConstant => ({ elementType, items }),
  dict: (keyType, valueType, entries): DictConstant => ({ keyType, valueType, entries: new Map(entries) }),
  tuple: (items, type): TupleConstant => ({ items, type }),
  device: (text): DeviceConstant => {
    const [type, index] = text.split(':');
    return { type, index: index === undefined ? null : Number(index) };
  },
  complex: (re, im) => new Complex(re, im),
  enumMember: (type, name, value): EnumConstant => ({ type, name, value }),
};

export function deviceText(device: DeviceConstant): string {
  return device.index === null ? device.type : `${device.type}:${device.index}`;
}

/** What a tensor constant tells of itself beside dtype and sizes. */
interface DescribedTensor extends TensorAttribute {
  readonly strides?: readonly number[];
  readonly requiresGrad?: boolean;
}

/** Everything that is known of a tensor held by a graph, as its type. Constants are on the CPU. */
export function typeOfTensor(tensor: TensorAttribute): TensorType {
  const { strides, requiresGrad } = tensor as DescribedTensor;
  const type = TensorType.createContiguous(tensor.dtype as ScalarTypeName, 'cpu', tensor.sizes);
  return type.with({ requiresGrad: requiresGrad ?? false, strides: strides ?? type.strides });
}

/** The type of a value of Python's that JavaScript has as a primitive one; undefined for any other. */
export function typeOfPrimitive(value: unknown): Type | undefined {
  switch (typeof value) {
    case 'boolean':
      return BoolType.get();
    case 'bigint':
      return IntType.get();
    case 'number':
      return FloatType.get();
    case 'string':
      return StringType.get();
    default:
      return undefined;
  }
}

/** The type of a constant (PyTorch: IValue::type), or undefined for a value of no known form. */
export function typeOfConstant(value: unknown): Type | undefined {
  const primitive = typeOfPrimitive(value);
  if (primitive) return primitive;
  if (value === null) {
    return NoneType.get();
  }
  if (isListConstant(value)) {
    return new ListType(value.elementType);
  }
  if (isDictConstant(value)) {
    return new DictType(value.keyType, value.valueType);
  }
  if (isTupleConstant(value)) {
    if (value.type !== null) {
      return value.type;
    }
    const types = value.items.map(typeOfConstant);
    return types.every((type) => type !== undefined) ? new TupleType(types as Type[]) : undefined;
  }
  if (isEnumConstant(value) || isObjectConstant(value)) {
    return value.type;
  }
  if (isDeviceConstant(value)) {
    return DeviceObjType.get();
  }
  if (isComplexConstant(value)) {
    return ComplexType.get();
  }
  return isTensorConstant(value) ? typeOfTensor(value) : undefined;
}
