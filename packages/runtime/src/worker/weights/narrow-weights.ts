import { halfToNumber, numberToHalf, Tensor, type IValue, type ScriptObject, type Storage } from '@cresset/tensor';

/** Storages of fewer bytes are left as they are: what they would save is less than what a buffer takes anyway. */
const LEAST_BYTES = 4096;
const LARGEST_HALF = 65504;

/**
 * Has storages of {@link narrowableStorages} rounded to float16, to lie so on the device: two elements to a word. The nearest float16 is taken, ties to
 * even. What has a finite number beyond 65504 stays as it is.
 */
export function narrowWeights(storages: Iterable<Storage>): void {
  for (const storage of storages) storage.narrow(roundToHalf);
}

/**
 * Storages of parameters and constants of float32. Small ones, and tensors that the program may write to (buffers and other attributes), are not among them.
 *
 * @param constants those of the code, as frozen and traced programs have them
 */
export function narrowableStorages(modules: Iterable<ScriptObject>, constants: readonly IValue[]): Set<Storage> {
  const storages = new Set<Storage>();
  const weights: IValue[] = [...constants];
  for (const { type, slots } of modules) {
    type.attributes.forEach(({ kind }, slot) => {
      if (kind === 'parameter') weights.push(slots[slot]);
    });
  }
  for (const weight of weights) {
    if (!(weight instanceof Tensor) || weight.dtype !== 'float32' || weight.storage.isNarrow) continue;
    const { storage } = weight;
    if (storage.byteLength >= LEAST_BYTES && storage.byteLength % 4 === 0) storages.add(storage);
  }
  return storages;
}

function roundToHalf(elements: Float32Array): boolean {
  for (let at = 0; at < elements.length; at++) {
    const magnitude = Math.abs(elements[at]);
    if (magnitude > LARGEST_HALF && magnitude !== Infinity) return false;
  }
  const words = new Uint32Array(elements.buffer, elements.byteOffset, elements.length);
  for (let at = 0; at < elements.length; at++) {
    const word = words[at];
    const magnitude = word & 0x7fffffff;
    // Numbers of float16's full precision lose thirteen bits, others go by its last place.
    if (magnitude >= 0x38800000 && magnitude < 0x7f800000) words[at] = (word + 0xfff + ((word >>> 13) & 1)) & ~0x1fff;
    else elements[at] = halfToNumber(numberToHalf(elements[at]));
  }
  return true;
}
