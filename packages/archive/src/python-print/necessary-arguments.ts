import {
  type Argument,
  constantValue,
  isComplexConstant,
  isDeviceConstant,
  isListConstant,
  isTupleConstant,
  type Value,
} from '@cresset/ir';

/**
 * How many inputs a call has to be written with: those at the end that have their default value are left out. `out` counts the
 * `out=` arguments at the end of the schema, which come after (PyTorch: CalculateNecessaryArgs).
 */
export function necessaryArguments(
  formals: readonly Argument[],
  inputs: readonly Value[],
): { readonly necessary: number; readonly out: number } {
  let count = formals.length;
  while (count > 0 && formals[count - 1].isOut) count--;
  const out = formals.length - count;
  if (inputs.length > formals.length) return { necessary: inputs.length, out };
  while (count > 0 && hasDefaultValue(formals[count - 1], inputs[count - 1])) count--;
  return { necessary: count, out };
}

function hasDefaultValue({ defaultValue }: Argument, input: Value): boolean {
  return defaultValue !== undefined && isSameConstant(constantValue(input), defaultValue);
}

/** Equality of constants as of values of a program: an int is not equal to a float (c10::IValue::operator==). */
function isSameConstant(left: unknown, right: unknown): boolean {
  const [leftItems, rightItems] = [itemsOf(left), itemsOf(right)];
  if (leftItems && rightItems) {
    return (
      leftItems.length === rightItems.length &&
      leftItems.every((item, index) => isSameConstant(item, rightItems[index]))
    );
  }
  if (isComplexConstant(left) && isComplexConstant(right)) return left.re === right.re && left.im === right.im;
  if (isDeviceConstant(left) && isDeviceConstant(right)) return left.type === right.type && left.index === right.index;
  return left === right;
}

function itemsOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  return isListConstant(value) || isTupleConstant(value) ? value.items : undefined;
}
