import { contiguousStrides, numelOf, Storage, Tensor, type ScalarType } from '@cresset/tensor';

/** Bytes that tensors take together at most. */
const maxBytes = 16 << 20;

/** A tensor that is to be made. */
export interface TensorShape {
  readonly sizes: readonly number[];
  readonly dtype: ScalarType;
}

/** Tensors of zeros. Those of float32 lie in one storage, one behind the other, which a launch binds once however many of them it changes. */
export function flatZeros(shapes: readonly TensorShape[]): Tensor[] {
  const tensors: Tensor[] = [];
  let together: number[] = [];
  let count = 0;
  const lay = (): void => {
    if (together.length === 0) return;
    const storage = Storage.zeros('float32', count);
    let first = 0;
    for (const at of together) {
      const { sizes } = shapes[at];
      tensors[at] = new Tensor(storage, 'float32', sizes, contiguousStrides(sizes), first);
      first += numelOf(sizes);
    }
    together = [];
    count = 0;
  };
  for (const [at, { sizes, dtype }] of shapes.entries()) {
    if (dtype !== 'float32') {
      tensors[at] = Tensor.empty(sizes, dtype);
      continue;
    }
    if (4 * (count + numelOf(sizes)) > maxBytes) lay();
    together.push(at);
    count += numelOf(sizes);
  }
  lay();
  return tensors;
}
