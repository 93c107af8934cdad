import { settleAll, Tensor } from '@cresset/tensor';
import { chooseSchedule, extentOf, normalise, type Contraction, type Kernel } from '@cresset/tensorexpr';
import { expect, test } from 'vitest';
import { plainGpu, softwareGpu } from '../../../../../test-setup/plain-gpu.ts';
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
  lowerConvolution('test', convolution, zeros(1, 4, ...settleAll(convolution.outputSize)), context);
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

test.each([
  [64, 3, 3, 1, 'contraction', 'split sum'],
  [64, 1, 3, 1, 'contraction', 'split sum'],
  [32, 32, 3, 32, 'nest', 'point'],
  [32, 32, 7, 32, 'contraction', 'split sum'],
  [32, 16, 3, 8, 'contraction', 'split sum'],
  [3, 64, 7, 1, 'contraction', 'shared tile'],
])('%i to %i channels, %i wide, in %i groups: no workgroup for each element', (cin, cout, size, groups, kind, own) => {
  const [convolution, kernels] = [
    convolutionOf({
      input: zeros(1, cin, 40, 40),
      weight: zeros(cout, cin / groups, size, size),
      bias: null,
      stride: [1, 1],
      padding: [size >> 1, size >> 1],
      dilation: [1, 1],
      transposed: false,
      output_padding: [0, 0],
      groups,
    }),
    [] as Kernel[],
  ];
  for (const capabilities of [plainGpu, softwareGpu]) {
    const launch = (kernel: Kernel): void => void kernels.push(kernel);
    const context = { device: { capabilities }, launch } as unknown as LoweringContext;
    lowerConvolution('test', convolution, zeros(1, cout, 40, 40), context);
  }
  expect(kernels[0].kind).toBe(kind);
  // In software few filters are nests, as they are where sums are short.
  expect(kernels[1].kind).toBe(cout / groups < 4 ? 'nest' : 'contraction');
  const { schedule, workgroups } = chooseSchedule(normalise(kernels[0]), plainGpu);
  expect(schedule.kind).toBe(own);
  expect(workgroups).toBeLessThanOrEqual((cout * 40 * 40) / 4);
});
