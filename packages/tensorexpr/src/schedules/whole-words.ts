import { hint, elementSize, type ScalarType } from '@cresset/tensor';
import type { DeviceCapabilities } from '../device.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import { LinearForms } from '../expressions/linear-form.ts';
import type { LoopNest, Store } from '../kernels/kernel.ts';

/** How many elements of a dtype share a word of a GPU's memory, of which a thread can't store one by itself. */
export function elementsOfWord(dtype: ScalarType, { f16 }: Pick<DeviceCapabilities, 'f16'>): 1 | 2 | 4 {
  const size = elementSize(dtype);
  return size >= 4 || (f16 && dtype === 'float16') ? 1 : size === 1 ? 4 : 2;
}

/** Which stores of a nest are made a word at a time, by a thread that has all of its elements. */
export interface WholeWords {
  /** Elements of a word; 1 where no store is one of these. */
  readonly elements: 1 | 2 | 4;
  /** For each store of the nest; empty where no store is. */
  readonly stores: readonly boolean[];
}

export const noWholeWords: WholeWords = { elements: 1, stores: [] };

/**
 * Finds the stores whose elements lie beside each other in the order of the points, from the beginning of a word on; what is left of the last word
 * belongs to nobody. Of elements of different widths the narrowest are stored so.
 */
export function wholeWordsOf(nest: LoopNest, capabilities: Pick<DeviceCapabilities, 'f16'>): WholeWords {
  const forms = new LinearForms();
  const counts = nest.stores.map((store): number => {
    const count = elementsOfWord(store.operand.dtype, capabilities);
    return count > 1 && isContiguous(nest, store, count, forms) ? count : 1;
  });
  const elements = Math.max(...counts) as WholeWords['elements'];
  return elements > 1 ? { elements, stores: counts.map((count) => count === elements) } : noWholeWords;
}

function isContiguous(nest: LoopNest, store: Store, elements: number, forms: LinearForms): boolean {
  if (nest.innerAxes.length > 0 || store.guard || store.combine) return false;
  const { base: first, terms, rest } = forms.of(store.offset);
  const base = hint(first);
  if (rest || base % elements !== 0 || terms.size !== nest.axes.length) return false;
  let stride = 1;
  for (const axis of nest.axes.toReversed()) {
    if (terms.get(axis) !== stride) return false;
    stride *= extentOf(axis);
  }
  const { dtype, tensor } = store.operand;
  const { storage } = tensor;
  const end = base + pointsOf(nest.axes);
  return end % elements === 0 || end === (storage.symBytes?.value ?? storage.guardedByteLength) / elementSize(dtype);
}
