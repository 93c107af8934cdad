import type { ScriptObject } from '@cresset/tensor';
import { packedConvolutionWeight } from './convolution.ts';
import { packLinearWeight } from './linear.ts';
import { PACKED } from './packed-weights.ts';
import { finish, type Pieces } from '../../kernels/loops/pieces.ts';

/** Classes whose weights take another form for products. Tables of embeddings are read as they are, and cells hold linear layers. */
const PACKINGS: Readonly<Record<string, (packed: ScriptObject) => Pieces<unknown>>> = {
  [`${PACKED}quantized.LinearPackedParamsBase`]: packLinearWeight,
  [`${PACKED}quantized.Conv2dPackedParamsBase`]: packedConvolutionWeight,
  [`${PACKED}quantized.Conv3dPackedParamsBase`]: packedConvolutionWeight,
};

/**
 * What packs the weight of an object of such a class, once the weight is on the host; undefined for any other object. Products with an
 * object that was not packed do it the first time.
 */
export function packingOf(object: ScriptObject): (() => void) | undefined {
  const pack = PACKINGS[object.type.qualifiedName];
  return pack && (() => void finish(pack(object)));
}
