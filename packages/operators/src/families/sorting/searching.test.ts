import type { IValue, Tensor } from '@cresset/tensor';
import { describe, expect, it, test } from 'vitest';
import { elements, longs, run, tensor } from '../../operator-fixture.ts';
import { runLowered } from '../../oracle/run-lowered.ts';
import { registerAllOperators } from '../../register-all.ts';
import { findRow } from '../../table/register.ts';

registerAllOperators();

const onHost = (name: string, ...args: IValue[]): Tensor => run(`aten::${name}`, ...args) as Tensor;
function lowered(name: string, ...args: IValue[]): Tensor {
  const [base, overload] = name.split('.');
  return runLowered(findRow(`aten::${base}`, overload)!, args)[0];
}

// Results are PyTorch's.
describe.each([
  ['the host', onHost],
  ['devices', lowered],
])('places among boundaries of another dtype, on %s', (_, find) => {
  const places = (values: IValue, boundaries: Tensor, right = false): number[] => {
    const form = typeof values === 'object' ? 'Tensor' : 'Scalar';
    const found = elements(find(`bucketize.${form}`, values, boundaries, false, right)).map(Number);
    if (form === 'Tensor') {
      expect(elements(find('searchsorted.Tensor', boundaries, values, false, right, null, null)).map(Number)).toEqual(
        found,
      );
    }
    return found;
  };

  it('are looked for in the dtype of both', () => {
    expect(places(tensor([2.5, 3]), longs(1n, 2n, 3n))).toEqual([2, 2]);
    expect(places(tensor([2.5, 3]), longs(1n, 2n, 3n), true)).toEqual([2, 3]);
    expect(places(longs(0n, 2n), tensor([0.5, 1.5], [2], 'float64'))).toEqual([0, 2]);
    expect(places(tensor([1, 0], [2], 'bool'), tensor([0, 1], [2], 'uint8'))).toEqual([1, 0]);
    expect(places(0.5, longs(0n, 1n))).toEqual([1]);
    // 2^24 + 1 is no float32.
    expect(places(longs(16777217n), tensor([16777216]))).toEqual([0]);
  });
});

test('bools are not looked for among bools', () => {
  const flags = tensor([0, 1], [2], 'bool');
  expect(() => onHost('bucketize.Tensor', flags, flags, false, false)).toThrow(
    '"searchsorted_out_cpu" not implemented for \'Bool\'',
  );
});
