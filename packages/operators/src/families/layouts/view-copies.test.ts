import { IntType } from '@cresset/ir';
import { List, Tensor, type IValue } from '@cresset/tensor';
import { expect, test } from 'vitest';
import { findRow, registerAllOperators, runOnHost, type HostContext } from '../../index.ts';

registerAllOperators();

const ints = (...values: number[]): IValue => new List(IntType.get(), values.map(BigInt));

function scatter(self: Tensor, offset: bigint | null): number[] {
  const src = Tensor.fromArray(new Float32Array(4).fill(-1), [2, 2], 'float32');
  const row = findRow('aten::as_strided_scatter', '')!;
  const [result] = runOnHost(row, [self, src, ints(2, 2), ints(1, 2), offset], {} as HostContext);
  return Array.from((result as Tensor).contiguousArray() as Float32Array);
}

test('as_strided_scatter writes where the strides of its argument say', () => {
  const whole = Tensor.fromArray(
    Float32Array.from({ length: 24 }, (_, at) => at),
    [4, 6],
    'float32',
  );
  const columns = whole.asStrided([4, 3], [6, 2]);
  expect(scatter(columns, null)).toEqual([-1, -1, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22]);
  const rows = whole.asStrided([3, 4], [2, 6]);
  expect(scatter(rows, 3n)).toEqual([0, -1, 12, 18, 2, 8, 14, 20, -1, 10, 16, 22]);
});
