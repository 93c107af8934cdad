import { type Tensor, takeScratch } from '@cresset/tensor';
import type { Convolution } from '../families/convolution/convolution-geometry.ts';
import { spatialOf } from '../families/convolution/convolution-host.ts';
import type { HostKernels } from '../kernels/host-kernels.ts';
import { numbersInPieces } from '../kernels/numbers/numbers.ts';
import { PIECE_SIZE, type Pieces } from '../kernels/loops/pieces.ts';
import { copyOut } from './places.ts';
import { LEAST_WORK } from './products.ts';
import { packedBytes, stagedBytes, workspaceOfThread, type Workspace, type Lines } from './workspace.ts';

/** Elements of the input that are gathered at once: they stay in the second cache while all filters go over them. */
const GATHERED = 1 << 17;
/** Bytes that an image and what is made of it may take. */
const MOST_BYTES = 1 << 29;

/**
 * Convolutions of float32 in WebAssembly, for one to three dimensions and groups of any size: products of the filters with columns of input that are
 * gathered while they are packed. Where the elements of a column lie, two tables tell, of positions and of what a window covers, so that strides
 * and dilation are nothing special; padding is a border of zeros around the image.
 */
export function wasmConvolutions(workspaceOf: () => Workspace | null = workspaceOfThread): HostKernels['convolve'] {
  return (convolution, out) => {
    const { input, weight, bias, transposed, inChannels, kernel } = convolution;
    const operands = [input, weight, ...(bias ? [bias] : [])];
    if (transposed || ![...operands, out].every(({ dtype }) => dtype === 'float32')) return null;
    const depth = kernel.reduce((product, size) => product * size, inChannels);
    const work = out.numel * depth;
    if (work < LEAST_WORK || !out.isContiguous() || operands.some(({ storage }) => storage === out.storage))
      return null;
    const workspace = workspaceOf();
    const layout = workspace && layoutOf(convolution, depth);
    if (!layout || layout.byteLength > MOST_BYTES) return null;
    try {
      takeScratch(layout.byteLength);
      workspace.scratch(layout.byteLength);
    } catch {
      return null;
    }
    return convolve(workspace, convolution, layout, out);
  };
}

const productOf = (sizes: readonly number[]): number => sizes.reduce((product, size) => product * size, 1);

/** Sizes, and where things lie in the scratch memory. */
function layoutOf(convolution: Convolution, depth: number) {
  const { groups, inChannels, outChannels } = convolution;
  const spatial = spatialOf(convolution);
  const channels = groups * inChannels;
  // As far as windows reach: where `same` needs an odd number, more lies behind than in front.
  const padded = spatial.input.map((size, dim) => {
    const last = (spatial.output[dim] - 1) * spatial.stride[dim] + (spatial.kernel[dim] - 1) * spatial.dilation[dim];
    return Math.max(spatial.padding[dim] + size, last + 1);
  });
  const isPadded = padded.some((size, dim) => size !== spatial.input[dim]);
  const positions = productOf(spatial.output);
  const width = Math.min(positions, Math.max(4, Math.floor(GATHERED / depth / 4) * 4));
  const plane = productOf(padded);
  const parts = {
    /** Filters, and results, on their way from and to where they belong. */
    staging: Math.max(stagedBytes(outChannels, depth), 4 * outChannels * width),
    raw: isPadded ? 4 * channels * productOf(spatial.input) : 0,
    // Four elements are read at once, of which not all may be wanted.
    image: 4 * channels * plane + 16,
    filters: groups * packedBytes(outChannels, depth),
    positions: 4 * (positions + 3),
    depths: 4 * depth,
    columns: packedBytes(width, depth),
    sums: 16 * outChannels * Math.ceil(width / 4),
  };
  let byteLength = 0;
  const places = Object.fromEntries(
    Object.entries(parts).map(([name, size]) => {
      const at = byteLength;
      byteLength += Math.ceil(size / 64) * 64;
      return [name, at];
    }),
  ) as Record<keyof typeof parts, number>;
  return { spatial, channels, padded, isPadded, plane, depth, count: positions, width, places, byteLength };
}

type Layout = ReturnType<typeof layoutOf>;

function* convolve(workspace: Workspace, convolution: Convolution, layout: Layout, out: Tensor): Pieces {
  const { groups, inChannels, outChannels, weight } = convolution;
  const { depth, count, width, plane, places } = layout;
  const { memory, functions, kept } = workspace;
  const input = (yield* numbersInPieces(convolution.input)) as Float32Array;
  const bias = convolution.bias && (yield* numbersInPieces(convolution.bias));
  let filterData: Float32Array | null = null;
  function* readFilters(): Pieces {
    filterData ??= (yield* numbersInPieces(weight)) as Float32Array;
  }
  const target = out.storageArrayForWriting() as Float32Array;
  const ofGroup = packedBytes(outChannels, depth);
  const filtersOf = (group: number): Lines => ({
    data: filterData!,
    offset: group * outChannels * depth,
    lineStride: depth,
    step: 1,
  });
  const packFilters = (to: number, staging: number): void => {
    for (let group = 0; group < groups; group++)
      workspace.pack(filtersOf(group), outChannels, depth, to + group * ofGroup, staging);
  };
  function* keepFilters(to: number): Pieces {
    yield* readFilters();
    for (let group = 0; group < groups; group++)
      yield* workspace.packPieces(filtersOf(group), outChannels, depth, to + group * ofGroup);
  }
  const filterLayout = ['filters', groups, weight.storageOffset, ...weight.sizes, ...weight.strides].join();
  const contents = {};
  let done = 0;
  for (let image = 0; image < out.sizes[0]; image++) {
    let isStaged = false;
    for (let group = 0; group < groups; group++) {
      for (let start = 0; start < count; start += width) {
        const weights = yield* kept.find(weight.storage, filterLayout, groups * ofGroup, keepFilters);
        if (weights === null) yield* readFilters();
        const at = workspace.scratch(layout.byteLength);
        if (workspace.contents !== contents) {
          workspace.contents = contents;
          isStaged = false;
          if (weights === null) packFilters(at + places.filters, at + places.staging);
          writeTables(memory.integers, (at + places.positions) >> 2, (at + places.depths) >> 2, inChannels, layout);
        }
        if (!isStaged) stageImage(workspace, input, image, at, layout);
        isStaged = true;
        const own = Math.min(width, count - start);
        const vectors = Math.ceil(own / 4);
        const from = at + places.image + 4 * group * inChannels * plane;
        const columns = at + places.columns;
        functions.gather(from, at + places.positions + 4 * start, own, at + places.depths, depth, columns);
        const sums = at + places.sums;
        if (bias) {
          const { floats } = memory;
          for (let filter = 0, to = sums >> 2; filter < outChannels; filter++, to += 4 * vectors) {
            floats.fill(bias[group * outChannels + filter], to, to + 4 * vectors);
          }
        }
        const filters = (weights ?? at + places.filters) + group * ofGroup;
        const stride = 16 * depth;
        const accumulate = bias ? 1 : 0;
        functions.multiply(
          outChannels,
          vectors,
          depth,
          filters,
          stride,
          columns,
          stride,
          sums,
          16 * vectors,
          accumulate,
        );
        const offset = out.storageOffset + (image * groups + group) * outChannels * count + start;
        const place = { data: target, offset, rowStride: count, columnStride: 1 };
        copyOut(workspace, sums, 4 * vectors, place, outChannels, own, at + places.staging);
        // What is gathered for few filters takes as long as their products.
        done += (outChannels + 4) * own * depth;
        if (done < PIECE_SIZE) continue;
        done = 0;
        yield;
      }
    }
  }
}

/** Where in an image, in bytes, windows begin, and where from there what they cover lies. */
function writeTables(
  integers: Int32Array,
  positions: number,
  depths: number,
  inChannels: number,
  { spatial, padded }: Layout,
): void {
  const [, height, width] = padded;
  const { output, kernel, stride, dilation } = spatial;
  const write = (to: number, planes: number, sizes: readonly number[], steps: readonly number[]): number => {
    for (let plane = 0; plane < planes; plane++) {
      for (let d = 0; d < sizes[0]; d++) {
        for (let h = 0; h < sizes[1]; h++) {
          const row = ((plane * padded[0] + d * steps[0]) * height + h * steps[1]) * width;
          for (let w = 0; w < sizes[2]; w++) integers[to++] = 4 * (row + w * steps[2]);
        }
      }
    }
    return to;
  };
  const end = write(positions, 1, output, stride);
  integers.fill(integers[end - 1], end, end + 3);
  write(depths, inChannels, kernel, dilation);
}

/** Copies an image into the memory, with zeros around it where there is padding. */
function stageImage(
  { memory, functions }: Workspace,
  input: Float32Array,
  image: number,
  at: number,
  layout: Layout,
): void {
  const { spatial, channels, padded, isPadded, plane, places } = layout;
  const [depth, height, width] = spatial.input;
  const size = channels * depth * height * width;
  const values = input.subarray(image * size, (image + 1) * size);
  const { floats } = memory;
  const to = at + places.image;
  if (!isPadded) {
    floats.set(values, to >> 2);
    return;
  }
  const raw = at + places.raw;
  floats.set(values, raw >> 2);
  floats.fill(0, to >> 2, (to >> 2) + channels * plane);
  const [depthPadding, heightPadding, widthPadding] = spatial.padding;
  const copy = (from: number, row: number, rows: number): void =>
    functions.copyRows(
      raw + 4 * from * width,
      4 * width,
      to + 4 * (row * padded[2] + widthPadding),
      4 * padded[2],
      rows,
      4 * width,
    );
  if (padded[0] === depth && padded[1] === height) {
    copy(0, 0, channels * depth * height);
    return;
  }
  for (let channel = 0; channel < channels; channel++) {
    for (let d = 0; d < depth; d++) {
      const row = (channel * padded[0] + d + depthPadding) * padded[1] + heightPadding;
      copy((channel * depth + d) * height, row, height);
    }
  }
}
