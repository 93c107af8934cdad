import {
  ListType,
  OptionalType,
  TupleType,
  DictType,
  CressetError,
  type Argument,
  type GraphFunction,
  type Type,
} from '@cresset/ir';
import { bindArguments } from '@cresset/runtime';
import { Dict, List, toByteString, Tuple, type DictKey, type IValue, type Tensor } from '@cresset/tensor';
import { isPlainObject } from './traced-values.ts';

/**
 * The arguments of a function that was compiled before, by its schema. Throws a CressetError of code `ARGUMENT_TYPE`, `ARGUMENT_COUNT` or
 * `ARGUMENT_NAME` where they do not fit.
 *
 * @param self the object of a method
 * @param unwrap takes tensors out of the objects that programs have for them
 */
export function calleeArguments(
  fn: GraphFunction,
  self: IValue | undefined,
  given: readonly unknown[],
  unwrap: (value: unknown) => Tensor | undefined,
): readonly IValue[] {
  const { schema } = fn;
  const last = given.at(-1);
  const offset = self === undefined ? 0 : 1;
  const isNamed = isPlainObject(last) && schema.arguments[given.length - 1 + offset]?.type.kind !== 'DictType';
  const kwargs = isNamed ? Object.entries(last) : [];
  const convert = (value: unknown, { name, type, N }: Argument): IValue => {
    const spread = N !== undefined && type instanceof ListType && !Array.isArray(value);
    const read = readAs(spread ? new Array<unknown>(N).fill(value) : value, type, unwrap);
    if (read !== undefined) return read;
    throw new CressetError(
      'ARGUMENT_TYPE',
      `${schema.name}() Expected a value of type '${type.reprStr()}' for argument '${name}' but instead found type '${typeName(value, unwrap)}'.`,
    );
  };
  return bindArguments(fn, self, isNamed ? given.slice(0, -1) : given, kwargs, convert);
}

function typeName(value: unknown, unwrap: (value: unknown) => Tensor | undefined): string {
  if (value === null || value === undefined) return 'None';
  if (unwrap(value)) return 'Tensor';
  if (Array.isArray(value)) return 'list';
  const names = { bigint: 'int', number: Number.isInteger(value) ? 'int' : 'float', boolean: 'bool', string: 'str' };
  return names[typeof value as keyof typeof names] ?? 'dict';
}

/** A value of JavaScript's as one of a type; undefined where it is none. A tensor that stands for a number is read. */
function readAs(value: unknown, type: Type, unwrap: (value: unknown) => Tensor | undefined): IValue | undefined {
  const tensor = unwrap(value);
  const all = (items: readonly unknown[], typeOf: (index: number) => Type): IValue[] | undefined => {
    const read = items.map((item, index) => readAs(item, typeOf(index), unwrap));
    return read.includes(undefined) ? undefined : (read as IValue[]);
  };
  if (type instanceof OptionalType) {
    return value === null || value === undefined ? null : readAs(value, type.elementType, unwrap);
  }
  if (type instanceof ListType) {
    const items = Array.isArray(value) ? all(value, () => type.elementType) : undefined;
    return items && new List(type.elementType, items);
  }
  if (type instanceof TupleType) {
    const fits = Array.isArray(value) && value.length === type.elements.length;
    const items = fits ? all(value, (index) => type.elements[index]) : undefined;
    return items && new Tuple(items, type.named ? type : null);
  }
  if (type instanceof DictType) {
    const entries =
      value instanceof Map
        ? [...(value as Map<unknown, unknown>)]
        : isPlainObject(value)
          ? Object.entries(value)
          : undefined;
    const keys =
      entries &&
      all(
        entries.map(([key]) => key),
        () => type.keyType,
      );
    const values =
      entries &&
      all(
        entries.map(([, item]) => item),
        () => type.valueType,
      );
    return (
      keys &&
      values &&
      new Dict(type.keyType, type.valueType, new Map(keys.map((key, at) => [key as DictKey, values[at]])))
    );
  }
  if (type.kind === 'TensorType') return tensor;
  const plain = tensor && tensor.numel === 1 ? tensor.contiguousArray()[0] : value;
  switch (type.kind) {
    case 'IntType':
      return typeof plain === 'bigint' ? plain : Number.isSafeInteger(plain) ? BigInt(plain as number) : undefined;
    case 'FloatType':
      return typeof plain === 'number' || typeof plain === 'bigint' ? Number(plain) : undefined;
    case 'BoolType':
      return typeof value === 'boolean' ? value : undefined;
    case 'StringType':
      return typeof value === 'string' ? toByteString(value) : undefined;
    case 'NoneType':
      return value === null || value === undefined ? null : undefined;
    case 'AnyType':
    case 'NumberType':
      return tensor ?? (plain as IValue);
    default:
      return undefined;
  }
}
