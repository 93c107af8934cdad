import { CressetError } from '@cresset/ir';
import { describe, expect, it } from 'vitest';
import { tensor, Tensor } from './tensor.ts';

const described = (value: Tensor): unknown[] => [value.dtype, value.shape, value.tolist()];

function codeOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    expect(error).toBeInstanceOf(CressetError);
    return (error as CressetError).code;
  }
  return 'no error';
}

describe('tensor', () => {
  it('takes nested arrays, and infers what JavaScript tells', () => {
    expect(
      described(
        tensor([
          [1, 2, 3],
          [4, 5, 6],
        ]),
      ),
    ).toEqual([
      'float32',
      [2, 3],
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
    ]);
    expect(described(tensor([1n, -2n]))).toEqual(['int64', [2], [1, -2]]);
    expect(described(tensor([true, false]))).toEqual(['bool', [2], [true, false]]);
    expect(described(tensor(3))).toEqual(['float32', [], 3]);
    expect(described(tensor([[]]))).toEqual(['float32', [1, 0], [[]]]);
  });

  it('takes typed arrays as their own type, copied', () => {
    const source = new Float32Array([1, 2]);
    const made = tensor(source);
    source[0] = 9;
    expect(described(made)).toEqual(['float32', [2], [1, 2]]);
    expect(described(tensor(new Uint8ClampedArray([255]), [1, 1]))).toEqual(['uint8', [1, 1], [[255]]]);
    expect(described(tensor(new BigInt64Array([2n ** 60n])))).toEqual(['int64', [1], [2n ** 60n]]);
    expect(described(tensor(new Uint8Array([0, 7]), { dtype: 'bool' }))).toEqual(['bool', [2], [false, true]]);
  });

  it('takes half precision as bits, or rounds to it', () => {
    expect(described(tensor(new Uint16Array([0x3c00, 0xc000]), { dtype: 'float16' }))).toEqual([
      'float16',
      [2],
      [1, -2],
    ]);
    expect(described(tensor(new Uint16Array([0x3f80]), { dtype: 'bfloat16' }))).toEqual(['bfloat16', [1], [1]]);
    expect(described(tensor([0.1], { dtype: 'float16' }))).toEqual(['float16', [1], [0.0999755859375]]);
    expect(codeOf(() => tensor(new Uint16Array([1])))).toBe('TENSOR_DTYPE');
  });

  it('converts to the dtype asked for', () => {
    expect(described(tensor([1, 2], { dtype: 'int64' }))).toEqual(['int64', [2], [1, 2]]);
    expect(described(tensor(new Float64Array([1.5, 2]), { dtype: 'float32' }))).toEqual(['float32', [2], [1.5, 2]]);
    expect(described(tensor([[1, 2]], { dtype: 'complex64' }))).toEqual(['complex64', [1], [[1, 2]]]);
    expect(codeOf(() => tensor([1.5], { dtype: 'int64' }))).toBe('TENSOR_DTYPE');
    expect(codeOf(() => tensor([1], { dtype: 'float8' as 'float32' }))).toBe('TENSOR_DTYPE');
  });

  it('refuses shapes that the data does not fill', () => {
    expect(codeOf(() => tensor([1, 2, 3], { shape: [2, 2] }))).toBe('TENSOR_SHAPE');
    expect(codeOf(() => tensor([[1, 2], [3]]))).toBe('TENSOR_SHAPE');
    expect(codeOf(() => tensor([1, [2]]))).toBe('TENSOR_SHAPE');
    expect(codeOf(() => tensor([1], { shape: [-1] }))).toBe('TENSOR_SHAPE');
  });

  it('refuses numbers that would be others as elements', () => {
    const tooLarge: [number | bigint, string][] = [
      [300, 'uint8'],
      [-1, 'uint8'],
      [128, 'int8'],
      [-129, 'int8'],
      [40_000, 'int16'],
      [3e9, 'int32'],
      [2n ** 31n, 'int32'],
      [2n ** 63n, 'int64'],
      [2 ** 63, 'int64'],
      [65_536, 'uint16'],
      [-1n, 'uint64'],
    ];
    for (const [value, dtype] of tooLarge) {
      expect(() => tensor([value], { dtype: dtype as 'int8' })).toThrow(
        `value cannot be converted to type ${dtype} without overflow: ${value} is not between `,
      );
    }
    expect(() => tensor(new Float32Array([256]), { dtype: 'uint8' })).toThrow('256 is not between 0 and 255');
    expect(codeOf(() => tensor([Number.NaN], { dtype: 'int32' }))).toBe('TENSOR_DTYPE');
    expect(codeOf(() => tensor([1.5], { dtype: 'uint8' }))).toBe('TENSOR_DTYPE');
    const ends = tensor([-(2 ** 31), 2 ** 31 - 1], { dtype: 'int32' });
    expect(ends.tolist()).toEqual([-(2 ** 31), 2 ** 31 - 1]);
    expect(tensor([true, 255n], { dtype: 'uint8' }).tolist()).toEqual([1, 255]);
    expect(tensor([2n ** 64n - 1n], { dtype: 'uint64' }).tolist()).toEqual([2n ** 64n - 1n]);
  });

  it('is written as JSON with all it has, and read again', () => {
    const quantised = new Tensor(new Uint8Array([1, 200]).buffer, [2], 'quint8', {
      scales: [0.5],
      zeroPoints: [3],
      axis: null,
    });
    const tensors = [
      tensor([[1.5, Number.NaN, -Infinity]]),
      tensor([2n ** 60n, -3n]),
      tensor([true, false]),
      tensor([0.1, 65504], { dtype: 'float16' }),
      tensor([[1, 2]], { dtype: 'complex64' }),
      tensor(7, { dtype: 'uint64' }),
      tensor([], { shape: [0, 3] }),
      quantised,
    ];
    expect(JSON.parse(JSON.stringify(tensors[0]))).toEqual({
      dtype: 'float32',
      shape: [1, 3],
      data: [1.5, 'NaN', '-Infinity'],
    });
    for (const each of tensors) {
      const again = Tensor.fromJSON(JSON.parse(JSON.stringify(each)));
      expect([...described(again), again.quantizer]).toEqual([...described(each), each.quantizer]);
    }
    expect(codeOf(() => Tensor.fromJSON({ dtype: 'float32', shape: [3], data: [1] }))).toBe('TENSOR_SHAPE');
  });

  it('gives its one element, and nothing once disposed of', () => {
    const one = tensor([[7]], { dtype: 'int64' });
    expect(one.item()).toBe(7);
    expect(codeOf(() => tensor([1, 2]).item())).toBe('TENSOR_ITEM');
    one.dispose();
    expect(codeOf(() => one.data)).toBe('TENSOR_DISPOSED');
  });

  it('arrives where it is posted or cloned as its parts, which make it again', async () => {
    const quantized = new Tensor(new Int8Array([1, 2, 3]).buffer, [3], 'qint8', {
      scales: [0.5],
      zeroPoints: [1],
      axis: null,
    });
    const originals = [
      tensor([[1, 2, 3]]),
      tensor(7),
      tensor([], [0, 2]),
      tensor([1n, 2n ** 60n]),
      tensor([true, false]),
      tensor([1, 2], { dtype: 'float16' }),
      tensor([[1, 2]], { dtype: 'complex64' }),
      quantized,
    ];
    const { port1, port2 } = new MessageChannel();
    const posted = new Promise<Tensor[]>((resolve) => (port2.onmessage = ({ data }) => resolve(data as Tensor[])));
    port1.postMessage(originals);
    for (const copies of [structuredClone(originals), await posted]) {
      for (const [index, copy] of copies.entries()) {
        expect(copy).not.toBeInstanceOf(Tensor);
        const made = tensor(copy);
        expect(made).toBeInstanceOf(Tensor);
        expect(described(made)).toEqual(described(originals[index]));
        expect([made.quantizer, made.data]).toEqual([originals[index].quantizer, originals[index].data]);
        expect(made.data).not.toBe(copy.data);
      }
    }
    port1.close();
    expect(described(tensor(originals[0]))).toEqual(described(originals[0]));
  });

  it('can be moved, and has no clone after it was disposed of', () => {
    const moved = tensor([1, 2, 3]);
    const { data } = structuredClone(moved, { transfer: [moved.data.buffer] });
    expect([...(data as Float32Array)]).toEqual([1, 2, 3]);
    expect(moved.data).toHaveLength(0);
    const disposed = tensor([1]);
    disposed.dispose();
    expect(codeOf(() => structuredClone(disposed))).toBe('TENSOR_DISPOSED');
    expect(codeOf(() => tensor(disposed))).toBe('TENSOR_DISPOSED');
  });

  it('is made of parts that fit each other, and of nothing beside them', () => {
    const data = new Float32Array(3);
    expect(codeOf(() => tensor({ dtype: 'float32', shape: [2], data }))).toBe('TENSOR_SHAPE');
    expect(codeOf(() => tensor({ dtype: 'float32', shape: [3] } as never))).toBe('TENSOR_SHAPE');
    expect(codeOf(() => tensor({ dtype: 'float33', shape: [3], data } as never))).toBe('TENSOR_DTYPE');
    expect(codeOf(() => tensor({ dtype: 'float32', shape: [3], data } as never, [3]))).toBe('ARGUMENT');
  });
});
