import { Complex, scalarTypeCode, scalarTypeFromCode, scalarTypeIrName } from '@cresset/ir';
import {
  symSame,
  DeviceValue,
  elementSize,
  isComplex,
  isFloatingPoint,
  isIntegral,
  NestedTensor,
  promoteTypes,
  Tensor,
  type ScalarType,
} from '@cresset/tensor';
import { checkFitsInto, expand } from '../../kernels/broadcast.ts';
import { kernel, property, view } from '../../table/builders.ts';
import { copyPieces, lowerCopy } from '../../kernels/copy.ts';
import { channelsLastStrides, wrapDim } from '../../kernels/dimensions.ts';
import { readScalar, scalarToBigint, scalarToNumber } from '../../kernels/elements.ts';
import { check, OperatorError } from '../../kernels/errors.ts';
import { fillPieces } from '../../kernels/fill.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { resize } from '../../dispatch/invoke.ts';
import type { OperatorRow, Scalar } from '../../table/row.ts';
import { toComplex } from '../scalar/complex-arithmetic.ts';
import { metaLike, stridesForFormat } from './creation.ts';

/** Conversions between dtypes and layouts, reading a tensor as a number, and what a tensor says of itself
 * (ATen/native/TensorConversions.cpp, Copy.cpp, TensorProperties.cpp). */

interface Self {
  readonly self: Tensor;
}

/** What a conversion asks for; what it leaves out stays as it is. */
interface Conversion extends Self {
  readonly dtype?: ScalarType | number | null;
  readonly copy?: boolean;
  readonly memory_format?: number | null;
}

const typeOf = (dtype: ScalarType | number | null | undefined, otherwise: ScalarType): ScalarType =>
  typeof dtype === 'number' ? (scalarTypeFromCode(dtype) ?? otherwise) : (dtype ?? otherwise);

/** Whether the elements lie as the memory format has it; 1, "preserve", is met by anything. */
function hasFormat(tensor: Tensor, format: number | null | undefined): boolean {
  if (format === null || format === undefined || format === 1) return true;
  if (format === 0) return tensor.isContiguous();
  if (tensor.dim !== (format === 2 ? 4 : 5)) return false;
  const strides = channelsLastStrides(tensor.sizes);
  return tensor.sizes.every((size, dim) => size === 1 || tensor.strides[dim] === strides[dim]);
}

/** A row that gives the tensor itself where nothing changes, a converted copy where something does. */
function converting<Args>(schema: string, request: (args: Args) => Conversion): OperatorRow {
  return kernel<Args>(schema, {
    view: (args) => {
      const { self, dtype, copy, memory_format: format } = request(args);
      return !copy && typeOf(dtype, self.dtype) === self.dtype && hasFormat(self, format) ? self : null;
    },
    shape: (args) => {
      const { self, dtype, memory_format: format } = request(args);
      return metaLike(self, typeOf(dtype, self.dtype), format);
    },
    host: (args, [output]) => copyPieces(output, request(args).self),
    lower: (args, [output], context) =>
      lowerCopy(output, request(args).self, context, schema.slice(0, schema.search(/[.(]/))),
    moves: true,
  });
}

/** As `converting`, into memory of its own whatever the tensor is. */
const copying = (schema: string): OperatorRow => ({
  ...converting<Conversion>(schema, (args) => ({ ...args, copy: true })),
  copies: true,
});

const asAsked = (args: Conversion): Conversion => args;

const casts = {
  Byte: 'uint8',
  Char: 'int8',
  Double: 'float64',
  Float: 'float32',
  Half: 'float16',
  Int: 'int32',
  Long: 'int64',
  Short: 'int16',
} as const;

interface Copy extends Self {
  readonly src: Tensor;
}

/** The one element of a tensor, as the program sees it. */
export function itemOf(tensor: Tensor): Scalar {
  check(tensor.numel === 1, `a Tensor with ${tensor.numel} elements cannot be converted to Scalar`);
  return readScalar(tensor, tensor.storageOffset);
}

function truthOf(tensor: Tensor): boolean {
  check(tensor.numel !== 0, 'Boolean value of Tensor with no values is ambiguous');
  check(tensor.numel === 1, 'Boolean value of Tensor with more than one value is ambiguous');
  const value = itemOf(tensor);
  return value instanceof Complex ? value.re !== 0 || value.im !== 0 : Number(value) !== 0;
}

function zeroDim(tensor: Tensor): Scalar {
  check(tensor.dim === 0, 'Cannot input a tensor of dimension other than 0 as a scalar argument');
  return itemOf(tensor);
}

function wholeItem(tensor: Tensor): bigint {
  check(tensor.dim === 0, 'Cannot input a tensor of dimension other than 0 as a scalar argument');
  check(
    isIntegral(tensor.dtype, false),
    `Cannot input a tensor of type ${scalarTypeIrName(tensor.dtype)} as an integral argument`,
  );
  return scalarToBigint(itemOf(tensor));
}

const reading = (schema: string, read: (tensor: Tensor) => Scalar): OperatorRow => {
  const name = /Tensor (\w+)\)/.exec(schema)![1];
  return { ...kernel<Record<string, Tensor>>(schema, { host: (args) => read(args[name]) }), readsElements: true };
};

/** `complex(a, b)` where one part or both are tensors. */
function complexOfParts(): OperatorRow[] {
  const part = (value: Tensor | number | boolean): number =>
    value instanceof Tensor ? scalarToNumber(itemOf(value)) : Number(value);
  const row = (overload: string, parameters: string): OperatorRow => {
    const [a, b] = parameters.split(', ').map((parameter) => parameter.split(' ')[1]);
    return kernel<Record<string, Tensor | number | boolean>>(`aten::Complex.${overload}(${parameters}) -> complex`, {
      host: (args) => new Complex(part(args[a]), part(args[b])),
    });
  };
  const withNumbers = ['int', 'float', 'bool'].flatMap((type) => [
    row(`Tensor_${type}`, `Tensor x, ${type} y`),
    row(`${type}_Tensor`, `${type} x, Tensor y`),
  ]);
  return [row('Tensor_Tensor', 'Tensor a, Tensor b'), ...withNumbers];
}

const about = <Result extends number | bigint | boolean | readonly number[] | string | null>(
  schema: string,
  tell: (tensor: Tensor) => Result,
): OperatorRow => {
  const name = /Tensor (\w+)\)/.exec(schema)![1];
  return property<Record<string, Tensor>>(schema, (args) => tell(args[name]));
};

const sizeAt = (sizes: readonly number[], dim: number): number => {
  check(sizes.length > 0, `Dimension specified as ${dim} but tensor has no dimensions`, 'IndexError');
  return sizes[wrapDim(dim, sizes.length)];
};

/** Lengths differ, as far as is known without looking. */
function nestedSizeAt({ paddedSizes, dim: rank }: NestedTensor, dim: number): number {
  const at = wrapDim(dim, rank);
  check(at !== 1, () => `Given dimension ${at} is irregular and does not have a size.`);
  return paddedSizes[at];
}

const cpu = DeviceValue.parse('cpu');

const answersFalse = [
  'is_cuda',
  'is_mkldnn',
  'is_mps',
  'is_sparse',
  'is_sparse_csr',
  'is_ipu',
  'is_maia',
  'is_meta',
  'is_mtia',
  'is_vulkan',
  'is_xla',
  'is_xpu',
];

interface Resize extends Self {
  readonly size: readonly number[];
  readonly memory_format: number | null;
}

function resized({ self, size, memory_format: format }: Resize): Tensor {
  if (!symSame(self.sizes, size)) resize(self, size);
  const strides = stridesForFormat(size, format);
  if (strides) self.strides = strides;
  return self;
}

interface Autocast extends Self {
  readonly cpu_enabled: boolean;
  readonly cpu_dtype: ScalarType;
}

export const conversionRows: readonly OperatorRow[] = [
  converting(
    'aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)',
    asAsked,
  ),
  converting(
    'aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)',
    asAsked,
  ),
  converting(
    'aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)',
    asAsked,
  ),
  converting<Conversion & { other: Tensor }>(
    'aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)',
    (args) => ({ ...args, dtype: args.other.dtype }),
  ),
  converting(
    'aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)',
    asAsked,
  ),
  converting(
    'aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)',
    asAsked,
  ),
  converting('aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(b|a)', asAsked),
  copying(
    'aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor',
  ),
  converting<Self & { other: Tensor }>('aten::type_as(Tensor self, Tensor other) -> Tensor', ({ self, other }) => ({
    self,
    dtype: other.dtype,
  })),
  ...Object.entries(casts).map(([name, dtype]) =>
    converting<Self>(`aten::_cast_${name}(Tensor self, bool non_blocking=False) -> Tensor`, ({ self }) => ({
      self,
      dtype,
    })),
  ),
  converting<Autocast>(
    'aten::_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, ScalarType cuda_dtype, ScalarType cpu_dtype) -> Tensor(a)',
    ({ self, cpu_enabled: enabled, cpu_dtype: dtype }) => ({
      self,
      dtype: enabled && self.dtype === 'float32' ? dtype : null,
    }),
  ),
  converting<Autocast>(
    'aten::_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> Tensor(a)',
    ({ self, cpu_enabled: enabled }) => ({
      self,
      dtype: enabled && (self.dtype === 'float16' || self.dtype === 'bfloat16') ? 'float32' : null,
    }),
  ),
  converting<{ data: Tensor; dtype: ScalarType | null }>(
    'aten::as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor(b|a)',
    ({ data, dtype }) => ({ self: data, dtype }),
  ),
  ...['cpu', 'cuda'].map((name) => converting<Self>(`aten::${name}(Tensor(a) self) -> Tensor(b|a)`, asAsked)),
  converting('aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)', asAsked),
  copying('aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor'),
  kernel<Copy>('aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor', {
    shape: ({ self, src }) => {
      checkFitsInto(self.sizes, src.sizes);
      return metaLike(self, self.dtype, null);
    },
    host: ({ src }, [output]) => copyPieces(output, src),
    lower: ({ self, src }, [output], context) => lowerCopy(output, expand(src, self.sizes), context),
    inPlace: true,
    writesInPlace: true,
    out: true,
  }),
  ...['int', 'float'].map((type) =>
    kernel<Self & { other: number }>(`aten::copy_.${type}(Tensor(a!) self, ${type} other) -> Tensor(a!)`, {
      *host({ self, other }) {
        yield* fillPieces(self, other);
        return self;
      },
    }),
  ),
  kernel<Self & { other: Tensor }>('aten::copy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)', {
    *host({ self, other }) {
      checkFitsInto(self.sizes, other.sizes);
      yield* copyPieces(self, expand(other, self.sizes));
      return self;
    },
  }),
  reading('aten::item(Tensor self) -> Scalar', itemOf),
  reading('aten::_local_scalar_dense(Tensor self) -> Scalar', itemOf),
  reading('aten::is_nonzero(Tensor self) -> bool', truthOf),
  reading('aten::Bool.Tensor(Tensor a) -> bool', truthOf),
  reading('aten::Int.Tensor(Tensor a) -> int', (tensor) => scalarToBigint(itemOf(tensor))),
  reading('aten::Float.Tensor(Tensor a) -> float', (tensor) => scalarToNumber(itemOf(tensor))),
  ...complexOfParts(),
  reading('aten::IntImplicit(Tensor a) -> int', wholeItem),
  reading('aten::FloatImplicit(Tensor a) -> float', (tensor) => scalarToNumber(zeroDim(tensor))),
  reading('aten::ScalarImplicit(Tensor a) -> Scalar', zeroDim),
  reading('aten::ComplexImplicit(Tensor a) -> complex', (tensor) => {
    const value = zeroDim(tensor);
    return value instanceof Complex ? value : toComplex(Number(value));
  }),
  {
    ...about('aten::size(Tensor self) -> int[]', ({ sizes }) => sizes),
    sizes: (self: Tensor) => (self instanceof NestedTensor ? null : self.symSizes),
  },
  {
    ...property<Self & { dim: number }>('aten::size.int(Tensor self, int dim) -> int', ({ self, dim }) =>
      self instanceof NestedTensor ? nestedSizeAt(self, dim) : sizeAt(self.sizes, dim),
    ),
    sizes: (self: Tensor, dim: number) => (self instanceof NestedTensor ? null : (self.symSizes.at(dim) ?? null)),
  },
  about('aten::stride(Tensor self) -> int[]', ({ strides }) => strides),
  property<Self & { dim: number }>('aten::stride.int(Tensor self, int dim) -> int', ({ self, dim }) =>
    sizeAt(self.strides, dim),
  ),
  about('aten::dim(Tensor self) -> int', ({ dim }) => dim),
  about('aten::dense_dim(Tensor self) -> int', ({ dim }) => dim),
  { ...about('aten::numel(Tensor self) -> int', ({ numel }) => numel), sizes: (self: Tensor) => self.symNumel },
  about('aten::storage_offset(Tensor self) -> int', ({ storageOffset }) => storageOffset),
  about('aten::element_size(Tensor self) -> int', ({ dtype }) => elementSize(dtype)),
  about('prim::itemsize(Tensor a) -> int', ({ dtype }) => elementSize(dtype)),
  about('prim::nbytes(Tensor a) -> int', ({ dtype, numel }) => numel * elementSize(dtype)),
  about('aten::is_contiguous(Tensor self) -> bool', (tensor) => tensor.isContiguous()),
  property<Self & { memory_format: number }>(
    'aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool',
    ({ self, memory_format: format }) => hasFormat(self, format),
  ),
  about('aten::is_floating_point(Tensor self) -> bool', ({ dtype }) => isFloatingPoint(dtype)),
  // What decompositions name in their refusals.
  property<Self & { other: Tensor }>('prim::dtype_name(Tensor self, Tensor other) -> str', ({ self, other }) =>
    dtypeName(promoteTypes(self.dtype, other.dtype)),
  ),
  about('aten::is_complex(Tensor self) -> bool', ({ dtype }) => isComplex(dtype)),
  about('aten::is_signed(Tensor self) -> bool', ({ dtype }) => dtype !== 'uint8' && dtype !== 'bool'),
  ...['is_conj', 'is_neg', 'is_inference'].map((name) => about(`aten::${name}(Tensor self) -> bool`, () => false)),
  property<Self & { other: Tensor }>('aten::is_same_size(Tensor self, Tensor other) -> bool', ({ self, other }) =>
    symSame(self.sizes, other.sizes),
  ),
  about('aten::len.Tensor(Tensor t) -> int', ({ sizes }) => {
    if (sizes.length === 0) throw new OperatorError('len() of a 0-d tensor', 'TypeError');
    return sizes[0];
  }),
  about('prim::dtype(Tensor a) -> int', ({ dtype }) => scalarTypeCode(dtype)),
  property('prim::device(Tensor a) -> Device', () => cpu),
  about('prim::layout(Tensor a) -> Layout', () => 0n),
  about('prim::is_cpu(Tensor a) -> bool', () => true),
  about('prim::is_nested(Tensor a) -> bool', (a) => a instanceof NestedTensor),
  ...answersFalse.map((name) => about(`prim::${name}(Tensor a) -> bool`, () => false)),
  about('prim::is_quantized(Tensor a) -> bool', ({ quantizer }) => quantizer !== null),
  about('prim::requires_grad(Tensor a) -> bool', ({ requiresGrad }) => requiresGrad),
  about('prim::name(Tensor a) -> str?', () => null),
  property<{ a: Tensor }>('prim::grad(Tensor a) -> Tensor(*)', ({ a }) => a.grad),
  view<{ a: Tensor }>(
    'prim::data(Tensor(a) a) -> Tensor(a)',
    ({ a }) => new Tensor(a.storage, a.dtype, a.sizes, a.strides, a.storageOffset),
  ),
  view<Self>(
    'aten::data(Tensor self) -> Tensor',
    ({ self }) => new Tensor(self.storage, self.dtype, self.sizes, self.strides, self.storageOffset),
  ),
  property<Self>('aten::detach_(Tensor(a!) self) -> Tensor(a!)', ({ self }) =>
    Object.assign(self, { requiresGrad: false }),
  ),
  // What the storage holds goes along where it grows, so its elements have to be on the host.
  kernel<Resize>('aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)', {
    host: resized,
  }),
  kernel<Self & { the_template: Tensor; memory_format: number | null }>(
    'aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)',
    {
      host: ({ self, the_template: template, memory_format: format }) =>
        resized({ self, size: template.sizes, memory_format: format }),
    },
  ),
  property<Self & { source: Tensor }>(
    'aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)',
    ({ self, source }) =>
      Object.assign(self, {
        storage: source.storage,
        sizes: source.sizes,
        strides: source.strides,
        storageOffset: source.storageOffset,
      }),
  ),
];
