import { scalarTypeIrName } from '@cresset/ir';
import type { Tensor } from '@cresset/tensor';
import { OperatorError } from './errors.ts';
import { sizesText } from './dimensions.ts';

/** Sizes both broadcast to (at::infer_size). */
export function broadcastSizes(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  const result = new Array<number>(rank);
  for (let dim = rank - 1; dim >= 0; dim--) {
    const sizeA = a[dim - rank + a.length] ?? 1;
    const sizeB = b[dim - rank + b.length] ?? 1;
    if (sizeA !== sizeB && sizeA !== 1 && sizeB !== 1) {
      throw new OperatorError(
        `The size of tensor a (${sizeA}) must match the size of tensor b (${sizeB}) at non-singleton dimension ${dim}`,
      );
    }
    result[dim] = sizeA === 1 ? sizeB : sizeA;
  }
  return result;
}

/** Sizes that all shapes broadcast to. */
export function broadcastAll(shapes: readonly (readonly number[])[]): readonly number[] {
  return shapes.reduce((sizes, shape) => broadcastSizes(sizes, shape), []);
}

/** Refuses what elements of `other` cannot be written into one by one, broadcast: the target keeps its sizes (at::TensorIterator). */
export function checkFitsInto(self: readonly number[], other: readonly number[]): void {
  const sizes = broadcastSizes(self, other);
  if (sizes.length !== self.length || sizes.some((size, dim) => size !== self[dim])) {
    throw new OperatorError(
      `output with shape ${sizesText(self)} doesn't match the broadcast shape ${sizesText(sizes)}`,
    );
  }
}

/** Strides under which a tensor of these sizes shows `target` sizes, which it must broadcast to. */
export function broadcastStrides(
  sizes: readonly number[],
  strides: readonly number[],
  target: readonly number[],
): number[] {
  const lead = target.length - sizes.length;
  return target.map((size, dim) => (dim < lead || (sizes[dim - lead] === 1 && size !== 1) ? 0 : strides[dim - lead]));
}

/** A view of `tensor` with `sizes`, -1 keeping a size (Tensor.expand). */
export function expand(tensor: Tensor, sizes: readonly number[]): Tensor {
  const lead = sizes.length - tensor.dim;
  if (lead < 0) {
    throw new OperatorError(
      `expand(torch.${scalarTypeIrName(tensor.dtype)}Tensor{${sizesText(tensor.sizes)}}, size=${sizesText(sizes)}): the number of sizes provided (${sizes.length}) must be greater or equal to the number of dimensions in the tensor (${tensor.dim})`,
    );
  }
  const target = sizes.map((size, dim) => (size === -1 && dim >= lead ? tensor.sizes[dim - lead] : size));
  // From the last dimension, as PyTorch does: the first mismatch it meets is the one it names.
  for (let dim = target.length - 1; dim >= 0; dim--) {
    const size = target[dim];
    const own = dim < lead ? 1 : tensor.sizes[dim - lead];
    if (size === -1) {
      throw new OperatorError(
        `The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ${dim}`,
      );
    }
    if (own !== size && own !== 1) {
      throw new OperatorError(
        `The expanded size of the tensor (${size}) must match the existing size (${own}) at non-singleton dimension ${dim}.  Target sizes: ${sizesText(sizes)}.  Tensor sizes: ${sizesText(tensor.sizes)}`,
      );
    }
  }
  return tensor.asStrided(target, broadcastStrides(tensor.sizes, tensor.strides, target));
}
