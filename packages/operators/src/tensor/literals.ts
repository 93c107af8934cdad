import { Complex, scalarTypeFromCode } from '@cresset/ir';
import { List, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { scalar } from '../builders.ts';
import { scalarWriter } from '../elements.ts';
import { check } from '../errors.ts';
import { fillInto } from '../fill.ts';
import type { OperatorRow, Scalar } from '../row.ts';
import { defaultDtype, scalarDtype } from '../type-promotion.ts';

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

/** The numbers of nested lists in C order; every list of one depth must be as long as the first. */
function* numbersOf(value: IValue, sizes: readonly number[], depth = 0): Generator<Scalar> {
  if (!(value instanceof List)) {
    check(typeof value !== 'string', 'Input must be of ints, floats, or bools, got str');
    yield value as Scalar;
    return;
  }
  check(
    value.items.length === sizes[depth],
    () => `Expected sequence of length ${sizes[depth]} at dim ${depth} (got ${value.items.length})`,
  );
  for (const item of value.items) yield* numbersOf(item, sizes, depth + 1);
}

/** The dtype of a list's elements, as its static type has it. */
function elementDtype(list: List): ScalarType {
  let type = list.elementType;
  while (type.kind === 'ListType') type = type.containedTypes()[0];
  const dtypes: Partial<Record<string, ScalarType>> = { IntType: 'int64', BoolType: 'bool', ComplexType: 'complex64' };
  check(type.kind !== 'StringType', 'Input must be of ints, floats, or bools, got str');
  check(
    type.kind !== 'UnionType',
    () => `Add new condition, expected Float, Complex, Int, or Bool but got ${type.annotationStr()}`,
  );
  return dtypes[type.kind] ?? defaultDtype;
}

function listTensor(list: List, dtype: ScalarType): Tensor {
  const sizes = sizesOf(list);
  const tensor = Tensor.empty(sizes, dtype);
  const write = scalarWriter(tensor);
  let offset = 0;
  for (const value of numbersOf(list, sizes)) write(offset++, value);
  return tensor;
}

function ofData(data: IValue, dtype: IValue): Tensor {
  const isEmpty =
    data instanceof List &&
    data.items.length === 0 &&
    data.elementType.kind !== 'IntType' &&
    data.elementType.kind !== 'BoolType';
  if (data instanceof List) return listTensor(data, dtypeOr(dtype, isEmpty ? defaultDtype : elementDtype(data)));
  return scalarTensor(data as Scalar, dtypeOr(dtype, scalarDtype(data as Scalar)));
}

/** A number that a program turns into a tensor is a double, not the default dtype. */
const numberTensor = (value: IValue): Tensor =>
  scalarTensor(
    value as Scalar,
    typeof value === 'number' ? 'float64' : value instanceof Complex ? 'complex128' : scalarDtype(value as Scalar),
  );

const numbers = ['int', 'float', 'bool', 'complex'];

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
