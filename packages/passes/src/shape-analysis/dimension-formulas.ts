import {
  BoolType,
  constantValue,
  FloatType,
  IntType,
  isListConstant,
  ListType,
  scalarTypeFromCode,
  TensorType,
  type Node,
  type ScalarTypeName,
} from '@cresset/ir';
import { isIntegral, promoteTypes } from '@cresset/tensor';

/**
 * What is known of operators' results when only ranks and dtypes of their arguments are (PyTorch: the `register_formula_for` groups
 * of shape_analysis.cpp). A formula gives one type an output, or null where the operator has none here.
 */
export type DimensionFormula = (node: Node) => readonly TensorType[] | null;

/** The formula of an operator by its name and, behind a dot, overload name. */
export function dimensionFormula(operator: string): DimensionFormula | undefined {
  return formulas.get(operator);
}

const formulas = new Map<string, DimensionFormula>();

function register(operators: string, formula: DimensionFormula): void {
  for (const name of operators.trim().split(/\s+/)) formulas.set(`aten::${name}`, formula);
}

const tensorInput = (node: Node, index: number): TensorType | null => {
  const type = node.inputs[index]?.type;
  return type instanceof TensorType ? type : null;
};

const one = (type: TensorType | null): readonly TensorType[] | null => (type ? [type] : null);

/** The type of an input, changed. */
const of =
  (index: number, change: (type: TensorType, node: Node) => TensorType | null): DimensionFormula =>
  (node) => {
    const type = tensorInput(node, index);
    return type && one(change(type, node));
  };

const withRank = (rank: number): DimensionFormula => of(0, (type) => type.withDim(rank));

/** The first tensor whose rank is known, whichever argument it is, changed (PyTorch: any_tensor_type). */
const ofKnown =
  (change: (type: TensorType) => TensorType): DimensionFormula =>
  (node) => {
    const type = tensorTypes(node).find(({ dim }) => dim !== undefined);
    return type ? [change(type)] : null;
  };

const changedRank = (by: number): DimensionFormula =>
  of(0, (type) => {
    if (type.dim === undefined) return type;
    return type.dim + by < 0 ? null : type.withDim(type.dim + by);
  });

/** Sums of whole numbers and bools are int64; PyTorch says so of `log_softmax` too. */
export const summed = (type: TensorType): TensorType =>
  type.scalarType !== undefined && isIntegral(type.scalarType, true) ? type.withScalarType('int64') : type;

function scalarTypeOfNumber(node: Node, index: number): ScalarTypeName | undefined {
  const type = node.inputs[index]?.type;
  if (type === FloatType.get()) return 'float64';
  if (type === IntType.get()) return 'int64';
  return type === BoolType.get() ? 'bool' : undefined;
}

/** A whole tensor and a float make a tensor of the default dtype, bools and an int one of ints. */
export function typeWithScalar(type: TensorType, node: Node, index: number): TensorType | null {
  const scalar = scalarTypeOfNumber(node, index);
  if (type.scalarType === undefined || scalar === undefined) return null;
  if (isIntegral(type.scalarType, true) && scalar === 'float64') return type.withScalarType('float32');
  return type.scalarType === 'bool' ? type.withScalarType(scalar) : type;
}

const tensorTypes = (node: Node): TensorType[] =>
  node.inputs.map(({ type }) => type).filter((type) => type instanceof TensorType);

/** The rank that broadcasting gives; one tensor alone keeps its own. */
function broadcast(types: readonly TensorType[], scalarType: ScalarTypeName | undefined): TensorType | null {
  if (types.length === 0) return null;
  if (types.length === 1) return types[0].dimensionedOnly().withScalarType(scalarType);
  const ranks = types.map(({ dim }) => dim);
  const rank = ranks.every((dim) => dim !== undefined) ? Math.max(...ranks) : undefined;
  return TensorType.create({ scalarType, device: types[0].device }).withDim(rank);
}

/**
 * What tensors promote to; one without dimensions counts where it is of a higher kind of number than the others. Of unknown ranks nothing
 * follows but what is so for all of them.
 */
function promoted(types: readonly TensorType[]): ScalarTypeName | undefined {
  const [{ scalarType: first }, ...others] = types;
  if (others.every(({ scalarType }) => scalarType === first)) return first;
  const highest = (ofRankZero: boolean): ScalarTypeName | undefined => {
    const names = types.filter(({ dim }) => (dim === 0) === ofRankZero).map(({ scalarType }) => scalarType!);
    return names.length === 0 ? undefined : names.reduce((a, b) => promoteTypes(a, b) as ScalarTypeName);
  };
  if (types.some(({ scalarType, dim }) => scalarType === undefined || dim === undefined)) return undefined;
  const [higher, lower] = [highest(false), highest(true)];
  if (higher === undefined || lower === undefined) return higher ?? lower;
  if (kindOf(lower) <= kindOf(higher)) return higher;
  return promoteTypes(higher, lower) as ScalarTypeName;
}

/** Bool, whole, floating and complex numbers, in this order. */
function kindOf(scalarType: ScalarTypeName): number {
  if (scalarType === 'bool') return 0;
  if (isIntegral(scalarType, false)) return 1;
  return scalarType.startsWith('complex') ? 3 : 2;
}

const arithmetic: DimensionFormula = (node) => {
  const types = tensorTypes(node);
  return one(broadcast(types, promoted(types)));
};

/** The dtype is that of the first two arguments to which both promote; nothing where one of them has none. */
const broadcasting: DimensionFormula = (node) => {
  const types = tensorTypes(node);
  const [first, second] = types.map(({ scalarType }) => scalarType);
  if (first === undefined || second === undefined) return null;
  return one(broadcast(types, promoteTypes(first, second) === first ? first : second));
};

const constantBool = (node: Node, name: string): boolean | undefined => {
  if (!node.hasNamedInput(name)) return undefined;
  const value = constantValue(node.namedInput(name));
  return typeof value === 'boolean' ? value : undefined;
};

/** One dimension less, or, where it is kept, the type as it was. */
function reduced(type: TensorType, node: Node): TensorType | null {
  const keepdim = constantBool(node, 'keepdim');
  if (keepdim === undefined) return null;
  return keepdim || type.dim === undefined ? type : type.withDim(Math.max(type.dim - 1, 0));
}

/** How many ints a list has, constant or constructed. */
function listLength(node: Node, name: string): number | undefined {
  const list = node.namedInput(name);
  if (list.node.kind === 'prim::ListConstruct') return list.node.inputs.length;
  const constant = constantValue(list) as { readonly items?: readonly unknown[] } | undefined;
  return constant?.items?.length;
}

const rankOfList =
  (name: string): DimensionFormula =>
  (node) => {
    const rank = listLength(node, name);
    const type = tensorInput(node, 0);
    return type && rank !== undefined ? [type.withDim(rank)] : null;
  };

function dtypeArgument(node: Node): ScalarTypeName | undefined | null {
  if (node.hasNamedInput('device') && constantValue(node.namedInput('device')) === undefined) return undefined;
  const value = node.hasNamedInput('dtype') ? constantValue(node.namedInput('dtype')) : null;
  if (value === null) return null;
  return typeof value === 'bigint' ? scalarTypeFromCode(value) : undefined;
}

const created =
  (otherwise: ScalarTypeName): DimensionFormula =>
  (node) => {
    const size = constantValue(node.namedInput('size'));
    const dtype = dtypeArgument(node);
    if (!isListConstant(size) || dtype === undefined) return null;
    return [TensorType.create({ scalarType: dtype ?? otherwise, device: 'cpu' }).withDim(size.items.length)];
  };

register(
  `pin_memory max_pool1d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d log_sigmoid avg_pool1d avg_pool2d avg_pool3d
  max_pool2d max_pool3d __and__.Scalar __or__.Scalar __xor__.Scalar __lshift__.Scalar __rshift__.Scalar __iand__.Scalar
  __ior__.Scalar __ixor__.Scalar __ilshift__.Scalar __irshift__.Scalar dropout feature_dropout alpha_dropout feature_alpha_dropout
  glu replication_pad1d replication_pad2d replication_pad3d reflection_pad1d reflection_pad2d reflection_pad3d max_unpool2d
  max_unpool3d selu celu elu inverse pinverse batch_norm bilinear upsample_nearest1d upsample_nearest2d upsample_nearest3d
  upsample_linear1d upsample_bilinear2d upsample_trilinear3d acos asin atan abs ceil clamp clamp_max clamp_min cos cosh digamma erf
  erfc erfinv exp expm1 floor frac lgamma log log10 log1p log2 reciprocal relu round rsqrt sign sin sinh sqrt tan trunc alias
  transpose.int contiguous clone permute slice.Tensor _convolution _convolution.deprecated convolution conv1d conv2d conv3d conv_tbc
  conv_transpose1d conv_transpose2d.input conv_transpose3d.input softshrink softplus threshold hardshrink hardtanh hardswish
  hardswish_ leaky_relu gelu prelu rrelu bernoulli bernoulli.p normal.Tensor_float triu tril rot90 flip mvlgamma
  sigmoid neg tanh t softmax.int pow.Tensor_Scalar logit narrow remainder.Scalar fmod.Scalar`,
  of(0, (type) => type.dimensionedOnly()),
);
register(
  'add.Scalar sub.Scalar mul.Scalar div.Scalar',
  of(0, (type, node) => typeWithScalar(type, node, 1)?.dimensionedOnly() ?? null),
);
register(
  'lt.Scalar le.Scalar gt.Scalar ge.Scalar eq.Scalar ne.Scalar',
  of(0, (type) => type.dimensionedOnly().withScalarType('bool')),
);
register('add.Tensor sub.Tensor mul.Tensor div.Tensor', arithmetic);
register(
  `max.other min.other pow.Tensor_Tensor __and__.Tensor __or__.Tensor __xor__.Tensor __lshift__.Tensor __rshift__.Tensor __iand__.Tensor
  __ior__.Tensor __ixor__.Tensor __ilshift__.Tensor __irshift__.Tensor remainder.Tensor fmod.Tensor lerp.Scalar lerp.Tensor atan2`,
  broadcasting,
);
register('addcmul addcdiv', (node) => {
  const types = tensorTypes(node);
  return one(broadcast(types, types[0].scalarType));
});
register(
  'mm bmm normal.Tensor_Tensor',
  ofKnown((type) => type),
);
register(
  'pow.Scalar polygamma',
  ofKnown((type) => type.dimensionedOnly()),
);
register(
  'detach',
  of(0, (type) => type.dimensionedOnly().withRequiresGrad(false)),
);
register(
  'cumsum cumprod log_softmax.int',
  of(0, (type) => summed(type.dimensionedOnly())),
);
register('lt.Tensor le.Tensor gt.Tensor ge.Tensor eq.Tensor ne.Tensor', (node) =>
  one(broadcast(tensorTypes(node), 'bool')),
);
register('where.self', (node) => {
  const types = tensorTypes(node);
  return one(broadcast(types, types[1].scalarType));
});
register(
  'det max min logdet norm.Scalar std var all any mean median nanmedian',
  of(0, (type) => type.withDim(0)),
);
register(
  'dot dist',
  ofKnown((type) => type.withDim(0)),
);
register(
  'sum prod',
  of(0, (type) => summed(type.withDim(0))),
);
register('trace', withRank(0));
register('all.dim any.dim', of(0, reduced));
register(
  'prod.dim_int',
  of(0, (type, node) => {
    const result = reduced(type, node);
    return result && summed(result);
  }),
);
register(
  'argmax argmin',
  of(0, (type, node) => {
    const hasDim = node.hasNamedInput('dim') && !node.namedInput('dim').mustBeNone();
    return hasDim ? reduced(type, node) : type.withDim(0);
  }),
);
register('max.dim min.dim mode kthvalue median.dim nanmedian.dim', (node) => {
  const type = tensorInput(node, 0);
  const values = type?.dim === undefined ? null : reduced(type, node);
  return values && [values, values.withScalarType('int64')];
});
register('select.int diagonal', changedRank(-1));
register('unfold unsqueeze', changedRank(1));
register('embedding', (node) => {
  const [weight, indices] = [tensorInput(node, 0), tensorInput(node, 1)];
  return !weight || indices?.dim === undefined ? null : [weight.withDim(indices.dim + 1)];
});
register('take', (node) => {
  const [self, index] = [tensorInput(node, 0), tensorInput(node, 1)];
  return self && index && [index.dimensionedOnly().withScalarType(self.scalarType)];
});
register('reshape_as view_as expand_as', (node) => {
  const [self, other] = [tensorInput(node, 0), tensorInput(node, 1)];
  return self && other && [self.withDim(other.dim)];
});
register('type_as', (node) => {
  const [self, other] = [tensorInput(node, 0), tensorInput(node, 1)];
  return self && other && [self.withScalarType(other.scalarType)];
});
register('view reshape', rankOfList('size'));
register('reshape', rankOfList('shape'));
register('as_strided expand', rankOfList('size'));
register('repeat', rankOfList('repeats'));
register('masked_select', withRank(1));
register(
  'mv addmv',
  ofKnown((type) => type.withDim(1)),
);
register('diagflat', withRank(2));
register(
  'addmm addbmm addr',
  ofKnown((type) => type.withDim(2)),
);
register(
  'baddbmm',
  ofKnown((type) => type.withDim(3)),
);
register(
  'diag',
  of(0, (type) => (type.dim === 1 ? type.withDim(2) : type.dim === 2 ? type.withDim(1) : null)),
);
register(
  'nonzero',
  of(0, (type) => type.dimensionedOnly().withScalarType('int64')),
);
register('matmul', (node) => {
  const [left, right] = [tensorInput(node, 0), tensorInput(node, 1)];
  if (left?.dim === undefined || right?.dim === undefined) return null;
  if (left.dim === 1 && right.dim === 1) return [left.withDim(0)];
  if (left.dim === 2 && right.dim === 1) return [right];
  if ((left.dim === 1 && right.dim === 2) || (left.dim === 2 && right.dim === 2)) return [left];
  const rank = Math.max(left.dim, right.dim) - (left.dim === 1 || right.dim === 1 ? 1 : 0);
  return [TensorType.create({ scalarType: left.scalarType, device: left.device }).withDim(rank)];
});
register('cat', (node) => {
  const list = node.input(0).node;
  if (list.kind !== 'prim::ListConstruct' || list.inputs.length === 0) return null;
  const [first] = tensorTypes(list);
  return first ? [first.dimensionedOnly()] : null;
});
register('zeros ones full rand randn empty.memory_format', created('float64'));
register('randint randint.low', created('int64'));
register(
  `as_tensor empty_like zeros_like ones_like full_like rand_like rand_like.generator randn_like randn_like.generator randint_like
  randint_like.low_dtype randint_like.Tensor randint_like.generator randint_like.Tensor_generator randint_like.low_generator_dtype`,
  of(0, (type, node) => {
    const dtype = dtypeArgument(node);
    if (dtype === undefined) return null;
    return type
      .dimensionedOnly()
      .with({ requiresGrad: undefined })
      .withScalarType(dtype ?? type.scalarType);
  }),
);
const elementDtypes: ReadonlyMap<string, ScalarTypeName> = new Map([
  ['FloatType', 'float32'],
  ['IntType', 'int64'],
  ['BoolType', 'bool'],
]);
register(
  'tensor tensor.float tensor.int tensor.bool as_tensor.list as_tensor.float as_tensor.int as_tensor.bool',
  (node) => {
    const dtype = dtypeArgument(node);
    if (dtype === undefined) return null;
    let { type } = node.input(0);
    let rank = 0;
    for (; type instanceof ListType; rank++) type = type.elementType;
    return [TensorType.create({ scalarType: dtype ?? elementDtypes.get(type.kind), device: 'cpu' }).withDim(rank)];
  },
);
for (const [name, scalarType] of [
  ['Byte', 'uint8'],
  ['Char', 'int8'],
  ['Short', 'int16'],
  ['Int', 'int32'],
  ['Long', 'int64'],
  ['Half', 'float16'],
  ['Float', 'float32'],
  ['Double', 'float64'],
] as const) {
  register(
    `_cast_${name}`,
    of(0, (type) => type.dimensionedOnly().withScalarType(scalarType)),
  );
}
