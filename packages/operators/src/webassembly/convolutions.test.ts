import { Tensor } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { convolutionOf, type ConvolutionArgs } from '../families/convolution/convolution-geometry.ts';
import { hostConvolution } from '../families/convolution/convolution-host.ts';
import { finish } from '../kernels/loops/pieces.ts';
import { wasmConvolutions } from './convolutions.ts';
import { Workspace } from './workspace.ts';

function tensorOf(sizes: readonly number[], shift = 0): Tensor {
  const count = sizes.reduce((product, size) => product * size, 1);
  const numbers = Float32Array.from({ length: count }, (_, at) => (((at + shift) * 37) % 101) / 50 - 1);
  return Tensor.fromArray(numbers, sizes, 'float32');
}

const argumentsOf = (input: Tensor, weight: Tensor, given: Partial<ConvolutionArgs> = {}): ConvolutionArgs => ({
  input,
  weight,
  bias: null,
  stride: [1],
  padding: [0],
  dilation: [1],
  transposed: false,
  output_padding: [0],
  groups: 1,
  ...given,
});

describe('convolutions in WebAssembly', () => {
  const workspace = new Workspace();
  const convolve = wasmConvolutions(() => workspace);

  /** Runs a convolution, and compares what comes of it with the kernel of every page. */
  function expectConvolution(args: ConvolutionArgs): void {
    const rank = args.weight.dim - 2;
    const none = new Array<number>(rank).fill(0);
    const convolution = convolutionOf({ ...args, output_padding: none });
    const sizes = [args.input.sizes[0], convolution.outChannels * convolution.groups, ...convolution.outputSize];
    const [out, expected] = [Tensor.empty(sizes, 'float32'), Tensor.empty(sizes, 'float32')];
    const pieces = convolve(convolution, out);
    if (!pieces) expect.fail('the convolution was left to others');
    finish(pieces);
    finish(hostConvolution(convolution, expected));
    const [found, wanted] = [out, expected].map((tensor) => tensor.contiguousArray() as Float32Array);
    const wrong = wanted.findIndex(
      (value, at) => !(Math.abs(value - found[at]) <= 1e-4 * Math.max(1, Math.abs(value))),
    );
    if (wrong >= 0) expect.fail(`at ${wrong}: ${found[wrong]} instead of ${wanted[wrong]}`);
  }

  it.each([
    ['1×1', [2, 16, 9, 11], [24, 16, 1, 1], {}],
    ['1×1 with a stride', [2, 16, 9, 11], [24, 16, 1, 1], { stride: [2] }],
    ['3×3', [1, 8, 13, 15], [9, 8, 3, 3], {}],
    ['3×3 with padding', [2, 8, 13, 15], [16, 8, 3, 3], { padding: [1] }],
    ['3×3 with a stride', [2, 8, 13, 15], [16, 8, 3, 3], { padding: [1, 0], stride: [2, 3] }],
    ['3×3 with dilation', [1, 8, 13, 15], [16, 8, 3, 3], { padding: [0, 2], dilation: [2, 3] }],
    ['more padding behind than in front', [1, 8, 13, 15], [16, 8, 2, 4], { padding: [0.5, 1.5] }],
    ['depthwise', [2, 24, 14, 14], [24, 1, 3, 3], { padding: [1], groups: 24 }],
    ['in groups', [2, 12, 14, 14], [18, 4, 3, 3], { padding: [1], groups: 3 }],
    ['one dimension', [2, 8, 65], [16, 8, 5], { padding: [2], stride: [3] }],
    ['one dimension and little of it', [2, 80, 3], [160, 80, 3], {}],
    ['three dimensions', [2, 4, 5, 6, 7], [8, 4, 3, 2, 3], { padding: [1, 0, 2] }],
    ['three dimensions, padded in all', [1, 4, 5, 6, 7], [8, 4, 3, 2, 3], { padding: [1, 1, 1], stride: [2] }],
    ['a kernel larger than the image', [1, 32, 2, 2], [32, 32, 5, 5], { padding: [2] }],
    ['more columns than are gathered at once', [1, 64, 40, 41], [5, 64, 3, 3], { padding: [1] }],
  ] as const)('%s', (_, input, weight, given) => {
    for (const bias of [null, tensorOf([weight[0]], 5)]) {
      expectConvolution(argumentsOf(tensorOf(input), tensorOf(weight, 3), { ...given, bias }));
    }
  });

  it('takes operands that lie apart', () => {
    const input = tensorOf([2, 13, 15, 8]).asStrided([2, 8, 13, 15], [1560, 1, 120, 8]);
    const weight = tensorOf([3, 3, 8, 16]).asStrided([16, 8, 3, 3], [1, 16, 384, 128]);
    expectConvolution(argumentsOf(input, weight, { padding: [1] }));
  });

  it('keeps the filters from the second time on, until somebody writes to them', () => {
    const own = new Workspace();
    const [input, weight] = [tensorOf([1, 8, 13, 15]), tensorOf([16, 8, 3, 3])];
    const convolution = convolutionOf(argumentsOf(input, weight));
    const [out, expected] = [Tensor.empty([1, 16, 11, 13], 'float32'), Tensor.empty([1, 16, 11, 13], 'float32')];
    const run = (): void => finish(wasmConvolutions(() => own)(convolution, out)!);
    run();
    expect(own.kept.byteLength).toBe(0);
    run();
    expect(own.kept.byteLength).toBe(4 * 16 * 72);
    const first = (out.contiguousArray() as Float32Array).slice();
    weight.storageArrayForWriting().fill(0 as never);
    run();
    expect(own.kept.byteLength).toBe(0);
    expect(first.some((value) => value !== 0)).toBe(true);
    expect((out.contiguousArray() as Float32Array).every((value) => value === 0)).toBe(true);
    weight.storageArrayForWriting().fill(1 as never);
    run();
    run();
    run();
    finish(hostConvolution(convolution, expected));
    const [found, wanted] = [out, expected].map((tensor) => [...(tensor.contiguousArray() as Float32Array)]);
    found.forEach((value, at) => expect(value).toBeCloseTo(wanted[at], 3));
  });

  it('goes on where it was after others had a turn', () => {
    const own = new Workspace();
    const convolve = wasmConvolutions(() => own);
    const convolutions = [0, 7].map((shift) =>
      convolutionOf(argumentsOf(tensorOf([2, 64, 40, 40], shift), tensorOf([64, 64, 3, 3], shift), { padding: [1] })),
    );
    const [outs, expected] = [0, 1].map(() => convolutions.map(() => Tensor.empty([2, 64, 40, 40], 'float32')));
    const pieces = convolutions.map((convolution, at) => convolve(convolution, outs[at])!);
    let turns = 0;
    while (pieces.map((each) => each.next()).some(({ done }) => !done)) turns++;
    expect(turns).toBeGreaterThan(1);
    convolutions.forEach((convolution, at) => finish(convolve(convolution, expected[at])!));
    const values = (tensor: Tensor): Float32Array => tensor.contiguousArray() as Float32Array;
    outs.forEach((out, at) => {
      expect(values(out).findIndex((value, i) => value !== values(expected[at])[i])).toBe(-1);
    });
    expect(values(outs[0])[100]).not.toBe(values(outs[1])[100]);
  });

  it('leaves to others what it has no kernel for and what is small', () => {
    const [input, weight] = [tensorOf([1, 8, 13, 15]), tensorOf([8, 8, 3, 3])];
    const convolution = convolutionOf(argumentsOf(input, weight));
    const out = Tensor.empty([1, 8, 11, 13], 'float32');
    expect(convolve({ ...convolution, transposed: true }, out)).toBeNull();
    expect(convolve(convolution, Tensor.empty([1, 8, 11, 13], 'float64'))).toBeNull();
    expect(
      convolve(convolution, Tensor.empty([1, 8, 11, 26], 'float32').asStrided(out.sizes, [2288, 286, 26, 2])),
    ).toBeNull();
    expect(wasmConvolutions(() => null)(convolution, out)).toBeNull();
    const small = convolutionOf(argumentsOf(tensorOf([1, 1, 4, 4]), tensorOf([1, 1, 3, 3])));
    expect(convolve(small, Tensor.empty([1, 1, 2, 2], 'float32'))).toBeNull();
  });
});
