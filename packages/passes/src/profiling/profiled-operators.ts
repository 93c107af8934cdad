import { constantValue, NumberType, type Node } from '@cresset/ir';
import { isDifferentiable } from '../autodiff/differentiable-ops.ts';

/** Operators of `aten`, with the overload where there is one, whose tensors PyTorch's TensorExpr fuser takes. */
const TENSOR_EXPRESSIONS: ReadonlySet<string> = new Set(
  `add.Scalar add.Tensor _cast_Float sub.Scalar sub.Tensor mul.Scalar mul.Tensor div.Scalar div.Tensor eq.Scalar eq.Tensor
  ne.Scalar ne.Tensor ge.Scalar ge.Tensor gt.Scalar gt.Tensor le.Scalar le.Tensor lt.Scalar lt.Tensor pow.Tensor_Scalar clamp
  to.dtype to.device to.dtype_layout to.prim_Device to.prim_dtype isnan lgamma log10 log log2 log1p exp erf erfc fmod.Scalar
  fmod.Tensor cos sin tan acos asin atan cosh sinh tanh hardtanh hardsigmoid hardswish hardshrink sqrt rsqrt abs floor ceil round
  trunc threshold sigmoid relu leaky_relu softplus mish elu relu6 gelu silu neg reciprocal expm1 frac __and__.Scalar __and__.Tensor
  __or__.Scalar __or__.Tensor __xor__.Scalar __xor__.Tensor __lshift__.Scalar __lshift__.Tensor __rshift__.Scalar
  __rshift__.Tensor where.Scalar where.ScalarOther where.ScalarSelf where.self type_as lerp.Scalar lerp.Tensor atan2
  remainder.Tensor min.other max.other addcmul batch_norm conv2d matmul cat unsqueeze`.split(/\s+/),
);

/** Operators whose results depend on what their tensors are, rather than on what is in them. */
const QUERIES: ReadonlySet<string> = new Set([
  'prim::AutogradAdd',
  'prim::AutogradAnyNonZero',
  'prim::AutogradAllNonZero',
  'prim::AutogradAllZero',
  'prim::AutogradZero',
  'aten::dim',
  'aten::size',
  'aten::expand',
  'prim::dtype',
  'prim::device',
  'prim::is_cuda',
  'aten::is_floating_point',
  'aten::type_as',
  'aten::t',
  'aten::mm',
]);

/** Whether passes want to know the types of a node's inputs. */
export function needsProfiledInputs(node: Node): boolean {
  return isTensorExpression(node) || QUERIES.has(node.kind) || isDifferentiable(node);
}

/** Whether passes want to know the types of a node's outputs. */
export function needsProfiledOutput(node: Node): boolean {
  return (
    isTensorExpression(node) ||
    node.kind === 'prim::AutogradAdd' ||
    node.kind === 'prim::AutogradZero' ||
    isDifferentiable(node)
  );
}

/**
 * Whether PyTorch's TensorExpr fuser takes a node: one whose results' types follow from those of its tensors, and from nothing that only
 * a run tells (PyTorch: tensorexpr::isSupported).
 */
export function isTensorExpression(node: Node): boolean {
  if (node.kind === 'prim::ConstantChunk' || node.kind === 'prim::ListConstruct') return true;
  const schema = node.maybeSchema();
  if (!schema || !node.kind.startsWith('aten::')) return false;
  const name = schema.overloadName === '' ? schema.name : `${schema.name}.${schema.overloadName}`;
  if (!TENSOR_EXPRESSIONS.has(name.slice('aten::'.length))) return false;
  if (node.inputs.some(({ type }) => type === NumberType.get())) return false;
  return schema.arguments.every(
    ({ name: argument }, at) =>
      (argument !== 'dtype' && argument !== 'device') || constantValue(node.input(at)) !== undefined,
  );
}
