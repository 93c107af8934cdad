import { Complex, NumberType, scalarTypeFromCode } from '@cresset/ir';
import { isComplex, isFloatingPoint, List, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { scalar } from '../../table/builders.ts';
import { copyInto } from '../../kernels/copy.ts';
import { scalarWriter } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
import { fillInto } from '../../kernels/fill.ts';
import type { OperatorRow, Scalar } from '../../table/row.ts';
import { defaultDtype, scalarDtype } from '../../kernels/type-promotion.ts';

/** Tensors of numbers and lists of a program (torch/csrc/jit/runtime/register_special_ops.cpp). */

function scalarTensor(value: Scalar, dtype: ScalarType): Tensor {
  const tensor = Tensor.empty([], dtype);
  fillInto(tensor, value);
  return tensor;
}

const dtypeOr = (code: IValue, otherwise: ScalarType): ScalarType =>
  code === null ? otherwise : scalarTypeFromCode(code as bigint)!;

function sizesOf(value: IValue): number[] {
  const sizes: number[] = [];
  for (let inner = value; inner instanceof List; inner = inner.items[0] ?? null) sizes.push(inner.items.length);
  return sizes;
}

/** Visits the numbers of nested lists in C order; every list of one depth must be as long as the first. */
function forEachNumber({ items }: List, sizes: readonly number[], visit: (value: Scalar) => void, depth = 0): void {
  check(
    items.length === sizes[depth],
    () => `Expected sequence of length ${sizes[depth]} at dim ${depth} (got ${items.length})`,
  );
  for (const item of items) {
    if (item instanceof List) forEachNumber(item, sizes, visit, depth + 1);
    else visit(item as Scalar);
  }
}

/** The dtype of a list's elements, as its static type has it. */
function elementDtype(list: List): ScalarType {
  let type = list.elementType;
  while (type.kind === 'ListType') type = type.containedTypes()[0];
  const isBool = type.kind === 'BoolType';
  check(isBool || type.isSubtypeOf(NumberType.get()), () => {
    const refusal = `Input must be of ints, floats, or bools, got ${type.kind === 'TensorType' ? 'Tensor' : type.reprStr()}`;
    return list.items.length > 0 || type.kind !== 'TensorType' ? refusal : refusal + EMPTY_LIST_HINT;
  });
  const isInt = type.kind === 'IntType';
  check(
    isBool || isInt || type.kind === 'FloatType',
    () => `Add new condition, expected Float, Complex, Int, or Bool but got${type.str()}`,
  );
  return isBool ? 'bool' : isInt ? 'int64' : defaultDtype;
}

const EMPTY_LIST_HINT =
  '\nEmpty lists default to List[Tensor]. Add a variable annotation to the assignment to create an empty list of another ' +
  'type (torch.jit.annotate(List[T, []]) where T is the type of elements in the list for Python 2)';

function listTensor(list: List, elements: ScalarType, dtype: ScalarType): Tensor {
  const sizes = sizesOf(list);
  const tensor = Tensor.empty(sizes, dtype);
  if (tensor.numel === 0) return tensor;
  const write = scalarWriter(tensor);
  let offset = 0;
  forEachNumber(list, sizes, (value) =>
    // Floats are of the default dtype before they become what is asked for.
    write(offset++, elements === 'float32' ? Math.fround(Number(value)) : value),
  );
  return tensor;
}

/** @param requiresGrad what a leaf of gradients is made with, of which a recorded run takes note */
function ofData(data: IValue, dtype: IValue, _device?: IValue, requiresGrad: IValue = false): Tensor {
  const made = tensorOf(data, dtype);
  check(
    requiresGrad !== true || isFloatingPoint(made.dtype) || isComplex(made.dtype),
    'Only Tensors of floating point and complex dtype can require gradients',
  );
  return made;
}

function tensorOf(data: IValue, dtype: IValue): Tensor {
  if (data instanceof List) {
    const elements = elementDtype(data);
    return listTensor(data, elements, dtypeOr(dtype, elements));
  }
  // It is one of the dtype that such numbers have, and is then converted.
  const made = scalarTensor(data as Scalar, scalarDtype(data as Scalar));
  const asked = dtypeOr(dtype, made.dtype);
  if (asked === made.dtype) return made;
  const converted = Tensor.empty([], asked);
  copyInto(converted, made);
  return converted;
}

/** A number that a program turns into a tensor is a double, not the default dtype. */
const numberTensor = (value: IValue): Tensor =>
  scalarTensor(
    value as Scalar,
    typeof value === 'number' ? 'float64' : value instanceof Complex ? 'complex128' : scalarDtype(value as Scalar),
  );

/** In PyTorch's order: a tensor that is to be a number is a float. */
const numbers = ['bool', 'float', 'int', 'complex'];

export const literalRows: readonly OperatorRow[] = [
  ...numbers.flatMap((type) => [
    scalar(
      `aten::tensor.${type}(${type} t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor`,
      ofData,
    ),
    scalar(`aten::as_tensor.${type}(${type} t, *, ScalarType? dtype=None, Device? device=None) -> Tensor`, ofData),
  ]),
  scalar(
    'aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor',
    ofData,
  ),
  scalar('aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor', ofData),
  scalar('prim::NumToTensor.Scalar(Scalar a) -> Tensor', numberTensor),
  scalar('prim::NumToTensor.bool(bool a) -> Tensor', numberTensor),
];
