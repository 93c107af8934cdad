import type { OperatorRow } from '../../table/row.ts';
import { embeddingBagRows } from './embedding-bag.ts';
import { mkldnnRows } from './mkldnn.ts';
import { nativeNormalizationRows } from './native-normalization.ts';
import { rescalingRows } from './rescaling.ts';
import { unfoldRows } from './unfold.ts';
import { unpoolingRows } from './unpooling.ts';

/** Rarer layers, those of oneDNN, weights rescaled, and normalisations that give their statistics too. */
export const layerRows: readonly OperatorRow[] = [
  ...unfoldRows,
  ...nativeNormalizationRows,
  ...rescalingRows,
  ...embeddingBagRows,
  ...unpoolingRows,
  ...mkldnnRows,
];
