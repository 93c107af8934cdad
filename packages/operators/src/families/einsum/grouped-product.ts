import { Tensor, type ScalarType, settleAll } from '@cresset/tensor';
import { axis, binary, cast, reduce, select, TensorView, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { lowerFill, fillPieces } from '../../kernels/fill.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { deviceTensor } from '../indexing/flagged-elements.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { float, index, indexParam, mul, sub } from '../../kernels/expressions.ts';
import { lowerProduct } from '../products/product-lowering.ts';
import { productPieces } from '../products/product.ts';
import { cppTypeName } from '../../kernels/type-names.ts';
import { narrowView, selectView } from '../../kernels/views.ts';
import type { Pieces } from '../../kernels/loops/pieces.ts';

/**
 * Products of groups of rows, columns or inner elements, each with a matrix of its own: mixtures of experts (ATen/native/
 * GroupedMMUtils.h).
 */

interface GroupedArgs {
  /** `[rows, inner]`, or with a group dimension in front. */
  readonly self: Tensor;
  /** `[inner, columns]`, or with a group dimension in front. */
  readonly mat2: Tensor;
  /** Where each group ends, int32, ascending, in the dimension that is not shared; null where both have a group dimension. */
  readonly offs: Tensor | null;
  readonly bias: Tensor | null;
  readonly out_dtype: ScalarType | null;
}

const label = 'aten::_grouped_mm';
const elementBytes = (dtype: ScalarType): number => (dtype === 'float32' ? 4 : 2);

/** Refuses matrices that GPU kernels could not read 16 bytes at a time, which PyTorch does on the CPU too. */
function checkStrides({ sizes, strides, dtype, dim, storageOffset }: Tensor): void {
  const unit = 16 / elementBytes(dtype);
  check(storageOffset % unit === 0, 'expected data_ptr to be aligned to 16 bytes\n');
  const [row, column] = [dim - 2, dim - 1];
  const transposed = strides[row] === 1 && strides[column] >= Math.max(1, sizes[row]);
  const straight = strides[column] === 1 && strides[row] >= Math.max(1, sizes[column]);
  check(
    transposed || straight,
    () => `Invalid strides/sizes, got ${sizesText(strides)} for strides and ${sizesText(sizes)} for sizes`,
  );
  check(strides[transposed ? column : row] % unit === 0, 'strides should be multiple of 16 bytes');
}

function groupedShape({ self, mat2, offs, bias, out_dtype: asked }: GroupedArgs): TensorMeta {
  for (const [name, { dtype }] of [
    ['mat_a', self],
    ['mat_b', mat2],
  ] as const) {
    check(
      ['float32', 'bfloat16', 'float16'].includes(dtype),
      () => `Expected ${name} to be Float32, BFloat16 or Float16 matrix, got ${dtypeName(dtype)}`,
    );
  }
  check(self.dim === 2 || self.dim === 3, 'mat_a has to be 2 or 3d');
  check(mat2.dim === 2 || mat2.dim === 3, 'mat_b has to be 2 or 3d');
  const [rows, inner] = self.sizes.slice(-2);
  const [otherInner, columns] = mat2.sizes.slice(-2);
  const splitsInner = self.dim === 2 && mat2.dim === 2;
  check(splitsInner || inner === otherInner, 'contraction dimension of mat_a and mat_b must match');
  checkStrides(self);
  checkStrides(mat2);
  check(
    (offs !== null) === (self.dim === 2 || mat2.dim === 2),
    'Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d',
  );
  check(offs === null || offs.dim === 1, 'offs has to be 1D');
  check(offs === null || offs.dtype === 'int32', 'Offsets have to be int32');
  check(bias === null, 'Bias not supported yet');
  check(asked === null || asked === self.dtype, 'Grouped gemm output dtype must match `mat_a` dtype');
  const groups = offs ? offs.sizes[0] : self.sizes[0];
  const grouped = self.dim === 3 ? self : mat2;
  check(splitsInner || grouped.sizes[0] === groups, 'matrix batch sizes have to match');
  check(offs !== null || mat2.sizes[0] === groups, 'batched dimension has to match');
  const isMatrix = self.dim !== mat2.dim;
  const sizes = isMatrix ? [rows, columns] : [groups, rows, columns];
  // Rows begin at multiples of 16 bytes.
  const unit = 16 / elementBytes(self.dtype);
  const length = Math.ceil(columns / unit) * unit;
  const strides = isMatrix ? [length, 1] : [rows * length, length, 1];
  check(
    self.dtype === mat2.dtype,
    () =>
      `expected m1 and m2 to have the same dtype, but got: ${cppTypeName(self.dtype)} != ${cppTypeName(mat2.dtype)}`,
  );
  return { sizes, dtype: self.dtype, strides };
}

/** The product of one group. */
interface GroupProduct {
  readonly left: Tensor;
  readonly right: Tensor;
  readonly out: Tensor;
}

/** The parts that each group has in the tensors; a group of no elements has none in the result. */
function groupProducts({ self, mat2 }: GroupedArgs, out: Tensor, ends: ArrayLike<number>): GroupProduct[] {
  const slice = (tensor: Tensor, dim: number, group: number): Tensor => {
    const size = tensor.sizes[dim];
    const start = Math.min(group === 0 ? 0 : ends[group - 1], size);
    return narrowView(tensor, dim, start, Math.max(Math.min(ends[group], size) - start, 0));
  };
  return Array.from({ length: ends.length }, (_, group) => {
    if (self.dim === 2 && mat2.dim === 2)
      return { left: slice(self, 1, group), right: slice(mat2, 0, group), out: selectView(out, 0, group) };
    if (self.dim === 2)
      return { left: slice(self, 0, group), right: selectView(mat2, 0, group), out: slice(out, 0, group) };
    return { left: selectView(self, 0, group), right: slice(mat2, 1, group), out: slice(out, 1, group) };
  });
}

/** Whether rows or columns are left that no group has: PyTorch leaves there what was in memory. */
const isCovered = ({ self, mat2 }: GroupedArgs, ends: ArrayLike<number>): boolean =>
  self.dim === mat2.dim ||
  (ends.length > 0 && ends[ends.length - 1] >= (self.dim === 2 ? self.sizes[0] : mat2.sizes[1]));

const endsOf = (offs: Tensor): Int32Array => offs.contiguousArray() as Int32Array;

/** The result, over memory for its rows with what fills them up. */
function resultOf(args: GroupedArgs, allocate: (sizes: readonly number[], dtype: ScalarType) => Tensor): Tensor {
  const { sizes, strides, dtype } = groupedShape(args);
  const rows = settleAll([...sizes.slice(0, -1), strides!.at(-2)!]);
  return allocate(rows, dtype).asStrided(sizes, strides!);
}

function* hostGrouped(args: GroupedArgs): Pieces<Tensor> {
  const { self, mat2, offs } = args;
  const out = resultOf(args, Tensor.empty);
  if (!offs) {
    yield* productPieces(self, mat2, out);
    return out;
  }
  const ends = endsOf(offs);
  if (!isCovered(args, ends)) yield* fillPieces(out, 0n);
  for (const { left, right, out: part } of groupProducts(args, out, ends)) {
    if (part.numel > 0) yield* productPieces(left, right, part);
  }
  return out;
}

/** Rows up to which each thread finds the group of its row by itself: for more, products of whole groups are worth a wait. */
const fewRows = 16;

/** A few rows, each with the matrix of its group. */
function lowerFewRows({ self, mat2, offs }: GroupedArgs, out: Tensor, context: LoweringContext): void {
  const [target, left, right, ends] = [out, self, mat2, offs!].map((tensor) => new TensorView(tensor));
  const [row, column] = target.axes();
  const group = axis('g', ends.sizes[0]);
  const number: Expr = reduce('sum', [group], cast('i32', binary('le', ends.at([group]), row)));
  const last = sub(ends.sizes[0], index(1));
  const inner = axis('k', indexParam(self.sizes[1]));
  const product = mul(left.at([row, inner]), right.at([binary('min', number, last), inner, column]));
  const value = select(binary('le', number, last), reduce('sum', [inner], product), float(0));
  const stores = [{ operand: target.operand, offset: target.offsetAt([row, column]), value }];
  context.launch({ kind: 'nest', label, axes: [row, column], innerAxes: [], stores });
}

function deviceGrouped(args: GroupedArgs, context: LoweringContext): Tensor | Promise<Tensor> {
  const out = resultOf(args, (sizes, dtype) => deviceTensor(sizes, dtype, context));
  const { self, mat2, offs } = args;
  if (out.numel === 0) return out;
  if (!offs) {
    lowerProduct(label, { left: self, right: mat2, out }, context);
    return out;
  }
  if (self.dim === 2 && mat2.dim === 3 && self.sizes[0] <= fewRows && offs.numel > 0) {
    lowerFewRows(args, out, context);
    return out;
  }
  return context.fetch(offs).then(() => {
    const ends = endsOf(offs);
    if (!isCovered(args, ends)) lowerFill(out, 0n, context, label);
    for (const { left, right, out: part } of groupProducts(args, out, ends)) {
      if (left.numel === 0 && part.numel > 0) lowerFill(part, 0n, context, label);
      else if (part.numel > 0) lowerProduct(label, { left, right, out: part }, context);
    }
    return out;
  });
}

export const groupedProductRows: readonly OperatorRow[] = [
  kernel<GroupedArgs>(
    'aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor',
    {
      shape: groupedShape,
      host: hostGrouped,
      device: deviceGrouped,
    },
  ),
];
