import { CastError, castToType, InferenceError, pythonRepr, pythonTypeName } from '@cresset/frontend';
import { type Argument, CressetError, type FunctionSchema, TensorType, TupleType, type Type } from '@cresset/ir';
import { List, Tuple, type IValue } from '@cresset/tensor';

/** An object of fields with these in the order of a named tuple, in whatever it lies; what is not given is None. */
function withFieldsOf(value: IValue, type: Type): IValue {
  const [element] = type.containedTypes();
  if (value instanceof List && type.kind === 'ListType')
    return new List(
      value.elementType,
      value.items.map((item) => withFieldsOf(item, element)),
    );
  if (!(value instanceof Tuple) || !(type instanceof TupleType)) return value;
  const names = value.type?.fieldNames;
  const items =
    names && type.fieldNames ? type.fieldNames.map((field) => value.items[names.indexOf(field)] ?? null) : value.items;
  return new Tuple(
    items.map((item, index) => (type.elements[index] ? withFieldsOf(item, type.elements[index]) : item)),
  );
}

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
