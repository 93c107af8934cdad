import { CressetError } from '@cresset/ir';
import type { ScalarType } from './scalar-type.ts';
import type { Storage } from './storage.ts';
import { contiguousStrides, Tensor } from './tensor.ts';

function refuse(what: string): never {
  throw new CressetError(
    'TENSOR_NESTED',
    `Internal error: NestedTensorImpl doesn't support ${what}. Please file an issue.`,
  );
}

/**
 * Sequences of vectors, not all of one length (PyTorch's nested tensors of strided layout, as far as transformer encoders make them).
 *
 * The storage holds them filled up to one length, `[batch, longest, width]`, and behind those a number for each vector: 1 where it
 * is one, 0 where it only fills up. So nobody has to know the lengths, which often only the device does, and kernels see tensors
 * like any other. What asks for sizes or strides gets PyTorch's error.
 */
export class NestedTensor extends Tensor {
  constructor(
    storage: Storage,
    dtype: ScalarType,
    /** `[batch, longest, width]`. */
    readonly paddedSizes: readonly [number, number, number],
  ) {
    super(storage, dtype, [], []);
    Object.defineProperties(this, {
      sizes: { get: () => refuse('sizes') },
      strides: { get: () => refuse('strides') },
      symSizes: { get: () => refuse('sizes') },
      symStrides: { get: () => refuse('strides') },
    });
  }

  /** Elements that a storage of such sequences has. */
  static elementsOf([batch, longest, width]: readonly number[]): number {
    return batch * longest * (width + 1);
  }

  override get dim(): number {
    return this.paddedSizes.length;
  }

  /** Elements with those that fill up: an upper bound. */
  override get numel(): number {
    return NestedTensor.elementsOf(this.paddedSizes);
  }

  override get symNumel(): number {
    return this.numel;
  }

  /** The sequences as `[batch, longest, width]`, a view. */
  get padded(): Tensor {
    return new Tensor(this.storage, this.dtype, this.paddedSizes, contiguousStrides(this.paddedSizes));
  }

  /** Which vectors count, as `[batch, longest]` of 1 and 0, a view. */
  get counted(): Tensor {
    const [batch, longest, width] = this.paddedSizes;
    return new Tensor(this.storage, this.dtype, [batch, longest], [longest, 1], batch * longest * width);
  }
}
