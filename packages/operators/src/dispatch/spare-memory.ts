import { elementSize, Storage, type Tensor, type ScalarType } from '@cresset/tensor';

/** Tensors that nobody needs any more, those given last at the end. */
const spares: Tensor[] = [];
const MOST_SPARES = 8;

/** Gives up a tensor for results to come: memory that was just used lies in the processor's cache still, and nothing has to fill it with zeros. */
export function giveMemory(tensor: Tensor): void {
  if (spares.push(tensor) > MOST_SPARES) spares.shift();
}

/** A storage of `count` elements, which hold anything. */
export function takeMemory(dtype: ScalarType, count: number): Storage {
  for (let at = spares.length - 1; at >= 0; at--) {
    const spare = spares[at];
    if (spare.dtype !== dtype || spare.storage.byteLength !== count * elementSize(dtype)) continue;
    spares.splice(at, 1);
    return spare.storage;
  }
  return Storage.zeros(dtype, count);
}
