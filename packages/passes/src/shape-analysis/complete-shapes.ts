import {
  constantValue,
  IntType,
  scalarTypeFromCode,
  TensorType,
  type Node,
  type ScalarTypeName,
  type Value,
} from '@cresset/ir';
import { List } from '@cresset/tensor';
import { summed, typeWithScalar } from './dimension-formulas.ts';

/**
 * What a formula sets the output's type to: null where the arguments do not fit the operator, undefined where it would take the
 * values of arguments that are no constants.
 */
type CompleteFormula = (types: readonly TensorType[], node: Node) => TensorType | null | undefined;

/**
 * The type of an operator's result where sizes, strides, dtype and device of all its tensor arguments are known (PyTorch:
 * PropagateCompleteShapeOnNode); undefined for an operator that has no such formula.
 */
export function completeFormula(operator: string): CompleteFormula | undefined {
  return formulas[operator];
}

/** Operators whose result is found by running them on tensors of the right sizes, which costs little. */
export const runOnExamples: ReadonlySet<string> = new Set(
  `add.Tensor sub.Tensor mul.Tensor div.Tensor max.other min.other pow.Tensor_Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor
  eq.Tensor ne.Tensor`
    .split(/\s+/)
    .map((name) => `aten::${name}`),
);

/** Those of them whose smaller operand is expanded to the sizes of the result first. */
export const expandsOperands: ReadonlySet<string> = new Set(
  'max.other min.other pow.Tensor_Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor eq.Tensor ne.Tensor'
    .split(' ')
    .map((name) => `aten::${name}`),
);

const intOf = (value: Value): number | null => {
  const constant = constantValue(value);
  return typeof constant === 'bigint' ? Number(constant) : null;
};

const intsOf = (value: Value): number[] | null => {
  const constant = constantValue(value) as { readonly items?: readonly bigint[] } | undefined;
  return constant?.items?.map(Number) ?? null;
};

/**
 * Writes what a formula found into the constant list that it found it from, as PyTorch's formulas do. They do so whoever else has the list; here
 * it has to be the node's alone.
 */
function settle(list: Value, ints: readonly number[]): void {
  if (list.node.kind !== 'prim::Constant' || list.uses.length !== 1) return;
  const graph = list.node.owningGraph;
  const items = ints.map((each) => BigInt(each));
  const settled = graph.withInsertPoint(list.node, () => graph.insertConstant(new List(IntType.get(), items)));
  list.replaceAllUsesWith(settled);
  list.node.destroy();
}

const sizesOf = (type: TensorType): number[] => [...type.concreteSizes!];
const stridesOf = (type: TensorType): number[] => [...type.concreteStrides!];

const same: CompleteFormula = ([type]) => type;
const contiguous: CompleteFormula = ([type]) => type.contiguous();
const cast =
  (scalarType: ScalarTypeName): CompleteFormula =>
  ([type]) =>
    type.withScalarType(scalarType);

/** A dtype argument, where there is one, is the result's. */
const withDtype: CompleteFormula = ([type], node) => {
  if (node.namedInput('dtype').mustBeNone()) return type;
  const code = intOf(node.namedInput('dtype'));
  return code === null ? undefined : type.withScalarType(scalarTypeFromCode(code));
};

const summedWithDtype: CompleteFormula = (types, node) =>
  node.namedInput('dtype').mustBeNone() ? summed(types[0]) : withDtype(types, node);

const wrapped = (dim: number, rank: number): number => (dim < 0 ? dim + rank : dim);

const withScalar: CompleteFormula = ([type], node) => typeWithScalar(type, node, 1);

function narrow([type]: readonly TensorType[], node: Node): TensorType | null | undefined {
  const [dim, length] = [intOf(node.input(1)), intOf(node.input(3))];
  const sizes = sizesOf(type);
  if (dim === null || length === null) return undefined;
  if (!(dim in sizes)) return null;
  sizes[dim] = length;
  return type.withSizesStrides(sizes, stridesOf(type));
}

function sum([type]: readonly TensorType[], node: Node): TensorType | null | undefined {
  const [dims, keepdim] = [intsOf(node.input(1)), constantValue(node.input(2))];
  const sizes = sizesOf(type);
  if (dims === null || typeof keepdim !== 'boolean') return undefined;
  if (dims.some((dim) => !(dim in sizes))) return null;
  const backwards = dims.toReversed();
  for (const dim of backwards) sizes.splice(dim, 1, ...(keepdim ? [1] : []));
  settle(node.input(1), backwards);
  return type.withSizes(sizes);
}

function squeeze([type]: readonly TensorType[], node: Node): TensorType | null | undefined {
  const dim = intOf(node.input(1));
  const [sizes, strides] = [sizesOf(type), stridesOf(type)];
  if (dim === null) return undefined;
  const at = wrapped(dim, sizes.length);
  if (!(at in sizes)) return null;
  if (sizes[at] !== 1) return type;
  return type.withSizesStrides(sizes.toSpliced(at, 1), strides.toSpliced(at, 1));
}

function unsqueeze([type]: readonly TensorType[], node: Node): TensorType | null | undefined {
  const dim = intOf(node.input(1));
  const [sizes, strides] = [sizesOf(type), stridesOf(type)];
  if (dim === null) return undefined;
  const at = wrapped(dim, sizes.length + 1);
  if (at < 0 || at > sizes.length) return null;
  const stride = at < sizes.length ? strides[at] * sizes[at] : 1;
  return type.withSizesStrides(sizes.toSpliced(at, 0, 1), strides.toSpliced(at, 0, stride));
}

function view([type]: readonly TensorType[], node: Node): TensorType | null | undefined {
  const sizes = intsOf(node.input(1));
  if (sizes === null) return undefined;
  const inferred = sizes.indexOf(-1);
  if (inferred !== -1) {
    const known = sizes.reduce((product, size) => (size === -1 ? product : product * size), 1);
    if (known === 0 || sizes.includes(-1, inferred + 1)) return null;
    sizes[inferred] = Math.floor(type.numel! / known);
    settle(node.input(1), sizes);
  }
  return type.withSizes(sizes);
}

function expand([type]: readonly TensorType[], node: Node): TensorType | null | undefined {
  const wanted = intsOf(node.input(1));
  const [sizes, strides] = [sizesOf(type), stridesOf(type)];
  if (wanted === null) return undefined;
  if (wanted.length < sizes.length) return null;
  const added = wanted.length - sizes.length;
  const result = wanted.map((size, dim) => (size === -1 ? sizes[dim - added] : size));
  const fits = sizes.every((size, dim) => size === 1 || size === result[dim + added]);
  if (!fits) return null;
  return type.withSizesStrides(
    result,
    result.map((size, dim) => (dim < added || (sizes[dim - added] === 1 && size !== 1) ? 0 : strides[dim - added])),
  );
}

function cat(types: readonly TensorType[], node: Node): TensorType | null | undefined {
  const dim = intOf(node.input(1));
  const rank = types[0].dim!;
  if (dim === null) return undefined;
  const at = wrapped(dim, rank);
  if (at < 0 || at >= rank || types.some((type) => type.dim !== rank)) return null;
  const sizes = sizesOf(types[0]);
  sizes[at] = types.reduce((total, type) => total + type.concreteSizes![at], 0);
  return types[0].withSizes(sizes);
}

/** The list of chunks is given the type of the last one, as PyTorch has it. */
function chunk([type]: readonly TensorType[], node: Node): TensorType | null | undefined {
  const [chunks, dim] = [intOf(node.input(1)), intOf(node.input(2))];
  const sizes = sizesOf(type);
  if (chunks === null || dim === null) return undefined;
  const at = wrapped(dim, sizes.length);
  if (!(at in sizes)) return null;
  const whole = sizes[at];
  const each = Math.ceil(whole / chunks);
  sizes[at] = whole - each * (Math.ceil(whole / each) - 1);
  return type.withSizesStrides(sizes, stridesOf(type));
}

const formulas: Readonly<Record<string, CompleteFormula>> = {
  'aten::sigmoid': contiguous,
  'aten::neg': contiguous,
  'aten::tanh': contiguous,
  'aten::logit': contiguous,
  'aten::pow.Tensor_Scalar': same,
  'aten::polygamma': same,
  'aten::normal.Tensor_Tensor': same,
  'aten::add.Scalar': withScalar,
  'aten::sub.Scalar': withScalar,
  'aten::mul.Scalar': withScalar,
  'aten::div.Scalar': withScalar,
  'aten::cumsum': summedWithDtype,
  'aten::cumprod': summedWithDtype,
  'aten::softmax.int': withDtype,
  'aten::log_softmax.int': summedWithDtype,
  'aten::type_as': ([type, other]) => type.withScalarType(other.scalarType),
  'aten::t': ([type]) =>
    type.dim === 2 ? type.withSizesStrides(sizesOf(type).reverse(), stridesOf(type).reverse()) : null,
  'aten::mm': ([left, right]) =>
    left.dim === 2 && right.dim === 2 && left.scalarType === right.scalarType
      ? TensorType.createContiguous(left.scalarType!, left.device!, [left.concreteSizes![0], right.concreteSizes![1]])
      : null,
  // PyTorch gives a batch of products the sizes of its first operand.
  'aten::bmm': same,
  'aten::narrow': narrow,
  'aten::sum': ([type]) => type.withSizes([]),
  'aten::sum.dim_IntList': sum,
  'aten::squeeze.dim': squeeze,
  'aten::unsqueeze': unsqueeze,
  'aten::view': view,
  'aten::expand': expand,
  'aten::cat': cat,
  'aten::chunk': chunk,
  'aten::_cast_Byte': cast('uint8'),
  'aten::_cast_Char': cast('int8'),
  'aten::_cast_Short': cast('int16'),
  'aten::_cast_Int': cast('int32'),
  'aten::_cast_Long': cast('int64'),
  'aten::_cast_Half': cast('float16'),
  'aten::_cast_Float': cast('float32'),
  'aten::_cast_Double': cast('float64'),
};
