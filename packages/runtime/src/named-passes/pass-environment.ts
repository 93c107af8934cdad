import type { Node } from '@cresset/ir';
import {
  computeCallOnHost,
  isImplemented,
  OperatorCall,
  runWithoutData,
  type OperatorRow,
  type TensorMeta,
} from '@cresset/operators';
import type { NamedPassEnvironment } from '@cresset/passes';
import { isComplex, isFloatingPoint, promoteTypes, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { evaluateConstant, silentContext } from '../executor/constant-evaluator.ts';
import { compileDecomposition } from '../executor/decomposition-compiler.ts';

/** What PyTorch has no kernel for that needs no elements. */
const needsElements = /^aten::(argwhere|bincount|masked_select|nonzero|unique\w*)$/;

/** What PyTorch's rules of shapes say in terms of operators that cast floats to the dtype of the argument, which is refused for whole numbers. */
const castsFloats = /^aten::(elu|leaky_relu|selu|softshrink)$/;

/** Products of matrices give what the first factor is; that the other is something else, only kernels mind. */
const products = /^aten::(addmm|linear|matmul|mm)$/;

/**
 * The dtypes that an operator's rule of shapes gives, or a view. PyTorch's kernels of single elements refuse dtypes when they run, which is not
 * asked here: such are said to give what they give for a dtype that they take.
 */
function inferDtypes(node: Node, inputs: readonly unknown[]): readonly ScalarType[] | null {
  const row = node.maybeOperator()?.row as OperatorRow | undefined;
  const args = inputs as readonly IValue[];
  const [first, ...others] = args.filter((value) => value instanceof Tensor);
  if (!row || !first || needsElements.test(node.kind)) return null;
  if (castsFloats.test(node.kind) && !isFloatingPoint(first.dtype) && !isComplex(first.dtype)) return null;
  if (row.derived) return row.derived.form === 'in-place' ? [first.dtype] : null;
  const given = dtypesOf(row, args);
  const isProduct = products.test(node.kind);
  if (given || !(row.pointwise || isProduct)) return given;
  const own = isProduct
    ? (node.kind === 'aten::addmm' ? others[0] : first).dtype
    : others.reduce((dtype, other) => promoteTypes(dtype, other.dtype), first.dtype);
  for (const taken of ['float32', 'int64'] as const) {
    const inferred = dtypesOf(
      row,
      args.map((value) => (value instanceof Tensor ? Tensor.empty(value.sizes, taken) : value)),
    );
    if (inferred) return inferred.map((dtype) => (dtype === taken ? own : dtype));
  }
  return null;
}

const isTyped = (result: IValue | TensorMeta): result is Tensor | TensorMeta =>
  typeof result === 'object' && result !== null && 'dtype' in result;

/** Null where the row refuses the arguments, has no rule, or gives something else than tensors. */
function dtypesOf(row: OperatorRow, args: readonly IValue[]): readonly ScalarType[] | null {
  try {
    const call = new OperatorCall(row, args);
    const known = runWithoutData(row, args, silentContext) ?? call.outputs;
    const results = known ?? (isImplemented(row) ? computeCallOnHost(call, silentContext) : null);
    const dtypes = results?.flatMap((result) => (isTyped(result) ? result.dtype : []));
    return dtypes?.length === results?.length ? (dtypes ?? null) : null;
  } catch {
    return null;
  }
}

/** What passes need that run operators. */
export const passEnvironment: NamedPassEnvironment = {
  evaluate: evaluateConstant,
  compileDecomposition,
  inferDtypes,
};
