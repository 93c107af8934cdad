import {
  BoolType,
  constantValue,
  FloatType,
  IntType,
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

const changedRank = (by: number, from = 0): DimensionFormula =>
  of(from, (type) => (type.dim === undefined ? type : type.withDim(type.dim + by)));

function scalarTypeOfNumber(node: Node, index: number): ScalarTypeName | undefined {
  const type = node.inputs[index]?.type;
  if (type === FloatType.get()) return 'float64';
  if (type === IntType.get()) return 'int64';
  return type === BoolType.get() ? 'bool' : undefined;
}

/** A whole tensor and a float make a tensor of the default dtype. */
export function typeWithScalar(type: TensorType, node: Node, index: number): TensorType | null {
  const scalar = scalarTypeOfNumber(node, index);
  if (type.scalarType === undefined || scalar === undefined) return null;
  return isIntegral(type.scalarType, true) && scalar === 'float64' ? type.withScalarType('float32') : type;
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

function promoted(types: readonly TensorType[]): ScalarTypeName | undefined {
  let result: ScalarTypeName | undefined;
  for (const { scalarType, dim } of types) {
    if (scalarType === undefined || dim === undefined) return undefined;
    result = result === undefined ? scalarType : (promoteTypes(result, scalarType) as ScalarTypeName);
  }
  return result;
}

const broadcasting: DimensionFormula = (node) => {
  const types = tensorTypes(node);
  return one(broadcast(types, promoted(types)));
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
  const value = node.hasNamedInput('dtype') ? constantValue(node.namedInput('dtype')) : null;
  if (value === null) return null;
  return typeof value === 'bigint' ? scalarTypeFromCode(value) : undefined;
}

const created =
  (otherwise: ScalarTypeName): DimensionFormula =>
  (node) => {
    const rank = listLength(node, 'size');
    const dtype = dtypeArgument(node);
    if (rank === undefined || dtype === undefined) return null;
    return [TensorType.create({ scalarType: dtype ?? otherwise, device: 'cpu' }).withDim(rank)];
  };

register(
  `pin_memory max_pool1d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d log_sigmoid avg_pool1d avg_pool2d avg_pool3d
  max_pool2d max_pool3d __and__.Scalar __or__.Scalar __xor__.Scalar __lshift__.Scalar __rshift__.Scalar __iand__.Scalar
  __ior__.Scalar __ixor__.Scalar __ilshift__.Scalar __irshift__.Scalar dropout feature_dropout alpha_dropout feature_alpha_dropout
  glu replication_pad1d replication_pad2d replication_pad3d reflection_pad1d reflection_pad2d reflection_pad3d max_unpool2d
  max_unpool3d selu celu elu inverse pinverse batch_norm bilinear upsample_nearest1d upsample_nearest2d upsample_nearest3d
  upsample_linear1d upsample_bilinear2d upsample_trilinear3d acos asin atan abs ceil clamp clamp_max clamp_min cos cosh digamma erf
  erfc erfinv exp expm1 floor frac lgamma log log10 log1p log2 reciprocal relu round rsqrt sign sin sinh sqrt tan trunc alias detach
  transpose.int contiguous clone permute slice.Tensor _convolution _convolution.deprecated convolution conv1d conv2d conv3d conv_tbc
  conv_transpose1d conv_transpose2d.input conv_transpose3d.input softshrink softplus threshold hardshrink hardtanh hardswish
  hardswish_ leaky_relu gelu prelu rrelu bernoulli bernoulli.p normal.Tensor_float normal.Tensor_Tensor triu tril rot90 flip mvlgamma
  pow.Scalar sigmoid neg tanh t bmm polygamma cumsum cumprod softmax.int log_softmax.int pow.Tensor_Scalar logit narrow remainder.Scalar fmod.Scalar`,
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
register(
  `add.Tensor sub.Tensor mul.Tensor div.Tensor max.other min.other pow.Tensor_Tensor __and__.Tensor __or__.Tensor __xor__.Tensor
  __lshift__.Tensor __rshift__.Tensor __iand__.Tensor __ior__.Tensor __ixor__.Tensor __ilshift__.Tensor __irshift__.Tensor
  remainder.Tensor fmod.Tensor lerp.Scalar lerp.Tensor atan2 addcmul addcdiv`,
  broadcasting,
);
register('lt.Tensor le.Tensor gt.Tensor ge.Tensor eq.Tensor ne.Tensor', (node) =>
  one(broadcast(tensorTypes(node), 'bool')),
);
register('where.self', (node) => {
  const [self, other] = [tensorInput(node, 1), tensorInput(node, 2)];
  return self && other && one(broadcast([self, other], self.scalarType));
});
register(
  'det max min dot logdet dist norm.Scalar std var all any mean median nanmedian',
  of(0, (type) => type.withDim(0)),
);
register(
  'sum prod trace',
  of(0, (type) => {
    const { scalarType } = type;
    const isWhole = scalarType !== undefined && isIntegral(scalarType, true);
    return type.withDim(0).withScalarType(isWhole ? 'int64' : scalarType);
  }),
);
register('prod.dim_int all.dim any.dim', of(0, reduced));
register(
  'argmax argmin',
  of(0, (type, node) => {
    const hasDim = node.hasNamedInput('dim') && !node.namedInput('dim').mustBeNone();
    return hasDim ? reduced(type, node) : type.withDim(0);
  }),
);
register('max.dim min.dim mode kthvalue median.dim nanmedian.dim', (node) => {
  const type = tensorInput(node, 0);
  const values = type && reduced(type, node);
  return values && [values, values.withScalarType('int64')];
});
register('select.int diagonal', changedRank(-1));
register('unfold unsqueeze', changedRank(1));
register('embedding', (node) => {
  const [weight, indices] = [tensorInput(node, 0), tensorInput(node, 1)];
  return weight && indices && [weight.withDim(indices.dim === undefined ? undefined : indices.dim + 1)];
});
register('take reshape_as view_as expand_as', (node) => {
  const [self, other] = [tensorInput(node, 0), tensorInput(node, 1)];
  return self && other && [self.withDim(other.dim)];
});
register('type_as', (node) => {
  const [self, other] = [tensorInput(node, 0), tensorInput(node, 1)];
  return self && other && [self.dimensionedOnly().withScalarType(other.scalarType)];
});
register('view reshape', rankOfList('size'));
register('reshape', rankOfList('shape'));
register('as_strided expand', rankOfList('size'));
register('repeat', rankOfList('repeats'));
register('masked_select mv addmv', withRank(1));
register('diagflat addmm addbmm addr mm', withRank(2));
register('baddbmm', withRank(3));
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
  const types = tensorTypes(list);
  return types[0]?.dim === undefined ? null : [types[0].dimensionedOnly()];
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
for (const [overload, scalarType] of [
  ['float', 'float32'],
  ['int', 'int64'],
  ['bool', 'bool'],
] as const) {
  register(`tensor.${overload} as_tensor.${overload}`, (node) => {
    const dtype = dtypeArgument(node);
    return dtype === undefined
      ? null
      : [TensorType.create({ scalarType: dtype ?? scalarType, device: 'cpu', shape: [] })];
  });
}
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
