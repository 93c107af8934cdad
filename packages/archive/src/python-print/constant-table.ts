import { isTensorConstant } from '@cresset/ir';
import { halfToNumber, bfloatToNumber, type IValue, Tensor } from '@cresset/tensor';

/** The values that printed code names as `CONSTANTS.c0`, `CONSTANTS.c1`, …, appended to the list it is given. */
export class ConstantTable {
  readonly #constants: IValue[];

  constructor(constants: IValue[]) {
    this.#constants = constants;
  }

  /** The name of a value in printed code. Equal tensors have one (PyTorch: getOrAddConstant). */
  nameOf(value: IValue): string {
    const known = isTensorConstant(value)
      ? this.#constants.findIndex((other) => other instanceof Tensor && isEqualTensor(other, value as Tensor))
      : -1;
    const index = known === -1 ? this.#constants.push(value) - 1 : known;
    return `CONSTANTS.c${index}`;
  }
}

/** Whether two tensors have equal dtypes, sizes and elements, as numbers: -0 equals 0, NaN nothing (at::equal). */
function isEqualTensor(left: Tensor, right: Tensor): boolean {
  if (left === right) return true;
  if (left.dtype !== right.dtype || left.dim !== right.dim) return false;
  if (left.sizes.some((size, dim) => size !== right.sizes[dim])) return false;
  if (!left.storage.isOnHost || !right.storage.isOnHost) return false;
  const toNumber =
    left.dtype === 'bfloat16' ? bfloatToNumber : /^(float16|complex32)$/.test(left.dtype) && halfToNumber;
  const [a, b] = [left.contiguousArray(), right.contiguousArray()];
  for (let index = 0; index < a.length; index++) {
    const isEqual = toNumber ? toNumber(a[index] as number) === toNumber(b[index] as number) : a[index] === b[index];
    if (!isEqual) return false;
  }
  return true;
}
