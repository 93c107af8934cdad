import { scalarTypeIrName } from '@cresset/ir';
import { settleAll, symEq, textOf, type SymInt, type Tensor } from '@cresset/tensor';
import { OperatorError } from './errors.ts';
import { sizesText } from './dimensions.ts';

/** Sizes both broadcast to (at::infer_size). */
export function broadcastSizes(a: readonly number[], b: readonly number[]): number[];
export function broadcastSizes(a: readonly SymInt[], b: readonly SymInt[]): SymInt[];
export function broadcastSizes(a: readonly SymInt[], b: readonly SymInt[]): SymInt[] {
  const rank = Math.max(a.length, b.length);
  const result = new Array<SymInt>(rank);
  for (let dim = rank - 1; dim >= 0; dim--) {
    const sizeA = a[dim - rank + a.length] ?? 1;
    const sizeB = b[dim - rank + b.length] ?? 1;
    result[dim] = sizeA;
    if (sizeA === sizeB) continue;
    const isOne = symEq(sizeA, 1);
    if (!isOne && !symEq(sizeB, 1) && !symEq(sizeA, sizeB)) {
      throw new OperatorError(
        `The size of tensor a (${textOf(sizeA)}) must match the size of tensor b (${textOf(sizeB)}) at non-singleton dimension ${dim}`,
      );
    }
    if (isOne) result[dim] = sizeB;
  }
  return result;
}

/** Sizes that all shapes broadcast to. */
export function broadcastAll(shapes: readonly (readonly number[])[]): readonly number[];
export function broadcastAll(shapes: readonly (readonly SymInt[])[]): readonly SymInt[];
export function broadcastAll(shapes: readonly (readonly SymInt[])[]): readonly SymInt[] {
  const [first = [], ...others] = shapes;
  return others.reduce((sizes, shape) => broadcastSizes(sizes, shape), first);
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
): number[];
export function broadcastStrides(
  sizes: readonly SymInt[],
  strides: readonly SymInt[],
  target: readonly SymInt[],
): SymInt[];
export function broadcastStrides(
  sizes: readonly SymInt[],
  strides: readonly SymInt[],
  target: readonly SymInt[],
): SymInt[] {
  const lead = target.length - sizes.length;
  return target.map((size, dim) => {
    if (dim < lead) return 0;
    const own = sizes[dim - lead];
    return own !== size && symEq(own, 1) && !symEq(size, 1) ? 0 : strides[dim - lead];
  });
}

/** A view of `tensor` with `sizes`, -1 keeping a size (Tensor.expand). */
export function expand(tensor: Tensor, sizes: readonly SymInt[]): Tensor {
  const lead = sizes.length - tensor.dim;
  if (lead < 0) {
    throw new OperatorError(
      `expand(torch.${scalarTypeIrName(tensor.dtype)}Tensor{${sizesText(tensor.sizes)}}, size=${sizesText(settleAll(sizes))}): the number of sizes provided (${sizes.length}) must be greater or equal to the number of dimensions in the tensor (${tensor.dim})`,
    );
  }
  const own = tensor.symSizes;
  const target = sizes.map((size, dim) => (size === -1 && dim >= lead ? own[dim - lead] : size));
  // From the last dimension, as PyTorch does: the first mismatch it meets is the one it names.
  for (let dim = target.length - 1; dim >= 0; dim--) {
    const size = target[dim];
    const before = dim < lead ? 1 : own[dim - lead];
    if (size === -1) {
      throw new OperatorError(
        `The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ${dim}`,
      );
    }
    if (!symEq(before, 1) && !symEq(before, size)) {
      throw new OperatorError(
        `The expanded size of the tensor (${textOf(size)}) must match the existing size (${textOf(before)}) at non-singleton dimension ${dim}.  Target sizes: ${sizesText(settleAll(sizes))}.  Tensor sizes: ${sizesText(tensor.sizes)}`,
      );
    }
  }
  return tensor.asStrided(target, broadcastStrides(own, tensor.symStrides, target));
}
