import type { OperatorRow } from '../../table/row.ts';
import { gridSamplerRows } from './grid-sampler.ts';
import { resamplingRows } from './upsample.ts';

/** Tensors at other resolutions, and at positions that a grid says. */
export const resamplingFamilyRows: readonly OperatorRow[] = [...resamplingRows, ...gridSamplerRows];
