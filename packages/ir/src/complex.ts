/** A complex number as TorchScript constants and attributes hold it. Immutable. */
export class Complex {
  readonly re: number;
  readonly im: number;

  constructor(re: number, im: number) {
    this.re = re;
    this.im = im;
  }

  equals(other: Complex): boolean {
    return Object.is(this.re, other.re) && Object.is(this.im, other.im);
  }
}
