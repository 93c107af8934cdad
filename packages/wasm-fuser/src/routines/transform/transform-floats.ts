import { f32x4, f64x2, i32, v128, type Code, type Local } from '../../code.ts';
import type { FunctionBody, ModuleBuilder } from '../../module.ts';

/** A complex number of each of the lines that are gone over together. */
export interface ComplexCode {
  readonly re: Code;
  readonly im: Code;
}

/**
 * Lines are transformed as many at once as a vector has floats: one vector has the real parts of an element of all of them, the next one the
 * imaginary parts.
 */
export const ELEMENT_BYTES = 32;
export const PART_BYTES = 16;

/** Floats of either precision, and complex numbers made of them. */
export class TransformFloats {
  readonly lanes: 4 | 2;
  /** Bytes of a number with its imaginary part behind it. */
  readonly pairBytes: 8 | 16;
  private readonly floats: Pick<typeof f32x4, 'add' | 'sub' | 'mul' | 'const' | 'multiplyAdd'>;

  constructor(
    readonly module: ModuleBuilder,
    readonly floatBytes: 4 | 8,
  ) {
    this.lanes = floatBytes === 4 ? 4 : 2;
    this.pairBytes = floatBytes === 4 ? 8 : 16;
    this.floats = floatBytes === 4 ? f32x4 : f64x2;
  }

  sum(x: Code, y: Code): Code {
    return this.floats.add(x, y);
  }

  difference(x: Code, y: Code): Code {
    return this.floats.sub(x, y);
  }

  product(x: Code, y: Code): Code {
    return this.floats.mul(x, y);
  }

  constant(value: number): Code {
    return this.floats.const(value);
  }

  /** `x · y + sum` */
  productAdded(x: Code, y: Code, sum: Code): Code {
    return this.floats.multiplyAdd(x, y, sum, this.module.isRelaxed);
  }

  /** A float for all lines. */
  splat(address: Code, offset = 0): Code {
    return this.floatBytes === 4 ? v128.loadSplat(address, offset) : v128.loadSplatPair(address, offset);
  }

  load(address: Code, offset = 0): ComplexCode {
    return { re: v128.load(address, offset), im: v128.load(address, offset + PART_BYTES) };
  }

  store(address: Code, { re, im }: ComplexCode, offset = 0): Code {
    return [v128.store(address, re, offset), v128.store(address, im, offset + PART_BYTES)];
  }

  /** Real and imaginary parts of vectors in which those of one line lie beside each other. */
  parts(low: Code, high: Code): ComplexCode {
    return this.lanes === 4
      ? { re: v128.shuffle(low, high, [0, 2, 4, 6]), im: v128.shuffle(low, high, [1, 3, 5, 7]) }
      : { re: v128.shuffle(low, high, [0, 1, 4, 5]), im: v128.shuffle(low, high, [2, 3, 6, 7]) };
  }

  /** The other way round: what `parts` takes, of real and imaginary parts. */
  pairs(re: Code, im: Code): readonly [low: Code, high: Code] {
    return this.lanes === 4
      ? [v128.shuffle(re, im, [0, 4, 1, 5]), v128.shuffle(re, im, [2, 6, 3, 7])]
      : [v128.shuffle(re, im, [0, 1, 4, 5]), v128.shuffle(re, im, [2, 3, 6, 7])];
  }

  loadLane(address: Code, vector: Code, lane: number): Code {
    return this.floatBytes === 4 ? v128.loadLane(address, vector, lane) : v128.loadHalf(address, vector, lane);
  }

  storeLane(address: Code, vector: Code, lane: number): Code {
    return this.floatBytes === 4 ? v128.storeLane(address, vector, lane) : v128.storeTwoLanes(address, vector, lane);
  }
}

/** Complex numbers that a function works out one after the other, each of which it keeps. */
export class ComplexSteps {
  readonly steps: Code[] = [];

  constructor(
    private readonly floats: TransformFloats,
    private readonly body: FunctionBody,
  ) {}

  keepVector(code: Code): Code {
    const local = this.body.vector();
    this.steps.push(local.set(code));
    return local.get;
  }

  keep({ re, im }: ComplexCode): ComplexCode {
    return { re: this.keepVector(re), im: this.keepVector(im) };
  }

  load(address: Code, offset = 0): ComplexCode {
    return this.keep(this.floats.load(address, offset));
  }

  sum(x: ComplexCode, y: ComplexCode): ComplexCode {
    return this.keep({ re: this.floats.sum(x.re, y.re), im: this.floats.sum(x.im, y.im) });
  }

  difference(x: ComplexCode, y: ComplexCode): ComplexCode {
    return this.keep({ re: this.floats.difference(x.re, y.re), im: this.floats.difference(x.im, y.im) });
  }

  /** `x · factor + y` for a real factor. */
  scaledSum(x: ComplexCode, factor: Code, y: ComplexCode): ComplexCode {
    const part = (a: Code, b: Code): Code => this.floats.productAdded(a, factor, b);
    return this.keep({ re: part(x.re, y.re), im: part(x.im, y.im) });
  }

  scaled(x: ComplexCode, factor: Code): ComplexCode {
    return this.keep({ re: this.floats.product(x.re, factor), im: this.floats.product(x.im, factor) });
  }

  /** `x - i · y` and `x + i · y` */
  crossed(x: ComplexCode, y: ComplexCode): readonly [ComplexCode, ComplexCode] {
    const { floats } = this;
    return [
      this.keep({ re: floats.sum(x.re, y.im), im: floats.difference(x.im, y.re) }),
      this.keep({ re: floats.difference(x.re, y.im), im: floats.sum(x.im, y.re) }),
    ];
  }

  product(x: ComplexCode, y: ComplexCode): ComplexCode {
    const { floats } = this;
    return this.keep({
      re: floats.difference(floats.product(x.re, y.re), floats.product(x.im, y.im)),
      im: floats.productAdded(x.re, y.im, floats.product(x.im, y.re)),
    });
  }
}

/** Elements that so many of them lie behind an address. */
export const elementsOn = (address: Code, count: Code): Code =>
  i32.add(address, i32.mul(count, i32.const(ELEMENT_BYTES)));

/** Goes on as long as an address is below another, and once in any case. */
export const isBelow = (address: Local, end: Code): Code => i32.ltUnsigned(address.get, end);
