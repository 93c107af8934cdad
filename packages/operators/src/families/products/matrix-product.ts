import {
  isComplex,
  type Tensor,
  settle,
  settleAll,
  symEq,
  symGt,
  symProduct,
  textOf,
  type SymInt,
  symSame,
} from '@cresset/tensor';
import { decomposed, kernel, type Forms } from '../../table/builders.ts';
import { broadcastSizes, expand } from '../../kernels/broadcast.ts';
import { sizesText, wrapDimOfRanked } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import type { OperatorRow, Scalar, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { addendFinish, joinBatch, lowerProduct } from './product-lowering.ts';
import { matrices, productPieces, type Addend, type ProductDims } from './product.ts';
import { cppTypeName } from '../../kernels/type-names.ts';
import { transposeView, unsqueezeView } from '../../kernels/views.ts';

/** Matrix products (ATen/native/LinearAlgebra.cpp, Linear.cpp, Blas.cpp): every one is a batch of `[m, k] · [k, n]`. */

/** A product made ready: two batches of matrices with the same leading dimensions, and what is added. */
export interface Product {
  readonly left: Tensor;
  readonly right: Tensor;
  readonly addend?: Addend;
  readonly dims?: ProductDims;
}

/** A row whose output is a product; `product` says of which matrices, `view` shows `out` as `[…, m, n]`. */
export function productRow<Args>(
  schema: string,
  rule: Forms & {
    shape: (args: Args) => TensorMeta;
    product: (args: Args, sizes: readonly SymInt[]) => Product;
    view?: (out: Tensor, args: Args) => Tensor;
    resizesSelf?: true;
  },
): OperatorRow {
  const label = schema.slice(0, schema.search(/[.(]/));
  const view = rule.view ?? ((out: Tensor): Tensor => out);
  return kernel<Args>(schema, {
    inPlace: rule.inPlace,
    out: rule.out ?? true,
    resizesSelf: rule.resizesSelf,
    shape: rule.shape,
    host(args, outputs) {
      const out = view(outputs[0], args);
      const { left, right, addend, dims } = scaledSums(rule.product(args, out.symSizes));
      return productPieces(left, right, out, addend, dims);
    },
    lower(args, outputs, context) {
      const out = view(outputs[0], args);
      const { left, right, addend, dims = matrices } = scaledSums(rule.product(args, out.symSizes));
      const added = addend?.self ?? null;
      const tensors = dims === matrices ? joinBatch({ left, right, out, added }) : { left, right, out, added };
      const finish = addend && tensors.added ? addendFinish({ ...addend, self: tensors.added }, out.dtype) : undefined;
      lowerProduct(label, tensors, context, dims, finish);
    },
    lowerable: (args) => !isComplex(rule.shape(args).dtype),
  });
}

function checkSameDtype(self: Tensor, mat2: Tensor): void {
  check(
    self.dtype === mat2.dtype,
    () =>
      `expected m1 and m2 to have the same dtype, but got: ${cppTypeName(self.dtype)} != ${cppTypeName(mat2.dtype)}`,
  );
}

function checkMatrices(self: Tensor, mat2: Tensor): void {
  checkSameDtype(self, mat2);
  checkInner(self.symSizes[0], self.symSizes[1], mat2);
  refuseBool('addmm_impl_cpu_', self, mat2);
}

function checkInner(rows: SymInt, inner: SymInt, mat2: Tensor): void {
  check(
    symEq(inner, mat2.symSizes[0]),
    () => `mat1 and mat2 shapes cannot be multiplied (${textOf(rows)}x${textOf(inner)} and ${mat2.sizes.join('x')})`,
  );
}

/** Sums of nothing are not multiplied by `alpha`, which may be no number. */
const scaledSums = (product: Product): Product =>
  product.addend && symEq(product.left.symNumel, 0)
    ? { ...product, addend: { ...product.addend, alpha: 1n } }
    : product;

/** Where there is nothing to multiply, no kernel is asked. */
export function refuseBool(kernel: string, left: Tensor, right: Tensor): void {
  if (left.dtype === 'bool' && symGt(left.symNumel, 0) && symGt(right.symNumel, 0))
    throw notImplementedFor(kernel, 'Bool');
}

interface TwoMatrices {
  readonly self: Tensor;
  readonly mat2: Tensor;
}

function mmShape({ self, mat2 }: TwoMatrices): TensorMeta {
  check(self.dim === 2, 'self must be a matrix');
  check(mat2.dim === 2, 'mat2 must be a matrix');
  checkMatrices(self, mat2);
  return { sizes: [self.symSizes[0], mat2.symSizes[1]], dtype: self.dtype };
}

/** Refuses dtypes in the words of the routine that PyTorch takes: small products are loops, large ones a gemm or one product a batch. */
function checkBatchDtypes(batch1: Tensor, batch2: Tensor, operator: 'bmm' | 'baddbmm' = 'bmm'): void {
  if (![batch1, batch2].some(({ dtype }) => dtype === 'bool' || dtype !== batch1.dtype)) return;
  const [rows, inner] = batch1.sizes.slice(-2);
  const columns = batch2.sizes[batch2.dim - 1];
  if (batch1.numel === 0 || batch2.numel === 0) return;
  const isSmall = rows * inner * columns < 400;
  if (isSmall) refuseBool(operator, batch1, batch2);
  if (batch1.dtype !== batch2.dtype) {
    if (isSmall) checkScalarType(batch1, batch2);
    if (GEMM_DTYPES.has(batch2.dtype) && isGemmOperand(batch1) && isGemmOperand(batch2))
      checkScalarType(batch2, batch1);
    const isAddmm = operator === 'baddbmm';
    check(
      !isAddmm,
      () => `mat1 and mat2 must have the same dtype, but got ${dtypeName(batch1.dtype)} and ${dtypeName(batch2.dtype)}`,
    );
  }
  checkSameDtype(batch1, batch2);
  refuseBool('addmm_impl_cpu_', batch1, batch2);
}

const GEMM_DTYPES: ReadonlySet<string> = new Set(['float32', 'float64', 'complex64', 'complex128']);

/** Whether each matrix of a batch lies in memory as rows, or as columns. */
function isGemmOperand({ sizes, strides, dim }: Tensor): boolean {
  const [rows, columns] = [dim - 2, dim - 1];
  return (
    (strides[columns] === 1 && strides[rows] >= sizes[columns]) ||
    (strides[rows] === 1 && strides[columns] >= sizes[rows])
  );
}

function checkBatchSizes(batch1: Tensor, batch2: Tensor): void {
  check(batch1.dim === 3, 'batch1 must be a 3D tensor');
  check(batch2.dim === 3, 'batch2 must be a 3D tensor');
  const expected = [batch1.symSizes[0], batch1.symSizes[2]];
  check(
    symSame(batch2.symSizes.slice(0, 2), expected),
    () =>
      `Expected size for first two dimensions of batch2 tensor to be: ${sizesText(settleAll(expected))} but got: ${sizesText(batch2.sizes.slice(0, 2))}.`,
  );
}

export function checkScalarType(expected: Tensor, found: Tensor): void {
  check(
    expected.dtype === found.dtype,
    () => `expected scalar type ${dtypeName(expected.dtype)} but found ${dtypeName(found.dtype)}`,
  );
}

function bmmShape({ self, mat2 }: TwoMatrices): TensorMeta {
  checkBatchSizes(self, mat2);
  checkBatchDtypes(self, mat2);
  return { sizes: [self.symSizes[0], self.symSizes[1], mat2.symSizes[2]], dtype: mat2.dtype };
}

const plain = ({ self, mat2 }: TwoMatrices): Product => ({ left: self, right: mat2 });

/** Rows that show a vector as a matrix of one row, of one column. */
export const asRow = (vector: Tensor): Tensor => unsqueezeView(vector, vector.dim - 1);
export const asColumn = (vector: Tensor): Tensor => unsqueezeView(vector, vector.dim);

interface MatmulArgs {
  readonly self: Tensor;
  readonly other: Tensor;
}

/** Operands of `matmul` as matrices: a vector on the left is a row, on the right a column. */
function matmulOperands({ self, other }: MatmulArgs): Product {
  check(
    self.dim > 0 && other.dim > 0,
    () => `both arguments to matmul need to be at least 1D, but they are ${self.dim}D and ${other.dim}D`,
  );
  checkMatmul(self, other);
  if (self.dim === 2 && other.dim === 2) return { left: self, right: other };
  const left = self.dim === 1 ? asRow(self) : self;
  const right = other.dim === 1 ? asColumn(other) : other;
  const batch = broadcastSizes(left.symSizes.slice(0, -2), right.symSizes.slice(0, -2));
  return {
    left: expand(left, [...batch, ...left.symSizes.slice(-2)]),
    right: expand(right, [...batch, ...right.symSizes.slice(-2)]),
  };
}

const rowsOf = ({ symSizes: sizes }: Tensor): SymInt => symProduct(sizes.slice(0, -1));

/** The errors of the operator that `matmul` turns to for these ranks. */
function checkMatmul(self: Tensor, other: Tensor): void {
  const inner = self.symSizes[self.dim - 1];
  if (self.dim === 1 && other.dim === 1) {
    checkDot(self, other);
  } else if (other.dim === 1) {
    checkMatrixVector(settle(rowsOf(self)), settle(inner), self, other);
  } else if (other.dim === 2 || self.dim === 1) {
    checkSameDtype(self, other);
    if (other.dim === 2) checkInner(rowsOf(self), inner, other);
    else checkBatchInner(inner, other);
    refuseBool('addmm_impl_cpu_', self, other);
  } else {
    if (self.dim > 2) broadcastSizes(self.symSizes.slice(0, -2), other.symSizes.slice(0, -2));
    checkBatchInner(inner, other);
    checkBatchDtypes(self, other);
  }
}

function checkBatchInner(inner: SymInt, other: Tensor): void {
  const { symSizes: sizes } = other;
  const text = (rows: SymInt): string => sizesText(settleAll([symProduct(sizes.slice(0, -2)), rows]));
  check(
    symEq(sizes[other.dim - 2], inner),
    () =>
      `Expected size for first two dimensions of batch2 tensor to be: ${text(inner)} but got: ${text(sizes[other.dim - 2])}.`,
  );
}

function matmulSizes({ self, other }: MatmulArgs): readonly SymInt[] {
  const { left, right } = matmulOperands({ self, other });
  const sizes = [...left.symSizes.slice(0, -1), right.symSizes[right.dim - 1]];
  if (other.dim === 1) sizes.splice(-1, 1);
  if (self.dim === 1) sizes.splice(other.dim === 1 ? -1 : -2, 1);
  return sizes;
}

function matmulView(out: Tensor, { self, other }: MatmulArgs): Tensor {
  const rows = self.dim === 1 ? unsqueezeView(out, other.dim === 1 ? out.dim : out.dim - 1) : out;
  return other.dim === 1 ? asColumn(rows) : rows;
}

const matmul = (schema: string): OperatorRow =>
  productRow<MatmulArgs>(schema, {
    shape: (args) => ({ sizes: matmulSizes(args), dtype: args.self.dtype }),
    product: matmulOperands,
    view: matmulView,
  });

export function checkDot(self: Tensor, tensor: Tensor): void {
  check(
    self.dim === 1 && tensor.dim === 1,
    () => `1D tensors expected, but got ${self.dim}D and ${tensor.dim}D tensors`,
  );
  const names = [dtypeName(self.dtype), dtypeName(tensor.dtype)];
  check(
    self.dtype === tensor.dtype,
    () => `dot : expected both vectors to have same dtype, but found ${names[0]} and ${names[1]}`,
  );
  check(
    self.numel === tensor.numel,
    () =>
      `inconsistent tensor size, expected tensor [${self.numel}] and src [${tensor.numel}] to have the same number of elements, but got ${self.numel} and ${tensor.numel} elements respectively`,
  );
}

/** What is said of a matrix, a vector and what is added to them; without that, the vector's dtype stands for its own. */
function checkMatrixVector(
  rows: number,
  columns: number,
  mat: Tensor,
  vec: Tensor,
  self: Pick<Tensor, 'dtype' | 'sizes' | 'numel'> = { dtype: vec.dtype, sizes: [rows], numel: rows },
): void {
  const fits = columns === vec.sizes[0] && (self.numel === rows || self.numel === 1);
  if (!fits && self.sizes.length === 0) wrapDimOfRanked(0, 0);
  check(fits, () => `size mismatch, got input (${self.sizes[0]}), mat (${rows}x${columns}), vec (${vec.sizes[0]})`);
  const names = [self, mat, vec].map(({ dtype }) => dtypeName(dtype));
  check(
    names.every((name) => name === names[0]),
    () => `addmv input tensors must have the same dtype, but got ${names[0]}, ${names[1]}, and ${names[2]}`,
  );
  refuseBool('addmv_impl_cpu', mat, vec);
}

interface Scales {
  readonly self: Tensor;
  readonly beta: Scalar;
  readonly alpha: Scalar;
}

interface AddmmArgs extends Scales {
  readonly mat1: Tensor;
  readonly mat2: Tensor;
}

/** Comes before all that is said of sizes. */
export function checkAddmmDtypes(self: Tensor, mat1: Tensor, mat2: Tensor): void {
  for (const [name, { dtype }] of [
    ['self', self],
    ['mat1', mat1],
  ] as const) {
    check(
      dtype === mat2.dtype,
      () => `${name} and mat2 must have the same dtype, but got ${dtypeName(dtype)} and ${dtypeName(mat2.dtype)}`,
    );
  }
}

function addmmShape({ self, mat1, mat2 }: AddmmArgs): TensorMeta {
  checkAddmmDtypes(self, mat1, mat2);
  check(mat1.dim === 2, () => `mat1 must be a matrix, got ${mat1.dim}-D tensor`);
  check(mat2.dim === 2, () => `mat2 must be a matrix, got ${mat2.dim}-D tensor`);
  checkMatrices(mat1, mat2);
  const sizes = [mat1.symSizes[0], mat2.symSizes[1]];
  expand(self, sizes);
  return { sizes, dtype: self.dtype };
}

export const addendOf = ({ self, beta, alpha }: Scales, sizes: readonly SymInt[]): Addend => ({
  self: expand(self, sizes),
  beta,
  alpha,
});

interface AddmvArgs extends Scales {
  readonly mat: Tensor;
  readonly vec: Tensor;
}

function addmvShape({ self, mat, vec }: AddmvArgs): TensorMeta {
  check(
    mat.dim === 2 && vec.dim === 1 && self.dim <= 1,
    () => `vector + matrix @ vector expected, got ${self.dim}, ${mat.dim}, ${vec.dim}`,
  );
  const rows = mat.sizes[0];
  checkMatrixVector(rows, mat.sizes[1], mat, vec, self);
  return { sizes: [rows], dtype: mat.dtype };
}

export interface BatchArgs extends Scales {
  readonly batch1: Tensor;
  readonly batch2: Tensor;
}

function baddbmmShape({ self, batch1, batch2 }: BatchArgs): TensorMeta {
  const [batch, rows] = [0, 1].map((dim) => batch1.symSizes[wrapDimOfRanked(dim, batch1.dim)]);
  const sizes = [batch, rows, batch2.symSizes[wrapDimOfRanked(2, batch2.dim)]];
  expand(self, sizes);
  checkBatchSizes(batch1, batch2);
  const names = [self, batch1, batch2].map(({ dtype }) => cppTypeName(dtype));
  check(
    self.dtype === batch1.dtype,
    () => `Input dtypes must be the same, got: input ${names[0]}, batch1: ${names[1]}, batch2: ${names[2]}`,
  );
  checkBatchDtypes(batch1, batch2, 'baddbmm');
  return { sizes, dtype: self.dtype };
}

interface LinearArgs {
  readonly input: Tensor;
  readonly weight: Tensor;
  readonly bias: Tensor | null;
}

function linearShape({ input, weight, bias }: LinearArgs): TensorMeta {
  check(
    input.dim > 0 && weight.dim > 0,
    () => `both arguments to linear need to be at least 1D, but they are ${input.dim}D and ${weight.dim}D`,
  );
  check(weight.dim <= 2, () => `t() expects a tensor with <= 2 dimensions, but self is ${weight.dim}D`);
  // A bias makes it addmm, except after rows that are no matrix in memory: these are multiplied in batches, and the bias is added.
  const isAddmm = bias !== null && (input.dim <= 2 || input.isContiguous());
  if (isAddmm) checkAddmmDtypes(bias, input, weight);
  check(bias === null || weight.dim === 2, () => `mat2 must be a matrix, got ${weight.dim}-D tensor`);
  const right = weight.dim === 2 ? transposeView(weight, 0, 1) : weight;
  checkMatmul(input, right);
  const sizes = [...input.symSizes.slice(0, -1), ...(weight.dim === 2 ? [weight.symSizes[0]] : [])];
  if (bias) {
    expand(bias, [symProduct(sizes.slice(0, -1)), sizes[sizes.length - 1]]);
  }
  return { sizes, dtype: input.dtype };
}

function linearProduct({ input, weight, bias }: LinearArgs, sizes: readonly SymInt[]): Product {
  const left = input.dim === 1 ? asRow(input) : input;
  const right = weight.dim === 2 ? transposeView(weight, 0, 1) : asColumn(weight);
  const { left: a, right: b } = { left, right: expand(right, [...left.symSizes.slice(0, -2), ...right.symSizes]) };
  return { left: a, right: b, addend: bias ? { self: expand(bias, sizes), beta: 1n, alpha: 1n } : undefined };
}

function linearView(out: Tensor, { input, weight }: LinearArgs): Tensor {
  const columns = weight.dim === 2 ? out : asColumn(out);
  return input.dim === 1 ? unsqueezeView(columns, 0) : columns;
}

export const matrixView = (out: Tensor): Tensor => out.asStrided([1, 1], [1, 1]);

const linearRow: OperatorRow = productRow<LinearArgs>(
  'aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor',
  {
    shape: linearShape,
    product: linearProduct,
    view: linearView,
  },
);

export const matrixProductRows: readonly OperatorRow[] = [
  productRow('aten::mm(Tensor self, Tensor mat2) -> Tensor', { shape: mmShape, product: plain }),
  productRow('aten::bmm(Tensor self, Tensor mat2) -> Tensor', { shape: bmmShape, product: plain }),
  matmul('aten::matmul(Tensor self, Tensor other) -> Tensor'),
  matmul('aten::linalg_matmul(Tensor self, Tensor other) -> Tensor'),
  productRow<{ self: Tensor; vec: Tensor }>('aten::mv(Tensor self, Tensor vec) -> Tensor', {
    shape({ self, vec }) {
      check(self.dim === 2 && vec.dim === 1, () => `vector + matrix @ vector expected, got 1, ${self.dim}, ${vec.dim}`);
      checkMatrixVector(self.sizes[0], self.sizes[1], self, vec);
      return { sizes: [self.sizes[0]], dtype: self.dtype };
    },
    product: ({ self, vec }) => ({ left: self, right: asColumn(vec) }),
    view: asColumn,
  }),
  productRow<{ self: Tensor; tensor: Tensor }>('aten::dot(Tensor self, Tensor tensor) -> Tensor', {
    shape({ self, tensor }) {
      checkDot(self, tensor);
      return { sizes: [], dtype: self.dtype };
    },
    product: ({ self, tensor }) => ({ left: asRow(self), right: asColumn(tensor) }),
    view: matrixView,
  }),
  productRow<AddmmArgs>(
    'aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor',
    {
      shape: addmmShape,
      inPlace: true,
      product: (args, sizes) => ({ left: args.mat1, right: args.mat2, addend: addendOf(args, sizes) }),
    },
  ),
  productRow<AddmvArgs>(
    'aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor',
    {
      shape: addmvShape,
      inPlace: true,
      product: (args, sizes) => ({
        left: args.mat,
        right: asColumn(args.vec),
        addend: { ...addendOf(args, sizes.slice(0, 1)), self: asColumn(expand(args.self, sizes.slice(0, 1))) },
      }),
      view: asColumn,
    },
  ),
  productRow<BatchArgs>(
    'aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor',
    {
      shape: baddbmmShape,
      inPlace: true,
      product: (args, sizes) => ({ left: args.batch1, right: args.batch2, addend: addendOf(args, sizes) }),
    },
  ),
  linearRow,
  decomposed(
    'aten::outer(Tensor self, Tensor vec2) -> Tensor',
    `
def outer(self: Tensor, vec2: Tensor) -> Tensor:
    assert self.dim() == 1, f"outer: Expected 1-D argument self, but got {self.dim()}-D"
    assert vec2.dim() == 1, f"outer: Expected 1-D argument vec2, but got {vec2.dim()}-D"
    return self.unsqueeze(1) * vec2
`,
  ),
  decomposed(
    'aten::outer.out(Tensor self, Tensor vec2, *, Tensor(a!) out) -> Tensor(a!)',
    `
def outer_out(self: Tensor, vec2: Tensor, out: Tensor) -> Tensor:
    assert self.dim() == 1, f"outer: Expected 1-D argument self, but got {self.dim()}-D"
    assert vec2.dim() == 1, f"outer: Expected 1-D argument vec2, but got {vec2.dim()}-D"
    return torch.mul(self.unsqueeze(1), vec2, out=out)
`,
  ),
  // Sums of products with equal shapes are the product of the factors beside and below each other.
  decomposed(
    'prim::MMTreeReduce(...) -> Tensor',
    `
def mm_tree_reduce(factors: List[Tensor]) -> Tensor:
    count = len(factors) // 2
    same = True
    for at in range(1, count):
        same = same and factors[at].size() == factors[0].size() and factors[count + at].size() == factors[count].size()
    if same:
        return torch.mm(torch.cat(factors[:count], 1), torch.cat(factors[count:], 0))
    result = torch.mm(factors[0], factors[count])
    for at in range(1, count):
        result.add_(torch.mm(factors[at], factors[count + at]))
    return result
`,
  ),
  decomposed(
    'prim::MMBatchSide(...) -> ...',
    `
def mm_batch_side(factors: List[Tensor], side: int) -> List[Tensor]:
    shared, others = factors[0], factors[1:]
    same = others[0].numel() <= 1024 * 2048
    for other in others:
        same = same and other.size() == others[0].size()
    if same:
        joined = torch.cat(others, 1 if side == 0 else 0)
        product = torch.mm(shared, joined) if side == 0 else torch.mm(joined, shared)
        return torch.chunk(product, len(others), 1 if side == 0 else 0)
    return [torch.mm(shared, other) if side == 0 else torch.mm(other, shared) for other in others]
`,
  ),
  decomposed(
    'aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor',
    `
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
    assert input1.dim() == input2.dim(), f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}"
    for at in range(input1.dim() - 1):
        assert input1.size(at) == input2.size(at), f"bilinear(): input batch dimensions do not match at dim {at}: got {input1.size(at)} and {input2.size(at)}"
    assert input1.size(-1) == weight.size(1), f"bilinear(): input1 size does not match weight size: got {input1.size(-1)} but expected {weight.size(1)}"
    assert input2.size(-1) == weight.size(2), f"bilinear(): input2 size does not match weight size: got {input2.size(-1)} but expected {weight.size(2)}"
    result = torch.einsum("...i,oij,...j->...o", [input1, weight, input2])
    if bias is not None:
        result = result + bias
    return result
`,
  ),
];
