import { Tensor, type SymInt } from '@cresset/tensor';
import { describe, expect, it } from 'vitest';
import { longs, runAll, shown, tensor, tensors } from '../../operator-fixture.ts';
import { recurrentShape, type RecurrentKind } from './recurrent-layers.ts';

const zeros = (...sizes: number[]): Tensor => Tensor.empty(sizes, 'float32');

function sizesOf(kind: RecurrentKind, params: Tensor[], hx: Tensor | Tensor[], layers = 1): (readonly SymInt[])[] {
  const options = { has_biases: true, num_layers: layers, dropout: 0, train: false, bidirectional: false };
  return recurrentShape(kind, { input: zeros(4, 2, 3), hx, params, ...options })!.map(({ sizes }) => sizes);
}

const cell = (ih: [number, number], hh: [number, number], biases = [ih[0], hh[0]]): Tensor[] => [
  zeros(...ih),
  zeros(...hh),
  ...biases.map((size) => zeros(size)),
];

describe('weights of recurrent layers', () => {
  const hidden = zeros(1, 2, 5);

  it('are taken where they go together', () => {
    expect(sizesOf('rnn_tanh', cell([5, 3], [5, 5]), hidden)[0]).toEqual([4, 2, 5]);
    expect(sizesOf('gru', [...cell([15, 3], [15, 5]), ...cell([15, 5], [15, 5])], zeros(2, 2, 5), 2)[0]).toEqual([
      4, 2, 5,
    ]);
    const projected = [...cell([24, 3], [24, 5]), zeros(5, 6)];
    expect(sizesOf('lstm', projected, [hidden, zeros(1, 2, 6)])).toEqual([
      [4, 2, 5],
      [1, 2, 5],
      [1, 2, 6],
    ]);
  });

  it.each<[RecurrentKind, Tensor[], Tensor[], string]>([
    ['rnn_tanh', cell([5, 3], [5, 7]), [], 'mat1 and mat2 shapes cannot be multiplied (2x5 and 7x5)'],
    [
      'rnn_tanh',
      cell([5, 3], [7, 5], [5, 5]),
      [],
      'The expanded size of the tensor (7) must match the existing size (5) at non-singleton dimension 1.  Target sizes: [2, 7].  Tensor sizes: [5]',
    ],
    [
      'rnn_relu',
      cell([5, 3], [7, 5]),
      [],
      'The size of tensor a (7) must match the size of tensor b (5) at non-singleton dimension 1',
    ],
    ['rnn_relu', cell([7, 3], [7, 5]), [], 'mat1 and mat2 shapes cannot be multiplied (2x7 and 5x7)'],
    [
      'gru',
      cell([15, 3], [18, 5]),
      [],
      'The size of tensor a (6) must match the size of tensor b (5) at non-singleton dimension 1',
    ],
    [
      'gru',
      cell([18, 3], [18, 5]),
      [],
      'The size of tensor a (5) must match the size of tensor b (6) at non-singleton dimension 1',
    ],
    [
      'lstm',
      cell([28, 3], [28, 5]),
      [zeros(1, 2, 5)],
      'The size of tensor a (7) must match the size of tensor b (5) at non-singleton dimension 1',
    ],
    [
      'lstm',
      [...cell([24, 3], [24, 5]), zeros(5, 7)],
      [zeros(1, 2, 6)],
      'mat1 and mat2 shapes cannot be multiplied (2x6 and 7x5)',
    ],
  ])('are refused in PyTorch’s words: %s', (kind, params, cells, message) => {
    expect(() => sizesOf(kind, params, cells.length > 0 ? [hidden, ...cells] : hidden)).toThrow(message);
  });

  it('are refused in a second layer', () => {
    const params = [...cell([5, 3], [5, 5]), ...cell([5, 6], [5, 5])];
    expect(() => sizesOf('rnn_tanh', params, zeros(2, 2, 5), 2)).toThrow(
      'mat1 and mat2 shapes cannot be multiplied (8x5 and 6x5)',
    );
  });
});

// PyTorch's answers.
describe('packed sequences', () => {
  const packed = (rows: number, sizes: Tensor, bidirectional = false): (readonly [readonly number[], number[]])[] => {
    const own = [tensor([0.5], [1, 1]), tensor([0.25], [1, 1])];
    const params = tensors(...own, ...(bidirectional ? own : []));
    const data = tensor(
      Array.from({ length: rows }, (_, row) => row + 1),
      [rows, 1],
    );
    const hidden = tensor([0, 0, 0, 0].slice(0, bidirectional ? 4 : 2), [bidirectional ? 2 : 1, 2, 1]);
    return runAll('aten::rnn_relu.data', data, sizes, hidden, params, false, 1n, 0, false, bidirectional).map(shown);
  };

  it('leave out rows behind their last step', () => {
    expect(packed(5, longs(2n, 1n))).toEqual([
      [
        [3, 1],
        [0.5, 1, 1.625],
      ],
      [
        [1, 2, 1],
        [1.625, 1],
      ],
    ]);
    expect(packed(5, longs(2n, 1n), true)[0]).toEqual([
      [3, 2],
      [0.5, 2.125, 1, 2, 1.625, 2.5],
    ]);
  });

  it('refuse to have fewer rows than their steps have', () => {
    expect(() => packed(3, longs(2n, 2n))).toThrow('start (2) + length (2) exceeds dimension size (3).');
    expect(() => packed(3, longs(2n, -1n))).toThrow('narrow(): length must be non-negative.');
    expect(() => packed(3, tensor([2, 1], [2], 'int32'))).toThrow('expected scalar type Long but found Int');
  });
});
