import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** Indexing where a mask allows it: positions elsewhere may be anything (ATen/native/TensorAdvancedIndexing.cpp). dtypes are
 * their numbers: 3 is int32, 4 int64. */

const CLAMPED = `
def clamped(self: Tensor, indices: List[Optional[Tensor]]) -> List[Optional[Tensor]]:
    inside: List[Optional[Tensor]] = []
    for at in range(len(indices)):
        index = indices[at]
        if index is not None:
            assert index.dtype == 4 or index.dtype == 3, "tensors used as indices must be long or int tensors"
            index = torch.clamp(index, -self.size(at), self.size(at) - 1)
        inside.append(index)
    return inside
`;

export const maskedIndexRows: readonly OperatorRow[] = [
  decomposed(
    'aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor',
    `
def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: List[Optional[Tensor]], fill: number) -> Tensor:
    return torch.masked_fill(torch._unsafe_index(self, clamped(self, indices)), torch.logical_not(mask), fill)
${CLAMPED}`,
  ),
  decomposed(
    'aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor',
    `
def _unsafe_masked_index_put_accumulate(self: Tensor, mask: Tensor, indices: List[Optional[Tensor]], values: Tensor) -> Tensor:
    if self.numel() == 0:
        return torch.clone(self)
    kept = torch.masked_fill(values, torch.logical_not(mask), 0)
    return torch._unsafe_index_put(self, clamped(self, indices), kept, True)
${CLAMPED}`,
  ),
];
