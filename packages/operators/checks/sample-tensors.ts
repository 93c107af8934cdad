import { Tensor, type HostArray, type ScalarType } from '@cresset/tensor';

/** How long the sides of a tensor are that has about so many elements in so many dimensions. */
export const side = (elements: number, dim: number): number => Math.max(2, Math.floor(elements ** (1 / dim)));

const made = new Map<string, Tensor>();

/** A tensor of numbers between 0 and 1, or of the integers 0 to 3, made once. */
export function tensorOf(sizes: readonly number[], dtype: ScalarType): Tensor {
  const key = `${dtype} ${sizes.join(' ')}`;
  let tensor = made.get(key);
  if (!tensor) {
    tensor = Tensor.empty(sizes, dtype);
    fill(tensor.storageArray());
    made.set(key, tensor);
  }
  return tensor;
}

/** Elements after which those of a tensor come again. */
const PERIOD = 4 * 1009;

function fill(array: HostArray): void {
  const { length } = array;
  const period = Math.min(length, PERIOD);
  if (array instanceof BigInt64Array) for (let at = 0; at < period; at++) array[at] = BigInt((at * 7) & 3);
  else if (array instanceof Float32Array) for (let at = 0; at < period; at++) array[at] = ((at * 37) % 1009) / 1009;
  else for (let at = 0; at < period; at++) array[at] = at & 1;
  for (let done = period; done < length; done *= 2) array.copyWithin(done, 0, done);
}

/** Gives up the tensors that were made. */
export const forgetTensors = (): void => made.clear();
