import { Tensor } from '@cresset/tensor';
import type { Tensor as PageTensor } from '../page/values/tensor.ts';

/** A page's tensor as programs have it; the elements are copied. */
export function runtimeTensor({ data, shape, dtype }: PageTensor): Tensor {
  return Tensor.fromArray(data.slice() as typeof data, shape, dtype);
}
