import type { OperatorRow } from '../row.ts';
import { fftRows } from './fft.ts';
import { classLossRows } from './class-loss.ts';
import { ctcLossRows } from './ctc-loss.ts';
import { distanceRows } from './distance.ts';
import { initializationRows } from './initialization.ts';
import { embeddingBagRows } from './embedding-bag.ts';
import { gridSamplerRows } from './grid-sampler.ts';
import { groupedProductRows } from './grouped-product.ts';
import { istftRows } from './istft.ts';
import { kthvalueRows } from './kthvalue.ts';
import { lossRows } from './loss.ts';
import { productChainRows } from './product-chain.ts';
import { nativeNormalizationRows } from './native-normalization.ts';
import { stftRows } from './stft.ts';
import { tensordotRows } from './tensordot.ts';
import { unfoldRows } from './unfold.ts';
import { unpoolingRows } from './unpooling.ts';
import { windowRows } from './window-functions.ts';

/** Neural network operators of training and of rarer layers: losses, distances, unpooling, window functions. */
export const extraNnRows: readonly OperatorRow[] = [
  ...unfoldRows,
  ...fftRows,
  ...tensordotRows,
  ...nativeNormalizationRows,
  ...kthvalueRows,
  ...stftRows,
  ...istftRows,
  ...gridSamplerRows,
  ...groupedProductRows,
  ...embeddingBagRows,
  ...productChainRows,
  ...lossRows,
  ...initializationRows,
  ...classLossRows,
  ...ctcLossRows,
  ...distanceRows,
  ...unpoolingRows,
  ...windowRows,
];
