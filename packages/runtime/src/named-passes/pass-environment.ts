import { scalarTypeCode, scalarTypeFromCode, type Node } from '@cresset/ir';
import {
  checkTarget,
  computeCallOnHost,
  isImplemented,
  OperatorCall,
  runWithoutData,
  type OperatorRow,
  type TensorMeta,
} from '@cresset/operators';
import type { NamedPassEnvironment } from '@cresset/passes';
import { isComplex, isFloatingPoint, promoteTypes, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { evaluateAnyConstant, silentContext } from '../executor/constant-evaluator.ts';
import { compileDecomposition } from '../executor/decomposition-compiler.ts';

/** What PyTorch has no kernel for that needs no elements. */
const needsElements = /^aten::(argwhere|bincount|masked_select|narrow\.Tensor|nonzero|unique\w*)[.(]/;

/** What PyTorch refuses of dtypes before there is a kernel. */
const refusesEarly = /^aten::(addcdiv|deg2rad|isneginf|isposinf|neg|negative|rad2deg|rsub|sub|subtract)[.(]/;

/** What PyTorch's rules of shapes say in terms of operators that cast floats to the dtype of the argument, which is refused for whole numbers. */
const castsFloats = /^aten::(elu|leaky_relu|selu|softshrink)$/;

/** Products of matrices give what the first factor is; that the other is something else, only kernels mind. */
const products = /^aten::(addmm|bmm|linear|matmul|mm)\(/;

/** What gives the dtype that it is asked for, which only kernels mind. */
const givesAsked = /^aten::(log_)?softmax\.int\(/;

/**
 * The dtypes that an operator's rule of shapes gives, or a view. PyTorch's kernels of single elements refuse dtypes when they run, which is not
 * asked here: such are said to give what they give for a dtype that they take.
 */
function inferDtypes(node: Node, inputs: readonly unknown[]): readonly ScalarType[] | null {
  const row = node.maybeOperator()?.row as OperatorRow | undefined;
  const args = inputs as readonly IValue[];
  const first = args.find((value) => value instanceof Tensor);
  if (!row || !first || needsElements.test(row.schema)) return null;
  if (castsFloats.test(node.kind) && !isFloatingPoint(first.dtype) && !isComplex(first.dtype)) return null;
  const { derived } = row;
  if (!derived) return inferMeta(row, args)?.map(({ dtype }) => dtype) ?? null;
  if (derived.form !== 'in-place') return null;
  if (derived.from.decomposition !== undefined) return [first.dtype];
  const [result] = inferMeta(derived.from, args) ?? [];
  return result && isWritable(first, result, row, args) ? [first.dtype] : null;
}

/** The results of an operator that is not in place; null as for `inferDtypes`. */
function inferMeta(row: OperatorRow, args: readonly IValue[]): readonly TensorMeta[] | null {
  const given = metaOf(row, args);
  const [, , asked] = args;
  if (!given && givesAsked.test(row.schema) && typeof asked === 'bigint') {
    const dtype = scalarTypeFromCode(asked) as ScalarType;
    return metaOf(row, args.with(2, BigInt(scalarTypeCode('float32'))))?.map(({ sizes }) => ({ sizes, dtype })) ?? null;
  }
  if (given || !(row.pointwise || products.test(row.schema)) || refusesEarly.test(row.schema)) return given;
  const [first, ...others] = args.filter((value) => value instanceof Tensor);
  const own = row.pointwise
    ? others.reduce((dtype, other) => promoteTypes(dtype, other.dtype), first.dtype)
    : (row.schema.startsWith('aten::addmm') ? others[0] : first).dtype;
  for (const taken of ['float32', 'int64'] as const) {
    const inferred = metaOf(
      row,
      args.map((value) => (value instanceof Tensor ? Tensor.empty(value.sizes, taken) : value)),
    );
    if (inferred) return inferred.map(({ sizes, dtype }) => ({ sizes, dtype: dtype === taken ? own : dtype }));
  }
  return null;
}

const isTyped = (result: IValue | TensorMeta): result is Tensor | TensorMeta =>
  typeof result === 'object' && result !== null && 'dtype' in result;

/** Null where the row refuses the arguments, has no rule, or gives something else than tensors. */
function metaOf(row: OperatorRow, args: readonly IValue[]): readonly TensorMeta[] | null {
  try {
    const call = new OperatorCall(row, args);
    const known = runWithoutData(row, args, silentContext) ?? call.outputs;
    const results = known ?? (isImplemented(row) ? computeCallOnHost(call, silentContext) : null);
    const metas = results?.filter(isTyped);
    return metas?.length === results?.length ? (metas ?? null) : null;
  } catch {
    return null;
  }
}

/** Whether an operator in place may write such a result to `self`. */
function isWritable(self: Tensor, result: TensorMeta, row: OperatorRow, args: readonly IValue[]): boolean {
  try {
    checkTarget(self, result, row, new OperatorCall(row, args).unboxed);
    return true;
  } catch {
    return false;
  }
}

/** What passes need that run operators: as in PyTorch results may be of any size, and questions about autocast stay. */
export const passEnvironment: NamedPassEnvironment = {
  evaluate: (node, constants) =>
    node.kind.startsWith('aten::is_autocast') ? null : evaluateAnyConstant(node, constants),
  compileDecomposition,
  inferDtypes,
};
