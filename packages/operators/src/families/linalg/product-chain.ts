import { finish, type Pieces } from '../../kernels/loops/pieces.ts';
import { isComplex, Tensor, type ScalarType } from '@cresset/tensor';
import { decomposed, kernel } from '../../table/builders.ts';
import { broadcastSizes, expand } from '../../kernels/broadcast.ts';
import { sizesText, wrapDim } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import { cppTypeName } from '../../kernels/type-names.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import {
  addendOf,
  asColumn,
  asRow,
  checkAddmmDtypes,
  checkDot,
  matrixView,
  productRow,
  refuseBool,
  type BatchArgs,
  type Product,
} from '../products/matrix-product.ts';
import { lowerProduct } from '../products/product-lowering.ts';
import { productPieces } from '../products/product.ts';
import { transposeView, unsqueezeView } from '../../kernels/views.ts';

/** Matrix products that models rarely have: conjugating ones, of chains, summed over a batch (ATen/native/LinearAlgebra.cpp). */

function addbmmShape({ self, batch1, batch2 }: BatchArgs): TensorMeta {
  const sizes = [batch1.sizes[wrapDim(1, batch1.dim)], batch2.sizes[wrapDim(2, batch2.dim)]];
  expand(self, sizes);
  check(batch1.dim === 3, 'batch1 must be a 3D tensor');
  check(batch2.dim === 3, 'batch2 must be a 3D tensor');
  const [left, right] = [batch1.sizes, batch2.sizes];
  check(
    left[0] === right[0],
    () => `batch1 and batch2 must have same number of batches, got ${left[0]} and ${right[0]}`,
  );
  check(
    left[2] === right[1],
    () => `Incompatible matrix sizes for bmm (${left[1]}x${left[2]} and ${right[1]}x${right[2]})`,
  );
  if (left[0] > 0) checkAddmmDtypes(self, batch1, batch2);
  refuseBool('addmm_impl_cpu_', batch1, batch2);
  return { sizes, dtype: self.dtype };
}

/** `a · b` summed over dimension `dim` of both, for conjugating forms on real tensors. */
function vecdotOperands(x: Tensor, y: Tensor, dim: number): Product {
  const sizes = broadcastSizes(x.sizes, y.sizes);
  const at = wrapDim(dim, sizes.length);
  const last = (tensor: Tensor): Tensor => {
    const full = expand(tensor, sizes);
    return full.asStrided(
      [...full.sizes.toSpliced(at, 1), full.sizes[at]],
      [...full.strides.toSpliced(at, 1), full.strides[at]],
    );
  };
  return { left: asRow(last(x)), right: asColumn(last(y)) };
}

/** The factors of a chain of products as matrices, where to split it, and the sizes of its result. */
interface Chain {
  readonly factors: readonly Tensor[];
  /** `splits[from][to]`: the last factor of the left part. */
  readonly splits: readonly (readonly number[])[];
  readonly sizes: readonly number[];
}

/** The cheapest order of products, by dynamic programming. */
function chainOf(tensors: readonly Tensor[]): Chain {
  check(tensors.length >= 2, () => `multi_dot(): expected at least 2 tensors but got ${tensors.length}`);
  const last = tensors.length - 1;
  check(
    tensors[0].dim === 1 || tensors[0].dim === 2,
    () => `multi_dot(): the first tensor must be 1D or 2D but got ${tensors[0].dim}D`,
  );
  check(
    tensors[last].dim === 1 || tensors[last].dim === 2,
    () => `multi_dot(): the last tensor must be 1D or 2D but got ${tensors[last].dim}D`,
  );
  const [{ dtype }] = tensors;
  const factors = tensors.map((tensor, at) => {
    check(
      tensor.dtype === dtype,
      () =>
        `multi_dot(): all tensors must have be the same dtype but tensor 0 is ${cppTypeName(dtype)} and tensor ${at} ${cppTypeName(tensor.dtype)}`,
    );
    if (tensor.dim === 2) return tensor;
    check(at === 0 || at === last, () => `multi_dot(): tensor ${at} must be 2D but got ${tensor.dim}D`);
    return at === 0 ? asRow(tensor) : asColumn(tensor);
  });
  for (let at = 0; at < last; at++) {
    check(
      factors[at].sizes[1] === factors[at + 1].sizes[0],
      () =>
        `multi_dot(): tensors ${at} and ${at + 1} with shapes ${sizesText(tensors[at].sizes)} and ${sizesText(tensors[at + 1].sizes)} cannot be multiplied`,
    );
  }
  const edges = [factors[0].sizes[0], ...factors.map((factor) => factor.sizes[1])];
  const costs = factors.map(() => new Array<number>(factors.length).fill(0));
  const splits = factors.map(() => new Array<number>(factors.length).fill(0));
  for (let length = 1; length < factors.length; length++) {
    for (let from = 0; from + length < factors.length; from++) {
      const to = from + length;
      costs[from][to] = Infinity;
      for (let split = from; split < to; split++) {
        const cost = costs[from][split] + costs[split + 1][to] + edges[from] * edges[split + 1] * edges[to + 1];
        if (cost < costs[from][to]) {
          costs[from][to] = cost;
          splits[from][to] = split;
        }
      }
    }
  }
  const sizes = [...(tensors[0].dim === 2 ? [edges[0]] : []), ...(tensors[last].dim === 2 ? [edges[last + 1]] : [])];
  return { factors, splits, sizes };
}

function* multiplyChain(
  tensors: readonly Tensor[],
  out: Tensor,
  allocate: (sizes: readonly number[], dtype: ScalarType) => Tensor,
  multiply: (left: Tensor, right: Tensor, product: Tensor) => Pieces | void,
): Pieces {
  const { factors, splits } = chainOf(tensors);
  const product = function* (from: number, to: number, result: Tensor | null): Pieces<Tensor> {
    if (from === to) return factors[from];
    const left = yield* product(from, splits[from][to], null);
    const right = yield* product(splits[from][to] + 1, to, null);
    const filled = result ?? allocate([left.sizes[0], right.sizes[1]], out.dtype);
    yield* multiply(left, right, filled) ?? [];
    return filled;
  };
  const last = factors.length - 1;
  let whole = out;
  if (tensors[0].dim === 1) whole = unsqueezeView(whole, 0);
  if (tensors[last].dim === 1) whole = asColumn(whole);
  yield* product(0, last, whole);
}

/** What `vdot` takes the conjugate of; real numbers are their own. */
function conjugated(tensor: Tensor): Tensor {
  if (!isComplex(tensor.dtype)) return tensor;
  const parts = tensor.contiguousArray().slice() as Float64Array;
  for (let i = 1; i < parts.length; i += 2) parts[i] = -parts[i];
  return Tensor.fromArray(parts, tensor.sizes, tensor.dtype);
}

export const productChainRows: readonly OperatorRow[] = [
  productRow<BatchArgs>(
    'aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor',
    {
      shape: addbmmShape,
      inPlace: true,
      resizesSelf: true,
      // The batch is summed over too: one product with two inner dimensions.
      product: (args, sizes) => ({
        left: transposeView(args.batch1, 0, 1),
        right: args.batch2,
        addend: addendOf(args, sizes),
        dims: { rows: 1, inner: 2, columns: 1 },
      }),
    },
  ),
  productRow<{ self: Tensor; other: Tensor }>('aten::vdot(Tensor self, Tensor other) -> Tensor', {
    shape({ self, other }) {
      checkDot(self, other);
      return { sizes: [], dtype: self.dtype };
    },
    product: ({ self, other }) => ({ left: asRow(conjugated(self)), right: asColumn(other) }),
    view: matrixView,
  }),
  productRow<{ x: Tensor; y: Tensor; dim: number }>(
    'aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor',
    {
      shape({ x, y, dim }) {
        check(
          x.dtype === y.dtype,
          () =>
            `linalg.vecdot: Expected x and y to have the same dtype, but found x of type ${dtypeName(x.dtype)} and y of type ${dtypeName(y.dtype)} instead`,
        );
        const { left } = vecdotOperands(x, y, dim);
        return { sizes: left.sizes.slice(0, -2), dtype: x.dtype };
      },
      product: ({ x, y, dim }) => vecdotOperands(conjugated(x), y, dim),
      view: (out) => asColumn(asColumn(out)),
    },
  ),
  decomposed(
    'aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor',
    `
def addr(self: Tensor, vec1: Tensor, vec2: Tensor, beta: number, alpha: number) -> Tensor:
    assert vec1.dim() == 1, f"addr: Expected 1-D argument vec1, but got {vec1.dim()}-D"
    assert vec2.dim() == 1, f"addr: Expected 1-D argument vec2, but got {vec2.dim()}-D"
    own = self.expand(vec1.size(0), vec2.size(0))
    product = vec1.unsqueeze(1) * vec2
    # 11 is bool: the numbers say whether the operands take part.
    if self.dtype == 11 and product.dtype == 11:
        part = product if alpha != 0 else torch.zeros_like(product)
        return torch.logical_or(own, part) if beta != 0 else part
    if beta == 0:
        return product * alpha
    return own * beta + product * alpha
`,
  ),
  decomposed(
    'aten::addr.out(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)',
    `
def addr_out(self: Tensor, vec1: Tensor, vec2: Tensor, beta: number, alpha: number, out: Tensor) -> Tensor:
    result = torch.addr(self, vec1, vec2, beta=beta, alpha=alpha)
    if result.dtype == 11:
        return torch.logical_or(result, result, out=out)
    return torch.mul(result, torch.tensor(1), out=out)
`,
  ),
  // Its own, for what it asks of `self` before anything else.
  decomposed(
    'aten::addr_(Tensor(a!) self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)',
    `
def addr_(self: Tensor, vec1: Tensor, vec2: Tensor, beta: number, alpha: number) -> Tensor:
    assert vec1.dim() == 1, f"addr: Expected 1-D argument vec1, but got {vec1.dim()}-D"
    assert vec2.dim() == 1, f"addr: Expected 1-D argument vec2, but got {vec2.dim()}-D"
    assert self.dim() == 2, f"2D tensor expected, got {self.dim()}D tensor for input"
    rows, columns = vec1.size(0), vec2.size(0)
    assert self.size(0) == rows and self.size(1) == columns, f"size mismatch, input: {self.size()}, v1: {vec1.size()}, v2: {vec2.size()}"
    return self.copy_(torch.addr(self, vec1, vec2, beta=beta, alpha=alpha))
`,
  ),
  decomposed(
    'aten::ger(Tensor self, Tensor vec2) -> Tensor',
    `
def ger(self: Tensor, vec2: Tensor) -> Tensor:
    return torch.outer(self, vec2)
`,
  ),
  decomposed(
    'aten::ger.out(Tensor self, Tensor vec2, *, Tensor(a!) out) -> Tensor(a!)',
    `
def ger_out(self: Tensor, vec2: Tensor, out: Tensor) -> Tensor:
    return torch.outer(self, vec2, out=out)
`,
  ),
  decomposed(
    'aten::chain_matmul(Tensor[] matrices) -> Tensor',
    `
def chain_matmul(matrices: List[Tensor]) -> Tensor:
    if len(matrices) == 1:
        return matrices[0].clone()
    return torch.linalg_multi_dot(matrices)
`,
  ),
  kernel<{ tensors: readonly Tensor[] }>('aten::linalg_multi_dot(Tensor[] tensors) -> Tensor', {
    out: true,
    shape: ({ tensors }) => ({ sizes: chainOf(tensors).sizes, dtype: tensors[0].dtype }),
    host: ({ tensors }, [out]) => multiplyChain(tensors, out, Tensor.empty, productPieces),
    lower: ({ tensors }, [out], context) =>
      finish(
        multiplyChain(tensors, out, context.temporary.bind(context), (left, right, product) =>
          lowerProduct('aten::linalg_multi_dot', { left, right, out: product }, context),
        ),
      ),
  }),
];
