import type { Tensor } from '@cresset/tensor';
import { wrapDim } from '../../kernels/dimensions.ts';
import { check } from '../../kernels/errors.ts';
import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';
import { refuseBool } from '../products/matrix-product.ts';
import { labelledRow } from './einsum.ts';
import type { Labelled } from './equation.ts';

/** Sums of products over dimensions that arguments name by number (ATen/native/Linear.cpp). */

const numbered = (prefix: string, tensor: Tensor): string[] => tensor.sizes.map((_, dim) => `${prefix}${dim}`);

interface TensordotArgs {
  readonly self: Tensor;
  readonly other: Tensor;
  readonly dims_self: readonly number[];
  readonly dims_other: readonly number[];
}

function tensordot({ self, other, dims_self, dims_other }: TensordotArgs): { operands: Labelled[]; output: string[] } {
  check(dims_self.length === dims_other.length, 'both dimension lists should have same length');
  check(self.dtype === other.dtype, 'both inputs should have same dtype');
  const left = numbered('l', self);
  const right = numbered('r', other);
  dims_self.forEach((dim, at) => {
    const mine = wrapDim(dim, self.dim);
    const theirs = wrapDim(dims_other[at], other.dim);
    const sizes = [self.sizes[mine], other.sizes[theirs]];
    check(
      sizes[0] === sizes[1] || sizes[0] === 1 || sizes[1] === 1,
      () =>
        `contracted dimensions need to match, but first has size ${sizes[0]} in dim ${dim} and second has size ${sizes[1]} in dim ${dims_other[at]}`,
    );
    left[mine] = right[theirs] = `k${at}`;
  });
  refuseBool('addmm_impl_cpu_', self, other);
  const output = [...left, ...right].filter((label) => !label.startsWith('k'));
  return {
    operands: [
      { tensor: self, labels: left },
      { tensor: other, labels: right },
    ],
    output,
  };
}

export const tensordotRows: readonly OperatorRow[] = [
  labelledRow<TensordotArgs>(
    'aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor',
    tensordot,
  ),
  decomposed(
    'aten::inner(Tensor self, Tensor other) -> Tensor',
    `
def inner(self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    assert self.size(-1) == other.size(-1), f"inner() the last dimension must match on both input tensors but got shapes {self.size()} and {other.size()}"
    return ops.aten.tensordot(self, other, [-1], [-1])
`,
    { out: true },
  ),
];
