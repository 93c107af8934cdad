import { Tensor, Tuple, List, type IValue } from '@cresset/tensor';

/** Visits of a place that are remembered: the one that came again last goes last. */
const maxSeen = 512;

/** What visits of a place looked like for which nothing was recorded, and how often: only what comes again is worth a recording. */
export class SeenVisits {
  readonly #counts = new Map<number, number>();

  /**
   * Notes a visit. Gives whether one like it is worth a recording: the second is, and where that is of no use the fourth, the eighth and so on.
   */
  comesAgain(likeness: number): boolean {
    const count = (this.#counts.get(likeness) ?? 0) + 1;
    this.#counts.delete(likeness);
    this.#counts.set(likeness, count);
    if (this.#counts.size > maxSeen) this.#counts.delete(this.#counts.keys().next().value!);
    return count > 1 && (count & (count - 1)) === 0;
  }
}

const float64 = new Float64Array(1);
const words = new Int32Array(float64.buffer);

/**
 * A number that values of other sizes, strides, dtypes, lengths or numbers have another one of, nearly always. Elements are nothing to it, nor which
 * object it is.
 *
 * @param isOpen whether it may be any number, or a tensor that begins anywhere
 * @param hash of the values before it
 */
export function likenessOf(value: IValue | undefined, isOpen: boolean, hash: number): number {
  switch (typeof value) {
    case 'number':
    case 'bigint':
    case 'boolean':
      return isOpen ? hash : mixNumber(Number(value), hash);
    case 'string':
      return mixText(value, hash);
    default:
      if (value instanceof Tensor) return likenessOfTensor(value, isOpen, hash);
      return mix(value instanceof List || value instanceof Tuple ? value.items.length : -1, hash);
  }
}

function likenessOfTensor({ dtype, sizes, strides, handedOnOffset }: Tensor, isOpen: boolean, hash: number): number {
  let mixed = mixNumber(isOpen ? 0 : handedOnOffset, mixText(dtype, hash));
  for (const size of sizes) mixed = mix(size, mixed);
  for (const stride of strides) mixed = mix(stride, mixed);
  return mixed;
}

function mixText(text: string, hash: number): number {
  let mixed = mix(text.length, hash);
  for (let at = 0; at < text.length; at++) mixed = mix(text.charCodeAt(at), mixed);
  return mixed;
}

function mixNumber(value: number, hash: number): number {
  float64[0] = value;
  return mix(words[1], mix(words[0], hash));
}

function mix(word: number, hash: number): number {
  const mixed = Math.imul(hash ^ word, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
