import { symSame, Tensor } from '@cresset/tensor';
import { decomposed, kernel, property, view } from '../../table/builders.ts';
import { copyPieces } from '../../kernels/copy.ts';
import { isNonOverlappingAndDense } from '../../kernels/dimensions.ts';
import { check, OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import type { Self } from '../views/views.ts';

/** What a tensor is over which memory, asked and changed (ATen/native/TensorProperties.cpp, TensorShape.cpp). */

interface Layout extends Self {
  readonly size: readonly number[];
  readonly stride: readonly number[];
}

interface SetTo extends Self {
  readonly source: Tensor;
  readonly storage_offset?: number;
  readonly size?: readonly number[];
  readonly stride?: readonly number[];
}

/** `self` becomes another view of the memory of `source` (Tensor.set_). */
function setTo({ self, source, storage_offset: offset, size, stride }: SetTo): Tensor {
  check(
    self.dtype === source.dtype,
    () => `Could not set tensor of type ${self.dtype} to a tensor of type ${source.dtype}`,
  );
  const sizes = size ?? source.sizes;
  const strides = size && stride?.length === 0 ? Tensor.empty(sizes, self.dtype).strides : (stride ?? source.strides);
  return Object.assign(self, {
    storage: source.storage,
    storageOffset: offset ?? source.storageOffset,
    sizes,
    strides,
  });
}

const isSetTo = ({ self, tensor }: Self & { tensor: Tensor }): boolean =>
  self.storage === tensor.storage &&
  self.storageOffset === tensor.storageOffset &&
  symSame(self.sizes, tensor.sizes) &&
  symSame(self.strides, tensor.strides);

const itself = ({ self }: Self): Tensor => self;

const anyOrAll = (which: 'any' | 'all'): OperatorRow =>
  decomposed(
    `aten::_is_${which}_true(Tensor self) -> Tensor`,
    `
def is_${which}_true(self: Tensor) -> Tensor:
    return torch.${which}(self)
`,
  );

export const tensorStateRows: readonly OperatorRow[] = [
  property<Self>('aten::_shape_as_tensor(Tensor self) -> Tensor', ({ self }) =>
    Tensor.fromArray(BigInt64Array.from(self.sizes, BigInt), [self.dim], 'int64'),
  ),
  property('aten::get_device(Tensor self) -> int', () => -1),
  property('aten::is_pinned(Tensor self, Device? device=None) -> bool', () => false),
  property('aten::is_leaf(Tensor self) -> bool', () => true),
  property('aten::retains_grad(Tensor self) -> bool', () => false),
  // Tensors are strided here, all of them: what only sparse ones answer is refused as PyTorch refuses it.
  ...['is_coalesced(Tensor self) -> bool', 'coalesce(Tensor(a) self) -> Tensor(a)'].map((signature) =>
    property(`aten::${signature}`, () => {
      const name = signature.slice(0, signature.indexOf('('));
      throw new OperatorError(`${name} expected sparse coordinate tensor layout but got Strided`);
    }),
  ),
  property('aten::is_distributed(Tensor self) -> bool', () => false),
  property<Self>('aten::is_non_overlapping_and_dense(Tensor self) -> bool', ({ self }) =>
    isNonOverlappingAndDense(self),
  ),
  property('aten::is_set_to(Tensor self, Tensor tensor) -> bool', isSetTo),
  anyOrAll('any'),
  property<Self>('aten::set_(Tensor(a!) self) -> Tensor(a!)', ({ self }) =>
    setTo({ self, source: Tensor.empty([0], self.dtype) }),
  ),
  property(
    'aten::set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)',
    setTo,
  ),
  property<Self & { new_data: Tensor }>(
    'aten::set_data(Tensor(a!) self, Tensor new_data) -> ()',
    ({ self, new_data: { storage, dtype, sizes, strides, storageOffset } }) => {
      Object.assign(self, { storage, dtype, sizes, strides, storageOffset });
    },
  ),
  view<Layout>('aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)', (args) =>
    args.self.asStrided(args.size, args.stride),
  ),
  kernel<Layout>('aten::_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor', {
    shape: ({ self, size }) => ({ sizes: size, dtype: self.dtype }),
    host: ({ self, size, stride }, [output]) => copyPieces(output, self.asStrided(size, stride)),
    out: true,
  }),
  ...['conj_physical', 'clone'].map((name) =>
    decomposed(
      `aten::${name === 'clone' ? '_lazy_clone' : '_conj_physical'}(Tensor self) -> Tensor`,
      `
def copied(self: Tensor) -> Tensor:
    return torch.${name}(self)
`,
    ),
  ),
  view('aten::_fw_primal(Tensor(a) self, int level) -> Tensor(a)', itself),
  decomposed(
    'aten::_aminmax(Tensor self) -> (Tensor, Tensor)',
    `
def _aminmax(self: Tensor) -> Tuple[Tensor, Tensor]:
    return torch.aminmax(self)
`,
  ),
  decomposed(
    'aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)',
    `
def _aminmax(self: Tensor, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    return torch.aminmax(self, dim=dim, keepdim=keepdim)
`,
  ),
  decomposed(
    'aten::_stack(Tensor[] tensors, int dim=0) -> Tensor',
    `
def _stack(tensors: List[Tensor], dim: int) -> Tensor:
    return torch.stack(tensors, dim)
`,
    { out: true },
  ),
  decomposed(
    'aten::_dim_arange(Tensor like, int dim) -> Tensor',
    `
def _dim_arange(like: Tensor, dim: int) -> Tensor:
    return torch.arange(like.size(dim))
`,
  ),
  decomposed(
    'aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor',
    `
def _euclidean_dist(x1: Tensor, x2: Tensor) -> Tensor:
    left = torch.sum(torch.pow(x1, 2), [-1], True)
    right = torch.sum(torch.pow(x2, 2), [-1], True)
    a = torch.cat([x1 * -2, left, torch.ones_like(left)], -1)
    b = torch.cat([x2, torch.ones_like(right), right], -1)
    return torch.sqrt(torch.clamp_min(torch.matmul(a, b.mT), 0))
`,
    { out: true },
  ),
  decomposed(
    'aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)',
    `
def fill_diagonal_(self: Tensor, fill_value: number, wrap: bool) -> Tensor:
    sizes = self.size()
    assert len(sizes) >= 2, "dimensions must larger than 1"
    assert len(sizes) == 2 or min(sizes) == max(sizes), "all dimensions of input must be of equal length"
    step = sum(self.stride())
    count = min(sizes)
    torch.as_strided(self, [count], [step]).fill_(fill_value)
    height = sizes[0]
    width = sizes[1]
    if wrap and len(sizes) == 2 and height > width + 1:
        rest = (self.numel() + width) // (width + 1) - count
        start = self.storage_offset() + self.stride(0) * (width + 1)
        torch.as_strided(self, [rest], [step], start).fill_(fill_value)
    return self
`,
  ),
];
