import { limitDtypes } from '../dispatch/dtype-refusals.ts';
import { fourierDtypes } from '../families/fourier/dtypes.ts';
import { audioRows } from '../families/audio/rows.ts';
import { fourierRows } from '../families/fourier/rows.ts';
import { registerFamily } from '../table/register.ts';

/** Fourier transforms and spectrograms, and what torchaudio registers. */
export function register(): void {
  registerFamily(fourierRows);
  registerFamily(audioRows);
  limitDtypes(fourierDtypes);
}
