import { DictType, type FunctionSchema, ListType, OptionalType, TupleType, type Type, UnionType } from '@cresset/ir';
import { Complex, DeviceValue, Dict, List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import type { Random } from './random.ts';

/** Small values for a function's parameters; null where one of them can be of no type known here. */
export function argumentsFor(schema: FunctionSchema, random: Random, skip: number): IValue[] | null {
  const values = schema.arguments.slice(skip).map(({ type }) => valueOf(type, random));
  return values.includes(undefined) ? null : (values as IValue[]);
}

function valueOf(type: Type, random: Random): IValue | undefined {
  if (type instanceof OptionalType) return random.chance(0.3) ? null : valueOf(type.elementType, random);
  if (type instanceof UnionType) return valueOf(random.pick(type.members), random);
  if (type instanceof ListType) {
    const items = Array.from({ length: random.below(4) }, () => valueOf(type.elementType, random));
    return items.includes(undefined) ? undefined : new List(type.elementType, items as IValue[]);
  }
  if (type instanceof TupleType) {
    const items = type.elements.map((element) => valueOf(element, random));
    return items.includes(undefined) ? undefined : new Tuple(items as IValue[]);
  }
  if (type instanceof DictType) {
    const dict = new Dict(type.keyType, type.valueType);
    const key = valueOf(type.keyType, random);
    const value = valueOf(type.valueType, random);
    if (typeof key !== 'string' && typeof key !== 'bigint') return undefined;
    if (value !== undefined) dict.entries.set(key, value);
    return dict;
  }
  switch (type.kind) {
    case 'TensorType':
      return tensor(random);
    case 'IntType':
    case 'NumberType':
      return BigInt(random.pick([0, 1, 2, 3, 7, -1]));
    case 'FloatType':
      return random.pick([0, 0.5, -1, 3, Infinity, NaN]);
    case 'ComplexType':
      return new Complex(1, -1);
    case 'BoolType':
      return random.chance(0.5);
    case 'StringType':
      return random.pick(['', 'a', 'xyz', '%s {}']);
    case 'NoneType':
      return null;
    case 'DeviceObjType':
      return DeviceValue.parse('cpu');
    default:
      return undefined;
  }
}

function tensor(random: Random): Tensor {
  const sizes = random.pick([[2, 2], [2, 3], [3], [], [1, 4, 2], [0, 3]]);
  const result = Tensor.empty(sizes, random.pick(['float32', 'float32', 'int64', 'bool', 'float64']));
  const array = result.storageArrayForWriting();
  for (let index = 0; index < array.length; index++) {
    array[index] = (typeof array[index] === 'bigint' ? BigInt(random.below(3)) : random.below(2)) as never;
  }
  return result;
}
