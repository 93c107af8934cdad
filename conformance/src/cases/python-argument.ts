import { CastError, castToType, InferenceError, pythonRepr, pythonTypeName } from '@cresset/frontend';
import { type Argument, CressetError, type FunctionSchema, TensorType } from '@cresset/ir';
import type { IValue } from '@cresset/tensor';

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
    return castToType(value, type, N);
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
