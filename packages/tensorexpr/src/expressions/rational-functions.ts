/**
 * An odd function over float32, as devices compute it: `x` times a quotient of polynomials in `x²` up to a bound, beyond which it is what it is there.
 * Coefficients begin with that of the constant.
 */
export interface RationalFunction {
  readonly bound: number;
  readonly above: readonly number[];
  readonly below: readonly number[];
}

/** Of the tangent as far as 0.0004, below which `x` itself is nearer. */
export const tanhRational: RationalFunction = {
  bound: 7.905311,
  above: [
    4.89352455891786e-3, 6.37261928875436e-4, 1.48572235717979e-5, 5.12229709037114e-8, -8.60467152213735e-11,
    2.00018790482477e-13, -2.76076847742355e-16,
  ],
  below: [4.89352518554385e-3, 2.268434632439e-3, 1.18534705686654e-4, 1.19825839466702e-6],
};

/** The value is ±1 in single precision beyond the bound. */
export const erfRational: RationalFunction = {
  bound: 4,
  above: [
    -1.60960333262415e-2, -2.95459980854025e-3, -7.34990630326855e-4, -5.69250639462346e-5, -2.10102402082508e-6,
    2.77068142495902e-8, -2.72614225801306e-10,
  ],
  below: [-1.42647390514189e-2, -7.37332916720468e-3, -1.68282697438203e-3, -2.13374055278905e-4, -1.45660718464996e-5],
};
