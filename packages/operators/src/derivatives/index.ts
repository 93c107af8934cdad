import { activationDerivatives } from './activations.ts';
import { convolutionDerivatives } from './convolution.ts';
import type { DerivativeFormulas, DerivativeTable } from './derivative.ts';
import { indexingDerivatives } from './indexing.ts';
import { lossDerivatives } from './losses.ts';
import { normalizationDerivatives } from './normalization.ts';
import { pointwiseDerivatives } from './pointwise.ts';
import { poolingDerivatives } from './pooling.ts';
import { productDerivatives } from './products.ts';
import { reductionDerivatives } from './reductions.ts';
import { fourierDerivatives } from './fourier.ts';
import { linearAlgebraDerivatives } from './linear-algebra.ts';
import { resamplingDerivatives } from './resampling.ts';
import { sequenceDerivatives } from './sequences.ts';
import { viewDerivatives } from './views.ts';

export { refusalOf, type DerivativeFormulas } from './derivative.ts';
export type { Signature } from '../table/signature.ts';
export { derivativeHelpers } from './helpers.ts';
export {
  argumentsWithoutSlope,
  isNotDifferentiable,
  complexRefusal,
  isPyTorchsRefusal,
  notImplementedMessage,
} from './not-differentiable.ts';

const table: DerivativeTable = {
  ...activationDerivatives,
  ...convolutionDerivatives,
  ...indexingDerivatives,
  ...lossDerivatives,
  ...normalizationDerivatives,
  ...pointwiseDerivatives,
  ...poolingDerivatives,
  ...productDerivatives,
  ...reductionDerivatives,
  ...fourierDerivatives,
  ...linearAlgebraDerivatives,
  ...resamplingDerivatives,
  ...sequenceDerivatives,
  ...viewDerivatives,
};

/** The formulas of an overload, `aten::mul` and `Tensor`. An in-place operator with a row of its own has those of the other form. */
export function derivativesOf(name: string, overload: string): DerivativeFormulas | undefined {
  const plain = name.replace(/^aten::/, '');
  const keyOf = (base: string): string => (overload === '' ? base : `${base}.${overload}`);
  return table[keyOf(plain)] ?? table[keyOf(plain.replace(/(?<=[^_])_$/, ''))];
}

/** All overloads that there are formulas for. */
export const derivativeKeys = (): string[] => Object.keys(table);
