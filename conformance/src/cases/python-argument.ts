import { CastError, castToType, InferenceError, pythonRepr, pythonTypeName } from '@cresset/frontend';
import { type Argument, CressetError, type FunctionSchema, TensorType, TupleType, type Type } from '@cresset/ir';
import { List, Tuple, type IValue } from '@cresset/tensor';

/** An object of fields with these in the order of a named tuple, in whatever it lies; what is not given is None. What has none in it is the value itself. */
function withFieldsOf(value: IValue, type: Type): IValue {
  const [element] = type.containedTypes();
  if (value instanceof List && type.kind === 'ListType') {
    const items = value.items.map((item) => withFieldsOf(item, element));
    return isSame(items, value.items) ? value : new List(value.elementType, items);
  }
  if (!(value instanceof Tuple) || !(type instanceof TupleType)) return value;
  const names = value.type?.fieldNames;
  const ordered =
    names && type.fieldNames ? type.fieldNames.map((field) => value.items[names.indexOf(field)] ?? null) : value.items;
  const items = ordered.map((item, at) => (type.elements[at] ? withFieldsOf(item, type.elements[at]) : item));
  return !names && isSame(items, value.items) ? value : new Tuple(items);
}

const isSame = (items: readonly IValue[], others: readonly IValue[]): boolean =>
  items.every((item, at) => item === others[at]);

/**
 * A value as Python hands it to a parameter (PyTorch: argumentToIValue). Throws a CressetError with PyTorch's message where the parameter
 * takes no such value.
 */
export function argumentFromPython(
  value: IValue,
  { name, type, N }: Argument,
  position: number | null,
  schema: FunctionSchema,
): IValue {
  try {
    return castToType(withFieldsOf(value, type), type, N);
  } catch (error) {
    if (error instanceof InferenceError) throw new CressetError('ARGUMENT_TYPE', error.message);
    if (!(error instanceof CastError)) throw error;
    const isInferred = type instanceof TensorType && type.isInferred;
    const lines = [
      `${schema.name}() Expected a value of type '${type.reprStr()}' for argument '${name}' but instead found type '${pythonTypeName(value)}'.`,
      ...(isInferred
        ? [`Inferred '${name}' to be of type 'Tensor' because it was not annotated with an explicit type.`]
        : []),
      ...(position === null ? [] : [`Position: ${position}`]),
      `Value: ${pythonRepr(value)}`,
      `Declaration: ${schema}`,
      error.message,
    ];
    throw new CressetError('ARGUMENT_TYPE', lines.join('\n'));
  }
}
