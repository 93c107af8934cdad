import { isComplex, isIntegral, type Tensor, scratch } from '@cresset/tensor';
import { axis, binary, cast, constant, exprTypeOf, reduce, TensorView, type Expr } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import { add, index, indexParam, mul, sub, where } from '../../kernels/expressions.ts';
import { windowPosition } from '../convolution/convolution-lowering.ts';
import { type FloatArray, numbersInPieces, storeInPieces, elementsInPieces } from '../../kernels/numbers/numbers.ts';
import { indexOf } from '../products/product-lowering.ts';
import { PIECE_SIZE, repeat, type Pieces } from '../../kernels/loops/pieces.ts';

/** Sliding blocks of an image as columns, and columns added up to an image (ATen/native/Im2Col.cpp, Col2Im.cpp). */

interface BlockArgs {
  readonly self: Tensor;
  readonly kernel_size: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly number[];
  readonly stride: readonly number[];
}

const pair = (values: readonly number[]): number[] => (values.length === 1 ? [values[0], values[0]] : [...values]);

/** Two numbers of everything. */
interface Blocks {
  readonly kernel: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly number[];
  readonly stride: readonly number[];
  /** How many blocks there are in each direction. */
  readonly counts: readonly number[];
}

function blocksOf(args: BlockArgs, image: readonly number[]): Blocks {
  const kernelSize = pair(args.kernel_size);
  const [dilation, padding, stride] = [pair(args.dilation), pair(args.padding), pair(args.stride)];
  check(
    kernelSize.every((size) => size > 0),
    () =>
      `kernel size should be greater than zero, but got kernel_height: ${kernelSize[0]} kernel_width: ${kernelSize[1]}`,
  );
  check(
    dilation.every((size) => size > 0),
    () =>
      `dilation should be greater than zero, but got dilation_height: ${dilation[0]} dilation_width: ${dilation[1]}`,
  );
  check(
    padding.every((size) => size >= 0),
    () => `padding should be non-negative, but got pad_height: ${padding[0]} pad_width: ${padding[1]}`,
  );
  check(
    stride.every((size) => size > 0),
    () => `stride should be greater than zero, but got stride_height: ${stride[0]} stride_width: ${stride[1]}`,
  );
  const counts = image.map(
    (size, dim) =>
      Math.floor((size + 2 * padding[dim] - (dilation[dim] * (kernelSize[dim] - 1) + 1)) / stride[dim]) + 1,
  );
  return { kernel: kernelSize, dilation, padding, stride, counts };
}

/** With a batch dimension. */
const batched = (tensor: Tensor, rank: number): Tensor =>
  tensor.dim === rank ? tensor : tensor.asStrided([1, ...tensor.sizes], [0, ...tensor.strides]);

const round = (values: readonly number[]): string => `(${values.join(', ')})`;

function im2colShape(args: BlockArgs): TensorMeta {
  const { self } = args;
  check(
    self.dim >= 3 || self.dim === 0,
    () => `Dimension out of range (expected to be in range of [-${self.dim}, ${self.dim - 1}], but got ${self.dim})`,
  );
  check(
    (self.dim === 3 || self.dim === 4) && self.sizes.slice(-3).every((size) => size !== 0),
    () =>
      `Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: ${sizesText(self.sizes)}`,
  );
  if (isIntegral(self.dtype, false)) throw notImplementedFor('im2col_out_cpu', dtypeName(self.dtype));
  const image = self.sizes.slice(-2);
  const { kernel: size, dilation, padding, counts } = blocksOf(args, image);
  check(
    counts.every((count) => count >= 1),
    () =>
      `Given input with spatial size ${round(image)}, kernel_size=${round(size)}, dilation=${round(dilation)}, padding=${round(padding)}, calculated shape of the array of sliding blocks as ${round(counts)}, but its components must be at least one.`,
  );
  const columns = [self.sizes[self.dim - 3] * size[0] * size[1], counts[0] * counts[1]];
  return { sizes: self.dim === 4 ? [self.sizes[0], ...columns] : columns, dtype: self.dtype };
}

/** Calls `visit` with the place of every element of the columns (C order) and of the image element it stands for, -1 in the padding. */
function* forEachElement(
  { kernel: size, dilation, padding, stride, counts }: Blocks,
  planes: number,
  image: readonly number[],
  visit: (column: number, element: number) => void,
): Pieces {
  let column = 0;
  let done = 0;
  for (let plane = 0; plane < planes; plane++) {
    for (let kh = 0; kh < size[0]; kh++) {
      for (let kw = 0; kw < size[1]; kw++) {
        yield* repeat(counts[0], 8 * counts[1], (bh) => {
          const h = bh * stride[0] + kh * dilation[0] - padding[0];
          for (let bw = 0; bw < counts[1]; bw++) {
            const w = bw * stride[1] + kw * dilation[1] - padding[1];
            const inside = h >= 0 && h < image[0] && w >= 0 && w < image[1];
            visit(column++, inside ? (plane * image[0] + h) * image[1] + w : -1);
          }
        });
        done += 8 * counts[0] * counts[1] + 16;
        if (done < PIECE_SIZE) continue;
        done = 0;
        yield;
      }
    }
  }
}

type Elements = Record<number, number | bigint>;

const im2col = kernel<BlockArgs>(
  'aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor',
  {
    out: true,
    shape: im2colShape,
    *host(args, [out]) {
      const image = args.self.sizes.slice(-2);
      const source = (yield* elementsInPieces(args.self)) as unknown as Elements;
      const target = out.storageArrayForWriting() as unknown as Elements;
      const width = isComplex(out.dtype) ? 2 : 1;
      const planes = args.self.numel / (image[0] * image[1]);
      yield* forEachElement(blocksOf(args, image), planes, image, (column, element) => {
        if (element < 0) return;
        for (let part = 0; part < width; part++) target[column * width + part] = source[element * width + part];
      });
    },
    lower(args, [out], context) {
      if (out.numel === 0) return;
      const self = batched(args.self, 4);
      const blocks = blocksOf(args, self.sizes.slice(2));
      const input = new TensorView(self);
      const target = new TensorView(batched(out, 3));
      const batch = axis('b', target.sizes[0]);
      const rows = indexOf('r', [input.sizes[1], ...blocks.kernel.map(index)]);
      const columns = indexOf('c', blocks.counts.map(indexParam));
      const [channel, ...tap] = rows.index;
      const at = windowPosition(blocks, columns.index, tap, input.sizes.slice(2));
      const type = exprTypeOf(out.dtype);
      const element = input.at([batch, channel, ...at.index]);
      const value = where(at.conditions, element, constant(type, type === 'bool' ? false : type === 'i64' ? 0n : 0));
      const axes = [batch, rows.axis, columns.axis];
      const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value }];
      context.launch({ kind: 'nest', label: 'aten::im2col', axes, innerAxes: [], stores });
    },
  },
);

interface Col2imArgs extends BlockArgs {
  readonly output_size: readonly number[];
}

function col2imShape(args: Col2imArgs): TensorMeta {
  const { self } = args;
  const image = pair(args.output_size);
  const blocks = blocksOf(args, image);
  const { kernel: size, dilation, padding, stride, counts } = blocks;
  check(
    (self.dim === 2 || self.dim === 3) && self.sizes.slice(-2).every((length) => length !== 0),
    () =>
      `Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: ${sizesText(self.sizes)}`,
  );
  const [rows, columns] = self.sizes.slice(-2);
  check(
    rows % (size[0] * size[1]) === 0,
    () =>
      `Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)=${rows} and kernel_size=${round(size)}.`,
  );
  const given = `Given output_size=${round(image)}, kernel_size=${round(size)}, dilation=${round(dilation)}, padding=${round(padding)}, stride=${round(stride)}`;
  check(
    columns === counts[0] * counts[1],
    () =>
      `${given}, expected size of input's dimension 2 to match the calculated number of sliding blocks ${counts[0]} * ${counts[1]} = ${counts[0] * counts[1]}, but got input.size(2)=${columns}.`,
  );
  const sizes = [rows / (size[0] * size[1]), ...image];
  return { sizes: self.dim === 3 ? [self.sizes[0], ...sizes] : sizes, dtype: self.dtype };
}

const col2im = kernel<Col2imArgs>(
  'aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor',
  {
    out: true,
    shape: col2imShape,
    *host(args, [out]) {
      const image = pair(args.output_size);
      const planes = out.numel / (image[0] * image[1]);
      const width = isComplex(out.dtype) ? 2 : 1;
      const source =
        width === 2 ? ((yield* elementsInPieces(args.self)) as FloatArray) : yield* numbersInPieces(args.self);
      const sums = scratch(Float64Array, out.numel * width);
      yield* forEachElement(blocksOf(args, image), planes, image, (column, element) => {
        if (element < 0) return;
        for (let part = 0; part < width; part++) sums[element * width + part] += source[column * width + part];
      });
      if (width === 2) (out.storageArrayForWriting() as FloatArray).set(sums);
      else yield* storeInPieces(out, sums);
    },
    /** Each image element sums what falls on it: for every kernel element the one block, if any, that has it there. */
    lower(args, [out], context) {
      if (out.numel === 0) return;
      const image = pair(args.output_size);
      const blocks = blocksOf(args, image);
      const columns = new TensorView(batched(args.self, 3));
      const target = new TensorView(batched(out, 4));
      const axes = target.axes();
      const taps = blocks.kernel.map((size, dim) => axis(`k${dim}`, index(size)));
      const conditions: Expr[] = [];
      const block = taps.map((tap, dim) => {
        const moved = sub(add(axes[2 + dim], indexParam(blocks.padding[dim])), mul(tap, index(blocks.dilation[dim])));
        const at = binary('truncdiv', moved, index(blocks.stride[dim]));
        conditions.push(binary('ge', moved, index(0)), binary('lt', at, indexParam(blocks.counts[dim])));
        conditions.push(binary('eq', binary('fmod', moved, index(blocks.stride[dim])), index(0)));
        return at;
      });
      const row = add(mul(add(mul(axes[1], index(blocks.kernel[0])), taps[0]), index(blocks.kernel[1])), taps[1]);
      const column = add(mul(block[0], indexParam(blocks.counts[1])), block[1]);
      const type = exprTypeOf(out.dtype);
      const element = cast(type, columns.at([axes[0], row, column]));
      const value = reduce('sum', taps, where(conditions, element, constant(type, type === 'i64' ? 0n : 0)));
      const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value }];
      context.launch({ kind: 'nest', label: 'aten::col2im', axes, innerAxes: [], stores });
    },
    lowerable: ({ self }) => self.dtype !== 'bool',
  },
);

export const unfoldRows: readonly OperatorRow[] = [im2col, col2im];
