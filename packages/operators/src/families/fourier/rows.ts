import type { OperatorRow } from '../../table/row.ts';
import { fftRows } from './fft.ts';
import { istftRows } from './istft.ts';
import { stftRows } from './stft.ts';
import { windowRows } from './window-functions.ts';

/** Fourier transforms, spectrograms, and the windows that go with them. */
export const fourierRows: readonly OperatorRow[] = [...fftRows, ...stftRows, ...istftRows, ...windowRows];
