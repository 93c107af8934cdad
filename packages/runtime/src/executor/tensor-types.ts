import { TensorType, type ScalarTypeName } from '@cresset/ir';
import { followsRules } from '@cresset/passes';
import { Tensor, type IValue } from '@cresset/tensor';

/** All that is known of a tensor as a run meets it; null stands for an undefined one (PyTorch: tensorTypeInCurrentExecutionContext). */
export function typeOfTensor(tensor: Tensor | null, gradEnabled: boolean): TensorType {
  if (tensor === null) return TensorType.get().withUndefined();
  // There are others, with sizes of their own kind.
  if (Object.getPrototypeOf(tensor) !== Tensor.prototype) return TensorType.get();
  return TensorType.create({
    scalarType: tensor.dtype as ScalarTypeName,
    device: 'cpu',
    shape: [...tensor.sizes],
    strides: [...tensor.strides],
    requiresGrad: gradEnabled && tensor.requiresGrad,
  });
}

/** Whether a value is a tensor of a type, as a guard asks (PyTorch: TensorType::matchTensor). */
export function matchesType(type: TensorType, value: IValue, gradEnabled: boolean): boolean {
  if (value === null) return type.undefinedness !== false;
  if (type.undefinedness === true || Object.getPrototypeOf(value) !== Tensor.prototype) return false;
  const tensor = value as Tensor;
  const { scalarType, requiresGrad, shape, strides } = type;
  return (
    (scalarType === undefined || scalarType === tensor.dtype) &&
    (requiresGrad === undefined || requiresGrad === (gradEnabled && tensor.requiresGrad)) &&
    (shape === undefined || fits(shape, tensor.sizes)) &&
    (strides === undefined || fits(strides, tensor.strides))
  );
}

/**
 * As {@link matchesType} of each, as a guard of tensors of any size asks: they lie in memory as `rules` say, and sizes of one name are equal
 * in all of them.
 */
export function matchTogether(
  types: readonly TensorType[],
  rules: readonly (readonly string[])[],
  values: readonly IValue[],
  gradEnabled: boolean,
): boolean {
  const sizes = new Map<number, number>();
  return types.every((type, at) => {
    const value = values[at];
    if (!matchesType(type, value, gradEnabled) || !(value instanceof Tensor)) return false;
    const seen = value.sizes;
    if (!followsRules(rules[at], seen, value.strides)) return false;
    return (type.shape ?? []).every((name, dim) => {
      if (name < 0 && !sizes.has(name)) sizes.set(name, seen[dim]);
      return name >= 0 || sizes.get(name) === seen[dim];
    });
  });
}

/** Sizes below 0 and those not given stand for any. */
function fits(known: readonly (number | undefined)[], seen: readonly number[]): boolean {
  if (known.length !== seen.length) return false;
  for (let i = 0; i < seen.length; i++) {
    const size = known[i];
    if (size !== undefined && size >= 0 && size !== seen[i]) return false;
  }
  return true;
}
