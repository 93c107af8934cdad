import { giveUpScratch, isComplex, realType, scratch, settleAll, Tensor, type HostArray } from '@cresset/tensor';
import type { Convolution } from './convolution-geometry.ts';
import { gemmPieces } from '../products/gemm.ts';
import { type Pieces, repeat } from '../../kernels/loops/pieces.ts';
import { fillInPieces, type FloatArray, numbersInPieces } from '../../kernels/numbers/numbers.ts';
import { complexParts, writeComplex } from '../products/product.ts';

/** Convolutions on the host, as matrix products over columns of gathered input (im2col), for one to three dimensions. */

/** Most elements of the column matrix that are gathered at a time. */
const columnLimit = 1 << 20;

export function* hostConvolution(convolution: Convolution, out: Tensor): Pieces {
  if (isComplex(out.dtype)) yield* complexConvolution(convolution, out);
  else yield* fillInPieces(out, (values) => convolve(convolution, values));
}

/** (a + bi)(c + di), each product a real convolution. */
function* complexConvolution(convolution: Convolution, out: Tensor): Pieces {
  const [inputRe, inputIm] = realTensors(convolution.input);
  const [weightRe, weightIm] = realTensors(convolution.weight);
  const part = function* (input: Tensor, weight: Tensor): Pieces<Float64Array> {
    const values = scratch(Float64Array, out.numel);
    yield* convolve({ ...convolution, input, weight, bias: null }, values);
    return values;
  };
  const [rr, ii, ri, ir] = [
    yield* part(inputRe, weightRe),
    yield* part(inputIm, weightIm),
    yield* part(inputRe, weightIm),
    yield* part(inputIm, weightRe),
  ];
  const bias = convolution.bias?.contiguousArray() as FloatArray | undefined;
  const positions = count(settleAll(convolution.outputSize));
  const channels = convolution.outChannels * convolution.groups;
  yield* repeat(rr.length, 8, (i) => {
    const channel = Math.floor(i / positions) % channels;
    rr[i] += (bias ? bias[2 * channel] : 0) - ii[i];
    ri[i] += (bias ? bias[2 * channel + 1] : 0) + ir[i];
  });
  yield* writeComplex(out, rr, ri);
}

function realTensors(tensor: Tensor): Tensor[] {
  const dtype = realType(tensor.dtype);
  return complexParts(tensor).map(({ data, offset, strides }) =>
    Tensor.fromArray(data as HostArray, [data.length], dtype).asStrided(tensor.sizes, strides, offset),
  );
}

/** Three spatial dimensions, the missing ones of size 1 in front. */
export interface Spatial {
  readonly input: readonly number[];
  readonly output: readonly number[];
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
}

export function spatialOf({ inputSize, outputSize, kernel, stride, padding, dilation }: Convolution): Spatial {
  const fill = (values: readonly number[], value: number): number[] => [
    ...new Array<number>(3 - values.length).fill(value),
    ...values,
  ];
  return {
    input: fill(settleAll(inputSize), 1),
    output: fill(settleAll(outputSize), 1),
    kernel: fill(kernel, 1),
    stride: fill(stride, 1),
    padding: fill(padding, 0),
    dilation: fill(dilation, 1),
  };
}

function count(sizes: readonly number[]): number {
  return sizes.reduce((product, size) => product * size, 1);
}

function* convolve(convolution: Convolution, values: FloatArray): Pieces {
  const { groups, inChannels, outChannels, bias } = convolution;
  const input = yield* numbersInPieces(convolution.input);
  const weight = yield* numbersInPieces(convolution.weight);
  const spatial = spatialOf(convolution);
  const inputPositions = count(spatial.input);
  const outputPositions = count(spatial.output);
  const batch = convolution.input.sizes[0];
  for (let n = 0; n < batch; n++) {
    for (let g = 0; g < groups; g++) {
      const from = (n * groups + g) * inChannels * inputPositions;
      const to = (n * groups + g) * outChannels * outputPositions;
      const plane = input.subarray(from, from + inChannels * inputPositions) as FloatArray;
      const target = values.subarray(to, to + outChannels * outputPositions) as FloatArray;
      const size = inChannels * outChannels * count(spatial.kernel);
      const filters = weight.subarray(g * size, (g + 1) * size) as FloatArray;
      if (convolution.transposed) yield* scatterProducts(plane, filters, target, inChannels, outChannels, spatial);
      else yield* multiplyColumns(plane, filters, target, inChannels, outChannels, spatial);
    }
  }
  if (bias) yield* addBias(values, yield* numbersInPieces(bias), outputPositions);
}

function addBias(values: FloatArray, bias: FloatArray, positions: number): Pieces {
  return repeat(values.length / positions, positions, (plane) => {
    const end = (plane + 1) * positions;
    for (let i = plane * positions; i < end; i++) values[i] += bias[plane % bias.length];
  });
}

function isPointwise({ kernel, stride, padding }: Spatial): boolean {
  return (
    kernel.every((size) => size === 1) && stride.every((step) => step === 1) && padding.every((size) => size === 0)
  );
}

/** `target[o, p] = Σ weight[o, (c, k)] · input[c, position of p and k]`. */
function* multiplyColumns(
  plane: FloatArray,
  weight: FloatArray,
  target: FloatArray,
  inChannels: number,
  outChannels: number,
  spatial: Spatial,
): Pieces {
  const positions = count(spatial.output);
  const depth = inChannels * count(spatial.kernel);
  const left = { data: weight, offset: 0, rowStride: depth, columnStride: 1 };
  if (isPointwise(spatial)) {
    const right = { data: plane, offset: 0, rowStride: positions, columnStride: 1 };
    yield* gemmPieces(outChannels, positions, depth, left, right, target, 0, positions);
    return;
  }
  const chunk = Math.max(1, Math.min(positions, Math.floor(columnLimit / Math.max(depth, 1))));
  const columns = scratch<FloatArray>(plane instanceof Float32Array ? Float32Array : Float64Array, depth * chunk);
  for (let start = 0; start < positions; start += chunk) {
    const width = Math.min(chunk, positions - start);
    gatherColumns(plane, columns, inChannels, spatial, start, width);
    yield;
    const right = { data: columns, offset: 0, rowStride: width, columnStride: 1 };
    yield* gemmPieces(outChannels, width, depth, left, right, target, start, positions);
  }
  giveUpScratch(columns);
}

/** Rows (channel, kernel element), columns output positions `start…start+width`; 0 outside the input. */
function gatherColumns(
  plane: FloatArray,
  columns: FloatArray,
  channels: number,
  { input, output, kernel, stride, padding, dilation }: Spatial,
  start: number,
  width: number,
): void {
  const [inDepth, inHeight, inWidth] = input;
  const [, outHeight, outWidth] = output;
  const step = stride[2];
  let row = 0;
  for (let c = 0; c < channels; c++) {
    for (let kd = 0; kd < kernel[0]; kd++) {
      for (let kh = 0; kh < kernel[1]; kh++) {
        for (let kw = 0; kw < kernel[2]; kw++) {
          let at = row++ * width;
          const shift = kw * dilation[2] - padding[2];
          const inside = Math.ceil(-shift / step);
          const outside = Math.floor((inWidth - 1 - shift) / step) + 1;
          let position = start;
          const end = start + width;
          while (position < end) {
            // One line of the output, or what of it lies in this chunk.
            const ow = position % outWidth;
            const line = (position - ow) / outWidth;
            const oh = line % outHeight;
            const od = (line - oh) / outHeight;
            const length = Math.min(outWidth - ow, end - position);
            const id = od * stride[0] + kd * dilation[0] - padding[0];
            const ih = oh * stride[1] + kh * dilation[1] - padding[1];
            if (id < 0 || id >= inDepth || ih < 0 || ih >= inHeight) {
              columns.fill(0, at, at + length);
            } else {
              const base = ((c * inDepth + id) * inHeight + ih) * inWidth;
              // Positions before `first` and from `beyond` on lie in the padding.
              const first = Math.min(Math.max(inside - ow, 0), length);
              const beyond = Math.max(Math.min(outside - ow, length), first);
              let from = base + (ow + first) * step + shift;
              for (let i = 0; i < first; i++) columns[at + i] = 0;
              for (let i = first; i < beyond; i++, from += step) columns[at + i] = plane[from];
              for (let i = beyond; i < length; i++) columns[at + i] = 0;
            }
            at += length;
            position += length;
          }
        }
      }
    }
  }
}

/** Every input element times the filters, added where it falls in the output (col2im). */
function* scatterProducts(
  plane: FloatArray,
  weight: FloatArray,
  target: FloatArray,
  inChannels: number,
  outChannels: number,
  { input, output, kernel, stride, padding, dilation }: Spatial,
): Pieces {
  const positions = count(input);
  const taps = count(kernel);
  const depth = outChannels * taps;
  target.fill(0);
  const chunk = Math.max(1, Math.min(positions, Math.floor(columnLimit / Math.max(depth, 1))));
  const columns = scratch(Float64Array, depth * chunk);
  // Sums of many taps are kept in doubles.
  const sums = target instanceof Float64Array ? target : scratch(Float64Array, target.length);
  const left = { data: weight, offset: 0, rowStride: 1, columnStride: depth };
  for (let start = 0; start < positions; start += chunk) {
    const width = Math.min(chunk, positions - start);
    const right = { data: plane, offset: start, rowStride: positions, columnStride: 1 };
    yield* gemmPieces(depth, width, inChannels, left, right, columns, 0, width);
    yield* repeat(depth, 16 * width, (row) => {
      const channel = Math.floor(row / taps);
      const kw = row % kernel[2];
      const kh = Math.floor(row / kernel[2]) % kernel[1];
      const kd = Math.floor(row / (kernel[2] * kernel[1])) % kernel[0];
      for (let i = 0; i < width; i++) {
        const position = start + i;
        const iw = position % input[2];
        const ih = Math.floor(position / input[2]) % input[1];
        const id = Math.floor(position / (input[2] * input[1]));
        const od = id * stride[0] + kd * dilation[0] - padding[0];
        const oh = ih * stride[1] + kh * dilation[1] - padding[1];
        const ow = iw * stride[2] + kw * dilation[2] - padding[2];
        if (od < 0 || od >= output[0] || oh < 0 || oh >= output[1] || ow < 0 || ow >= output[2]) continue;
        sums[((channel * output[0] + od) * output[1] + oh) * output[2] + ow] += columns[row * width + i];
      }
    });
    yield;
  }
  giveUpScratch(columns);
  if (sums === target) return;
  target.set(sums);
  giveUpScratch(sums);
}
