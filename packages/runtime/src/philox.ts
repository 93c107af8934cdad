import type { RandomGenerator } from '@cresset/operators';

const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const ROUNDS = 10;

/** The upper 32 bits of the 64-bit product of two unsigned 32-bit numbers. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  return (
    (aHigh * bHigh + Math.floor((aLow * bHigh + (middle % 0x10000)) / 0x10000) + Math.floor(middle / 0x10000)) >>> 0
  );
}

/**
 * Four random words from a 128-bit counter and a 64-bit key (Philox 4x32-10 of Salmon et al., "Parallel random numbers: as
 * easy as 1, 2, 3"). No state: word `i` of a stream can be worked out anywhere, on a GPU too.
 */
export function philox4x32(counter: Uint32Array, key0: number, key1: number, result: Uint32Array): void {
  let [c0, c1, c2, c3] = counter;
  let k0 = key0 >>> 0;
  let k1 = key1 >>> 0;
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0);
    const low0 = Math.imul(MULTIPLIER_0, c0) >>> 0;
    const high1 = multiplyHigh(MULTIPLIER_1, c2);
    const low1 = Math.imul(MULTIPLIER_1, c2) >>> 0;
    c0 = (high1 ^ c1 ^ k0) >>> 0;
    c1 = low1;
    c2 = (high0 ^ c3 ^ k1) >>> 0;
    c3 = low0;
    k0 = (k0 + WEYL_0) >>> 0;
    k1 = (k1 + WEYL_1) >>> 0;
  }
  result[0] = c0;
  result[1] = c1;
  result[2] = c2;
  result[3] = c3;
}

/**
 * The default generator of a run: Philox 4x32-10, PyTorch's generator on GPUs (at::Philox4_32). PyTorch's CPU generator is
 * the Mersenne Twister, so equal seeds give equal distributions there and here, but not equal numbers.
 */
export class PhiloxGenerator implements RandomGenerator {
  readonly #counter = new Uint32Array(4);
  readonly #words = new Uint32Array(4);
  #key0 = 0;
  #key1 = 0;
  #used = 4;
  #spareNormal: number | null = null;
  #seed = 0n;

  /** @param seed 64 bits; PyTorch's default seed where absent. */
  constructor(seed = 67280421310721n) {
    this.manualSeed(seed);
  }

  /** The seed the stream was last started with. */
  get initialSeed(): bigint {
    return this.#seed;
  }

  manualSeed(seed: bigint): void {
    const bits = BigInt.asUintN(64, seed);
    this.#seed = bits;
    this.#key0 = Number(bits & 0xffffffffn);
    this.#key1 = Number(bits >> 32n);
    this.#counter.fill(0);
    this.#used = 4;
    this.#spareNormal = null;
  }

  nextUint32(): number {
    if (this.#used === 4) {
      philox4x32(this.#counter, this.#key0, this.#key1, this.#words);
      this.#advanceCounter();
      this.#used = 0;
    }
    return this.#words[this.#used++];
  }

  nextUniform(): number {
    const high = this.nextUint32() >>> 5;
    const low = this.nextUint32() >>> 6;
    return (high * 0x4000000 + low) / 0x20000000000000;
  }

  /** A draw from the standard normal distribution (Box-Muller, which gives two at a time). */
  nextNormal(): number {
    if (this.#spareNormal !== null) {
      const spare = this.#spareNormal;
      this.#spareNormal = null;
      return spare;
    }
    // 1 - u is in (0, 1], whose logarithm is finite.
    const radius = Math.sqrt(-2 * Math.log(1 - this.nextUniform()));
    const angle = 2 * Math.PI * this.nextUniform();
    this.#spareNormal = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }

  #advanceCounter(): void {
    for (let word = 0; word < 4; word++) {
      // Storing to a Uint32Array wraps: a carry goes on only from a word that became 0.
      this.#counter[word] += 1;
      if (this.#counter[word] !== 0) return;
    }
  }
}
