import { isComplex, isFloatingPoint } from '@cresset/tensor';
import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';
import { each, type WritingRule } from '../../dispatch/writable-dtypes.ts';

const complexOutput = (name: string): WritingRule => ({
  takes: (_, out) => isComplex(out),
  message: `${name} expects a complex output tensor, but got {got}`,
});
const floatingOutput = (name: string): WritingRule => ({
  takes: (_, out) => isFloatingPoint(out),
  message: `${name} expects a floating point output tensor, but got {got}`,
});

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const fourierDtypes: DtypeLimits = {
  refused: [
    ['Only supports floating-point dtypes, but found: {D}', 'c', 'fft_ihfft2 fft_ihfftn'],
    ['rfftn expects a real-valued input tensor, but got {D}', 'c', 'fft_rfft2 fft_rfftn'],
    ["MKL FFT doesn't support tensors of type: {D}", 'hb', 'stft'],
  ],
  written: [
    ...each('fft_fft fft_ifft fft_rfft fft_ihfft', complexOutput),
    ...each('fft_fft2 fft_fftn fft_ifft2 fft_ifftn', complexOutput('fftn')),
    ...each('fft_rfft2 fft_rfftn', complexOutput('rfftn')),
    ...each('fft_ihfft2 fft_ihfftn', complexOutput('ihfftn')),
    ...each('fft_irfft fft_hfft', floatingOutput),
    ...each('fft_irfft2 fft_irfftn', floatingOutput('irfftn')),
    ...each('fft_hfft2 fft_hfftn', floatingOutput('hfftn')),
  ],
};
