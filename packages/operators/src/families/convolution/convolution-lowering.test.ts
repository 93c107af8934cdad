import { Tensor } from '@cresset/tensor';
import { extentOf, type Contraction, type Kernel } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import type { LoweringContext } from '../../table/row.ts';
import { convolutionOf } from './convolution-geometry.ts';
import { lowerConvolution } from './convolution-lowering.ts';

const zeros = (...sizes: number[]): Tensor => Tensor.empty(sizes, 'float32');

/** What a device is told of a transposed convolution of 5 × 7 elements in three channels, with four filters of 2 × 2. */
function lowered(stride: number, padding: number): Contraction {
  const kernels: Kernel[] = [];
  const context = {
    device: { capabilities: { host: false } },
    launch: (kernel: Kernel) => void kernels.push(kernel),
  } as unknown as LoweringContext;
  const convolution = convolutionOf({
    input: zeros(1, 3, 5, 7),
    weight: zeros(3, 4, 2, 2),
    bias: null,
    stride: [stride, stride],
    padding: [padding, padding],
    dilation: [1, 1],
    transposed: true,
    output_padding: [0, 0],
    groups: 1,
  });
  lowerConvolution('test', convolution, zeros(1, 4, ...convolution.outputSize), context);
  return kernels[0] as Contraction;
}

const extents = ({ m, n, k }: Contraction): number[] => [m, n, k].map(extentOf);

test('a transposed convolution without overlaps multiplies each input element with each element of the filters', () => {
  expect(extents(lowered(2, 0))).toEqual([4 * 2 * 2, 5 * 7, 3]);
});

test('one with overlaps, or that is cut off, sums up what falls on each output element', () => {
  expect(extents(lowered(1, 0))).toEqual([4, 6 * 8, 3 * 2 * 2]);
  expect(extents(lowered(2, 1))).toEqual([4, 8 * 12, 3 * 2 * 2]);
});
