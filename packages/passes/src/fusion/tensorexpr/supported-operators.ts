import { constantValue, isListConstant, type Node, TensorType, type Value } from '@cresset/ir';
import { isFloatingPoint, type ScalarType } from '@cresset/tensor';

const namesOf = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).map((name) => `aten::${name}`));

/** Pointwise operators (PyTorch: get_tensorexpr_elementwise_set), by name and overload. */
const elementwise = namesOf(
  `__and__.Scalar __and__.Tensor __lshift__.Scalar __lshift__.Tensor __or__.Scalar __or__.Tensor __rshift__.Scalar __rshift__.Tensor
  __xor__.Scalar __xor__.Tensor _autocast_to_full_precision _autocast_to_reduced_precision _cast_Float abs acos add.Scalar add.Tensor
  addcmul asin atan atan2 ceil clamp cos cosh div.Scalar div.Tensor elu eq.Scalar eq.Tensor erf erfc exp expm1 floor fmod.Scalar
  fmod.Tensor frac ge.Scalar ge.Tensor gelu gt.Scalar gt.Tensor hardshrink hardsigmoid hardswish hardtanh isnan le.Scalar le.Tensor
  leaky_relu lerp.Scalar lerp.Tensor lgamma log log10 log1p log2 lt.Scalar lt.Tensor max.other min.other mish mul.Scalar mul.Tensor
  ne.Scalar ne.Tensor neg pow.Tensor_Scalar reciprocal relu relu6 remainder.Tensor round rsqrt sigmoid silu sin sinh softplus sqrt
  sub.Scalar sub.Tensor tan tanh threshold to.device to.dtype to.dtype_layout to.prim_Device to.prim_dtype trunc type_as where.Scalar
  where.ScalarOther where.ScalarSelf where.self`,
);
const otherBroadcasts = namesOf('batch_norm conv2d matmul');
const arranging = namesOf('cat unsqueeze');
const reductions = namesOf('sum sum.dim_IntList softmax.int log_softmax.int');
const unschematized: ReadonlySet<string> = new Set([
  'prim::ConstantChunk',
  'prim::ListConstruct',
  'prim::TensorExprGroup',
]);

/** Dividing whole numbers by zero is an error, which a fused kernel cannot raise. */
const onFloatsOnly = namesOf('fmod.Scalar fmod.Tensor remainder.Scalar remainder.Tensor');
/** Shifts of floats have rules of their own. */
const onIntsOnly = namesOf('__lshift__.Scalar __lshift__.Tensor __rshift__.Scalar __rshift__.Tensor');
/** The vectorised functions of a CPU are faster than what the fuser would write. */
const onGpuOnly = namesOf('erf erfc');
const onCpuOnly = namesOf('conv2d matmul');
const conversions = namesOf('to _autocast_to_reduced_precision _autocast_to_full_precision');

function nameOf(node: Node): string {
  const operator = node.maybeOperator();
  if (!operator) return node.kind;
  return operator.overloadName === '' ? operator.name : `${operator.name}.${operator.overloadName}`;
}

/** Whether the size of a node's result is that of its tensor inputs, broadcast, as far as the fuser takes it. */
export function hasBroadcastSize(node: Node): boolean {
  const name = nameOf(node);
  return elementwise.has(name) || otherBroadcasts.has(name);
}

/** Whether the fuser knows an operator (PyTorch: tensorexpr::isSupported). */
export function isSupported(node: Node, withReductions: boolean): boolean {
  if (unschematized.has(node.kind)) return true;
  const name = nameOf(node);
  const isKnown = hasBroadcastSize(node) || arranging.has(name) || (withReductions && reductions.has(name));
  if (!isKnown) return false;
  // Guards are on tensors: nothing else may decide about the result's type, unless it is a constant.
  if (node.inputs.some(({ type }) => type.kind === 'NumberType')) return false;
  return ['dtype', 'device'].every((name) => !node.hasNamedInput(name) || isConstant(node.namedInput(name)));
}

/** Whether the fuser knows an operator for the dtypes and sizes at hand. */
export function typesAreSupported(node: Node): boolean {
  const name = nameOf(node);
  if (!node.inputs.every((input) => isSupportedInput(input, name))) return false;
  const device = pickDevice(node.inputs) ?? pickDevice(node.outputs);
  if (onGpuOnly.has(name) && !device?.startsWith('cuda')) return false;
  if (onCpuOnly.has(name) && device !== 'cpu') return false;
  if (conversions.has(node.kind)) return isSupportedConversion(node);
  switch (name) {
    case 'aten::pow.Tensor_Scalar':
      return isFloating(node.input(0));
    case 'aten::unsqueeze':
      return isConstant(node.input(1));
    case 'aten::conv2d':
      return isSupportedConvolution(node);
    case 'aten::matmul':
      return node.inputs.every((input) => isContiguous(input, 2));
    default:
      return true;
  }
}

function isSupportedInput({ type }: Value, operator: string): boolean {
  if (type instanceof TensorType) {
    const { scalarType, device } = type;
    if (scalarType === undefined || device === undefined || scalarType === 'uint8') return false;
    if ((scalarType === 'float16' || scalarType === 'bfloat16') && device === 'cpu') return false;
    const floats = isFloatingPoint(scalarType as ScalarType);
    return !(onFloatsOnly.has(operator) && !floats) && !(onIntsOnly.has(operator) && floats);
  }
  if (onFloatsOnly.has(operator)) return type.kind === 'FloatType';
  return !onIntsOnly.has(operator) || type.kind === 'IntType';
}

/** On one device, by constant arguments, to memory that is not pinned. */
function isSupportedConversion(node: Node): boolean {
  if (node.kind === 'aten::to') {
    const device = pickDevice(node.inputs);
    if (device === undefined || device !== pickDevice(node.outputs)) return false;
  }
  if (!node.inputs.slice(1).every(isConstant)) return false;
  if (!node.hasNamedInput('pin_memory')) return true;
  const pinned = node.namedInput('pin_memory');
  return pinned.type.kind === 'NoneType' || constantValue(pinned) === false;
}

/** Depthwise convolutions with kernels of 3 by 3, for which the fuser has code of its own (PyTorch: conv2dIsSupportedJit). */
function isSupportedConvolution(node: Node): boolean {
  const [input, weight, bias] = node.inputs;
  if (!isContiguous(input, 4) || !isContiguous(weight, 4) || !isContiguous(bias, 1)) return false;
  const types = [input, weight, bias].map(({ type }) => type as TensorType);
  if (types.some(({ scalarType }) => scalarType !== 'float32')) return false;
  const [, channels] = types[0].concreteSizes!;
  const [filters, perGroup, height, width] = types[1].concreteSizes!;
  if (channels !== filters || perGroup !== 1 || height !== 3 || width !== 3) return false;
  if (constantValue(node.input(6)) !== BigInt(channels)) return false;
  const [stride, padding, dilation] = [3, 4, 5].map((index) => pairOf(node.input(index)));
  return stride !== null && padding !== null && dilation === 1n;
}

/** A list of two equal ints as one. */
function pairOf(value: Value): bigint | null {
  const constant = constantValue(value);
  if (!isListConstant(constant) || constant.items.length !== 2) return null;
  const [first, second] = constant.items as readonly bigint[];
  return first === second ? first : null;
}

/** A tensor of known sizes and so many dimensions, its elements in order. */
function isContiguous({ type }: Value, rank: number): boolean {
  if (!(type instanceof TensorType) || !type.isComplete() || type.dim !== rank) return false;
  return type.contiguous().concreteStrides!.every((stride, dim) => stride === type.concreteStrides![dim]);
}

function isFloating({ type }: Value): boolean {
  return type instanceof TensorType && type.scalarType !== undefined && isFloatingPoint(type.scalarType as ScalarType);
}

export function isConstant(value: Value): boolean {
  return value.node.kind === 'prim::Constant';
}

/** The one device that tensors are on; undefined where none is known, or several (PyTorch: pickDeviceType). */
export function pickDevice(values: readonly Value[]): string | undefined {
  const devices = new Set(
    values.flatMap(({ type }) => (type instanceof TensorType && type.device ? [type.device] : [])),
  );
  return devices.size === 1 ? [...devices][0] : undefined;
}
