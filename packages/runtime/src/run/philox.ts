import type { RandomGenerator, RandomStream } from '@cresset/operators';

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

/** The words of a stream by their number; the four of the last counter are kept. */
class PhiloxWords {
  readonly #counter = new Uint32Array(4);
  readonly #words = new Uint32Array(4);
  #block = -1;

  constructor(private readonly key: bigint) {}

  at(position: number): number {
    const block = Math.floor(position / 4);
    if (block !== this.#block) {
      this.#counter[0] = block % 2 ** 32;
      this.#counter[1] = Math.floor(block / 2 ** 32);
      philox4x32(this.#counter, Number(this.key & 0xffffffffn), Number(this.key >> 32n), this.#words);
      this.#block = block;
    }
    return this.#words[position % 4];
  }
}

/**
 * The default generator of a run: Philox 4x32-10, PyTorch's generator on GPUs (at::Philox4_32). PyTorch's CPU generator is
 * the Mersenne Twister, so equal seeds give equal distributions there and here, but not equal numbers.
 */
export class PhiloxGenerator implements RandomGenerator {
  /** Words drawn so far. */
  #position = 0;
  #spareNormal: number | null = null;
  #seed = 0n;
  #words = new PhiloxWords(0n);

  /** @param seed 64 bits; PyTorch's default seed where absent. */
  constructor(seed = 67280421310721n) {
    this.manualSeed(seed);
  }

  manualSeed(seed: bigint): void {
    const bits = BigInt.asUintN(64, seed);
    this.#seed = bits;
    this.#words = new PhiloxWords(bits);
    this.#position = 0;
    this.#spareNormal = null;
  }

  mark(): () => void {
    const [seed, position, spare] = [this.#seed, this.#position, this.#spareNormal];
    return () => {
      this.manualSeed(seed);
      this.#position = position;
      this.#spareNormal = spare;
    };
  }

  nextUint32(): number {
    return this.#words.at(this.#position++);
  }

  nextUniform(): number {
    const low = this.nextUint32();
    return ((this.nextUint32() & 0x1fffff) * 2 ** 32 + low) * 2 ** -53;
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

  stream(count: number): RandomStream {
    // Draws are two words, and normal draws come in twos: all that is left over is passed by.
    const first = Math.ceil(this.#position / 4) * 2;
    this.#position = 2 * (first + count);
    const words = this.#words;
    return {
      key: BigInt.asIntN(64, this.#seed),
      first: BigInt(first),
      low: (draw) => words.at(2 * (first + draw)),
      high: (draw) => words.at(2 * (first + draw) + 1),
    };
  }
}
