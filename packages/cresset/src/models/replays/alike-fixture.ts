import { List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { expect } from 'vitest';

/**
 * Expects what was made on a device to be what the program comes to without one.
 *
 * @param allowed how far elements may be apart, as a part of those above 1
 */
export async function expectAlike(got: IValue, wanted: IValue, allowed = 1e-4, message?: string): Promise<void> {
  if (wanted instanceof Tuple || wanted instanceof List) {
    const { items } = got as List;
    expect(items.length, message).toBe(wanted.items.length);
    for (const [at, item] of wanted.items.entries()) await expectAlike(items[at], item, allowed, message);
    return;
  }
  if (!(wanted instanceof Tensor)) return expect(got, message).toBe(wanted);
  const tensor = got as Tensor;
  await tensor.storage.toHost();
  expect([tensor.dtype, tensor.sizes, tensor.strides], message).toEqual([wanted.dtype, wanted.sizes, wanted.strides]);
  const [found, elements] = [tensor, wanted].map((each) => Array.from(each.contiguousArray(), Number));
  const isFar = (each: number, at: number): boolean =>
    !Object.is(each, elements[at]) && !(Math.abs(each - elements[at]) < allowed * Math.max(1, Math.abs(elements[at])));
  expect(found.findIndex(isFar), message).toBe(-1);
}
