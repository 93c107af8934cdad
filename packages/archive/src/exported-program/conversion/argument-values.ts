import {
  BoolType,
  Complex,
  constantValue,
  FloatType,
  type Graph,
  IntType,
  ListType,
  NumberType,
  OptionalType,
  StringType,
  TensorType,
  type Type,
  type Value,
} from '@cresset/ir';
import { DeviceValue, toByteString } from '@cresset/tensor';
import { JsonObject, type Json } from '../json-object.ts';
import { layoutInt, memoryFormatInt, scalarTypeInt } from '../number-codes.ts';
import { itemsOf, malformed, nameOf, type SerializedValue } from './serialized-node.ts';

/** Makes values of a graph of what stands for arguments in a file. */
export class ArgumentValues {
  readonly #graph: Graph;
  readonly #valueOf: (name: string) => Value;

  /** @param valueOf the value of a name */
  constructor(graph: Graph, valueOf: (name: string) => Value) {
    this.#graph = graph;
    this.#valueOf = valueOf;
  }

  /**
   * An argument as a parameter of a type takes it, as Python's binding converts: an int to a float, one number to a list of them. With a
   * number for a tensor nothing is done. @param type null where any will do
   */
  value(argument: SerializedValue, type: Type | null, N?: number): Value {
    const wanted = type instanceof OptionalType ? type.elementType : type;
    const made = this.#made(argument, wanted);
    if (wanted instanceof ListType && made.type.kind !== 'ListType' && made.type.kind !== 'NoneType' && N !== undefined)
      return this.#list(wanted.elementType, new Array<Value>(N).fill(this.convert(made, wanted.elementType)));
    return wanted ? this.convert(made, wanted) : made;
  }

  #made(argument: SerializedValue, wanted: Type | null): Value {
    const { tag, value } = argument;
    const graph = this.#graph;
    const name = nameOf(argument);
    if (name !== null) return this.#valueOf(name);
    switch (tag) {
      case 'as_none':
        return graph.insertConstant(null);
      case 'as_int':
      case 'as_bool':
        return graph.insertConstant(value);
      case 'as_float':
        return graph.insertConstant(floatOf(value));
      case 'as_string':
        return graph.insertConstant(typeof value === 'string' ? toByteString(value) : malformed('a text is none'));
      case 'as_complex':
        return value instanceof JsonObject
          ? graph.insertConstant(new Complex(floatOf(value.get('real')), floatOf(value.get('imag'))))
          : malformed('a complex number is none');
      case 'as_scalar_type':
        return graph.insertConstant(scalarTypeInt(value));
      case 'as_layout':
        return graph.insertConstant(layoutInt(value));
      case 'as_memory_format':
        return graph.insertConstant(memoryFormatInt(value));
      case 'as_device':
        return graph.insertConstant(deviceOf(value));
      case 'as_sym_int':
      case 'as_sym_float':
      case 'as_sym_bool':
      case 'as_optional_tensor':
        return this.#variant(value);
      default:
        return this.#listOf(argument, wanted);
    }
  }

  /** A union within a union: a number in the place of a symbol's name. */
  #variant(value: Json): Value {
    if (!(value instanceof JsonObject)) malformed('a symbol is none');
    const [tag, inner] = value.variant();
    return this.#made({ tag: tag === 'as_name' ? 'as_sym_int' : tag, value: tag === 'as_name' ? value : inner }, null);
  }

  #listOf(argument: SerializedValue, wanted: Type | null): Value {
    const items = itemsOf(argument);
    const element = wanted instanceof ListType ? wanted.elementType : null;
    const all = (tag: string): Value[] => items.map((item) => this.#made({ tag, value: item }, null));
    switch (argument.tag) {
      case 'as_tensors':
        return this.#list(element ?? TensorType.get(), all('as_tensor'));
      case 'as_optional_tensors':
        return this.#list(
          element ?? OptionalType.create(TensorType.get()),
          items.map((item) => this.#variant(item)),
        );
      case 'as_ints':
        return this.#list(element ?? IntType.get(), all('as_int'));
      case 'as_floats':
        return this.#list(element ?? FloatType.get(), all('as_float'));
      case 'as_bools':
        return this.#list(element ?? BoolType.get(), all('as_bool'));
      case 'as_strings':
        return this.#list(element ?? StringType.get(), all('as_string'));
      case 'as_sym_ints':
      case 'as_sym_floats':
      case 'as_sym_bools': {
        const own = { as_sym_ints: IntType, as_sym_floats: FloatType, as_sym_bools: BoolType }[argument.tag];
        return this.#list(
          element ?? own.get(),
          items.map((item) => this.#variant(item)),
        );
      }
      case 'as_nested_tensors': {
        const inner = items.map((item) => this.#listOf({ tag: 'as_tensors', value: item }, null));
        return this.#list(new ListType(TensorType.get()), inner);
      }
      default:
        return malformed(`an argument is of the kind '${argument.tag}', which is not known`);
    }
  }

  /** The values of an argument that is a list. */
  items(argument: SerializedValue): Value[] {
    const items = itemsOf(argument);
    const inner = { as_tensors: 'as_tensor', as_ints: 'as_int', as_floats: 'as_float', as_bools: 'as_bool' }[
      argument.tag
    ];
    return items.map((item) =>
      inner === undefined ? this.#variant(item) : this.#made({ tag: inner, value: item }, null),
    );
  }

  #list(element: Type, values: readonly Value[]): Value {
    const graph = this.#graph;
    const converted = values.map((value) => this.convert(value, element));
    return graph.insertNode(graph.createList(element, converted)).output();
  }

  /** A number as another type of number; anything else as it is. */
  convert(value: Value, wanted: Type): Value {
    const graph = this.#graph;
    const { kind } = value.type;
    const constant = constantValue(value);
    switch (wanted.kind) {
      case 'FloatType':
        if (typeof constant === 'bigint' || typeof constant === 'boolean')
          return graph.insertConstant(Number(constant));
        return kind === 'IntType' || kind === 'NumberType' ? graph.insert('aten::Float', [value]) : value;
      case 'IntType':
        if (typeof constant === 'boolean') return graph.insertConstant(BigInt(constant));
        return kind === 'BoolType' || kind === 'NumberType' ? graph.insert('aten::Int', [value]) : value;
      case 'BoolType':
        if (typeof constant === 'bigint') return graph.insertConstant(constant !== 0n);
        return kind === 'IntType' ? graph.insert('aten::Bool', [value]) : value;
      default:
        return value;
    }
  }

  /** A result of a node in the type that the file gives it: what `item()` gives is an int where a symbol stands for it. */
  numeric(value: Value, tag: string): Value {
    if (value.type instanceof NumberType || value.type instanceof TensorType) {
      const cast = { as_sym_int: 'aten::Int', as_sym_float: 'aten::Float', as_sym_bool: 'aten::Bool' }[tag];
      if (cast !== undefined) return this.#graph.insert(cast as 'aten::Int', [value]);
    }
    const wanted = { as_sym_int: IntType, as_sym_float: FloatType, as_sym_bool: BoolType }[tag];
    return wanted ? this.convert(value, wanted.get()) : value;
  }
}

/** Floats that JSON has no number for are texts. */
function floatOf(value: Json | undefined): number {
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value);
  switch (value) {
    case 'Infinity':
      return Infinity;
    case '-Infinity':
      return -Infinity;
    case 'NaN':
      return NaN;
    default:
      return malformed('a float is none');
  }
}

function deviceOf(value: Json): DeviceValue {
  if (!(value instanceof JsonObject)) malformed('a device is none');
  const index = value.get('index');
  return DeviceValue.parse(index === undefined ? value.text('type') : `${value.text('type')}:${String(index)}`);
}
