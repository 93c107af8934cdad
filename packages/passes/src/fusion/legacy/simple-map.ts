import { FloatType, type Node, TensorType } from '@cresset/ir';

/** Operators that make each element of their one result of elements at the same place, by name and overload. */
const simpleMaps: ReadonlySet<string> = new Set(
  `_cast_Float abs acos add.Scalar add.Tensor addcmul asin atan atan2 ceil clamp cos cosh div.Scalar div.Tensor eq.Scalar eq.Tensor erf
  erfc exp expm1 floor fmod.Tensor frac ge.Scalar ge.Tensor gt.Scalar gt.Tensor le.Scalar le.Tensor lerp.Scalar lerp.Tensor lgamma log
  log10 log1p log2 logit lt.Scalar lt.Tensor max.other min.other mul.Scalar mul.Tensor ne.Scalar ne.Tensor neg pow.Scalar
  pow.Tensor_Scalar pow.Tensor_Tensor rand_like reciprocal relu remainder.Tensor round rsqrt sigmoid sin sinh sqrt sub.Scalar sub.Tensor
  tan tanh threshold trunc type_as where.self`
    .split(/\s+/)
    .map((name) => `aten::${name}`),
);

/** Whether a node can be part of a group: numbers among its arguments are floats, or constants (PyTorch: isSimpleMap). */
export function isSimpleMap(node: Node): boolean {
  const operator = node.maybeOperator();
  if (!operator) return false;
  const { name, overloadName } = operator;
  if (!simpleMaps.has(overloadName === '' ? name : `${name}.${overloadName}`)) return false;
  return node.inputs.every(
    ({ type, node: source }) =>
      type instanceof TensorType || type.isSubtypeOf(FloatType.get()) || source.kind === 'prim::Constant',
  );
}
